/*
 * table.h
 *		Finds and opens the extension's tables, and remembers their rows.
 */
#ifndef SNO_TABLE_H
#define SNO_TABLE_H

#include "postgres.h"

#include "access/htup.h"
#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "compat.h"

#define SNO_CATALOG_SCHEMA	"sno_catalog"

/* A table, and the rows that this session remembers */
typedef struct SnoTable
{
	const char *extension;		/* the extension that the table belongs to */
	const char *name;
	const Oid  *types;			/* of the columns */
	int			columns;

	/* If sessions remember all rows: begin() makes an empty collection, and add() adds a row. */
	void	   *(*begin) (void);
	void		(*add) (void *all, Relation rel, HeapTuple tuple);

	/* Another table, whose changes count as changes of this table; NULL if there is none */
	const struct SnoTable *source;

	/* A function that is called whenever the table may have changed; NULL if there is none */
	void		(*changed) (void);

	uint64		version;		/* begins with 1, and increases whenever the table may have changed */
	Oid			oid;			/* the OID that was found last */
	void	   *all;			/* the collection of rows that begin() made, or NULL */
	uint64		version_read;	/* version of the table when the rows were read */
	MemoryContext context;		/* memory context of `all` */
} SnoTable;

/*
 * Return the int8 of a column, or 0 if the column is null.  32-bit machines pass an int8 by
 * reference, so DatumGetInt64() must not be called for a null.
 */
static inline int64
sno_table_int64(Datum value, bool null)
{
	return null ? 0 : DatumGetInt64(value);
}

extern Oid	sno_table_find(const char *name);
extern Oid	sno_table_require(const SnoTable *t);
extern void sno_table_watch(SnoTable *t);
extern Oid	sno_table_have(SnoTable *t);
extern bool sno_table_is_as_created(const SnoTable *t, Relation rel);
extern Relation sno_table_lock(Oid relid, LOCKMODE mode);
extern Relation sno_table_open(SnoTable *t, LOCKMODE mode);
extern Relation sno_table_try_open(SnoTable *t, LOCKMODE mode);
extern Relation sno_table_look(SnoTable *t);
extern uint64 sno_table_change(SnoTable *t, const char *statement, int count, const Oid *types,
							   Datum *values, const char *nulls);
extern bool sno_table_read(SnoTable *t, bool wait);
extern void sno_owner_check(FunctionCallInfo fcinfo);
extern bool sno_text_is_printable(const char *text);

#endif							/* SNO_TABLE_H */

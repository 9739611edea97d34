/*
 * table.h
 *		The extension's tables: found, opened, and remembered by sessions.
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

/* A table, and the session's memory of it */
typedef struct SnoTable
{
	const char *extension;		/* the extension of the table */
	const char *name;
	const Oid  *types;			/* of its columns */
	int			columns;

	/* If a session remembers all rows: create an empty memory, and add a row to it. */
	void	   *(*begin) (void);
	void		(*add) (void *all, Relation rel, HeapTuple tuple);

	/* Another table, whose changes count as changes of this one; or NULL. */
	const struct SnoTable *source;

	/* Called when the table may have changed; or NULL. */
	void		(*changed) (void);

	uint64		version;		/* from 1 on; changes whenever the table may have changed */
	Oid			oid;			/* found last */
	void	   *all;			/* the memory created by begin(), or NULL */
	uint64		version_read;	/* version of the remembered rows */
	MemoryContext context;		/* of the memory */
} SnoTable;

/*
 * Return an int8 of a row, or 0 if it is null.  On 32-bit machines, an int8 is passed by
 * reference, so a null must not be read.
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

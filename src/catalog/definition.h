/*
 * definition.h
 *		The definitions of named generators: tables sno_generator and sno_flake_generator.
 */
#ifndef SNO_DEFINITION_H
#define SNO_DEFINITION_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "utils/snapshot.h"

#include "catalog/table.h"
#include "core/subject.h"

typedef struct SnoDefinition
{
	SnoSubject	subject;
	bool		made_here;		/* in this database, on this server as it is now? */
	char		role[NAMEDATALEN];	/* whose members may use it; empty if everybody may */
	Oid			role_oid;		/* of that role; InvalidOid if it wasn't there when it was named */

	/* In a partition: the metabyte of its ids, -1 if callers choose. */
	int32		meta;

	/* In a layout: */
	char		layout[NAMEDATALEN];
	char		key[NAMEDATALEN];	/* that seals its ids; empty if none does */
	SnoNodes	nodes;			/* of size 0 if the layout isn't known */
	uint64		after;			/* if nodes are chosen: it issues in units after this one */
} SnoDefinition;

/* Is it of a layout of another system? */
static inline bool
sno_is_flake(const SnoDefinition *d)
{
	return d->subject.kind == SNO_OF_NODES;
}

/* What looking for a definition gives. */
typedef enum SnoDefinitionLook
{
	SNO_DEFINITION_FOUND,
	SNO_DEFINITION_NONE,
	SNO_DEFINITION_LOCKED,		/* another session's lock is in the way, */
	SNO_DEFINITION_LAYOUT_LOCKED,	/* or one on the table of layouts */
	SNO_DEFINITION_WITHOUT_LAYOUT	/* its layout is gone, or hasn't its nodes */
} SnoDefinitionLook;

/*
 * The columns that both tables have, in this order, and the first one of their own.  The last one
 * of both is the OID of the role.
 */
enum
{
	SNO_DEFINITION_NAME = 1,
	SNO_DEFINITION_ROLE,
	SNO_DEFINITION_SYSTEM_IDENTIFIER,
	SNO_DEFINITION_TIMELINE,
	SNO_DEFINITION_DATABASE,
	SNO_DEFINITION_HOME,
	SNO_DEFINITION_OWN,
	SNO_DEFINITION_COLUMNS_MAX = SNO_DEFINITION_OWN + 7
};

/* A table of definitions.  Each has names of its own. */
typedef struct SnoDefinitions
{
	/*
	 * Its version also changes whenever the rights of roles may have, see named/use.c, and
	 * that of layouts with sno.partitions.
	 */
	SnoTable	table;
	char		kind;			/* of the subjects that its rows have, a SnoKind */
	const char *create;			/* the functions that add a row, */
	const char *restrict_to;	/* and change the role */

	/*
	 * What a row's own columns say, and what they are for a definition.  Both arrays
	 * begin with the first of them.
	 */
	SnoDefinitionLook (*read) (SnoDefinition *d, const char *name, const Datum *values,
							   const bool *null);
	void		(*write) (const SnoDefinition *d, Datum *values, char *nulls);
	const char *insert;			/* the statement that adds a row */

	/* See named/use.c. */
	uint64		looked;			/* the version when all states were looked at last */
	bool		restricted;		/* was a restricted generator used? */
	struct SnoDefinitions *next;	/* of which that is true */
} SnoDefinitions;

/* The table sno_generator. */
extern SnoDefinitions sno_definitions;

typedef void (*SnoDefinitionVisit) (const char *name, const SnoDefinition *d, void *arg);

extern SnoDefinitionLook sno_definition_find(SnoDefinitions *in, const char *name,
											 SnoDefinition *definition);
pg_noreturn extern void sno_definition_missing(const SnoDefinitions *in, const char *name);
pg_noreturn extern void sno_definition_without_layout(const char *name, const SnoDefinition *d);
extern void sno_definition_check_name(const char *name);
extern void sno_definition_insert(SnoDefinitions *in, const char *name,
								  const SnoDefinition *definition);
extern void sno_definition_drop(SnoDefinitions *in, const char *name);
extern void sno_definition_restrict(SnoDefinitions *in, const char *name, const char *role);
extern void sno_definition_advance(SnoDefinitions *in, const char *name, uint64 after);
extern void sno_definition_visit(SnoDefinitions *in, Snapshot snapshot,
								 SnoDefinitionVisit visit, void *arg);
extern Bitmapset *sno_definition_partitions(void);
extern void sno_definition_choose_alone(SnoDefinitions *in);

#endif							/* SNO_DEFINITION_H */

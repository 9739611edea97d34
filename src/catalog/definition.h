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
	bool		made_here;		/* in this database, with this server's present identity? */
	char		role[NAMEDATALEN];	/* role whose members may use the generator; empty if all users may */
	Oid			role_oid;		/* of that role; InvalidOid if the role didn't exist when it was named */

	/* In a partition: the metabyte of its ids, -1 if callers choose. */
	int32		meta;

	/* In a layout: */
	char		layout[NAMEDATALEN];
	char		key[NAMEDATALEN];	/* key that seals its ids; empty if there is none */
	SnoNodes	nodes;			/* of size 0 if the layout isn't known */
	uint64		after;			/* if nodes are chosen when it issues: only units after this */
} SnoDefinition;

/* Does the definition have a layout of another system? */
static inline bool
sno_is_flake(const SnoDefinition *d)
{
	return d->subject.kind == SNO_OF_NODES;
}

/* The result of a search for a definition */
typedef enum SnoDefinitionLook
{
	SNO_DEFINITION_FOUND,
	SNO_DEFINITION_NONE,
	SNO_DEFINITION_LOCKED,		/* another session has locked the table */
	SNO_DEFINITION_LAYOUT_LOCKED,	/* another session has locked the table of layouts */
	SNO_DEFINITION_WITHOUT_LAYOUT	/* its layout is gone, or doesn't have its nodes */
} SnoDefinitionLook;

/*
 * The columns of both tables, in this order, and the first column specific to a table.  The
 * last column of both is the OID of the role.
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

/* A table of definitions.  Each has its own namespace. */
typedef struct SnoDefinitions
{
	/*
	 * The table's version also changes whenever privileges of roles may have changed, see
	 * named/right.c.  The version of flake generators also changes with sno.partitions.
	 */
	SnoTable	table;
	char		kind;			/* of the subjects in its rows, a SnoKind */
	const char *create;			/* name of the function that adds a row */
	const char *restrict_to;	/* name of the function that changes the role */

	/*
	 * Convert the columns specific to the table to and from a definition.  The arrays begin
	 * with the first of these columns.
	 */
	SnoDefinitionLook (*read) (SnoDefinition *d, const char *name, const Datum *values,
							   const bool *null);
	void		(*write) (const SnoDefinition *d, Datum *values, char *nulls);
	const char *insert;			/* the statement that adds a row */

	/* How nodes are chosen for its generators, see named/chosen.h; NULL if they never are. */
	const struct SnoChooser *chooser;

	/* for named/use.c: */
	uint64		looked;			/* the version at the last check of all states */
	/* for named/right.c: */
	bool		restricted;		/* was a restricted generator used? */
	struct SnoDefinitions *next;	/* the next table with `restricted` set */
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

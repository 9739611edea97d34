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
	bool		made_here;		/* was the definition made in this database, on this server and timeline? */
	char		role[NAMEDATALEN];	/* role whose members may use the generator; empty if all users may */
	Oid			role_oid;		/* the role's OID; InvalidOid if the role didn't exist when it was named */

	/* For a generator in a partition: the metabyte of its ids, or -1 if callers choose it */
	int32		meta;

	/* For a generator with nodes of a layout: */
	char		layout[NAMEDATALEN];
	char		key[NAMEDATALEN];	/* key that encrypts the ids; empty if there is none */
	SnoNodes	nodes;			/* nodes.size is 0 if the layout isn't known */
	uint64		after;			/* a generator without fixed nodes issues only after this unit */
} SnoDefinition;

/* Does the generator issue flakes? */
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
	SNO_DEFINITION_WITHOUT_LAYOUT	/* the layout is gone, or doesn't have the nodes */
} SnoDefinitionLook;

/*
 * The columns with which both tables of definitions begin, in this order.  SNO_DEFINITION_OWN
 * is the first column that is specific to a table.  The last column of both tables is the OID
 * of the role.
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

/* A table of definitions.  Generators of different tables may have the same name. */
typedef struct SnoDefinitions
{
	/*
	 * Besides changes of the table, other events increase `table.version`: in both tables, a
	 * possible change of the privileges of roles (named/right.c), and in sno_flake_generator, a
	 * change of sno.partitions.
	 */
	SnoTable	table;
	char		kind;			/* kind of the subjects in its rows, a SnoKind */
	const char *create;			/* name of the function that adds a row */
	const char *restrict_to;	/* name of the function that changes the role */

	/*
	 * Functions that read a definition from the columns specific to the table, and write it to
	 * these columns.  The arrays begin with the first such column.
	 */
	SnoDefinitionLook (*read) (SnoDefinition *d, const char *name, const Datum *values,
							   const bool *null);
	void		(*write) (const SnoDefinition *d, Datum *values, char *nulls);
	const char *insert;			/* the statement that adds a row */

	/* Functions that choose nodes for generators of the table; NULL if nodes are never chosen */
	const struct SnoChooser *chooser;

	/* Used by named/use.c: */
	uint64		looked;			/* version of the table when all states were last checked */
	/* Used by named/right.c: */
	bool		restricted;		/* has this session used a restricted generator? */
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

/*
 * definition.h
 *		The definitions of named generators: the table sno_generator.
 */
#ifndef SNO_DEFINITION_H
#define SNO_DEFINITION_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "utils/snapshot.h"

#include "compat.h"

#define SNO_DEFINITION_TABLE	"sno_generator"

/* At least so many ids a unit, as in the reference. */
#define SNO_POOL_MIN			4

typedef struct SnoDefinition
{
	int32		partition;
	int32		sequence_min;
	int32		sequence_max;
	int32		meta;			/* -1 if callers choose */
	bool		made_here;		/* on this server, as it is now? */
} SnoDefinition;

typedef void (*SnoDefinitionVisit) (const char *name, const SnoDefinition *d, void *arg);

/* What a look for a definition gives. */
typedef enum SnoDefinitionLook
{
	SNO_DEFINITION_FOUND,
	SNO_DEFINITION_NONE,
	SNO_DEFINITION_LOCKED		/* somebody else's lock is in the way */
} SnoDefinitionLook;

extern SnoDefinitionLook sno_definition_find(Oid function, const char *name,
											 SnoDefinition *definition);
pg_noreturn extern void sno_definition_missing(const char *name);
extern void sno_definition_check(SnoDefinition *definition);
extern void sno_definition_insert(Oid function, const char *name,
								  const SnoDefinition *definition);
extern Oid	sno_definition_table(void);
extern void sno_definition_visit(Oid function, Snapshot snapshot,
								 SnoDefinitionVisit visit, void *arg);
extern Bitmapset *sno_definition_partitions(Oid function);

#endif							/* SNO_DEFINITION_H */

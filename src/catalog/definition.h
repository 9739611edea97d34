/*
 * definition.h
 *		The definitions of named generators: the table sno_generator.
 */
#ifndef SNO_DEFINITION_H
#define SNO_DEFINITION_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "utils/snapshot.h"

#include "catalog/table.h"
#include "core/flake.h"

#define SNO_DEFINITION_TABLE	"sno_generator"

/* A generator can issue at least this many ids in a unit, as in the Go package. */
#define SNO_UNIT_SIZE_MIN		4

typedef struct SnoDefinition
{
	SnoShard	shard;
	int32		partition;		/* or the number of a layout */
	int32		meta;			/* -1 if callers choose */
	bool		made_here;		/* in this database, on this server as it is now? */
	char		key[NAMEDATALEN];	/* that seals its ids; empty if none does */
	char		role[NAMEDATALEN];	/* whose members may use it; empty if everybody may */
	SnoNodes	nodes;			/* of a layout, if it is known; else of size 0 */
	bool		layout_is_new;	/* added by this transaction */
} SnoDefinition;

/* Is it of a layout of another system? */
static inline bool
sno_is_flake(const SnoDefinition *d)
{
	return d->partition > SNO_PARTITION_MAX;
}

/*
 * The table.  Its version also changes whenever the rights of roles may have: see
 * named/use.c.
 */
extern SnoTable sno_definitions;

typedef void (*SnoDefinitionVisit) (const char *name, const SnoDefinition *d, void *arg);

/* What looking for a definition gives. */
typedef enum SnoDefinitionLook
{
	SNO_DEFINITION_FOUND,
	SNO_DEFINITION_NONE,
	SNO_DEFINITION_LOCKED,		/* another session's lock is in the way, */
	SNO_DEFINITION_LAYOUT_LOCKED	/* or one on the table of layouts */
} SnoDefinitionLook;

extern SnoDefinitionLook sno_definition_find(const char *name, SnoDefinition *definition);
pg_noreturn extern void sno_definition_missing(const char *name);
extern void sno_definition_check(SnoDefinition *definition);
extern void sno_definition_insert(const char *name, const SnoDefinition *definition);
extern void sno_definition_visit(Snapshot snapshot, SnoDefinitionVisit visit, void *arg);
extern Bitmapset *sno_definition_partitions(void);
extern bool sno_definition_next_free(SnoDefinition *d, int64 last);
extern char *sno_definition_using_key(const char *key);

#endif							/* SNO_DEFINITION_H */

/*
 * compat.h
 *		What differs between the versions of PostgreSQL, 15 and up.
 *
 * The only file that tests PG_VERSION_NUM.  It gives older versions the names
 * of newer ones, so that every other file is written for the newest.  Include
 * it after postgres.h.
 */
#ifndef SNO_COMPAT_H
#define SNO_COMPAT_H

/* What we use of PostgreSQL that is private was looked at in these versions. */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "PostgreSQL must be of version 15 to 19: see \"What we use that is private\" in src/README.md"
#endif

/*
 * 16 can hand an input function's error to the caller instead of raising it;
 * before, there is nobody to hand it to.
 */
#if PG_VERSION_NUM < 160000
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

/* 16 moved the access to values of variable length out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 16 renamed what names a relation's file. */
#if PG_VERSION_NUM < 160000
typedef Oid RelFileNumber;
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#endif

/* What a setting's check hook hands to its assign hook, which 16 may free. */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#endif

/*
 * 16 finds a setting by its name, and sorts its list of them for each caller.  A setting has
 * the name by which it was given first, in any case of the letters.
 */
#if PG_VERSION_NUM < 160000 && defined(GUC_TABLES_H)
static inline struct config_generic *
find_option(const char *name, bool create_placeholders, bool skip_errors, int elevel)
{
	struct config_generic **options = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
		if (pg_strcasecmp(options[i]->name, name) == 0)
			return options[i];
	return NULL;
}
#endif

/*
 * 17 has wait events with names of their own; before, all are "Extension".  So is one for
 * whose name there is no room in shared memory.  An error leaves nothing but a lock behind.
 * No LWLock may be held, and no interrupts, when this is called.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/lwlock.h"
#include "utils/wait_event.h"
static inline uint32
sno_new_wait_event(const char *name)
{
	volatile uint32 event = PG_WAIT_EXTENSION;
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		event = WaitEventExtensionNew(name);
	}
	PG_CATCH();
	{
		LWLockReleaseAll();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return event;
}
#else
#include "utils/wait_event.h"
static inline uint32
sno_new_wait_event(const char *name)
{
	return PG_WAIT_EXTENSION;
}
#endif

/*
 * 17 has named segments of dynamic shared memory.  Before, a library that isn't preloaded
 * has what is left of the main shared memory segment.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#elif defined(SHMEM_H) && defined(LWLOCK_H)
static inline void *
GetNamedDSMSegment(const char *name, size_t size, void (*initialize) (void *segment), bool *found)
{
	void	   *segment;

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	segment = ShmemInitStruct(name, size, found);
	if (!*found)
		initialize(segment);
	LWLockRelease(AddinShmemInitLock);
	return segment;
}
#endif

/* 19 hands an argument to what initializes such a segment. */
#if PG_VERSION_NUM >= 190000
#define SNO_INITIALIZE_SEGMENT(function, segment) function(void *segment, void *unused)
#define GetNamedDSMSegment(name, size, initialize, found) \
	GetNamedDSMSegment(name, size, initialize, found, NULL)
#else
#define SNO_INITIALIZE_SEGMENT(function, segment) function(void *segment)
#endif

/* 17 numbers processes by their place in the array of PGPROCs; before, it is in them. */
#if PG_VERSION_NUM < 170000
#define MyProcNumber (MyProc->pgprocno)
#define GetNumberFromPGProc(proc) ((proc)->pgprocno)
#endif

/* 18 has skip scans in btrees; before, nobody asks a class for its support. */
#if PG_VERSION_NUM >= 180000
#include "utils/skipsupport.h"
#else
#include "utils/relcache.h"
typedef Datum (*SkipSupportIncDec) (Relation rel, Datum existing, bool *overflow);
typedef struct SkipSupportData
{
	Datum		low_elem;
	Datum		high_elem;
	SkipSupportIncDec decrement;
	SkipSupportIncDec increment;
}		   *SkipSupport;
#endif

/* 18 can be asked for deferrable keys as well. */
#if PG_VERSION_NUM < 180000
#define RelationGetPrimaryKeyIndex(rel, deferrable_ok) RelationGetPrimaryKeyIndex(rel)
#endif

/* 18 renamed it, and moved it to the front. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 19 has a type for what names a cache to those who watch it; before, it is a number. */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/* 19 names a lock's tranche where it is made, before, each process did. */
#if PG_VERSION_NUM >= 190000
#define sno_new_tranche(name) LWLockNewTrancheId(name)
#define sno_register_tranche(id, name) ((void) (id))
#else
#define sno_new_tranche(name) LWLockNewTrancheId()
#define sno_register_tranche(id, name) LWLockRegisterTranche(id, name)
#endif

#endif							/* SNO_COMPAT_H */

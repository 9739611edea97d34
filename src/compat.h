/*
 * compat.h
 *		Differences between the versions of PostgreSQL, from 15 on.
 *
 * This is the only file that tests PG_VERSION_NUM.  It defines names of newer
 * versions for older ones, so that all other files are written for the newest
 * version.  Include it after postgres.h.
 */
#ifndef SNO_COMPAT_H
#define SNO_COMPAT_H

/* Uses of PostgreSQL's private interfaces were checked for these versions. */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "PostgreSQL must be of version 15 to 19: see \"What we use that is private\" in src/README.md"
#endif

/*
 * 16 added soft errors, which input functions return to the caller.  Before 16,
 * errors are always raised.
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

/* 16 renamed the types and fields that identify a relation's file. */
#if PG_VERSION_NUM < 160000
typedef Oid RelFileNumber;
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#endif

/* 16 uses guc_free() to free the data that a setting's check hook passes to its assign hook. */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#endif

/*
 * 16 exports find_option(), and sorts the array of settings for each caller.  Before 16, this
 * function searches the array.  It ignores case, because a setting given before its definition
 * keeps the case of its letters.
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
 * 17 has custom wait events; before 17, the event is "Extension".  The event is "Extension",
 * too, if shared memory has no room for its name: that error leaves nothing behind but a
 * held lock.  The caller must hold no LWLock, and must not hold off interrupts.
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
 * 17 has named segments of dynamic shared memory.  Before 17, a library that isn't
 * preloaded uses the rest of the main shared memory segment.
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

/* 19 passes an argument to the function that initializes a named segment. */
#if PG_VERSION_NUM >= 190000
#define SNO_INITIALIZE_SEGMENT(function, segment) function(void *segment, void *unused)
#define GetNamedDSMSegment(name, size, initialize, found) \
	GetNamedDSMSegment(name, size, initialize, found, NULL)
#else
#define SNO_INITIALIZE_SEGMENT(function, segment) function(void *segment)
#endif

/* 17 renamed the number of a process in the array of PGPROCs. */
#if PG_VERSION_NUM < 170000
#define MyProcNumber (MyProc->pgprocno)
#define GetNumberFromPGProc(proc) ((proc)->pgprocno)
#endif

/* 18 has skip scans in btrees; before 18, their support function is never called. */
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

/* 18 added an argument, because the function can return deferrable keys, too. */
#if PG_VERSION_NUM < 180000
#define RelationGetPrimaryKeyIndex(rel, deferrable_ok) RelationGetPrimaryKeyIndex(rel)
#endif

/* 18 renamed pg_attribute_noreturn(), and put it before the declaration. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 19 has a type for the argument of an invalidation callback that identifies the system cache. */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/* 19 names a tranche of locks when it is created; before 19, each process registers the name. */
#if PG_VERSION_NUM >= 190000
#define sno_new_tranche(name) LWLockNewTrancheId(name)
#define sno_register_tranche(id, name) ((void) (id))
#else
#define sno_new_tranche(name) LWLockNewTrancheId()
#define sno_register_tranche(id, name) LWLockRegisterTranche(id, name)
#endif

#endif							/* SNO_COMPAT_H */

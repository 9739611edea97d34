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

/* The uses of PostgreSQL's private interfaces were checked only for versions 15 to 19. */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "PostgreSQL must be of version 15 to 19: see \"What we use that is private\" in src/README.md"
#endif

/*
 * 16 added soft errors, which an input function returns to its caller.  Before
 * 16, an input function always raises its errors.
 */
#if PG_VERSION_NUM < 160000
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

/* 16 moved the macros for values of variable length from postgres.h to varatt.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 16 renamed the types and fields that identify a relation's file. */
#if PG_VERSION_NUM < 160000
typedef Oid RelFileNumber;
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#endif

/*
 * From 16 on, PostgreSQL calls guc_free() to free the data that a setting's check hook passes to
 * its assign hook.  Before 16, it calls free().
 */
#if PG_VERSION_NUM < 160000
#define guc_malloc(elevel, size) malloc(size)
#endif

/*
 * 16 exports find_option().  Before 16, the function below searches the array of settings.  The
 * search ignores case, because a setting that was given before it was defined keeps the user's
 * spelling of its name.
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
 * Return a wait event with this name.  Before 17, which added custom wait events, the event is
 * "Extension".  If shared memory has no room for the name, the event is "Extension", too.
 * In the latter case, WaitEventExtensionNew() raises an error while it holds an LWLock.  This
 * function catches the error and releases all LWLocks.  An error also ends any hold-off of
 * interrupts.  So the caller must hold no LWLock, and must not hold off interrupts.
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
 * preloaded uses free memory of the main shared memory segment.
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

/* 18 has skip scans in btrees.  Before 18, the support function for skip scans is never called. */
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

/*
 * 18 added the argument deferrable_ok, which allows RelationGetPrimaryKeyIndex() to return a
 * deferrable key.
 */
#if PG_VERSION_NUM < 180000
#define RelationGetPrimaryKeyIndex(rel, deferrable_ok) RelationGetPrimaryKeyIndex(rel)
#endif

/* 18 renamed pg_attribute_noreturn(), and moved it to the beginning of a declaration. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/*
 * 19 has a separate type for the identifier of a system cache, which is an argument of
 * invalidation callbacks.
 */
#if PG_VERSION_NUM < 190000
typedef int SysCacheIdentifier;
#endif

/*
 * 19 names a tranche of locks when it creates the tranche.  Before 19, each process registers
 * the name.
 */
#if PG_VERSION_NUM >= 190000
#define sno_new_tranche(name) LWLockNewTrancheId(name)
#define sno_register_tranche(id, name) ((void) (id))
#else
#define sno_new_tranche(name) LWLockNewTrancheId()
#define sno_register_tranche(id, name) LWLockRegisterTranche(id, name)
#endif

#endif							/* SNO_COMPAT_H */

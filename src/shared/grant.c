/*
 * grant.c
 *		The grants of the registry to a database, as its sessions see them.
 *
 * No session talks to the registry.  A background worker, the registry client
 * (registry/client.c), does.  It publishes the grants of each database in the space of the
 * database.  Sessions start the worker when no grant covers the present unit.  While ids are
 * made, they also start it when it is time to renew.
 *
 * A grant ends in two ways.  When the clock passes the grant's ceiling, no more ids are
 * issued, because no lease goes beyond the ceiling.  When another holder, or none, comes
 * into force, all grants of the database are revoked.  A partition remembers the holder
 * that it was reserved under.  If that holder isn't the present one, the partition isn't
 * used any more.
 *
 * The registry grants nodes of layouts in the same way.  Generators without fixed nodes choose
 * among them (flake/choose.c).  For partitions, and for each layout that a database has asked
 * for, the space has one SnoGranted.
 *
 * Locking: the lock of grants protects all of an SnoGranted, and the list of them, which only
 * grows.  List, holder and `asked` may be read without it.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/grant.h"
#include "shared/worker.h"

/*
 * Layouts of a database.  Each answer about one is written to disk with all others, so an
 * owner of a database must not add any number.
 */
#define LAYOUTS_MAX		64

char	   *sno_registry;
bool		sno_registry_refused;
int			sno_grant_duration;
char	   *sno_server;

/* Was the present setting of the registry checked? */
static bool setting_is_checked;

/* Note that the setting was assigned; `refused` if the value that was given isn't in force. */
void
sno_grant_setting_changed(bool refused)
{
	sno_registry_refused = refused;
	setting_is_checked = false;
}

/*
 * Raise an error if the setting was refused, or if there is a file of grants but no
 * registry.  Without a registry, all partitions may be used, but other servers may have
 * been granted some of them.
 */
void
sno_grant_check_setting(void)
{
	struct stat file;

	if (likely(setting_is_checked))
		return;
	if (sno_registry_refused)
		ereport(ERROR,
				(errcode(ERRCODE_CANT_CHANGE_RUNTIME_PARAM),
				 errmsg("parameter \"%s\" cannot be set for a session", "sno.registry"),
				 errdetail("No id is generated while it is unknown which partitions this server may use."),
				 errhint("Connect without that option. If you did not give it, try again. See doc/operations.md#trouble.")));
	if (!sno_is_registered() && stat(SNO_GRANTS_FILE, &file) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("parameter \"%s\" is empty, but this server has grants of a registry",
						"sno.registry"),
				 errdetail("Other servers may use the partitions that the registry did not grant."),
				 errhint("Set \"sno.registry\". If no other server uses the registry any more, remove the file \"%s\" from the data directory. See doc/servers.md#what-happens-when.",
						 SNO_GRANTS_FILE)));
	setting_is_checked = true;
}

/*
 * Check the setting again, at each new lease: the server may have been granted something since the
 * last check.
 */
void
sno_grant_check_setting_again(void)
{
	setting_is_checked = false;
	sno_grant_check_setting();
}

/* The next SnoGranted of a space: first partitions, then layouts.  NULL after the last one. */
static SnoGranted *
granted_after(SnoSpace *space, const SnoGranted *granted)
{
	dsa_pointer place = granted == &space->grants.partitions ? dsa_pointer_atomic_read(&space->grants.layouts) :
		granted->next;

	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* The grants of a layout in a space, NULL if they were never asked for */
static SnoGranted *
find_granted(SnoSpace *space, const SnoLayout *layout)
{
	SnoGranted *granted = &space->grants.partitions;

	while (granted != NULL && !sno_layouts_equal(&granted->layout, layout))
		granted = granted_after(space, granted);
	return granted;
}

/* Raise an error if this database has as many layouts as the registry is asked for. */
static void
check_count(void)
{
	int			count = 0;

	for (SnoGranted *g = &sno_space->grants.partitions; g != NULL; g = granted_after(sno_space, g))
		count++;
	if (count > LAYOUTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("generators of this database use too many layouts"),
				 errdetail("Until a restart of the server, it can request nodes of at most %d layouts from the registry.",
						   LAYOUTS_MAX),
				 errhint("Drop generators of some layouts, and restart the server. See doc/operations.md#trouble.")));
}

/* Initialize an SnoGranted: nothing is granted or asked for yet. */
void
sno_granted_init(SnoGranted *granted)
{
	memset(granted, 0, sizeof(SnoGranted));
	pg_atomic_init_u64(&granted->holder, 0);
	pg_atomic_init_u32(&granted->asked, 0);
}

/* The grants of a layout's nodes to this database, made if there are none */
SnoGranted *
sno_granted_of(const SnoLayout *layout)
{
	SnoGranted *granted = find_granted(sno_space, layout);

	if (granted != NULL)
		return granted;
	LWLockAcquire(&sno_space->grants.lock, LW_EXCLUSIVE);
	granted = find_granted(sno_space, layout);
	if (granted == NULL)
	{
		dsa_pointer place;

		check_count();
		place = sno_space_allocate(sizeof(SnoGranted));
		granted = dsa_get_address(sno_area, place);
		sno_granted_init(granted);
		granted->place = place;
		granted->layout = *layout;
		granted->next = dsa_pointer_atomic_read(&sno_space->grants.layouts);
		pg_write_barrier();
		dsa_pointer_atomic_write(&sno_space->grants.layouts, place);
	}
	LWLockRelease(&sno_space->grants.lock);
	return granted;
}

/* The nodes of a layout that the registry grants, to any server */
SnoNodeRange
sno_granted_range(SnoGranted *granted)
{
	SnoNodeRange range;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	range = granted->range;
	LWLockRelease(&sno_space->grants.lock);
	return range;
}

/* Start the registry client, to ask for this many blocks or more. */
void
sno_grant_ask(SnoGranted *granted, int blocks)
{
	LWLockAcquire(&sno_space->grants.lock, LW_EXCLUSIVE);
	granted->blocks_wanted = Max(granted->blocks_wanted, blocks);
	LWLockRelease(&sno_space->grants.lock);
	pg_atomic_write_u32(&granted->asked, 1);
	sno_worker_ask(SNO_REGISTRY_CLIENT);
}

/* Ask for one block more than those that cover this unit. */
void
sno_grant_ask_more(SnoGranted *granted, uint64 now)
{
	SnoGrants	grants = sno_grants_copy(granted);
	int			covering = 0;

	for (int i = 0; i < grants.count; i++)
		covering += grants.grant[i].floor < now;
	LWLockAcquire(&sno_space->grants.lock, LW_EXCLUSIVE);
	granted->blocks_wanted = Min(covering + 1, SNO_GRANTS);
	LWLockRelease(&sno_space->grants.lock);
	sno_grant_ask(granted, 0);
}

/* Ask to renew grants, if it is time. */
void
sno_grant_renew(SnoGranted *granted, int blocks)
{
	int64		renew_at;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	renew_at = granted->renew_at;
	LWLockRelease(&sno_space->grants.lock);
	if (sno_clock_monotonic() >= renew_at)
		sno_grant_ask(granted, blocks);
}

SnoGrants
sno_grants_copy(const SnoGranted *granted)
{
	SnoGrants	copy;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	copy = granted->grants;
	LWLockRelease(&sno_space->grants.lock);
	return copy;
}

/* Find the holder's grant in force that contains a partition or node.  False if there is none. */
bool
sno_grant_find(const SnoGranted *granted, int64 number, uint64 holder, SnoGrant *grant)
{
	const SnoGrant *found = NULL;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	if (granted->grants.holder == holder)
		found = sno_grants_find(&granted->grants, number);
	if (found != NULL)
		*grant = *found;
	LWLockRelease(&sno_space->grants.lock);
	return found != NULL;
}

/*
 * Are more grants wanted than there are?  The caller has seen that the present ones have
 * ended.  If none are wanted, no session made an id since then, and no fault is known.  The
 * registry may have been asked only for the range of a layout.
 */
bool
sno_grants_lack(SnoGranted *granted)
{
	uint64		until = SNO_UNIT_MAX;
	bool		wanted,
				in_vain;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	for (int i = 0; i < granted->grants.count; i++)
		until = Min(until, granted->grants.grant[i].ceiling);
	wanted = granted->blocks_wanted > 0;
	in_vain = granted->grants.count == 0 ? granted->answered != 0 && wanted :
		granted->answered > until;
	LWLockRelease(&sno_space->grants.lock);
	return in_vain || (wanted && pg_atomic_read_u32(&granted->asked) != 0);
}

/* Is the registry asked in vain?  The caller has seen that no grant covers the present unit. */
bool
sno_grants_are_in_vain(SnoGranted *granted)
{
	bool		failed;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	failed = sno_journal->registry.failed_at != 0;
	LWLockRelease(&sno_journal->lock);
	return failed || sno_grants_lack(granted);
}

static List *
add_task(List *tasks, SnoSpace *space, SnoGranted *granted)
{
	SnoGrantTask *task = palloc(sizeof(SnoGrantTask));

	*task = (SnoGrantTask) {
		.space = space,
		.database = space->database,
		.layout = granted->layout,
		.range = granted->range,
		.want = granted->blocks_wanted,
		.asked = pg_atomic_read_u32(&granted->asked) != 0,
		.in_force = pg_atomic_read_u64(&granted->holder) != 0
	};
	return lappend(tasks, task);
}

/* The tasks of the registry client, in the current memory context */
List *
sno_grants_tasks(void)
{
	List	   *tasks = NIL;
	SnoSpace   *space = NULL;

	while ((space = sno_space_next(space)) != NULL)
	{
		SnoGranted *granted = &space->grants.partitions;

		LWLockAcquire(&space->grants.lock, LW_SHARED);
		sno_spaces_hold();
		while (OidIsValid(space->database) && granted != NULL)
		{
			tasks = add_task(tasks, space, granted);
			granted = granted_after(space, granted);
		}
		sno_spaces_release();
		LWLockRelease(&space->grants.lock);
	}
	return tasks;
}

/*
 * The SnoGranted of a task, with the lock of grants and all spaces held.  NULL, and nothing held,
 * if the database was dropped, so that another one may have its space.
 */
static SnoGranted *
hold_granted(const SnoGrantTask *task)
{
	SnoGranted *granted = NULL;

	LWLockAcquire(&task->space->grants.lock, LW_EXCLUSIVE);
	if (sno_space_hold(task->space, task->database))
	{
		granted = find_granted(task->space, &task->layout);
		if (granted != NULL)
			return granted;
		sno_spaces_release();
	}
	LWLockRelease(&task->space->grants.lock);
	return NULL;
}

static void
release_granted(const SnoGrantTask *task)
{
	sno_spaces_release();
	LWLockRelease(&task->space->grants.lock);
}

/*
 * Bring grants, which are in the file on disk, into force in a database, with the range of a
 * layout.  Sessions renew them from a monotonic µs on.  `answered` is the unit of the registry's
 * answer, 0 if the grants come from the file.  Only the registry client calls this.
 */
void
sno_grants_publish(const SnoGrantTask *task, const SnoGrants *grants, const SnoNodeRange *range,
				   int64 renew_at, uint64 answered)
{
	SnoGranted *granted = hold_granted(task);

	if (granted == NULL)
		return;
	granted->grants = *grants;
	granted->range = *range;
	granted->renew_at = renew_at;
	granted->answered = answered;
	pg_atomic_write_u64(&granted->holder, grants->holder);
	release_granted(task);
}

/* Note that a request to the registry is over.  Sessions that still need grants ask again. */
void
sno_grants_answered(const SnoGrantTask *task)
{
	SnoGranted *granted = hold_granted(task);

	if (granted == NULL)
		return;
	pg_atomic_write_u32(&granted->asked, task->again);
	release_granted(task);
}

/* Revoke all grants of this server: the file of grants could not be written. */
void
sno_grants_revoke_all(void)
{
	const SnoGrants none = {0};
	ListCell   *cell;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.kept = false;
	LWLockRelease(&sno_journal->lock);
	foreach(cell, sno_grants_tasks())
	{
		const SnoGrantTask *task = lfirst(cell);

		sno_grants_publish(task, &none, &task->range, 0, 0);
	}
}

/* Note that the file has all grants in force. */
void
sno_grants_are_kept(void)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.kept = true;
	LWLockRelease(&sno_journal->lock);
}

/* Was the file written since the server started, and did the last attempt succeed? */
bool
sno_grants_were_kept(void)
{
	bool		kept;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	kept = sno_journal->registry.kept;
	LWLockRelease(&sno_journal->lock);
	return kept;
}

/* Is it known which partitions the registry grants? */
bool
sno_grants_know_range(void)
{
	bool		known;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	known = sno_journal->registry.range_last >= 0;
	LWLockRelease(&sno_journal->lock);
	return known;
}

/*
 * May the registry grant this partition to any server?  If so, no named generator may choose
 * the partition.  False as long as the registry's range isn't known.
 */
bool
sno_grant_is_for_anybody(int partition)
{
	bool		may;

	if (!sno_is_registered())
		return false;
	sno_shmem_attach();
	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	may = partition >= sno_journal->registry.range_first &&
		partition <= sno_journal->registry.range_last;
	LWLockRelease(&sno_journal->lock);
	return may;
}

/* May the user see messages about the connection to the registry? */
bool
sno_registry_may_see(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

/*
 * grant.c
 *		The grants of the registry to a database, as its sessions see them.
 *
 * Sessions don't connect to the registry.  A background worker, the registry client
 * (registry/client.c), sends the requests, and publishes the grants of each database in the
 * database's space.  A session starts the worker when no grant covers the present unit.  A
 * session that writes a lease also starts the worker when the grants are due for renewal.
 *
 * A grant ends in one of two ways.  Either the clock passes the grant's ceiling: then no more ids
 * are issued under the grant, because no lease goes beyond the ceiling.  Or the registry client
 * revokes all grants of the database, by publishing the grants of another holder, or no grants at
 * all.  A partition records the holder under which it was reserved.  If the grants in force
 * belong to another holder, sessions don't use the partition any more.
 *
 * The registry grants nodes of layouts in the same way, and generators without fixed nodes choose
 * among the granted nodes (flake/choose.c).  A space has one SnoGranted for partitions, and one
 * for each layout whose nodes were asked for.
 *
 * Locking: the lock of a space's grants protects each SnoGranted, and the list of them.  The
 * list, and the fields `holder` and `asked`, may be read without the lock.  While the space has
 * users, the list only grows.
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
 * The most layouts of which a database can request nodes.  With each answer, the grants of all
 * layouts are written to disk, so the owner of a database must not be able to add layouts without
 * a limit.
 */
#define LAYOUTS_MAX		64

char	   *sno_registry;
bool		sno_registry_refused;
int			sno_grant_duration;
char	   *sno_server;

/* Was the present value of sno.registry checked? */
static bool setting_is_checked;

/*
 * Note that sno.registry was assigned.  `refused` is true if the user gave a value, and the
 * default is in force instead.
 */
void
sno_grant_setting_changed(bool refused)
{
	sno_registry_refused = refused;
	setting_is_checked = false;
}

/*
 * Raise an error if the given value of sno.registry was refused, or if sno.registry is empty
 * although the server has a file of grants.  Without a registry, sessions may use all partitions.
 * But if the file exists, the registry may have granted some partitions to other servers.
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
 * Check sno.registry, even if it was checked before.  This is called for each new lease, because
 * the file of grants may have been written since the last check.
 */
void
sno_grant_check_setting_again(void)
{
	setting_is_checked = false;
	sno_grant_check_setting();
}

/*
 * Return the next SnoGranted of a space, or NULL after the last one.  The first one is for
 * partitions, and the others are for layouts.
 */
static SnoGranted *
granted_after(SnoSpace *space, const SnoGranted *granted)
{
	dsa_pointer place = granted == &space->grants.partitions ? dsa_pointer_atomic_read(&space->grants.layouts) :
		granted->next;

	return DsaPointerIsValid(place) ? dsa_get_address(sno_area, place) : NULL;
}

/* Return the SnoGranted of a layout in a space, or NULL if no nodes of the layout were asked for. */
static SnoGranted *
find_granted(SnoSpace *space, const SnoLayout *layout)
{
	SnoGranted *granted = &space->grants.partitions;

	while (granted != NULL && !sno_layouts_equal(&granted->layout, layout))
		granted = granted_after(space, granted);
	return granted;
}

/* Raise an error if this database can't request nodes of one more layout. */
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

/* Initialize an SnoGranted, without grants and requests. */
void
sno_granted_init(SnoGranted *granted)
{
	memset(granted, 0, sizeof(SnoGranted));
	pg_atomic_init_u64(&granted->holder, 0);
	pg_atomic_init_u32(&granted->asked, 0);
}

/* Return the SnoGranted of a layout in this database, and make it if there is none. */
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

/* Return the range of nodes of a layout from which the registry grants. */
SnoNodeRange
sno_granted_range(SnoGranted *granted)
{
	SnoNodeRange range;

	LWLockAcquire(&sno_space->grants.lock, LW_SHARED);
	range = granted->range;
	LWLockRelease(&sno_space->grants.lock);
	return range;
}

/* Raise the number of wanted blocks to at least `blocks`, and start the registry client. */
void
sno_grant_ask(SnoGranted *granted, int blocks)
{
	LWLockAcquire(&sno_space->grants.lock, LW_EXCLUSIVE);
	granted->blocks_wanted = Max(granted->blocks_wanted, blocks);
	LWLockRelease(&sno_space->grants.lock);
	pg_atomic_write_u32(&granted->asked, 1);
	sno_worker_ask(SNO_REGISTRY_CLIENT);
}

/*
 * Set the number of wanted blocks to one more than the number of grants whose floor is before
 * `now`, but to at most SNO_GRANTS.  Then start the registry client.
 */
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

/* Call sno_grant_ask(), if it is time to renew the grants. */
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

/*
 * Find the grant of a partition or node.  Returns false if there is none, or if the grants in
 * force don't belong to `holder`.
 */
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
 * Do sessions lack grants?  The caller has seen that no present grant covers the clock's unit.
 * Sessions lack grants in three cases:
 *
 *	- There are grants, and the registry has answered since the first of them ended.
 *	- There are no grants, the registry has answered, and sessions want blocks.  (If they want
 *	  no blocks, the registry was asked only for the range of a layout.)
 *	- Sessions want blocks, and the registry hasn't answered their request yet.
 *
 * Otherwise, no session has needed an id since the grants ended.
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

/*
 * Did the last request to the registry fail, or do sessions lack grants?  The caller has seen
 * that no present grant covers the clock's unit.
 */
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

/*
 * Return the tasks of the registry client, in the current memory context: one for each SnoGranted
 * of each database, whether sessions ask for grants or not.
 */
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
 * Return the SnoGranted of a task, with the lock of grants and all spaces held.  If the database
 * was dropped, its space may belong to another database.  In this case, return NULL, and hold
 * nothing.
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
 * Bring the grants of a task into force, and store the range from which the registry grants
 * nodes.  The file on disk contains the grants already.  `renew_at` is the monotonic time, in µs,
 * from which sessions ask to renew the grants.  `answered` is the unit in which the registry
 * answered, or 0 if the grants come from the file.  Only the registry client calls this.
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

/*
 * Clear the field `asked` of a task's SnoGranted, unless the registry client must repeat the
 * request.  Sessions that still need grants set the field again.
 */
void
sno_grants_answered(const SnoGrantTask *task)
{
	SnoGranted *granted = hold_granted(task);

	if (granted == NULL)
		return;
	pg_atomic_write_u32(&granted->asked, task->again);
	release_granted(task);
}

/* Revoke all grants of this server, because the file of grants could not be read or written. */
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

/* Note that the file of grants contains all grants in force. */
void
sno_grants_are_kept(void)
{
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.kept = true;
	LWLockRelease(&sno_journal->lock);
}

/* Was the file of grants written since the server started, and was the last attempt successful? */
bool
sno_grants_were_kept(void)
{
	bool		kept;

	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	kept = sno_journal->registry.kept;
	LWLockRelease(&sno_journal->lock);
	return kept;
}

/* Is it known which partitions the registry may grant? */
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
 * Is the partition in the range from which the registry grants?  If so, no named generator may
 * use the partition.  Returns false as long as the range isn't known.
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

/* May the current user see messages about the connection to the registry? */
bool
sno_registry_may_see(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

/*
 * grant.c
 *		What the registry granted to a database, as its sessions see it.
 *
 * No session talks to the registry.  A background worker, the registry client
 * (registry/client.c), does.  It publishes the grants of each database in the space of the
 * database.  Sessions start the worker when they have no grant that serves.  While ids are
 * made, they also start it when it is time to renew.
 *
 * A grant ends in two ways.  When the clock passes the grant's ceiling, no more ids are
 * issued, because no lease goes beyond that.  And when another holder comes into force, or
 * none, all grants of the database are revoked.  A partition remembers the holder that it
 * was reserved under.  If that isn't the present one, the partition isn't used any more.
 *
 * Locking: the space's lock protects grants, blocks_wanted and renew_at.  The holder
 * may be read without it.
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

char	   *sno_registry;
bool		sno_registry_refused;
int			sno_grant_duration;
char	   *sno_server;

/* Was the present setting of the registry checked? */
static bool setting_is_checked;

/* The setting was assigned; `refused` if the value that was given isn't in force. */
void
sno_grant_setting_changed(bool refused)
{
	sno_registry_refused = refused;
	setting_is_checked = false;
}

/*
 * Without a registry, all partitions may be used.  But if there is a file of grants, other
 * servers may have been granted partitions, too.  Then this raises an error.
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
				 errdetail("No id is made while it is unknown which partitions this server may use."),
				 errhint("Connect without that option. If you did not give it, try again.")));
	if (!sno_is_registered() && stat(SNO_GRANTS_FILE, &file) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("parameter \"%s\" is empty, but this server has grants of a registry",
						"sno.registry"),
				 errdetail("Other servers may use the partitions that the registry did not grant."),
				 errhint("Set \"sno.registry\". If no other server uses the registry any more, remove the file \"%s\" from the data directory.",
						 SNO_GRANTS_FILE)));
	setting_is_checked = true;
}

/* The same, at each new lease: the server may have been granted something since then. */
void
sno_grant_check_setting_again(void)
{
	setting_is_checked = false;
	sno_grant_check_setting();
}

/* Start the registry client, to ask for grants of this database. */
void
sno_grant_ask(void)
{
	pg_atomic_write_u32(&sno_space->asked, 1);
	sno_worker_ask(SNO_REGISTRY_CLIENT);
}

/* The same, for one block more than those that serve in this unit. */
void
sno_grant_ask_more(uint64 now)
{
	int			serve = 0;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	for (int i = 0; i < sno_space->grants.count; i++)
		serve += sno_space->grants.grant[i].floor < now;
	sno_space->blocks_wanted = Min(serve + 1, SNO_GRANTS);
	LWLockRelease(&sno_space->lock);
	sno_grant_ask();
}

/* The same, to renew what is granted, if it is time. */
void
sno_grant_renew(void)
{
	int64		renew_at;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	renew_at = sno_space->renew_at;
	LWLockRelease(&sno_space->lock);
	if (sno_clock_monotonic() >= renew_at)
		sno_grant_ask();
}

SnoGrants
sno_grants_copy(void)
{
	SnoGrants	copy;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	copy = sno_space->grants;
	LWLockRelease(&sno_space->lock);
	return copy;
}

/* The grant to a holder that a partition is in.  False if there is none in force. */
bool
sno_grant_find(int partition, uint64 holder, SnoGrant *grant)
{
	const SnoGrant *found = NULL;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	if (sno_space->grants.holder == holder)
		found = sno_grants_find(&sno_space->grants, partition);
	if (found != NULL)
		*grant = *found;
	LWLockRelease(&sno_space->lock);
	return found != NULL;
}

/*
 * Grants of this database were over with a unit.  Is more wanted?  If not, nobody made an
 * id since.
 */
bool
sno_grants_lack(uint64 until)
{
	bool		in_vain;

	LWLockAcquire(&sno_space->lock, LW_SHARED);
	in_vain = sno_space->answered > until;
	LWLockRelease(&sno_space->lock);
	return in_vain || pg_atomic_read_u32(&sno_space->asked) != 0;
}

/*
 * Bring grants into force in a database, whose file is on disk.  They are to be renewed
 * from a monotonic µs on.  The registry answered in a unit; 0 if they are those of the
 * file.  The registry client alone does this.  If the database was dropped, another one
 * may have its space.
 */
void
sno_grants_publish(SnoSpace *space, Oid database, const SnoGrants *grants, int64 renew_at,
				   uint64 answered)
{
	LWLockAcquire(&space->lock, LW_EXCLUSIVE);
	if (sno_space_hold(space, database))
	{
		space->grants = *grants;
		space->renew_at = renew_at;
		space->answered = answered;
		pg_atomic_write_u64(&space->holder, grants->holder);
		sno_spaces_release();
	}
	LWLockRelease(&space->lock);
}

/* Revoke all grants of this server: the file of grants could not be written. */
void
sno_grants_revoke_all(void)
{
	const SnoGrants none = {0};
	SnoSpace   *space = NULL;

	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	sno_journal->registry.kept = false;
	LWLockRelease(&sno_journal->lock);
	while ((space = sno_space_next(space)) != NULL)
		sno_grants_publish(space, space->database, &none, 0, 0);
}

/* The file has all that is in force. */
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
 * May the registry grant this partition to any server?  Then nobody else may choose it.
 * False as long as it isn't known.
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

/* May the user see what tells of the connection to the registry? */
bool
sno_registry_may_see(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
}

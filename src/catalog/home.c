/*
 * home.c
 *		What tells this server and database from others.
 *
 * The home tells a database from a former one that had its OID.  It is made of the
 * incarnation (shared/shmem.c) and of what tells the database's folder from others.  If
 * one of the two is the same, the database is.  ALTER DATABASE changes the incarnation,
 * and a restored folder is another one.  If both change between two uses, rows become
 * another holder's, which does no harm.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "catalog/home.h"
#include "registry/place.h"
#include "shared/shmem.h"

/*
 * The home of this database, as its sessions saw it first.  All that run at the same time
 * have the same one, or each would take rows of others for another holder's.  Whoever visits
 * rows calls this before, because no page may be locked when it is called first.
 */
int64
sno_home(void)
{
	uint64		home = 0;
	uint64		new;
	char		name[MAXPGPATH];
	SnoFileIdentity file = {0};

	sno_space_enter();
	if (pg_atomic_read_u64(&sno_space->home) != 0)
		return (int64) pg_atomic_read_u64(&sno_space->home);
	snprintf(name, MAXPGPATH, "%s/PG_VERSION", DatabasePath);
	if (!sno_file_identity(name, &file))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", name)));
	new = (uint64) sno_space->incarnation << 32 |
		hash_bytes((unsigned char *) &file, sizeof(file));
	return (int64) (pg_atomic_compare_exchange_u64(&sno_space->home, &home, new) ? new : home);
}

static bool
is_same_home(uint64 a, uint64 b)
{
	return a >> 32 == b >> 32 || (uint32) a == (uint32) b;
}

/* Is what has these four of this server, as it is now, and of this database? */
bool
sno_home_is_ours(int64 system_identifier, int32 timeline, Oid database, int64 home)
{
	return system_identifier == (int64) GetSystemIdentifier() &&
		timeline == (int32) GetWALInsertionTimeLine() &&
		database == MyDatabaseId && is_same_home(home, sno_home());
}

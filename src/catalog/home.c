/*
 * home.c
 *		The identity of this server and database.
 *
 * The home of a database distinguishes the database from a former one with the same OID.  A
 * home has two parts: the incarnation of the database (shared/space.c), and a hash of the
 * identity of the database's folder.  ALTER DATABASE changes the first part, and a restore of
 * the files changes the second.  So the database counts as the same as long as one of the parts
 * is unchanged.  If both parts change before the database is used again, its rows count as rows
 * of another holder.  That does no harm.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"

#include "catalog/home.h"
#include "registry/place.h"
#include "shared/space.h"

/*
 * Return the home of this database.  The first session computes the home, and stores it for the
 * other sessions, because sessions with different homes would take each other's rows for rows of
 * another holder.  Call this function before you visit rows: the first call in a session reads a
 * catalog and a folder, so no page may be locked then.
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

/* Do these four values identify this server, on its present timeline, and this database? */
bool
sno_home_is_ours(int64 system_identifier, int32 timeline, Oid database, int64 home)
{
	return system_identifier == (int64) GetSystemIdentifier() &&
		timeline == (int32) GetWALInsertionTimeLine() &&
		database == MyDatabaseId && is_same_home(home, sno_home());
}

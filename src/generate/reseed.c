/*
 * reseed.c
 *		sno_reseed(), which makes this database another holder of leases.
 *
 * The function is for a server that began as a copy of another server's files.  Such a copy has
 * all identifiers of the original.  A call that begins after sno_reseed() has returned avoids all
 * partitions that a row of sno_lease named until then, as long as others are left.  The original
 * leased some of the avoided partitions before it was copied, and may still use them.  The copy
 * leased the rest, and the original would choose the same ones.  From now on, the copy begins its
 * search for partitions at another place than the original, so it is unlikely that both choose the
 * same partition.  Named generators stay in the partition of their definition.
 *
 * Like all changes of sno_lease, this takes effect at once, and ROLLBACK doesn't undo it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "catalog/leases.h"
#include "catalog/record.h"
#include "catalog/table.h"
#include "generate/session.h"
#include "shared/primary.h"

PG_FUNCTION_INFO_V1(sno_reseed);
Datum
sno_reseed(PG_FUNCTION_ARGS)
{
	Relation	rel;

	sno_owner_check(fcinfo);
	sno_require_writable("sno_reseed()");
	sno_session_begin_own();
	rel = sno_leases_open_patiently(ExclusiveLock);
	sno_record_disown(rel);
	relation_close(rel, ExclusiveLock);
	PG_RETURN_VOID();
}

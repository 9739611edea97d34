/*
 * reseed.c
 *		sno_reseed(), which makes this database another holder of leases.
 *
 * sno_reseed() is for a server that began as a copy of another server's files.  Such a copy has
 * all identifiers of the original.  After sno_reseed() has returned, new calls avoid all partitions
 * that a row of sno_lease named until then, as long as other partitions are left.  The original
 * leased some of the avoided partitions before it was copied, and may still use them.  The copy
 * leased the rest, and the original may have leased the same partitions, because both began their
 * search at the same partition.  From now on, the copy begins at another partition, so it is unlikely
 * that both choose the same one.  Named generators stay in the partitions of their definitions.
 *
 * Like all changes of sno_lease, this change takes effect at once, and ROLLBACK doesn't undo it.
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

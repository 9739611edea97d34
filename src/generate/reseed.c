/*
 * reseed.c
 *		sno_reseed(): makes this database another holder of leases.
 *
 * It is for a server that began as a copy of another one's files, and has all that
 * identifies the original.  After the function has returned, no call that begins in this
 * database issues an id in a partition that any row of sno_lease named until then.  The
 * original leased some of these before it was copied, and may still use them.  The copy
 * leased the others since then, and the original would choose the same ones.  From now on
 * the original chooses partitions from another start than ours.  So the two are unlikely to
 * choose the same partition, but they may.  Named generators stay where they are defined.
 *
 * As with all changes of the table, the effect comes at once, and ROLLBACK doesn't undo it.
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

/*
 * reseed.c
 *		sno_reseed(): makes this database another holder of leases.
 *
 * It is for a server that began as a copy of another one's files, and has all that
 * identifies that one.  After it has returned, no call that begins in this database
 * issues an id in a partition that any row of sno_lease named until then.  These are
 * partitions that the original leased before it was copied, and may go on in, and
 * those that the copy leased since, because the original would choose the same.
 * What the original leases from now on is its own choice, from another start than
 * ours.  That makes a meeting unlikely, no more.  Named generators stay where they
 * are defined.
 *
 * Like all that is done to the table, it takes effect at once, and ROLLBACK doesn't
 * undo it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "catalog/leases.h"
#include "catalog/record.h"
#include "generate/session.h"

PG_FUNCTION_INFO_V1(sno_reseed);
Datum
sno_reseed(PG_FUNCTION_ARGS)
{
	Relation	rel;

	PreventCommandIfReadOnly("sno_reseed()");
	PreventCommandDuringRecovery("sno_reseed()");
	sno_session_begin_own();
	rel = sno_leases_open_patiently(ExclusiveLock);
	sno_record_disown(rel);
	relation_close(rel, ExclusiveLock);
	PG_RETURN_VOID();
}

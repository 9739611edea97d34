/*
 * reseed.c
 *		sno_reseed(): makes this database another holder of leases.
 *
 * For a server that began as a copy of another one's files, and has all that
 * identifies that one.  After it has returned, no call that begins in this
 * database issues an id in a partition that any row of sno_snapshot named until
 * then: neither in those that the original leased before it was copied, and may
 * go on in, nor in those that the copy leased since, as the original would
 * choose the same.  What the original leases from now on is its own choice: from
 * another start than ours, which makes a meeting unlikely, no more.  Named
 * generators stay where they are defined to be.
 *
 * Like all that is done to the table, it takes effect at once and isn't undone
 * by ROLLBACK.
 */
#include "postgres.h"

#include "fmgr.h"

#include "generate/generate.h"
#include "lease/lease.h"

PG_FUNCTION_INFO_V1(sno_reseed);

Datum
sno_reseed(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("sno_reseed()");
	PreventCommandDuringRecovery("sno_reseed()");
	sno_generate_begin();
	sno_lease_disown(fcinfo->flinfo->fn_oid);
	PG_RETURN_VOID();
}

/*
 * reseed.c
 *		sno_reseed(), which makes this database another holder of leases.
 *
 * The function is for a server that began as a copy of another server's files.  Such a copy has
 * all identifiers of the original.  A call for an id that begins after sno_reseed() has returned
 * uses no partition that was named in a row of sno_lease until then, as long as other partitions
 * are left.  The original leased some of these partitions before it was copied, and may still use
 * them.  The copy has leased the others, and the original would choose the same ones.  From now
 * on, the copy begins its search for partitions at another place than the original.  So the two
 * servers may still choose the same partition, but that is unlikely.  Named generators stay in
 * the partition of their definition.
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

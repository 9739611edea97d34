/*
 * feeds.c
 *		The state of the readers of a feed, for sno_feeds().
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

/* May the current user see the readers of this feed?  Sets *owner to the feed's owner. */
static bool
may_see(Oid feed, Oid *owner)
{
	HeapTuple	row = SearchSysCache1(RELOID, ObjectIdGetDatum(feed));

	if (!HeapTupleIsValid(row))
		return false;
	*owner = ((Form_pg_class) GETSTRUCT(row))->relowner;
	ReleaseSysCache(row);
	return pg_class_aclcheck(feed, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		has_privs_of_role(GetUserId(), ROLE_PG_MONITOR) ||
		has_privs_of_role(GetUserId(), ROLE_PG_DATABASE_OWNER);
}

/*
 * sno_feeds.status_as_owner() returns the rows of sno_feeds.status(), which runs as the owner of the
 * feed in a restricted operation, as REINDEX runs functions of an index.  If it raises an error, the
 * end of the (sub)transaction resets the user.
 */
PG_FUNCTION_INFO_V1(sno_feed_status);
Datum
sno_feed_status(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			owner,
				user;
	int			context,
				level;

	InitMaterializedSRF(fcinfo, 0);
	if (!may_see(PG_GETARG_OID(0), &owner))
		return (Datum) 0;
	/* The end of this level rolls back settings that functions of the owner change. */
	level = NewGUCNestLevel();
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute_with_args("SELECT * FROM sno_feeds.status($1)", 1, (Oid[]) {REGCLASSOID},
							  (Datum[]) {PG_GETARG_DATUM(0)}, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the state of a feed");
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
	SPI_finish();
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
	return (Datum) 0;
}

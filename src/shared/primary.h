/*
 * primary.h
 *		Checks that the server is no standby, and that the transaction may write.
 *
 * The error messages are the same as PostgreSQL's.
 */
#ifndef SNO_PRIMARY_H
#define SNO_PRIMARY_H

#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"

/* Raise an error on a standby. */
static inline void
sno_require_primary(const char *function)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s during recovery", function),
				 errhint("This server is a standby. Connect to the primary. See doc/operations.md#standby-and-failover.")));
}

/* Raise an error on a standby, in a read-only transaction, and during a parallel operation. */
static inline void
sno_require_writable(const char *function)
{
	sno_require_primary(function);
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction", function),
				 errhint("Begin a transaction that may write. See doc/operations.md#trouble.")));
	PreventCommandIfParallelMode(function);
}

#endif							/* SNO_PRIMARY_H */

/*
 * leases.c
 *		Opens and checks the table of leases, sno_lease, and looks up its file.
 *
 * VACUUM FULL and TRUNCATE give the table a new file.  A lease is valid only while its row is
 * in the present file.  So the table and its file are looked up again whenever they may have
 * changed.  If the table was dropped, leases are valid until their ceilings.
 *
 * A session that reads or writes rows holds the table's lock in ROW SHARE mode.  This is the
 * weakest mode that conflicts with the lock of sno_reseed(), and with the locks of all
 * commands that rewrite or drop the table.  sno_leases_open() doesn't wait for the lock,
 * because a session that holds a conflicting lock may wait for this session.
 *
 * The table has no index and no toast table, and its columns have fixed widths and no
 * nulls.  The table's definition is checked whenever the table is opened.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"

#include "catalog/leases.h"
#include "catalog/table.h"

static const Oid column_types[] = {
	INT8OID, INT8OID, INT4OID, OIDOID, CHAROID, INT4OID, UUIDOID, INT8OID, INT8OID,
	INT4OID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
	INT8OID
};

StaticAssertDecl(lengthof(column_types) == SNO_LEASES_COLUMNS, "a column of sno_lease has no type");

static SnoTable table = {
	.extension = "sno",.name = SNO_LEASES_TABLE,.types = column_types,.columns = SNO_LEASES_COLUMNS,.version = 1
};

/*
 * The table's file, and the version of the table for which the file was looked up.  If a
 * look-up raises an error, file_version stays unchanged, so the next call looks the file up again.
 */
static RelFileNumber file;
static uint64 file_version;

/* Return the present file of the table, or InvalidOid if there is no table.  Takes no lock. */
RelFileNumber
sno_leases_file(void)
{
	uint64		seen = table.version;
	HeapTuple	tuple;

	if (likely(file_version == seen && OidIsValid(table.oid)))
		return file;
	sno_table_watch(&table);
	table.oid = sno_table_find(table.name);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table.oid));
	if (!HeapTupleIsValid(tuple))
	{
		table.oid = InvalidOid;
		return InvalidOid;
	}
	file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	ReleaseSysCache(tuple);
	file_version = seen;
	return file;
}

/*
 * Has this transaction given a new file to the table?  The relation cache of a parallel worker
 * doesn't show that.  So a worker looks for the transaction's xid in the table's row of
 * pg_class.
 */
static bool
changed_here(Relation rel)
{
	HeapTuple	tuple;
	bool		changed;

	if (!IsParallelWorker())
		return rel->rd_createSubid != InvalidSubTransactionId ||
			rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(rel)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", RelationGetRelid(rel));
	changed = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	return changed;
}

/* Has this transaction created the table?  If so, a rollback would remove all rows. */
bool
sno_leases_are_new(Relation rel)
{
	if (!IsParallelWorker())
		return rel->rd_createSubid != InvalidSubTransactionId;
	/* The number of a new table's file is the OID of the table. */
	return changed_here(rel) && rel->rd_rel->relfilenode == RelationGetRelid(rel);
}

/*
 * Raise an error if the table isn't as the extension's script created it, or if this
 * transaction has rewritten or truncated it.
 */
static void
check_definition(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	bool		same = rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		desc->natts >= SNO_LEASES_COLUMNS &&
		(!rel->rd_rel->relhasindex || RelationGetIndexList(rel) == NIL);

	/* Columns that were added later, and dropped again, are still in the descriptor. */
	for (int i = 0; same && i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		same = i < SNO_LEASES_COLUMNS ?
			a->attnotnull && a->atttypid == column_types[i] : a->attisdropped;
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was altered",
						SNO_LEASES_TABLE),
				 errhint("If the extension was updated, install its library of the same version, and reconnect. Otherwise undo the change: columns, access method, persistence and the absence of indexes must be as CREATE EXTENSION made them. See doc/operations.md#trouble.")));

	/* If the transaction rolls back, the rows in the new file are lost. */
	if (changed_here(rel) && !sno_leases_are_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was rewritten or truncated by this transaction",
						SNO_LEASES_TABLE),
				 errhint("Commit before generating further ids. See doc/operations.md#trouble.")));
}

/* Open the table with this OID.  Returns NULL if it was dropped, or if its lock is not available. */
static Relation
open_table(Oid relid)
{
	Relation	rel = sno_table_lock(relid, RowShareLock);

	if (rel != NULL)
		check_definition(rel);
	return rel;
}

/*
 * Open the table to read and write leases.  Returns NULL if another session holds a
 * conflicting lock.  Raises an error if the table is missing or altered.
 */
Relation
sno_leases_open(void)
{
	return open_table(sno_table_require(&table));
}

/* Open the table with a lock of the given mode.  Waits for the lock. */
Relation
sno_leases_open_patiently(LOCKMODE mode)
{
	Relation	rel = relation_open(sno_table_require(&table), mode);

	check_definition(rel);
	return rel;
}

/*
 * Open the table in a separate transaction at the end of a session.  A session may end at any
 * point, so a running transaction is aborted first.  Returns NULL if the table is gone, if this
 * session has never looked it up, or if a lock isn't available at once.  Also returns NULL in
 * a parallel worker, because the leader opens the table.
 */
Relation
sno_leases_open_at_exit(void)
{
	/* The catalogs that PostgreSQL reads to open a table.  We must not wait for locks on them. */
	static const Oid catalogs[] = {
		NamespaceRelationId, RelationRelationId, AttributeRelationId, AttrDefaultRelationId,
		ConstraintRelationId, IndexRelationId, TypeRelationId, AccessMethodRelationId
	};
	bool		free = true;
	Relation	rel = NULL;

	if (IsParallelWorker() || !OidIsValid(table.oid))
		return NULL;
	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	for (int i = 0; free && i < lengthof(catalogs); i++)
		free = ConditionalLockRelationOid(catalogs[i], AccessShareLock);
	if (free)
		rel = open_table(table.oid);
	if (rel == NULL)
		CommitTransactionCommand();
	return rel;
}

void
sno_leases_close_at_exit(Relation rel)
{
	sno_leases_close(rel);
	CommitTransactionCommand();
}

/*
 * Raise an error if this transaction created the table.  The caller is about to write a row
 * under which other sessions issue ids, too.  A rollback would remove the row, but not the ids
 * that the other sessions have committed.
 */
void
sno_leases_check_shared(Relation rel)
{
	if (sno_leases_are_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was created by this transaction, but other sessions use the generator",
						SNO_LEASES_TABLE),
				 errhint("Commit before generating further ids. See doc/operations.md#trouble.")));
}

/*
 * Close the table, and release the lock.  The lock needn't be held until the transaction ends,
 * because the rows belong to no transaction.
 */
void
sno_leases_close(Relation rel)
{
	relation_close(rel, RowShareLock);
}

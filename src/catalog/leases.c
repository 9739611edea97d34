/*
 * leases.c
 *		The table of leases, sno_lease: its file, checked and opened.
 *
 * The table and its file are looked up again when they may have changed.  A lease is
 * valid only while its row is in the present file, because VACUUM FULL, TRUNCATE or a
 * drop replaces the file.
 *
 * The table is open in ROW SHARE mode during an operation.  This is the weakest mode that
 * locks out sno_reseed() and all commands that rewrite or drop the table, so it conflicts
 * with few locks.  Operations don't wait for the lock, because a session that holds a
 * conflicting lock may wait for this session.
 *
 * The table has no index and no toast table, and its columns have fixed widths and no
 * nulls.  Its definition is checked before each use.
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
 * The table's file, and the version of the table at which it was looked up.  An error in a
 * look-up doesn't change the version, so the file is looked up again.
 */
static RelFileNumber file;
static uint64 file_version;

/* Return the present file of the table, InvalidOid if there is no table.  Takes no lock. */
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
 * Has this transaction given a new file to the table?  A parallel worker finds this not in
 * its relation cache, but in the table's row of pg_class.
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

/* Has this transaction created the table?  If so, a rollback removes all rows. */
bool
sno_leases_are_new(Relation rel)
{
	if (!IsParallelWorker())
		return rel->rd_createSubid != InvalidSubTransactionId;
	/* The file of a new table has the table's OID. */
	return changed_here(rel) && rel->rd_rel->relfilenode == RelationGetRelid(rel);
}

/* Raise an error unless the table is as the extension's script created it. */
static void
check_definition(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	bool		same = rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		desc->natts >= SNO_LEASES_COLUMNS &&
		(!rel->rd_rel->relhasindex || RelationGetIndexList(rel) == NIL);

	/* Columns that were added and dropped since then are still in the descriptor. */
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

	/* Rows in a new file are lost when its transaction rolls back. */
	if (changed_here(rel) && !sno_leases_are_new(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was rewritten or truncated by this transaction",
						SNO_LEASES_TABLE),
				 errhint("Commit before generating further ids. See doc/operations.md#trouble.")));
}

/* Open the table as sno_leases_open() does, by its OID. */
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

/* Open the table in any mode, and wait for the lock. */
Relation
sno_leases_open_patiently(LOCKMODE mode)
{
	Relation	rel = relation_open(sno_table_require(&table), mode);

	check_definition(rel);
	return rel;
}

/*
 * Open the table that was looked up last, in a separate transaction at the end of a session.
 * The running transaction is aborted first, because an exit may come from anywhere.  Returns
 * NULL in a parallel worker, whose leader opens the table, or if there is no table, or if
 * any lock isn't available at once.
 */
Relation
sno_leases_open_at_exit(void)
{
	/* Catalogs that are read when a table is opened.  This function must not wait for their locks. */
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
 * Raise an error if this transaction created the table.  Only the transaction itself may
 * issue ids under a row of such a table: ids that other sessions issue and commit would
 * outlive the row.
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

/* Close the table.  Rows belong to no transaction, so the lock is not held until the transaction ends. */
void
sno_leases_close(Relation rel)
{
	relation_close(rel, RowShareLock);
}

/*
 * table.c
 *		The extension's tables, found; the table of leases, sno_lease, checked and opened.
 *
 * The extension's tables are found by name in a schema of their own.  Its script
 * creates that schema, and fails if there is one already.  Only its owner, a
 * superuser, may create anything in it.  So whatever has the name is ours.
 *
 * The table and its file are looked up again when they may have changed.  A lease is
 * good only while its row is in the present file, because VACUUM FULL, TRUNCATE or a
 * drop gives the table another one.
 *
 * The table is open in ROW SHARE mode during an operation.  That keeps away all that
 * would rewrite or drop it, and sno_reseed().  It is the weakest mode that does, so
 * few locks are in the way.  It is never waited for here, because a session that holds
 * a stronger lock may wait for us.
 *
 * The table has no index and no toast, and its columns are fixed in width and never
 * null.  Its definition is checked before each use.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "replication/logicalworker.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/table.h"

static const Oid column_types[SNO_TABLE_COLUMNS] = {
	INT8OID, INT8OID, INT4OID, OIDOID, INT4OID, INT8OID, INT8OID, INT4OID,
	TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
	BOOLOID, INT8OID
};

/*
 * Table and file as looked up last, and how many changes there had been.  A look that
 * fails by an error leaves that number as it was, so the next one looks again.
 */
static Oid	table;
static RelFileNumber file;
static uint64 changes = 1;
static uint64 changes_seen = 0;

/* The extension's table by that name; InvalidOid if there is none. */
Oid
sno_table_find(const char *name)
{
	Oid			schema = get_namespace_oid(SNO_CATALOG_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

/* What to call when a table may have changed, the OID of which is at `table`. */
static struct
{
	const Oid  *table;
	void		(*changed) (void);
}			watched[5];
static int	watched_count;

static void
relation_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < watched_count; i++)
		if (relid == InvalidOid || relid == *watched[i].table)
			watched[i].changed();
}

/*
 * Call a function from now on whenever the table at *oid may have changed.  All tables
 * share one callback: PostgreSQL has ten for all extensions of a session, and ends the
 * session that wants more.
 */
void
sno_table_watch(const Oid *oid, void (*changed) (void))
{
	for (int i = 0; i < watched_count; i++)
		if (watched[i].changed == changed)
			return;
	if (watched_count == lengthof(watched))
		elog(ERROR, "too many tables to watch");
	if (watched_count == 0)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	watched[watched_count].table = oid;
	watched[watched_count].changed = changed;
	watched_count++;
}

static void
table_changed(void)
{
	changes++;
}

/*
 * The present file of the table, InvalidOid if there is no table.  Takes no lock.
 */
RelFileNumber
sno_table_file(void)
{
	uint64		seen = changes;
	HeapTuple	tuple;

	if (likely(changes_seen == seen && OidIsValid(table)))
		return file;
	sno_table_watch(&table, table_changed);
	table = sno_table_find(SNO_TABLE_NAME);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
	{
		table = InvalidOid;
		return InvalidOid;
	}
	file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	ReleaseSysCache(tuple);
	changes_seen = seen;
	return file;
}

/*
 * Has this transaction given a new file to the table, which it did not create?  The
 * relation cache of a parallel worker doesn't know.  There the table's row of pg_class
 * tells: the file of a new table has the table's OID.
 */
static bool
rewritten_here(Relation rel)
{
	HeapTuple	tuple;
	bool		changed_here;

	if (!IsParallelWorker())
		return rel->rd_createSubid == InvalidSubTransactionId &&
			rel->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(rel)));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", RelationGetRelid(rel));
	changed_here = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetRawXmin(tuple->t_data));
	ReleaseSysCache(tuple);
	return changed_here && rel->rd_rel->relfilenode != RelationGetRelid(rel);
}

/* Raise an error unless the table is as the extension's script created it. */
static void
check_definition(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	bool		same = rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
		rel->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		desc->natts >= SNO_TABLE_COLUMNS &&
		(!rel->rd_rel->relhasindex || RelationGetIndexList(rel) == NIL);

	/* A column that was added leaves a trace behind when it is dropped. */
	for (int i = 0; same && i < desc->natts; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		same = i < SNO_TABLE_COLUMNS ?
			a->attnotnull && a->atttypid == column_types[i] : a->attisdropped;
	}
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was altered",
						SNO_TABLE_NAME),
				 errhint("If the extension was updated, install its library of the same version, and reconnect. Otherwise undo the change: columns, access method, persistence and the absence of indexes must be as CREATE EXTENSION made them.")));

	/* What is written to a new file is lost when its transaction rolls back. */
	if (rewritten_here(rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was rewritten or truncated by this transaction",
						SNO_TABLE_NAME),
				 errhint("Commit before generating further ids.")));
}

/* One of the extension's tables, or an error if it is missing. */
Oid
sno_table_require(const char *name)
{
	Oid			relid = sno_table_find(name);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"sno\" does not exist", name),
				 errhint("If it or schema \"" SNO_CATALOG_SCHEMA "\" was renamed, rename it back. If it was dropped, create it again as the extension's script does, and put it back with ALTER EXTENSION sno ADD TABLE.")));
	return relid;
}

/* Does a table begin with columns of these types? */
bool
sno_table_is_as_created(Relation rel, const Oid *types, int count)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION || desc->natts < count)
		return false;
	for (int i = 0; i < count; i++)
		if (TupleDescAttr(desc, i)->atttypid != types[i])
			return false;
	return true;
}

/* Raise an error if it doesn't. */
void
sno_table_check(Relation rel, const char *name, const Oid *types, int count)
{
	if (!sno_table_is_as_created(rel, types, count))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"sno\" was altered", name),
				 errhint("Undo the change: its columns must be as CREATE EXTENSION made them.")));
}

/*
 * The trigger for each row of a table that sessions remember: tell them of the change.
 * What logical replication brings is dropped: each server has rows of its own.
 */
Datum
sno_table_row_changed(FunctionCallInfo fcinfo, const char *name)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		RelationGetRelid(trigger->tg_relation) != sno_table_find(name))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s_changed() is the trigger of table \"%s\"", name, name)));
	if (IsLogicalWorker())
		PG_RETURN_POINTER(NULL);
	CacheInvalidateRelcache(trigger->tg_relation);
	PG_RETURN_POINTER(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
					  trigger->tg_newtuple : trigger->tg_trigtuple);
}

/* Open a table without waiting; NULL if another session's lock is in the way. */
Relation
sno_table_try_open(Oid relid, LOCKMODE mode)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(relid, mode))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		/* It was dropped before we had the lock. */
		UnlockRelationOid(relid, mode);
	return rel;
}

/* Open a table as sno_table_open() does. */
static Relation
open_table(Oid relid)
{
	Relation	rel = sno_table_try_open(relid, RowShareLock);

	if (rel != NULL)
		check_definition(rel);
	return rel;
}

/*
 * Open the table to read and write leases.  NULL if another session's lock is in the
 * way.  Raises an error if the table is missing or altered.
 */
Relation
sno_table_open(void)
{
	return open_table(sno_table_require(SNO_TABLE_NAME));
}

/* The same in any mode, but wait for the locks of others. */
Relation
sno_table_open_patiently(LOCKMODE mode)
{
	Relation	rel = relation_open(sno_table_require(SNO_TABLE_NAME), mode);

	check_definition(rel);
	return rel;
}

/*
 * Open the table that was looked up last, in a transaction of its own at the end of a
 * session.  It first ends the transaction that runs, because an exit may come from
 * anywhere.  A parallel worker leaves that to its leader.  NULL if any lock is in the
 * way, or if there is no table.
 */
Relation
sno_table_open_at_exit(void)
{
	/* Opening the table, or another one, looks at these.  It must not wait for them. */
	static const Oid catalogs[] = {
		NamespaceRelationId, RelationRelationId, AttributeRelationId, AttrDefaultRelationId,
		ConstraintRelationId, IndexRelationId, TypeRelationId, AccessMethodRelationId
	};
	bool		free = true;
	Relation	rel = NULL;

	if (IsParallelWorker() || !OidIsValid(table))
		return NULL;
	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	for (int i = 0; free && i < lengthof(catalogs); i++)
		free = ConditionalLockRelationOid(catalogs[i], AccessShareLock);
	if (free)
		rel = open_table(table);
	if (rel == NULL)
		CommitTransactionCommand();
	return rel;
}

void
sno_table_close_at_exit(Relation rel)
{
	sno_table_close(rel);
	CommitTransactionCommand();
}

/* Rows belong to no transaction, so the lock needn't be held to its end. */
void
sno_table_close(Relation rel)
{
	relation_close(rel, RowShareLock);
}

/*
 * table.c
 *		The table of leases, sno_lease: found, checked, opened.
 *
 * The extension's tables are found by name in a schema of their own.  Its script
 * creates that schema, and fails if there is one already; only its owner, a
 * superuser, may create anything in it.  So whatever has the name is ours.
 *
 * Which table that is, and in which file it is kept, is looked up whenever it may
 * have changed.  A lease is good for as long as its row is in that file: VACUUM
 * FULL, TRUNCATE or a drop has it written anew.
 *
 * The table is held in ROW SHARE mode for the time of the operation, which keeps
 * away everything that would rewrite or drop it, and sno_reseed().  It is the
 * weakest mode that does, so that few locks are in the way.  The lock is never
 * waited for here, for a session that holds a stronger one may wait for us.
 *
 * It is without indexes and toast, its columns fixed in width and never null.
 * Its definition is checked before each use.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "lease/table.h"
#include "shared/wait.h"

static const Oid column_types[SNO_TABLE_COLUMNS] = {
	INT8OID, INT8OID, INT4OID, OIDOID, INT4OID, INT4OID, INT4OID, INT4OID,
	TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
	BOOLOID
};

/* Table and file as looked up last; look again if recheck is set. */
static Oid	table;
static RelFileNumber file;
static bool recheck = true;

/* The extension's table by that name; InvalidOid if there is none. */
Oid
sno_table_find(Oid function, const char *name)
{
	Oid			schema = get_namespace_oid(SNO_CATALOG_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

static void
changed(Datum arg, Oid relid)
{
	if (relid == InvalidOid || relid == table)
		recheck = true;
}

/*
 * The file of the table that leases would be written to now.  No lock is taken;
 * InvalidOid if there is no table.
 */
RelFileNumber
sno_table_file(Oid function)
{
	static bool watched = false;
	HeapTuple	tuple;

	if (likely(!recheck && OidIsValid(table)))
		return file;
	if (!watched)
		CacheRegisterRelcacheCallback(changed, (Datum) 0);
	watched = true;
	recheck = false;

	table = sno_table_find(function, SNO_TABLE_NAME);
	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
	{
		table = InvalidOid;
		return InvalidOid;
	}
	file = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	ReleaseSysCache(tuple);
	return file;
}

/* Is what was written to this file in the table that there is now, if any? */
bool
sno_table_holds(Oid function, RelFileNumber written)
{
	RelFileNumber now = sno_table_file(function);

	return now == InvalidOid || now == written;
}

/*
 * Has this transaction given the table, which it did not create, a new file?
 * The relation cache of a parallel worker doesn't know.  There, the table's
 * catalog row has to tell: the file of a table that is new has its oid.
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

/* The table, or an error if it is missing. */
static Oid
require_table(Oid function)
{
	Oid			relid = sno_table_find(function, SNO_TABLE_NAME);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"sno\" does not exist",
						SNO_TABLE_NAME),
				 errhint("If it or schema \"" SNO_CATALOG_SCHEMA "\" was renamed, rename it back. If it was dropped, create it again as the extension's script does, and put it back with ALTER EXTENSION sno ADD TABLE.")));
	return relid;
}

/* Open a table, but don't wait: NULL if somebody else's lock is in the way. */
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
 * Open the table to read and write leases.  NULL if somebody else's lock is in
 * the way.  Raises an error if it is missing or isn't as it should be.
 */
Relation
sno_table_open(Oid function)
{
	return open_table(require_table(function));
}

/* The same, but wait until nobody else has it open so, nor gets to. */
Relation
sno_table_open_alone(Oid function)
{
	Relation	rel = relation_open(require_table(function), ExclusiveLock);

	check_definition(rel);
	return rel;
}

/*
 * Open the table that was looked up last, in a transaction of its own at the end
 * of a session.  What runs is over, for an exit may come from anywhere; a
 * parallel worker leaves that to its leader.  NULL if any lock is in the way, or
 * there is no table.
 */
Relation
sno_table_open_at_exit(void)
{
	/* What opening the table looks at; it must not be waited for. */
	static const Oid catalogs[] = {
		RelationRelationId, AttributeRelationId, AttrDefaultRelationId,
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

/* What was written stays, so nothing needs the lock until the transaction ends. */
void
sno_table_close(Relation rel)
{
	relation_close(rel, RowShareLock);
}

/* A table couldn't be opened in this mode for sno.max_wait: say why. */
void
sno_table_give_up(const char *name, const char *mode)
{
	ereport(ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock table \"%s\" of extension \"sno\" within %d ms",
					name, sno_max_wait),
			 errdetail("Another session holds, or waits for, a lock on it that conflicts with %s.",
					   mode),
			 errhint("Look for that session in pg_locks, and end its transaction.")));
}

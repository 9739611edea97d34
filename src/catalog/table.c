/*
 * table.c
 *		Finds and opens the extension's tables, and remembers their rows.
 *
 * A table is found by its name in the schema sno_catalog.  The extension's script creates this
 * schema, and fails if a schema of this name already has objects.  Only the owner of the schema,
 * a superuser, may create objects in it.  So a table with the right name in the schema is ours.
 *
 * A table has a version, which increases whenever the table's entry in the relation cache is
 * invalidated.  The table's trigger (sno_table_changed()) invalidates this entry at every change
 * of the table's rows.  So the rows that a session remembers are valid as long as the version is
 * the same as when the session read them.  A rollback increases the version, too, so that
 * rows of the transaction are forgotten.
 *
 * SQL functions that change a table, or give access to protected data, are reserved for the
 * owner of the database.  They call sno_owner_check(), because the EXECUTE privilege isn't
 * enough: a role may have got it by GRANT ... ON ALL FUNCTIONS.
 *
 * This file is also linked into library sno_seal, for that library's own table in the schema.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/logicalworker.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "catalog/table.h"

/* Return the OID of one of our tables, or InvalidOid if the table doesn't exist. */
Oid
sno_table_find(const char *name)
{
	Oid			schema = get_namespace_oid(SNO_CATALOG_SCHEMA, true);

	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

/* Return the OID of one of our tables, or raise an error if the table doesn't exist. */
Oid
sno_table_require(const SnoTable *t)
{
	Oid			relid = sno_table_find(t->name);

	if (!OidIsValid(relid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension \"%s\" does not exist", t->name, t->extension),
				 errhint("If it or schema \"" SNO_CATALOG_SCHEMA "\" was renamed, rename it back. If it was dropped, create it again as the extension's script does, and put it back with ALTER EXTENSION %s ADD TABLE. See doc/operations.md#trouble.",
						 t->extension)));
	return relid;
}

/* The tables for which sno_table_watch() was called */
static SnoTable *watched[5];
static int	watched_count;

static void
relation_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < watched_count; i++)
	{
		SnoTable   *t = watched[i];

		if (relid != InvalidOid && relid != t->oid &&
			(t->source == NULL || relid != t->source->oid))
			continue;
		t->version++;
		if (t->changed != NULL)
			t->changed();
	}
}

/*
 * From now on, increase the table's version whenever the table may have changed.  All tables
 * share one callback, because PostgreSQL allows a session only ten callbacks, for all extensions
 * together, and ends a session that registers more.
 */
void
sno_table_watch(SnoTable *t)
{
	for (int i = 0; i < watched_count; i++)
		if (watched[i] == t)
			return;
	if (watched_count == lengthof(watched))
		elog(ERROR, "too many tables to watch");
	if (watched_count == 0)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	watched[watched_count++] = t;
}

/* Return the OID of a table, and watch the table from now on.  Raises an error if it is missing. */
Oid
sno_table_have(SnoTable *t)
{
	sno_table_watch(t);
	return t->oid = sno_table_require(t);
}

/* Is the relation a table whose first columns are those that the extension's script created? */
bool
sno_table_is_as_created(const SnoTable *t, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION || desc->natts < t->columns)
		return false;
	for (int i = 0; i < t->columns; i++)
		if (TupleDescAttr(desc, i)->atttypid != t->types[i])
			return false;
	return true;
}

/* Raise an error if the table was altered. */
static void
check_table(const SnoTable *t, Relation rel)
{
	if (!sno_table_is_as_created(t, rel))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of extension \"%s\" was altered", t->name, t->extension),
				 errhint("Undo the change: its columns must be as CREATE EXTENSION made them. See doc/operations.md#trouble.")));
}

/*
 * Lock a relation without waiting, and open it.  Returns NULL if another session holds a
 * conflicting lock, or if the relation was dropped.
 */
Relation
sno_table_lock(Oid relid, LOCKMODE mode)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(relid, mode))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		/* The relation was dropped before we had the lock. */
		UnlockRelationOid(relid, mode);
	return rel;
}

/* Open a table.  Waits for the lock.  Raises an error if the table is missing or altered. */
Relation
sno_table_open(SnoTable *t, LOCKMODE mode)
{
	Relation	rel;

	/* If the table was dropped before we had the lock, look it up again. */
	while ((rel = try_relation_open(sno_table_have(t), mode)) == NULL)
		AcceptInvalidationMessages();
	check_table(t, rel);
	return rel;
}

/*
 * Open a table without waiting for the lock.  Returns NULL if another session holds a conflicting
 * lock.  Raises an error if the table is missing or altered.
 */
Relation
sno_table_try_open(SnoTable *t, LOCKMODE mode)
{
	Relation	rel = sno_table_lock(sno_table_have(t), mode);

	if (rel != NULL)
		check_table(t, rel);
	return rel;
}

/* Open a table to read it.  Returns NULL if the table is missing, altered or locked. */
Relation
sno_table_look(SnoTable *t)
{
	Oid			relid = sno_table_find(t->name);
	Relation	rel = OidIsValid(relid) ? sno_table_lock(relid, AccessShareLock) : NULL;

	if (rel == NULL || sno_table_is_as_created(t, rel))
		return rel;
	relation_close(rel, AccessShareLock);
	return NULL;
}

/*
 * Read all rows into memory, unless the rows of the present version are already in memory.
 * Returns false if `wait` is false and another session holds a conflicting lock.
 */
bool
sno_table_read(SnoTable *t, bool wait)
{
	uint64		seen = t->version;
	MemoryContext fresh,
				caller;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	void	   *all;

	if (t->version_read == seen)
		return true;
	rel = wait ? sno_table_open(t, AccessShareLock) : sno_table_try_open(t, AccessShareLock);
	if (rel == NULL)
		return false;
	fresh = AllocSetContextCreate(CurrentMemoryContext, "sno table", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(fresh);
	all = t->begin();
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		t->add(all, rel, tuple);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	MemoryContextSwitchTo(caller);

	if (t->context != NULL)
		MemoryContextDelete(t->context);
	MemoryContextSetParent(fresh, CacheMemoryContext);
	t->context = fresh;
	t->all = all;
	t->version_read = seen;
	return true;
}

/*
 * Run a statement that changes a table, and return the number of changed rows.  The statement
 * runs as the table's owner, because it needs privileges that callers don't have.  As in
 * PostgreSQL's maintenance commands, the operation is security-restricted, and the search path
 * has only system schemas; the statement names our tables with their schema.  So the statement
 * calls no function of another user.  If a superuser added a trigger to the table, the trigger
 * can't leave behind code that runs later.
 */
uint64
sno_table_change(SnoTable *t, const char *statement, int count, const Oid *types,
				 Datum *values, const char *nulls)
{
	Relation	rel = table_open(sno_table_have(t), RowExclusiveLock);
	Oid			user;
	int			context;
	int			level;
	uint64		rows;

	/* With this lock, the transaction can read the table later without queueing for the lock. */
	LockRelationOid(RelationGetRelid(rel), AccessShareLock);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
	level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute_with_args(statement, count, unconstify(Oid *, types), values, nulls, false, 0) < 0)
		elog(ERROR, "could not execute a statement on table \"%s\"", t->name);
	rows = SPI_processed;
	SPI_finish();
	AtEOXact_GUC(true, level);
	SetUserIdAndSecContext(user, context);
	table_close(rel, NoLock);
	return rows;
}

/*
 * Raise an error if the current user doesn't have the privileges of the database's owner.
 * Superusers have them.  In a SECURITY DEFINER function, the current user is the owner of the
 * function.
 */
void
sno_owner_check(FunctionCallInfo fcinfo)
{
	if (has_privs_of_role(GetUserId(), ROLE_PG_DATABASE_OWNER))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for function %s", get_func_name(fcinfo->flinfo->fn_oid)),
			 errdetail("Besides the EXECUTE privilege, it requires the privileges of the database owner."),
			 errhint("The owner can create a SECURITY DEFINER function that calls it.")));
}

/*
 * Is a text free of control characters (C0, DEL, C1), and of U+FFFE and U+FFFF, which XML doesn't
 * allow?  If so, it can be displayed in one line.  Raises an error if the text can't be converted
 * to UTF-8.
 */
bool
sno_text_is_printable(const char *text)
{
	const unsigned char *c = (unsigned char *) pg_server_to_any(text, (int) strlen(text), PG_UTF8);

	for (; *c != '\0'; c++)
		if (*c < 0x20 || *c == 0x7F || (c[0] == 0xC2 && c[1] < 0xA0) ||
			(c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE))
			return false;
	return true;
}

/* Raise an error if a text column of the row isn't printable. */
static void
check_texts(Relation rel, HeapTuple row)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 1; i <= desc->natts; i++)
	{
		bool		null;
		Datum		value;

		if (TupleDescAttr(desc, i - 1)->atttypid != TEXTOID)
			continue;
		value = heap_getattr(row, i, desc, &null);
		if (!null && !sno_text_is_printable(TextDatumGetCString(value)))
			ereport(ERROR,
					(errcode(ERRCODE_CHECK_VIOLATION),
					 errmsg("column \"%s\" of table \"%s\" cannot have control characters",
							NameStr(TupleDescAttr(desc, i - 1)->attname), RelationGetRelationName(rel)),
					 errtablecol(rel, i)));
	}
}

/*
 * If the statement sets the role, look up the role's OID, and store it beside the role's name.
 * The OID distinguishes the role from a later role with the same name.  A dump contains only
 * the name, so a restore looks up the OID again.
 */
static HeapTuple
note_role(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	int			role = SPI_fnumber(desc, "role");
	int			column = SPI_fnumber(desc, "role_oid");
	Oid			oid = InvalidOid;
	bool		null;
	Datum		value;

	if (column <= 0 || role <= 0 ||
		(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) &&
		 !bms_is_member(role - FirstLowInvalidHeapAttributeNumber, trigger->tg_updatedcols)))
		return row;
	value = heap_getattr(row, role, desc, &null);
	if (!null)
		oid = get_role_oid(TextDatumGetCString(value), true);
	value = ObjectIdGetDatum(oid);
	null = !OidIsValid(oid);
	return heap_modify_tuple_by_cols(row, desc, 1, &column, &value, &null);
}

/*
 * The trigger of the tables whose rows sessions remember.  Its first argument names the commands
 * that it refuses: "none", "updates" (all except INSERT) or "all".  The second argument is the
 * hint of the error.  The trigger invalidates the rows that sessions remember, raises an error
 * if a text has control characters, and stores OIDs of roles.  It discards changes by logical
 * replication, because each server has its own rows, and a conflict would stop the replication.
 */
PG_FUNCTION_INFO_V1(sno_table_changed);
Datum
sno_table_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	HeapTuple	row;
	char	  **arguments;
	bool		all;			/* does the trigger refuse all changes? */

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		(!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) && !TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event)) ||
		trigger->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("sno_table_changed() is the trigger of tables of extension \"sno\"")));
	arguments = trigger->tg_trigger->tgargs;
	all = strcmp(arguments[0], "all") == 0;
	if (IsLogicalWorker() && TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		PG_RETURN_POINTER(NULL);
	if (all || (strcmp(arguments[0], "updates") == 0 && !TRIGGER_FIRED_BY_INSERT(trigger->tg_event)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 all ? errmsg("table \"%s\" cannot be changed by SQL",
							  RelationGetRelationName(trigger->tg_relation)) :
				 errmsg("rows of table \"%s\" cannot be changed or deleted",
						RelationGetRelationName(trigger->tg_relation)),
				 errhint("%s See doc/operations.md#trouble.", arguments[1])));
	row = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event) || TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		check_texts(trigger->tg_relation, row);
		row = note_role(trigger, row);
	}
	CacheInvalidateRelcache(trigger->tg_relation);
	PG_RETURN_POINTER(row);
}

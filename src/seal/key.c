/*
 * key.c
 *		Keys that encrypt ids: the table sno_seal_key.
 *
 * A key has a name, which callers use, and a secret, which only this library reads.  Only the
 * owner of the table has privileges on it.  Row security without a policy hides the rows from
 * roles that may read all tables, unless they bypass row security.  Rows are written by heap
 * functions.  So this library runs no SQL command whose text, plan or parameters would put a
 * secret into a log.  Logical decoding and dumps don't contain the rows, and statistics don't
 * contain the secrets.
 *
 * The table has no index.  Names are unique, because a transaction that creates a key keeps other
 * transactions from creating keys until it ends.  A transaction that names a key in a definition
 * locks out sno_seal_drop_key(), which waits until the transaction ends, and then sees the
 * definition.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/table.h"
#include "catalog/cipher.h"
#include "seal/key.h"
#include "shared/primary.h"

#define TABLE	"sno_seal_key"

enum
{
	NAME = 1, SECRET, MADE,
	COLUMNS = MADE
};

static const Oid column_types[COLUMNS] = {TEXTOID, BYTEAOID, TIMESTAMPTZOID};

SnoTable	sno_keys = {
	.extension = SNO_SEAL_EXTENSION,.name = TABLE,.types = column_types,.columns = COLUMNS,.version = 1
};

/*
 * Find the key of this name.  Returns false if there is none.  Otherwise, stores the location of
 * its row in *place, and its secret in `secret`, unless these pointers are NULL.
 */
static bool
find_key(Relation rel, const char *name, ItemPointer place, uint8 *secret)
{
	ScanKeyData equal;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found;
	bool		null;

	ScanKeyInit(&equal, NAME, BTEqualStrategyNumber, F_TEXTEQ, CStringGetTextDatum(name));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &equal);
	tuple = systable_getnext(scan);
	found = HeapTupleIsValid(tuple);
	if (found && place != NULL)
		*place = tuple->t_self;
	if (found && secret != NULL)
	{
		bytea	   *value = DatumGetByteaPP(heap_getattr(tuple, SECRET, RelationGetDescr(rel), &null));

		Assert(VARSIZE_ANY_EXHDR(value) == SNO_KEY_SIZE);
		memcpy(secret, VARDATA_ANY(value), SNO_KEY_SIZE);
	}
	systable_endscan(scan);
	return found;
}

pg_noreturn static void
key_missing(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("key \"%s\" does not exist", name),
			 errhint("Create it with sno_seal_create_key(). Dumps have no keys: after a restore, create it with the same secret. See doc/operations.md#dump-and-restore.")));
}

/*
 * Get the secret of a key.  Raises an error if there is no such key.  The caller must wipe the
 * secret after use.
 */
void
sno_key_secret(const char *name, uint8 *secret)
{
	Relation	rel = sno_table_open(&sno_keys, AccessShareLock);

	if (!find_key(rel, name, NULL, secret))
		key_missing(name);
	table_close(rel, AccessShareLock);
}

/*
 * Prevent a key from being dropped until the transaction ends.  Raises an error if there is no
 * such key.
 */
void
sno_key_hold(const char *name)
{
	Relation	rel = sno_table_open(&sno_keys, RowShareLock);

	if (!find_key(rel, name, NULL, NULL))
		key_missing(name);
	table_close(rel, NoLock);
}

/*
 * Close the table after a change.  The next commands of this transaction see the change, and
 * other sessions are notified of it when the transaction commits.
 */
static void
close_changed(Relation rel)
{
	CacheInvalidateRelcache(rel);
	CommandCounterIncrement();
	table_close(rel, NoLock);
}

static void
insert_key(Relation rel, const char *name, const uint8 *secret)
{
	char		value[VARHDRSZ + SNO_KEY_SIZE];
	Datum		values[COLUMNS];
	bool		null[COLUMNS] = {false};
	HeapTuple	tuple;

	SET_VARSIZE(value, sizeof(value));
	memcpy(VARDATA(value), secret, SNO_KEY_SIZE);
	values[NAME - 1] = CStringGetTextDatum(name);
	values[SECRET - 1] = PointerGetDatum(value);
	values[MADE - 1] = TimestampTzGetDatum(GetCurrentTimestamp());
	tuple = heap_form_tuple(RelationGetDescr(rel), values, null);
	heap_insert(rel, tuple, GetCurrentCommandId(true), HEAP_INSERT_NO_LOGICAL, NULL);
	explicit_bzero(value, sizeof(value));
	explicit_bzero(tuple->t_data, tuple->t_len);
	heap_freetuple(tuple);
}

PG_FUNCTION_INFO_V1(sno_seal_create_key);
Datum
sno_seal_create_key(PG_FUNCTION_ARGS)
{
	char	   *name;
	uint8		secret[SNO_KEY_SIZE];
	Relation	rel;

	sno_owner_check(fcinfo);
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name of a key cannot be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN || !sno_text_is_printable(name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a key: \"%s\"", name),
				 errdetail("It must have from 1 to %d bytes, and no control characters.", NAMEDATALEN - 1)));
	if (!PG_ARGISNULL(1))
	{
		bytea	   *given = PG_GETARG_BYTEA_PP(1);

		if (VARSIZE_ANY_EXHDR(given) != SNO_KEY_SIZE)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("secret of key \"%s\" has %d bytes, not %d",
							name, (int) VARSIZE_ANY_EXHDR(given), SNO_KEY_SIZE)));
		memcpy(secret, VARDATA_ANY(given), SNO_KEY_SIZE);
	}
	else if (!pg_strong_random(secret, SNO_KEY_SIZE))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a random secret")));

	sno_require_writable("sno_seal_create_key()");
	rel = sno_table_open(&sno_keys, ShareUpdateExclusiveLock);
	if (find_key(rel, name, NULL, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("key \"%s\" already exists", name)));
	insert_key(rel, name, secret);
	explicit_bzero(secret, sizeof(secret));
	close_changed(rel);
	PG_RETURN_VOID();
}

/*
 * Return the name of a generator that uses a key, or NULL if there is none.  Library sno finds
 * the generator.
 */
static char *
generator_using(const char *key)
{
	SnoUsingKeyFunction find = (SnoUsingKeyFunction)
		load_external_function(SNO_LIBRARY, SNO_USING_KEY_FUNCTION, true, NULL);

	return find(key);
}

PG_FUNCTION_INFO_V1(sno_seal_drop_key);
Datum
sno_seal_drop_key(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Relation	rel;
	ItemPointerData place;
	char	   *generator;

	sno_owner_check(fcinfo);
	sno_require_writable("sno_seal_drop_key()");
	rel = sno_table_open(&sno_keys, ExclusiveLock);
	if (!find_key(rel, name, &place, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("key \"%s\" does not exist", name)));
	generator = generator_using(name);
	if (generator != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("key \"%s\" is in use", name),
				 errdetail("Generator \"%s\" encrypts its ids with it.", generator),
				 errhint("Drop the generator first, with sno_flake_drop_generator().")));
	simple_heap_delete(rel, &place);
	close_changed(rel);
	PG_RETURN_VOID();
}

/*
 * uuidv8.c
 *		Ids as uuids of version 8: conversions, and containment in a range of time.
 */
#include "postgres.h"

#include "nodes/supportnodes.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/rangetypes.h"
#include "utils/uuid.h"

#include "simd/codec.h"
#include "type/fields.h"
#include "type/range.h"

/*
 * RFC 9562 defines only the version and the variant of a version 8 uuid.  The
 * other bits are the id, followed by zeros, so uuids have the order of their ids.
 *
 *		 bytes 0-5      6, 7             8                       15
 *		+--------------+----+-----------+--+--------------------+--------------+
 *		| id bits 0-47 |1000|  bits 48  |10|     bits 60-79     |   42 zeros   |
 *		|              |    |     -59   |  |                    |              |
 *		+--------------+----+-----------+--+--------------------+--------------+
 */
#define UUID_VERSION		8
#define UUID_VARIANT		2	/* binary 10 */

PG_FUNCTION_INFO_V1(sno_to_uuidv8);
Datum
sno_to_uuidv8(PG_FUNCTION_ARGS)
{
	Sno		   *id = PG_GETARG_SNO_P(0);
	uint64		head = sno_head(id);
	uint64		first = (head >> 16) << 16 | UUID_VERSION << 12 |
		(head >> 4 & 0xfff);
	uint64		second = (uint64) UUID_VARIANT << 62 | (head & 0xf) << 58 |
		(uint64) sno_tail(id) << 42;
	pg_uuid_t  *uuid = (pg_uuid_t *) palloc(sizeof(pg_uuid_t));

	first = pg_hton64(first);
	second = pg_hton64(second);
	memcpy(uuid->data, &first, sizeof(first));
	memcpy(uuid->data + sizeof(first), &second, sizeof(second));
	PG_RETURN_UUID_P(uuid);
}

/* Get the id of a version 8 uuid.  Returns NULL on success, or the reason why the uuid is not an id. */
const char *
sno_decode_uuidv8(const pg_uuid_t *uuid, Sno *id)
{
	uint64		first;
	uint64		second;
	uint64		head;

	memcpy(&first, uuid->data, sizeof(first));
	memcpy(&second, uuid->data + sizeof(first), sizeof(second));
	first = pg_ntoh64(first);
	second = pg_ntoh64(second);

	if (second >> 62 != UUID_VARIANT)
		return "Its variant is not the one of RFC 9562.";
	if ((first >> 12 & 0xf) != UUID_VERSION)
		return "Its version is not 8.";
	if ((second & ((UINT64CONST(1) << 42) - 1)) != 0)
		return "Its last 42 bits are not all zero.";

	head = (first >> 16) << 16 | (first & 0xfff) << 4 | (second >> 58 & 0xf);
	sno_assemble(id, head >> 24, (uint8) (head >> 16), (uint16) head,
				 (uint16) (second >> 42));
	return NULL;
}

PG_FUNCTION_INFO_V1(sno_from_uuidv8);
Datum
sno_from_uuidv8(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = PG_GETARG_UUID_P(0);
	Sno		   *id = (Sno *) palloc(sizeof(Sno));
	const char *reason = sno_decode_uuidv8(uuid, id);

	if (reason != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("uuid \"%s\" is not the version 8 form of a sno",
						DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(uuid)))),
				 errdetail("%s", reason),
				 sno_decode((char *) uuid->data, id) == SNO_TEXT_SIZE ?
				 errhint("Use sno_from_uuid() to convert the text form.") : 0));
	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_is_uuidv8);
Datum
sno_is_uuidv8(PG_FUNCTION_ARGS)
{
	Sno			id;

	PG_RETURN_BOOL(sno_decode_uuidv8(PG_GETARG_UUID_P(0), &id) == NULL);
}

/*
 * The planner support function of sno_is_uuidv8() provides the selectivity of a call.  Most uuids
 * that are checked are ids.  But the selectivity is less than 1, because otherwise the planner
 * would expect no rows for NOT sno_is_uuidv8().
 */
PG_FUNCTION_INFO_V1(sno_is_uuidv8_support);
Datum
sno_is_uuidv8_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (!IsA(request, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	((SupportRequestSelectivity *) request)->selectivity = 0.9;
	PG_RETURN_POINTER(request);
}

/* Is the uuid an id whose time is in the range?  The planner support function is in range.c. */
PG_FUNCTION_INFO_V1(sno_during);
Datum
sno_during(PG_FUNCTION_ARGS)
{
	Sno			id;

	/* A uuid that is not an id is in no range, so the result is false even if the range is null. */
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (sno_decode_uuidv8(PG_GETARG_UUID_P(0), &id) != NULL)
		PG_RETURN_BOOL(false);
	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(sno_range_has(fcinfo, PG_GETARG_RANGE_P(1), &id));
}

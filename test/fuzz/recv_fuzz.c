/*
 * recv_fuzz.c
 *		libFuzzer inside a backend: what comes over the wire, as a binary or a
 *		text value, in an array, or as a value to be cast, is either an id, which
 *		goes back as the very bytes it came as, or an error made for such input.
 *
 * script/test links this into a library of the extension that is built with
 * sanitizers, and has a single-user backend call recv_fuzz(), which never
 * returns.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "parser/parse_func.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "id.h"

extern int	LLVMFuzzerRunDriver(int *argc, char ***argv,
								int (*target) (const uint8_t *data, size_t size));

static Oid	sno;
static Oid	sno_array;

static Oid
function_of(const char *name, Oid argument)
{
	return LookupFuncName(list_make1(makeString(pstrdup(name))), 1, &argument, false);
}

/* The bytes of a value as it is sent must be those that came. */
static void
expect_bytes(bytea *sent, const void *data, size_t size)
{
	if (VARSIZE_ANY_EXHDR(sent) != size ||
		memcmp(VARDATA_ANY(sent), data, size) != 0)
		abort();
}

static bytea *
to_bytea(const uint8_t *data, size_t size)
{
	bytea	   *bytes = palloc(VARHDRSZ + size);

	SET_VARSIZE(bytes, VARHDRSZ + size);
	memcpy(VARDATA(bytes), data, size);
	return bytes;
}

/* Receive a binary value, in a message of its own, and send it. */
static bytea *
receive(Oid type, const void *data, size_t size)
{
	Oid			in;
	Oid			out;
	Oid			param;
	bool		varlena;
	StringInfoData message;

	getTypeBinaryInputInfo(type, &in, &param);
	getTypeBinaryOutputInfo(type, &out, &varlena);
	initStringInfo(&message);
	appendBinaryStringInfo(&message, data, (int) size);
	return OidSendFunctionCall(out, OidReceiveFunctionCall(in, &message, param, -1));
}

/* An array can have been sent in several ways, but is sent in one. */
static void
receive_any_array(const uint8_t *data, size_t size)
{
	bytea	   *sent = receive(sno_array, data, size);
	const char *bytes = VARDATA_ANY(sent);
	size_t		length = VARSIZE_ANY_EXHDR(sent);

	expect_bytes(receive(sno_array, bytes, length), bytes, length);
}

/* An array of one dimension: some elements of ten bytes, nulls, and others. */
static void
receive_array(const uint8_t *data, size_t size)
{
	StringInfoData message;
	int			count = (int) Min(size / SNO_SIZE, 8);
	bool		nulls = false;

	initStringInfo(&message);
	for (int i = 0; i < count; i++)
		nulls = nulls || data[i * SNO_SIZE] == 0;
	for (int i = 0; i < 5; i++)
	{
		const uint32 header[] = {count > 0, nulls, sno, count, 1};
		uint32		word = pg_hton32(header[i]);

		if (count > 0 || i < 3)
			appendBinaryStringInfo(&message, (char *) &word, sizeof(word));
	}
	for (int i = 0; i < count; i++)
	{
		const uint8_t *element = data + i * SNO_SIZE;
		int32		length = element[0] == 0 ? -1 : element[0] == 1 ? element[1] : SNO_SIZE;
		uint32		word = pg_hton32((uint32) length);

		appendBinaryStringInfo(&message, (char *) &word, sizeof(word));
		if (length > 0)
			appendBinaryStringInfo(&message, (const char *) element,
								   Min(length, (int) (size - i * SNO_SIZE)));
	}
	expect_bytes(receive(sno_array, message.data, message.len), message.data, message.len);
}

/* Text that is valid in the database's encoding, as all is that input gets. */
static void
read_text(const uint8_t *data, size_t size, bool good)
{
	static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";
	char	   *text = palloc(size + 1);
	Oid			in;
	Oid			out;
	Oid			param;
	bool		varlena;
	char	   *again;

	for (size_t i = 0; i < size; i++)
		text[i] = good ? alphabet[data[i] & 31] : (char) data[i];
	text[size] = '\0';
	if (!pg_verifymbstr(text, strlen(text), true))
		return;

	getTypeInputInfo(sno, &in, &param);
	getTypeOutputInfo(sno, &out, &varlena);
	again = OidOutputFunctionCall(out, OidInputFunctionCall(in, text, param, -1));
	if (strcmp(text, again) != 0)
		abort();
}

static void
cast_bytea(const uint8_t *data, size_t size)
{
	Datum		id = OidFunctionCall1(function_of("sno_from_bytea", BYTEAOID),
									  PointerGetDatum(to_bytea(data, size)));

	expect_bytes(DatumGetByteaPP(OidFunctionCall1(function_of("sno_to_bytea", sno), id)),
				 data, size);
}

static void
cast_uuid(const uint8_t *data, const char *from, const char *to)
{
	Datum		id = OidFunctionCall1(function_of(from, UUIDOID), PointerGetDatum(data));

	if (memcmp(DatumGetPointer(OidFunctionCall1(function_of(to, sno), id)),
			   data, SNO_TEXT_SIZE) != 0)
		abort();
}

static void
try_input(const uint8_t *data, size_t size)
{
	uint8_t		uuid[SNO_TEXT_SIZE] = {0};

	memcpy(uuid, data + 1, Min(size - 1, sizeof(uuid)));
	switch (data[0] % 8)
	{
		case 0:
			expect_bytes(receive(sno, data + 1, size - 1), data + 1, size - 1);
			break;
		case 1:
			receive_any_array(data + 1, size - 1);
			break;
		case 2:
			receive_array(data + 1, size - 1);
			break;
		case 3:
			read_text(data + 1, size - 1, false);
			break;
		case 4:
			read_text(data + 1, size - 1, true);
			break;
		case 5:
			cast_bytea(data + 1, size - 1);
			break;
		case 6:
			cast_uuid(uuid, "sno_from_uuid", "sno_to_uuid");
			break;
		case 7:
			uuid[6] = (uuid[6] & 0x0f) | 0x80;
			uuid[8] = (uuid[8] & 0x3f) | 0x80;
			cast_uuid(uuid, "sno_from_uuidv8", "sno_to_uuidv8");
			break;
	}
}

/* What SQL says of input that is none. */
static bool
is_input_error(int code)
{
	return code == ERRCODE_INVALID_TEXT_REPRESENTATION ||
		code == ERRCODE_INVALID_BINARY_REPRESENTATION ||
		code == ERRCODE_PROTOCOL_VIOLATION ||
		code == ERRCODE_DATATYPE_MISMATCH ||
		code == ERRCODE_ARRAY_SUBSCRIPT_ERROR ||
		code == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

static int
one_input(const uint8_t *data, size_t size)
{
	static MemoryContext context = NULL;
	MemoryContext caller = CurrentMemoryContext;

	if (size == 0)
		return 0;
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "one input", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		try_input(data, size);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (!is_input_error(error->sqlerrcode))
			elog(PANIC, "%s: %s", unpack_sql_state(error->sqlerrcode), error->message);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	MemoryContextReset(context);
	return 0;
}

PG_FUNCTION_INFO_V1(recv_fuzz);
Datum
recv_fuzz(PG_FUNCTION_ARGS)
{
	char	   *options = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *argv[16] = {"recv_fuzz"};
	char	  **arguments = argv;
	int			argc = 1;

	for (char *o = strtok(options, " "); o != NULL && argc < 15; o = strtok(NULL, " "))
		argv[argc++] = o;
	sno = TypenameGetTypid("sno");
	sno_array = get_array_type(sno);
	LLVMFuzzerRunDriver(&argc, &arguments, one_input);
	pg_unreachable();
}

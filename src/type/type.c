/*
 * type.c
 *		The type sno: text and binary I/O, comparison and hashing.
 *
 * An id is a value of ten bytes, which is passed by reference and isn't aligned.  Ids are
 * ordered by their bytes, and their texts have the same order in any collation that compares
 * bytes.  The functions that compare and hash ids never raise an error.
 */
#include "postgres.h"

#include <ctype.h>

#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "compat.h"
#include "simd/codec.h"
#include "type/fields.h"

/* ---------------- I/O ---------------- */

/*
 * Does the text look like a time?  PostgreSQL's parser can't be used here, because it raises an
 * error if a time zone is unknown.
 */
static bool
is_time(const char *text)
{
	static const char *const names[] = {"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity"};
	size_t		digits = strspn(text, "0123456789");

	for (int i = 0; i < (int) lengthof(names); i++)
		if (pg_strcasecmp(text, names[i]) == 0)
			return true;
	return digits == 4 && (text[4] == '-' || text[4] == '/') && isdigit((unsigned char) text[5]);
}

/* Is the text a uuid, in one of the input forms of type uuid? */
static bool
is_uuid(const char *text)
{
	bool		braces = *text == '{';
	int			digits = 0;

	for (text += braces; isxdigit((unsigned char) *text); text++)
	{
		digits++;
		if (digits % 4 == 0 && digits < 32 && text[1] == '-')
			text++;
	}
	return digits == 32 && strcmp(text, braces ? "}" : "") == 0;
}

/* Return a hint for a text that is not an id, or NULL if there is no hint. */
static const char *
advice(const char *text)
{
	const char *number = text + (*text == '-');
	size_t		size = strlen(text);
	char		lower[SNO_TEXT_SIZE];
	Sno			scratch;

	if (*number != '\0' && strspn(number, "0123456789") == strlen(number))
		return "A sno is not a number. Ids of other systems that are numbers have type bigint.";
	if (is_uuid(text))
		return "To convert the uuid of a sno, cast it from type uuid, for example $1::uuid::sno.";
	if (size > SNO_TEXT_SIZE + 1 && strchr("_-", text[size - SNO_TEXT_SIZE - 1]) != NULL &&
		sno_decode(text + size - SNO_TEXT_SIZE, &scratch) == SNO_TEXT_SIZE)
		return "Use sno_from_prefixed() to convert a text that has a prefix before the id.";
	if (size == SNO_TEXT_SIZE)
	{
		for (int i = 0; i < SNO_TEXT_SIZE; i++)
			lower[i] = pg_ascii_tolower((unsigned char) text[i]);
		if (sno_decode(lower, &scratch) == SNO_TEXT_SIZE)
			return "Write the id in lower case.";
	}
	if (is_time(text))
		return "To compare an id with a time, cast the time to timestamptz, for example $1::timestamptz.";
	return NULL;
}

/*
 * Raise an error, because a text is not an id.  The detail reports the length if that is wrong, or
 * otherwise the first invalid character.  All characters before the invalid one have one byte, so
 * its offset in bytes is also its offset in characters.
 */
static pg_noinline Datum
reject_text(const char *text, struct Node *escontext)
{
	Sno			scratch;
	int			length = pg_mbstrlen(text);
	int			bad = 0;
	const char *hint = advice(text);

	if (length == SNO_TEXT_SIZE)
		bad = sno_decode(text, &scratch);

	ereturn(escontext, (Datum) 0,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%s\"", "sno", text),
			 length != SNO_TEXT_SIZE ?
			 errdetail("A sno has %d characters, not %d.",
					   SNO_TEXT_SIZE, length) :
			 errdetail("Character %d is \"%.*s\", not one of 2-9 and a-x.",
					   bad + 1, pg_mblen(text + bad), text + bad),
			 hint != NULL ? errhint("%s", hint) : 0));
}

PG_FUNCTION_INFO_V1(sno_in);
Datum
sno_in(PG_FUNCTION_ARGS)
{
	char	   *text = PG_GETARG_CSTRING(0);
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	if (strlen(text) != SNO_TEXT_SIZE ||
		sno_decode(text, id) != SNO_TEXT_SIZE)
		return reject_text(text, fcinfo->context);

	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_out);
Datum
sno_out(PG_FUNCTION_ARGS)
{
	Sno		   *id = PG_GETARG_SNO_P(0);
	char	   *text = (char *) palloc(SNO_TEXT_SIZE + 1);

	sno_encode(id, text);
	text[SNO_TEXT_SIZE] = '\0';
	PG_RETURN_CSTRING(text);
}

PG_FUNCTION_INFO_V1(sno_recv);
Datum
sno_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			length = message->len - message->cursor;
	Sno		   *id = (Sno *) palloc(sizeof(Sno));

	if (length != SNO_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid length in external \"%s\" value", "sno"),
				 errdetail("A sno has %d bytes, not %d.", SNO_SIZE, length)));

	memcpy(id, pq_getmsgbytes(message, SNO_SIZE), SNO_SIZE);
	PG_RETURN_SNO_P(id);
}

/* This function doesn't use pq_begintypsend(), which allocates a kilobyte. */
PG_FUNCTION_INFO_V1(sno_send);
Datum
sno_send(PG_FUNCTION_ARGS)
{
	Sno		   *id = PG_GETARG_SNO_P(0);
	bytea	   *message = (bytea *) palloc(VARHDRSZ + SNO_SIZE);

	SET_VARSIZE(message, VARHDRSZ + SNO_SIZE);
	memcpy(VARDATA(message), id, SNO_SIZE);
	PG_RETURN_BYTEA_P(message);
}

/* Return the name of the codec that text input and output use. */
PG_FUNCTION_INFO_V1(sno_codec);
Datum
sno_codec(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(sno_codec_active->name));
}

/* Would sno_in() accept the text? */
PG_FUNCTION_INFO_V1(sno_is_valid);
Datum
sno_is_valid(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);
	Sno			scratch;

	PG_RETURN_BOOL(VARSIZE_ANY_EXHDR(input) == SNO_TEXT_SIZE &&
				   sno_decode(VARDATA_ANY(input), &scratch) == SNO_TEXT_SIZE);
}

/* ---------------- comparison ---------------- */

#define COMPARISON(function, operator) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	PG_RETURN_BOOL(sno_compare(PG_GETARG_SNO_P(0), PG_GETARG_SNO_P(1)) operator 0); \
}

COMPARISON(sno_eq, ==)
COMPARISON(sno_ne, !=)
COMPARISON(sno_lt, <)
COMPARISON(sno_le, <=)
COMPARISON(sno_gt, >)
COMPARISON(sno_ge, >=)

PG_FUNCTION_INFO_V1(sno_cmp);
Datum
sno_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(sno_compare(PG_GETARG_SNO_P(0), PG_GETARG_SNO_P(1)));
}

PG_FUNCTION_INFO_V1(sno_smaller);
Datum
sno_smaller(PG_FUNCTION_ARGS)
{
	Sno		   *a = PG_GETARG_SNO_P(0);
	Sno		   *b = PG_GETARG_SNO_P(1);

	PG_RETURN_SNO_P(sno_compare(a, b) <= 0 ? a : b);
}

PG_FUNCTION_INFO_V1(sno_larger);
Datum
sno_larger(PG_FUNCTION_ARGS)
{
	Sno		   *a = PG_GETARG_SNO_P(0);
	Sno		   *b = PG_GETARG_SNO_P(1);

	PG_RETURN_SNO_P(sno_compare(a, b) >= 0 ? a : b);
}

/* ---------------- hashing ---------------- */

/* Hash values must never change, because hash indexes and hash partitions depend on them. */

PG_FUNCTION_INFO_V1(sno_hash);
Datum
sno_hash(PG_FUNCTION_ARGS)
{
	return hash_any(PG_GETARG_SNO_P(0)->byte, SNO_SIZE);
}

PG_FUNCTION_INFO_V1(sno_hash_extended);
Datum
sno_hash_extended(PG_FUNCTION_ARGS)
{
	return hash_any_extended(PG_GETARG_SNO_P(0)->byte, SNO_SIZE,
							 PG_GETARG_INT64(1));
}

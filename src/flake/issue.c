/*
 * issue.c
 *		Issuing ids of other systems: sno_flake_generate(), sno_flake_generate_uuid(),
 *		sno_flake_generate_bytea(), sno_flake_advance().
 *
 * core/flake.h describes how a state word becomes an id.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "flake/value.h"
#include "flake/nodes.h"
#include "named/call.h"
#include "named/open.h"
#include "shared/primary.h"

/*
 * sno_flake_advance() accepts ids whose time is up to this far ahead of our clock, because the
 * clock of the system that issued them may have been ahead.
 */
#define AHEAD_MAX_MSEC	INT64CONST(3600000)

/* The cache of an expression that generates ids */
typedef struct FlakeCall
{
	SnoCall		call;
	uint64		version;		/* of the definition from which the fields below come */
	SnoNamedLayout layout;
	SnoCipher  *cipher;			/* of the key that seals the ids; NULL if no key was looked up */
	bool		sealed;
	const uint64 *keys_version; /* present version of the table of keys */
} FlakeCall;

/* Look up the key, and make its cipher. */
static void
refresh_cipher(FlakeCall *call, const char *key, MemoryContext context)
{
	const SnoCiphers *ciphers = sno_nodes_ciphers(key);

	call->cipher = ciphers->make(key, context, call->cipher);
	call->keys_version = ciphers->version;
}

/* Look up the layout and the key that the present definition names. */
static void
refresh_call(FlakeCall *call, SnoFlakeType type, MemoryContext context)
{
	SnoUse	   *use = call->call.use;

	call->call.use = NULL;		/* in case of an error */
	call->layout = sno_nodes_layout(&use->definition);
	sno_value_check_type(&call->layout, type, "sno_flake_generate");
	call->sealed = use->definition.key[0] != '\0';
	if (call->sealed)
		refresh_cipher(call, use->definition.key, context);
	call->version = use->version;
	call->call.use = use;
}

/* Return the next id of the generator that the first argument names. */
static Datum
next_flake(FunctionCallInfo fcinfo, SnoFlakeType type)
{
	FlakeCall  *call = fcinfo->flinfo->fn_extra;
	const SnoNodes *nodes;
	SnoFlakeParts parts;
	SnoFlake	id;
	uint64		word;

	if (unlikely(call == NULL || !sno_call_knows(&call->call, fcinfo, 0)))
	{
		sno_require_primary("sno_flake_generate()");
		call = (FlakeCall *) sno_call_remember(fcinfo, 0, sizeof(FlakeCall), &sno_flake_definitions);
		refresh_call(call, type, fcinfo->flinfo->fn_mcxt);
	}
	word = sno_next_flake(call->call.use);
	if (unlikely(call->version != call->call.use->version))
		refresh_call(call, type, fcinfo->flinfo->fn_mcxt);
	nodes = &call->call.use->definition.nodes;
	parts = sno_flake_parts(nodes, word);
	if (unlikely(parts.time > nodes->last))
		sno_state_out_of_time(nodes);
	id = sno_flake_pack(&nodes->layout, parts);
	if (call->sealed)
	{
		if (unlikely(call->cipher->version != *call->keys_version))
			refresh_cipher(call, call->call.use->definition.key, fcinfo->flinfo->fn_mcxt);
		id.low = call->cipher->encrypt(call->cipher, id.low);
	}
	return type == SNO_FLAKE_BIGINT ? Int64GetDatum((int64) id.low) : sno_value_datum(&call->layout, id);
}

SNO_FLAKE_MAKERS(sno_flake_generate, next_flake)

/*
 * Return the state word with which a generator goes on after an id.  Raises an error if a counter
 * has no number after the id, or if the id's time is too far ahead.
 */
static uint64
word_after(const SnoNodes *nodes, SnoFlake after)
{
	uint64_t	word;
	bool		found = sno_flake_after(nodes, after, &word);

	if (nodes->layout.unit == 0)
	{
		if (!found)
			ereport(ERROR,
					(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
					 errmsg("no number of the layout is left after the id"),
					 errdetail("A generator that counts can issue at most 2^56 numbers."),
					 errhint("Correct the id, or move the table to another layout. See doc/operations.md#trouble.")));
	}
	else if (!found || SNO_WORD_UNIT(word) > (uint64) (sno_clock_msec() + AHEAD_MAX_MSEC) / SNO_UNIT_MSEC)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the time of the id is more than an hour ahead"),
				 errdetail("The generator could not issue any id until then.")));
	return word;
}

PG_FUNCTION_INFO_V1(sno_flake_advance);
Datum
sno_flake_advance(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	SnoNamedLayout layout;
	SnoDefinition d;
	SnoFlake	after = {.low = (uint64) PG_GETARG_INT64(1)};
	SnoGenerator issued = {0};

	sno_owner_check(fcinfo);
	sno_require_primary("sno_flake_advance()");
	sno_use_look_up(&sno_flake_definitions, name, &d);
	layout = sno_nodes_layout(&d);
	if (layout.type != SNO_FLAKE_BIGINT)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("generator \"%s\" cannot be advanced", name),
				 errdetail("Its ids are not of type bigint.")));
	if (d.key[0] != '\0')
	{
		SnoCipher  *cipher = sno_nodes_ciphers(d.key)->make(d.key, CurrentMemoryContext, NULL);

		after.low = cipher->decrypt(cipher, after.low);
	}
	/* The error reports the argument, which may be sealed, not the decrypted id. */
	if (!sno_value_fits(&layout, after))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint %lld is not an id of generator \"%s\"",
						(long long) PG_GETARG_INT64(1), name)));
	issued.word = word_after(&d.nodes, after);
	if (sno_subject_floats(&d.subject))
	{
		sno_definition_advance(&sno_flake_definitions, name, SNO_WORD_UNIT(issued.word));
		PG_RETURN_VOID();
	}
	/* The id's time counts as used up on both sides. */
	issued.wall_safe = layout.layout.unit == 0 ? 0 : SNO_WORD_UNIT(issued.word);
	sno_open_restore(&sno_flake_definitions, name, &d, &issued);
	PG_RETURN_VOID();
}

/*
 * seal.c
 *		Sealed ids: sno_seal(), sno_seal_uuid() and sno_unseal().
 *
 * An id of type sno is sealed by FF1 with AES-128, and a bigint is sealed by SPARX-64/128.
 * With the same key, an id always gets the same sealed text, uuid or bigint.  A sealed text or
 * bigint has no redundancy: if it is unsealed with another key, the result is a wrong id, and
 * there is no error.  A sealed uuid has 42 bits that reveal the use of another key.
 *
 * Each call in a plan keeps the key schedule that it used last, until keys may have changed.
 */
#include "postgres.h"

#include <openssl/err.h>
#include <openssl/evp.h>

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "compat.h"
#include "core/ff1.h"
#include "core/sparx.h"
#include "catalog/cipher.h"
#include "seal/key.h"
#include "type/fields.h"

PG_MODULE_MAGIC;

/* The schedule of the key that a call used last */
typedef struct Seal
{
	uint64		keys_version;	/* version of the table of keys; 0 if the schedule is not valid */
	int			name_size;
	char		name[NAMEDATALEN];	/* name of the key; not terminated */
	SnoSparx	sparx;
	SnoFf1		ff1;
	EVP_CIPHER_CTX *aes;
	MemoryContextCallback wipe;
} Seal;

/* The input and output functions of type sno, which are in library sno */
static PGFunction type_in;
static PGFunction type_out;

typedef void (*Prepare) (Seal *seal, const uint8 *secret);

static void
wipe_seal(void *arg)
{
	EVP_CIPHER_CTX_free(((Seal *) arg)->aes);
	explicit_bzero(arg, sizeof(Seal));
}

static Seal *
new_seal(MemoryContext context)
{
	Seal	   *seal = MemoryContextAllocZero(context, sizeof(Seal));

	seal->wipe.func = wipe_seal;
	seal->wipe.arg = seal;
	MemoryContextRegisterResetCallback(context, &seal->wipe);
	return seal;
}

/* Return the schedule of the key that the second argument names. */
static Seal *
seal_of(FunctionCallInfo fcinfo, Prepare prepare)
{
	Seal	   *seal = fcinfo->flinfo->fn_extra;
	text	   *name = PG_GETARG_TEXT_PP(1);
	int			size = VARSIZE_ANY_EXHDR(name);
	uint64		version = sno_keys.version;
	uint8		secret[SNO_KEY_SIZE];

	if (seal == NULL)
		fcinfo->flinfo->fn_extra = seal = new_seal(fcinfo->flinfo->fn_mcxt);
	if (seal->keys_version == version && seal->name_size == size &&
		memcmp(seal->name, VARDATA_ANY(name), size) == 0)
		return seal;

	seal->keys_version = 0;
	sno_key_secret(text_to_cstring(name), secret);
	prepare(seal, secret);
	explicit_bzero(secret, sizeof(secret));
	/* There is a key of this name, so the name fits. */
	memcpy(seal->name, VARDATA_ANY(name), size);
	seal->name_size = size;
	seal->keys_version = version;
	return seal;
}

/* ---------------- sno ---------------- */

static void
check_aes(bool passed)
{
	if (!passed)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not encrypt with AES: %s",
						ERR_reason_error_string(ERR_get_error()))));
}

static void
encrypt_block(void *aes, const uint8_t *plain, uint8_t *cipher)
{
	int			size;

	check_aes(EVP_EncryptUpdate(aes, cipher, &size, plain, SNO_BLOCK_SIZE) == 1);
}

static void
prepare_ff1(Seal *seal, const uint8 *secret)
{
	if (seal->aes == NULL)
		seal->aes = EVP_CIPHER_CTX_new();
	check_aes(seal->aes != NULL &&
			  EVP_EncryptInit_ex(seal->aes, EVP_aes_128_ecb(), NULL, secret, NULL) == 1 &&
			  EVP_CIPHER_CTX_set_padding(seal->aes, 0) == 1);
	sno_ff1_start(&seal->ff1, encrypt_block, seal->aes);
}

/*
 * Return the schedule of the key for ids of type sno.  The first call loads the functions of the
 * type.
 */
static Seal *
seal_of_sno(FunctionCallInfo fcinfo)
{
	if (type_out == NULL)
	{
		type_in = (PGFunction) load_external_function(SNO_LIBRARY, "sno_in", true, NULL);
		type_out = (PGFunction) load_external_function(SNO_LIBRARY, "sno_out", true, NULL);
	}
	return seal_of(fcinfo, prepare_ff1);
}

PG_FUNCTION_INFO_V1(sno_seal);
Datum
sno_seal(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of_sno(fcinfo);
	Sno			sealed = sno_ff1_encrypt(&seal->ff1, PG_GETARG_SNO_P(0));
	Datum		result = DirectFunctionCall1(type_out, SnoPGetDatum(&sealed));

	PG_RETURN_TEXT_P(cstring_to_text(DatumGetCString(result)));
}

PG_FUNCTION_INFO_V1(sno_unseal);
Datum
sno_unseal(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of_sno(fcinfo);
	char	   *sealed = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Sno		   *id = DatumGetSnoP(DirectFunctionCall1(type_in, CStringGetDatum(sealed)));

	*id = sno_ff1_decrypt(&seal->ff1, id);
	PG_RETURN_SNO_P(id);
}

PG_FUNCTION_INFO_V1(sno_seal_uuid);
Datum
sno_seal_uuid(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of(fcinfo, prepare_ff1);
	pg_uuid_t  *sealed = palloc(sizeof(pg_uuid_t));

	sno_ff1_encrypt_uuid(&seal->ff1, PG_GETARG_SNO_P(0), sealed->data);
	PG_RETURN_UUID_P(sealed);
}

/* Returns null if the uuid was not sealed with this key. */
PG_FUNCTION_INFO_V1(sno_unseal_uuid);
Datum
sno_unseal_uuid(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of(fcinfo, prepare_ff1);
	Sno		   *id = palloc(sizeof(Sno));

	if (!sno_ff1_decrypt_uuid(&seal->ff1, PG_GETARG_UUID_P(0)->data, id))
		PG_RETURN_NULL();
	PG_RETURN_SNO_P(id);
}

/* ---------------- bigint ---------------- */

static void
prepare_sparx(Seal *seal, const uint8 *secret)
{
	sno_sparx_schedule(&seal->sparx, secret);
}

PG_FUNCTION_INFO_V1(sno_seal_bigint);
Datum
sno_seal_bigint(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of(fcinfo, prepare_sparx);

	PG_RETURN_INT64((int64) sno_sparx_encrypt(&seal->sparx, (uint64) PG_GETARG_INT64(0)));
}

PG_FUNCTION_INFO_V1(sno_unseal_bigint);
Datum
sno_unseal_bigint(PG_FUNCTION_ARGS)
{
	Seal	   *seal = seal_of(fcinfo, prepare_sparx);

	PG_RETURN_INT64((int64) sno_sparx_decrypt(&seal->sparx, (uint64) PG_GETARG_INT64(0)));
}

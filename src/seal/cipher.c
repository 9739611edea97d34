/*
 * cipher.c
 *		Ciphers with the keys of this library, for generators of library sno.
 */
#include "postgres.h"

#include "fmgr.h"

#include "core/sparx.h"
#include "catalog/cipher.h"
#include "seal/key.h"

typedef struct Sparx
{
	SnoCipher	cipher;			/* comes first, because pointers to it are cast to pointers to Sparx */
	SnoSparx	schedule;
	MemoryContextCallback wipe;
} Sparx;

extern PGDLLEXPORT const SnoCiphers *sno_seal_ciphers_1(void);

static uint64
encrypt(const SnoCipher *c, uint64 id)
{
	return sno_sparx_encrypt(&((const Sparx *) c)->schedule, id);
}

static uint64
decrypt(const SnoCipher *c, uint64 id)
{
	return sno_sparx_decrypt(&((const Sparx *) c)->schedule, id);
}

static void
wipe_sparx(void *arg)
{
	explicit_bzero(arg, sizeof(Sparx));
}

static Sparx *
new_sparx(MemoryContext context)
{
	Sparx	   *s = MemoryContextAllocZero(context, sizeof(Sparx));

	s->cipher.encrypt = encrypt;
	s->cipher.decrypt = decrypt;
	s->wipe.func = wipe_sparx;
	s->wipe.arg = s;
	MemoryContextRegisterResetCallback(context, &s->wipe);
	return s;
}

static SnoCipher *
make_sparx(const char *key, MemoryContext context, SnoCipher *former)
{
	Sparx	   *s = (Sparx *) former;
	uint64		version = sno_keys.version;
	uint8		secret[SNO_KEY_SIZE];

	if (s != NULL)
		s->cipher.version = 0;	/* invalid, in case of an error below */
	sno_key_secret(key, secret);
	if (s == NULL)
		s = new_sparx(context);
	sno_sparx_schedule(&s->schedule, secret);
	explicit_bzero(secret, sizeof(secret));
	s->cipher.version = version;
	return &s->cipher;
}

const SnoCiphers *
sno_seal_ciphers_1(void)
{
	static const SnoCiphers ciphers = {
		.version = &sno_keys.version,.hold = sno_key_hold,.make = make_sparx
	};

	return &ciphers;
}

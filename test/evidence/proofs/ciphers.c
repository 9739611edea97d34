/*
 * ciphers.c
 *		Proofs about the ciphers: who decrypts gets what was encrypted.
 *
 * options: --unwind 45
 */
#include <string.h>

/* CBMC takes 10 s for two steps of SPARX, and doesn't end for all eight. */
#include "core/sparx.h"
#undef SNO_SPARX_STEPS
#define SNO_SPARX_STEPS	2
#include "core/sparx.c"
#undef ROUNDS
#include "core/ff1.c"
#include "proof.h"

/* SPARX */

PROOF(sparx_round)
{
	uint16_t	l = (uint16_t) nondet_uint32();
	uint16_t	r = (uint16_t) nondet_uint32();
	uint16_t	x = l;
	uint16_t	y = r;

	mix(&x, &y);
	unmix(&x, &y);
	PROVE(x == l && y == r);
	unmix(&x, &y);
	mix(&x, &y);
	PROVE(x == l && y == r);
	MAY_BE(l == UINT16_MAX);
}

/* The subkeys may be any, more than keys make. */
PROOF(sparx_steps)
{
	SnoSparx	s;
	uint64_t	block = nondet_uint64();

	PROVE(sno_sparx_decrypt(&s, sno_sparx_encrypt(&s, block)) == block);
	MAY_BE(true);
}

PROOF(sparx_schedule)
{
	SnoSparx	s;
	uint8_t		key[SNO_SPARX_KEY_SIZE];

	sno_sparx_schedule(&s, key);
	PROVE(s.subkey[0][0] == (uint16_t) (key[0] << 8 | key[1]));
	MAY_BE(true);
}

/* FF1 */

static struct {
	uint8_t q[SNO_BLOCK_SIZE], r[SNO_BLOCK_SIZE];
}			asked[ROUNDS];
static int	count;
static bool decrypting;

/*
 * Any block cipher.  When an id is encrypted, this notes the questions, and gives any answers.
 * It proves that the same questions come when the id is decrypted, the last one first.
 */
static void
any_cipher(void *key, const uint8_t *plain, uint8_t *cipher)
{
	(void) key;
	if (decrypting)
	{
		count--;
		for (int i = 0; i < SNO_BLOCK_SIZE; i++)
		{
			PROVE(plain[i] == asked[count].q[i]);
			ASSUME(plain[i] == asked[count].q[i]);
			cipher[i] = asked[count].r[i];
		}
		return;
	}
	for (int i = 0; i < SNO_BLOCK_SIZE; i++)
	{
		asked[count].q[i] = plain[i];
		asked[count].r[i] = cipher[i] = nondet_uint8();
	}
	count++;
}

static SnoFf1
any_ff1(void)
{
	SnoFf1		f;

	f.encrypt = any_cipher;
	f.key = NULL;
	return f;
}

static Sno
any_sno(void)
{
	Sno			id;

	return id;
}

static bool
equal(const Sno *a, const Sno *b)
{
	return memcmp(a, b, SNO_SIZE) == 0;
}

PROOF(ff1_text)
{
	SnoFf1		f = any_ff1();
	Sno			id = any_sno();
	Sno			sealed = sno_ff1_encrypt(&f, &id);
	Sno			back;

	decrypting = true;
	back = sno_ff1_decrypt(&f, &sealed);
	PROVE(equal(&back, &id) && count == 0);
	MAY_BE(true);
}

PROOF(ff1_uuid)
{
	SnoFf1		f = any_ff1();
	Sno			id = any_sno();
	Sno			back;
	uint8_t		uuid[SNO_UUID_SIZE];

	sno_ff1_encrypt_uuid(&f, &id, uuid);
	PROVE(uuid[6] >> 4 == 4 && uuid[8] >> 6 == 2);
	decrypting = true;
	PROVE(sno_ff1_decrypt_uuid(&f, uuid, &back));
	PROVE(equal(&back, &id) && count == 0);
	MAY_BE(true);
}

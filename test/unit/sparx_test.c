/*
 * sparx_test.c
 *		SPARX-64/128: the example of its authors, the ids of Randflake, and that
 *		decryption undoes encryption.  Prints TAP.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sparx.h"
#include "random.h"
#include "tap.h"

#define VECTORS		"test/vectors/randflake.tsv"
#define ROUNDS		1000000		/* of random blocks */

static bool
works(const char *secret, uint64_t plain, uint64_t cipher)
{
	uint8_t		key[SNO_SPARX_KEY_SIZE];
	SnoSparx	s;

	if (strlen(secret) != 2 * SNO_SPARX_KEY_SIZE)
		return false;
	for (int i = 0; i < SNO_SPARX_KEY_SIZE; i++)
		if (sscanf(secret + 2 * i, "%2" SCNx8, &key[i]) != 1)
			return false;
	sno_sparx_schedule(&s, key);
	return sno_sparx_encrypt(&s, plain) == cipher && sno_sparx_decrypt(&s, cipher) == plain;
}

/* A line has the secret, the raw and the encrypted id, and columns of no interest here. */
static void
test_vectors(void)
{
	FILE	   *file = fopen(VECTORS, "r");
	char		secret[33];
	int64_t		raw;
	int64_t		encrypted;
	int			count = 0;
	int			good = 0;

	while (file != NULL &&
		   fscanf(file, "%32s %" SCNd64 " %" SCNd64 "%*[^\n]", secret, &raw, &encrypted) == 3)
	{
		count++;
		good += works(secret, (uint64_t) raw, (uint64_t) encrypted);
	}
	if (file != NULL)
		fclose(file);
	report(count == 8 && good == count, "the ids of " VECTORS ", both ways");
}

static void
test_inverse(void)
{
	SnoSparx	s;
	bool		random = true;
	bool		extreme = true;

	for (int n = 0; n < ROUNDS; n++)
	{
		uint64_t	key[2] = {next_random(), next_random()};
		uint64_t	block = next_random();

		if (n % 100 == 0)
			sno_sparx_schedule(&s, (uint8_t *) key);
		random = random && sno_sparx_decrypt(&s, sno_sparx_encrypt(&s, block)) == block &&
			sno_sparx_encrypt(&s, sno_sparx_decrypt(&s, block)) == block;
	}
	report(random, "random blocks, both ways");

	for (int bit = 0; bit <= 64; bit++)
	{
		uint64_t	block = bit == 64 ? 0 : UINT64_C(1) << bit;

		extreme = extreme && sno_sparx_decrypt(&s, sno_sparx_encrypt(&s, block)) == block &&
			sno_sparx_decrypt(&s, sno_sparx_encrypt(&s, ~block)) == ~block;
	}
	report(extreme, "blocks of one bit, and of all but one");
}

int
main(void)
{
	/* 0123456789abcdef and 2bbef15201f55f98, the first byte being the lowest */
	report(works("00112233445566778899aabbccddeeff",
				 UINT64_C(0xefcdab8967452301), UINT64_C(0x985ff50152f1be2b)),
		   "the example of the authors");
	test_vectors();
	test_inverse();
	return plan();
}

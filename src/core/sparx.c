/*
 * sparx.c
 *		The block cipher SPARX-64/128.
 *
 * A block is four words of 16 bits, in two branches of two words.  A step has three
 * rounds on each branch, a linear layer that mixes the left branch into the right one,
 * and a swap of the branches.  Words are big-endian in keys and blocks.
 */
#include "core/sparx.h"

#define ROUNDS	3				/* rounds of a branch in a step */

static uint16_t
rotl(uint16_t x, int n)
{
	return (uint16_t) (x << n | x >> (16 - n));
}

/* Perform the part of a round that needs no key: SPECKEY, the round of Speck-32. */
static void
mix(uint16_t *l, uint16_t *r)
{
	*l = (uint16_t) (rotl(*l, 9) + *r);
	*r = rotl(*r, 2) ^ *l;
}

static void
unmix(uint16_t *l, uint16_t *r)
{
	*r = rotl(*r ^ *l, 14);
	*l = rotl((uint16_t) (*l - *r), 7);
}

/* Mix the left branch into the right one.  The function is its own inverse. */
static void
mix_branches(uint16_t x[4])
{
	uint16_t	t = rotl(x[0] ^ x[1], 8);

	x[2] ^= x[0] ^ t;
	x[3] ^= x[1] ^ t;
}

static void
swap_branches(uint16_t x[4])
{
	for (int i = 0; i < 2; i++)
	{
		uint16_t	left = x[i];

		x[i] = x[i + 2];
		x[i + 2] = left;
	}
}

void
sno_sparx_schedule(SnoSparx *s, const uint8_t key[SNO_SPARX_KEY_SIZE])
{
	uint16_t	k[8];

	for (int i = 0; i < 8; i++)
		k[i] = (uint16_t) (key[2 * i] << 8 | key[2 * i + 1]);
	for (int c = 0; c <= 2 * SNO_SPARX_STEPS; c++)
	{
		uint16_t	last[2];

		for (int i = 0; i < 6; i++)
			s->subkey[c][i] = k[i];
		mix(&k[0], &k[1]);
		k[2] += k[0];
		k[3] += k[1];
		k[7] += c + 1;

		/* Rotate the words, so that the last two come first. */
		last[0] = k[6];
		last[1] = k[7];
		for (int i = 7; i >= 2; i--)
			k[i] = k[i - 2];
		k[0] = last[0];
		k[1] = last[1];
	}
}

/* Split a block into four words.  The lowest byte of the number is the first byte of the block. */
static void
split(uint64_t block, uint16_t x[4])
{
	for (int i = 0; i < 4; i++)
		x[i] = rotl((uint16_t) (block >> 16 * i), 8);
}

static uint64_t
join(const uint16_t x[4])
{
	uint64_t	block = 0;

	for (int i = 0; i < 4; i++)
		block |= (uint64_t) rotl(x[i], 8) << 16 * i;
	return block;
}

static void
add_last_subkey(const SnoSparx *s, uint16_t x[4])
{
	for (int i = 0; i < 4; i++)
		x[i] ^= s->subkey[2 * SNO_SPARX_STEPS][i];
}

uint64_t
sno_sparx_encrypt(const SnoSparx *s, uint64_t block)
{
	uint16_t	x[4];

	split(block, x);
	for (int step = 0; step < SNO_SPARX_STEPS; step++)
	{
		for (int b = 0; b < 2; b++)
		{
			const uint16_t *k = s->subkey[2 * step + b];

			for (int r = 0; r < ROUNDS; r++)
			{
				x[2 * b] ^= k[2 * r];
				x[2 * b + 1] ^= k[2 * r + 1];
				mix(&x[2 * b], &x[2 * b + 1]);
			}
		}
		mix_branches(x);
		swap_branches(x);
	}
	add_last_subkey(s, x);
	return join(x);
}

uint64_t
sno_sparx_decrypt(const SnoSparx *s, uint64_t block)
{
	uint16_t	x[4];

	split(block, x);
	add_last_subkey(s, x);
	for (int step = SNO_SPARX_STEPS - 1; step >= 0; step--)
	{
		swap_branches(x);
		mix_branches(x);
		for (int b = 0; b < 2; b++)
		{
			const uint16_t *k = s->subkey[2 * step + b];

			for (int r = ROUNDS - 1; r >= 0; r--)
			{
				unmix(&x[2 * b], &x[2 * b + 1]);
				x[2 * b] ^= k[2 * r];
				x[2 * b + 1] ^= k[2 * r + 1];
			}
		}
	}
	return join(x);
}

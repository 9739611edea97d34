/*
 * ff1.c
 *		Format-preserving encryption of ids: FF1 of NIST SP 800-38G.
 *
 * The names are those of the standard's algorithms 7 and 8.  The radix is a power of two,
 * so a half of the text, 8 numerals, is simply a number of 40 bits, and so is a half of
 * the id.
 */
#include "core/ff1.h"

#define ROUNDS		10
#define HALF_SIZE	(SNO_SIZE / 2)
#define HALF_MASK	((UINT64_C(1) << 40) - 1)

/* The numbers that FF1 computes with are big-endian. */
static uint64_t
load(const uint8_t *bytes)
{
	uint64_t	half = 0;

	for (int i = 0; i < HALF_SIZE; i++)
		half = half << 8 | bytes[i];
	return half;
}

static void
store(uint8_t *bytes, uint64_t half)
{
	for (int i = HALF_SIZE - 1; i >= 0; i--, half >>= 8)
		bytes[i] = (uint8_t) half;
}

/* Steps 1 to 5: what the rounds of all ids have in common. */
void
sno_ff1_start(SnoFf1 *f, SnoBlockCipher encrypt, void *key)
{
	static const uint8_t p[SNO_BLOCK_SIZE] = {
		1, 2, 1,
		0, 0, 32,				/* radix */
		ROUNDS,
		8,						/* numerals of the left half */
		0, 0, 0, SNO_TEXT_SIZE, /* numerals */
		0, 0, 0, 0				/* bytes of the tweak */
	};

	f->encrypt = encrypt;
	f->key = key;
	encrypt(key, p, f->start);
}

/*
 * Steps 6 i to iv: y of a round.  Q is ten zero bytes, the round and the half, and R the
 * cipher of Q and P in CBC mode.  S is the first 12 bytes of R, of which the last five
 * are all that counts modulo 2^40.
 */
static uint64_t
round_value(const SnoFf1 *f, int i, uint64_t half)
{
	uint8_t		q[SNO_BLOCK_SIZE] = {0};
	uint8_t		r[SNO_BLOCK_SIZE];

	q[10] = (uint8_t) i;
	store(q + 11, half);
	for (int n = 0; n < SNO_BLOCK_SIZE; n++)
		q[n] ^= f->start[n];
	f->encrypt(f->key, q, r);
	return load(r + 7);
}

Sno
sno_ff1_encrypt(const SnoFf1 *f, const Sno *id)
{
	uint64_t	a = load(id->byte);
	uint64_t	b = load(id->byte + HALF_SIZE);
	Sno			result;

	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	c = (a + round_value(f, i, b)) & HALF_MASK;

		a = b;
		b = c;
	}
	store(result.byte, a);
	store(result.byte + HALF_SIZE, b);
	return result;
}

Sno
sno_ff1_decrypt(const SnoFf1 *f, const Sno *id)
{
	uint64_t	a = load(id->byte);
	uint64_t	b = load(id->byte + HALF_SIZE);
	Sno			result;

	for (int i = ROUNDS - 1; i >= 0; i--)
	{
		uint64_t	c = (b - round_value(f, i, a)) & HALF_MASK;

		b = a;
		a = c;
	}
	store(result.byte, a);
	store(result.byte + HALF_SIZE, b);
	return result;
}

/*
 * ff1.c
 *		Format-preserving encryption of ids: FF1 of NIST SP 800-38G.
 *
 * Names and steps are those of the standard's algorithms 7 and 8.  The radix is a power of
 * two.  So each half of the input, read as a number, consists of the bits of its numerals, one
 * numeral after another.
 */
#include "core/ff1.h"

#define ROUNDS		10
#define ZEROS		42			/* zero bits that are encrypted together with an id */

typedef struct Halves
{
	uint64_t	a;
	uint64_t	b;
} Halves;

/* The constants of a form */
static const struct Form
{
	int			bits;			/* of a half */
	int			bytes;			/* b: the bytes of a half */
	uint8_t		p[SNO_BLOCK_SIZE];
}			forms[SNO_FF1_FORMS] =
{
	/* radix 32, 16 numerals, of which 8 are the left half */
	[SNO_FF1_TEXT] = {40, 5, {1, 2, 1, 0, 0, 32, ROUNDS, 8, 0, 0, 0, SNO_TEXT_SIZE}},
	/* radix 2, 122 numerals, of which 61 are the left half */
	[SNO_FF1_UUID] = {61, 8, {1, 2, 1, 0, 0, 2, ROUNDS, 61, 0, 0, 0, 122}}
};

/* Numbers in FF1 are big-endian. */
static uint64_t
load(const uint8_t *bytes, int size)
{
	uint64_t	number = 0;

	for (int i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

static void
store(uint8_t *bytes, int size, uint64_t number)
{
	for (int i = size - 1; i >= 0; i--, number >>= 8)
		bytes[i] = (uint8_t) number;
}

/* Perform steps 1 to 5 of the algorithm, which don't depend on the id. */
void
sno_ff1_start(SnoFf1 *f, SnoBlockCipher encrypt, void *key)
{
	f->encrypt = encrypt;
	f->key = key;
	for (int form = 0; form < SNO_FF1_FORMS; form++)
		encrypt(key, forms[form].p, f->start[form]);
}

/*
 * Perform steps 6 i to vi of round `i`, except for the addition.  Returns the number that the
 * round adds to one half; `half` is the other half.  Q consists of zero bytes, `i` and
 * `half`.  R is the last block of the encryption of P and Q in CBC mode.  S is the first 12
 * bytes of R.  Only the last eight bytes of S matter, because a half has at most 61 bits.
 */
static uint64_t
round_value(const SnoFf1 *f, SnoFf1Form form, int i, uint64_t half)
{
	int			bytes = forms[form].bytes;
	uint8_t		q[SNO_BLOCK_SIZE] = {0};
	uint8_t		r[SNO_BLOCK_SIZE];

	q[SNO_BLOCK_SIZE - 1 - bytes] = (uint8_t) i;
	store(q + SNO_BLOCK_SIZE - bytes, bytes, half);
	for (int n = 0; n < SNO_BLOCK_SIZE; n++)
		q[n] ^= f->start[form][n];
	f->encrypt(f->key, q, r);
	return load(r + 4, 8);
}

static uint64_t
mask(SnoFf1Form form)
{
	return (UINT64_C(1) << forms[form].bits) - 1;
}

static Halves
encrypt_halves(const SnoFf1 *f, SnoFf1Form form, Halves x)
{
	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	c = (x.a + round_value(f, form, i, x.b)) & mask(form);

		x.a = x.b;
		x.b = c;
	}
	return x;
}

static Halves
decrypt_halves(const SnoFf1 *f, SnoFf1Form form, Halves x)
{
	for (int i = ROUNDS - 1; i >= 0; i--)
	{
		uint64_t	c = (x.b - round_value(f, form, i, x.a)) & mask(form);

		x.b = x.a;
		x.a = c;
	}
	return x;
}

/* ---------------- texts ---------------- */

static Halves
halves_of_id(const Sno *id)
{
	return (Halves) {load(id->byte, SNO_SIZE / 2), load(id->byte + SNO_SIZE / 2, SNO_SIZE / 2)};
}

static Sno
id_of_halves(Halves x)
{
	Sno			id;

	store(id.byte, SNO_SIZE / 2, x.a);
	store(id.byte + SNO_SIZE / 2, SNO_SIZE / 2, x.b);
	return id;
}

Sno
sno_ff1_encrypt(const SnoFf1 *f, const Sno *id)
{
	return id_of_halves(encrypt_halves(f, SNO_FF1_TEXT, halves_of_id(id)));
}

Sno
sno_ff1_decrypt(const SnoFf1 *f, const Sno *sealed)
{
	return id_of_halves(decrypt_halves(f, SNO_FF1_TEXT, halves_of_id(sealed)));
}

/* ---------------- uuids ---------------- */

void
sno_ff1_encrypt_uuid(const SnoFf1 *f, const Sno *id, uint8_t *uuid)
{
	uint64_t	high = load(id->byte, 8);
	uint64_t	low = load(id->byte + 8, 2);
	Halves		x = encrypt_halves(f, SNO_FF1_UUID, (Halves) {high >> 3, ((high & 7) << 16 | low) << ZEROS});

	/* A uuid consists of 48 free bits, the version, 12 free bits, the variant and 62 free bits. */
	store(uuid, 6, x.a >> 13);
	store(uuid + 6, 2, 4 << 12 | (x.a >> 1 & 0xfff));
	store(uuid + 8, 8, UINT64_C(2) << 62 | (x.a & 1) << 61 | x.b);
}

/*
 * Get the id that is sealed in a uuid.  Returns false if the uuid wasn't sealed with this
 * key.  However, for one in 2^42 of these uuids, it returns true by chance.
 */
bool
sno_ff1_decrypt_uuid(const SnoFf1 *f, const uint8_t *uuid, Sno *id)
{
	uint64_t	middle = load(uuid + 6, 2);
	uint64_t	last = load(uuid + 8, 8);
	Halves		x;

	if (middle >> 12 != 4 || last >> 62 != 2)
		return false;
	x.a = load(uuid, 6) << 13 | (middle & 0xfff) << 1 | (last >> 61 & 1);
	x.b = last & mask(SNO_FF1_UUID);
	x = decrypt_halves(f, SNO_FF1_UUID, x);
	store(id->byte, 8, x.a << 3 | x.b >> (ZEROS + 16));
	store(id->byte + 8, 2, x.b >> ZEROS);
	return (x.b & ((UINT64_C(1) << ZEROS) - 1)) == 0;
}

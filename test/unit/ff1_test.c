/*
 * ff1_test.c
 *		FF1 of ids, held against a general FF1 that follows NIST SP 800-38G word by
 *		word, with the AES of libcrypto.  NIST's samples hold for that one.  Prints
 *		TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "core/ff1.h"
#include "random.h"
#include "simd/codec.h"
#include "tap.h"

#define ROUNDS		100000		/* of random ids */
#define NUMERALS	128			/* of a text, at most */

#define VECTORS		"test/vectors/sealed.tsv"
#define KEY_128		"2b7e151628aed2a6abf7158809cf4f3c"
#define KEY_192		KEY_128 "ef4359d8d580aa4f"
#define KEY_256		KEY_192 "7f036d6f04fc6a94"

static const char ids_alphabet[] = "23456789abcdefghijklmnopqrstuvwx";
static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyz";

static void
check(bool passed, const char *what)
{
	if (passed)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

/* ---------------- AES ---------------- */

/* The bytes that the text has in hexadecimal; returns how many. */
static int
bytes_of(const char *hex, uint8_t *bytes)
{
	int			size = (int) strlen(hex) / 2;

	for (int i = 0; i < size; i++)
		check(sscanf(hex + 2 * i, "%2hhx", &bytes[i]) == 1, "reading hexadecimal");
	return size;
}

static EVP_CIPHER_CTX *
aes_with(const char *hex)
{
	EVP_CIPHER_CTX *aes = EVP_CIPHER_CTX_new();
	uint8_t		key[32];
	int			size = bytes_of(hex, key);

	check(aes != NULL &&
		  EVP_EncryptInit_ex(aes, size == 16 ? EVP_aes_128_ecb() : size == 24 ?
							 EVP_aes_192_ecb() : EVP_aes_256_ecb(), NULL, key, NULL) == 1 &&
		  EVP_CIPHER_CTX_set_padding(aes, 0) == 1, "preparing AES");
	return aes;
}

static void
encrypt_block(void *aes, const uint8_t *plain, uint8_t *cipher)
{
	int			size;

	check(EVP_EncryptUpdate(aes, cipher, &size, plain, SNO_BLOCK_SIZE) == 1 &&
		  size == SNO_BLOCK_SIZE, "AES");
}

/* ---------------- FF1 as the standard has it ---------------- */

typedef unsigned __int128 Number;	/* enough for radix^v of all texts here */

/* Algorithm 1 */
static Number
num_radix(const int *x, int length, int radix)
{
	Number		number = 0;

	for (int i = 0; i < length; i++)
		number = number * radix + x[i];
	return number;
}

/* Algorithm 3 */
static void
str_radix(Number number, int *x, int length, int radix)
{
	for (int i = length - 1; i >= 0; i--, number /= radix)
		x[i] = (int) (number % radix);
}

static Number
power(int radix, int exponent)
{
	Number		result = 1;

	while (exponent-- > 0)
		result *= radix;
	return result;
}

/* Algorithm 6, in place: the last block of `size` bytes, a multiple of 16. */
static void
prf(EVP_CIPHER_CTX *aes, const uint8_t *x, int size, uint8_t *y)
{
	memset(y, 0, 16);
	for (int block = 0; block < size; block += 16)
	{
		uint8_t		sum[16];

		for (int i = 0; i < 16; i++)
			sum[i] = y[i] ^ x[block + i];
		encrypt_block(aes, sum, y);
	}
}

/* The y of step 6 in round i, for the half B of m numerals, v in the right one. */
static Number
standard_y(EVP_CIPHER_CTX *aes, int radix, int n, const uint8_t *tweak, int t,
		   int i, const int *half, int half_length, int m)
{
	int			u = n / 2;
	int			v = n - u;
	int			bits = 0;
	int			b;
	int			d;
	int			zeros;
	uint8_t		pq[16 + 256] = {1, 2, 1, 0, 0, 0, 10};
	uint8_t    *q = pq + 16;
	uint8_t		r[16];
	uint8_t		s[64];
	Number		number = num_radix(half, half_length, radix);
	Number		y = 0;

	/* v * LOG(radix), rounded up: the bits of the greatest number of v numerals */
	for (Number rest = power(radix, v) - 1; rest > 0; rest >>= 1)
		bits++;
	b = (bits + 7) / 8;
	d = 4 * ((b + 3) / 4) + 4;

	pq[4] = (uint8_t) (radix >> 8);
	pq[5] = (uint8_t) radix;
	pq[7] = (uint8_t) u;
	pq[11] = (uint8_t) n;
	pq[15] = (uint8_t) t;
	zeros = ((-t - b - 1) % 16 + 16) % 16;
	if (t > 0)
		memcpy(q, tweak, t);
	q[t + zeros] = (uint8_t) i;
	for (int k = b - 1; k >= 0; k--, number >>= 8)
		q[t + zeros + 1 + k] = (uint8_t) number;
	prf(aes, pq, 16 + t + zeros + 1 + b, r);

	/* S: R, and as many blocks after it as are needed */
	memcpy(s, r, 16);
	for (int j = 1; 16 * j < d; j++)
	{
		uint8_t		block[16];

		memcpy(block, r, 16);
		block[15] ^= (uint8_t) j;
		encrypt_block(aes, block, s + 16 * j);
	}
	for (int k = 0; k < d; k++)
		y = (y << 8 | s[k]) % power(radix, m);
	return y;
}

/* Algorithms 7 and 8, in place */
static void
standard_ff1(bool encrypt, EVP_CIPHER_CTX *aes, int radix, int *x, int n,
			 const uint8_t *tweak, int t)
{
	int			u = n / 2;
	int			v = n - u;
	int			a[NUMERALS];
	int			b[NUMERALS];
	int			a_length = u;
	int			b_length = v;

	memcpy(a, x, u * sizeof(int));
	memcpy(b, x + u, v * sizeof(int));
	for (int round = 0; round < 10; round++)
	{
		int			i = encrypt ? round : 9 - round;
		int			m = i % 2 == 0 ? u : v;
		int			c[NUMERALS];

		if (encrypt)
		{
			Number		y = standard_y(aes, radix, n, tweak, t, i, b, b_length, m);

			str_radix((num_radix(a, a_length, radix) + y) % power(radix, m), c, m, radix);
			memcpy(a, b, sizeof(a));
			a_length = b_length;
			memcpy(b, c, sizeof(b));
			b_length = m;
		}
		else
		{
			Number		y = standard_y(aes, radix, n, tweak, t, i, a, a_length, m);

			str_radix((num_radix(b, b_length, radix) + power(radix, m) - y) % power(radix, m),
					  c, m, radix);
			memcpy(b, a, sizeof(b));
			b_length = a_length;
			memcpy(a, c, sizeof(a));
			a_length = m;
		}
	}
	memcpy(x, a, a_length * sizeof(int));
	memcpy(x + a_length, b, b_length * sizeof(int));
}

/* The same on texts of an alphabet whose size is the radix */
static void
standard_text(bool encrypt, EVP_CIPHER_CTX *aes, const char *digits, int radix, const char *tweak,
			  const char *text, char *result)
{
	int			n = (int) strlen(text);
	int			x[NUMERALS];
	uint8_t		tweak_bytes[64];
	int			t = bytes_of(tweak, tweak_bytes);

	for (int i = 0; i < n; i++)
		x[i] = (int) (strchr(digits, text[i]) - digits);
	standard_ff1(encrypt, aes, radix, x, n, tweak_bytes, t);
	for (int i = 0; i < n; i++)
		result[i] = digits[x[i]];
	result[n] = '\0';
}

/* ---------------- tests ---------------- */

/* https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/FF1samples.pdf */
static const struct Sample
{
	const char *key;
	int			radix;
	const char *tweak;
	const char *plain;
	const char *cipher;
}			samples[] =
{
	{KEY_128, 10, "", "0123456789", "2433477484"},
	{KEY_128, 10, "39383736353433323130", "0123456789", "6124200773"},
	{KEY_128, 36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
	{KEY_192, 10, "", "0123456789", "2830668132"},
	{KEY_192, 10, "39383736353433323130", "0123456789", "2496655549"},
	{KEY_192, 36, "3737373770717273373737", "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
	{KEY_256, 10, "", "0123456789", "6657667009"},
	{KEY_256, 10, "39383736353433323130", "0123456789", "1001623463"},
	{KEY_256, 36, "3737373770717273373737", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"}
};

static void
test_samples(void)
{
	for (int i = 0; i < (int) (sizeof(samples) / sizeof(samples[0])); i++)
	{
		const struct Sample *s = &samples[i];
		EVP_CIPHER_CTX *aes = aes_with(s->key);
		char		cipher[NUMERALS];
		char		plain[NUMERALS];
		char		what[100];

		standard_text(true, aes, alphabet, s->radix, s->tweak, s->plain, cipher);
		standard_text(false, aes, alphabet, s->radix, s->tweak, s->cipher, plain);
		snprintf(what, sizeof(what), "sample %d of NIST, both ways", i + 1);
		report(strcmp(cipher, s->cipher) == 0 && strcmp(plain, s->plain) == 0, what);
		EVP_CIPHER_CTX_free(aes);
	}
}

static Sno
id_of(const char *text)
{
	Sno			id;

	check(sno_decode(text, &id) == SNO_TEXT_SIZE, "decoding an id");
	return id;
}

/* Does the bit of a uuid tell its version or variant? */
static bool
is_fixed(int bit)
{
	return (bit >= 48 && bit < 52) || bit == 64 || bit == 65;
}

/* The bits that version 4 leaves free, as numerals of radix 2, and the other way round */
static void
numerals_of_uuid(const uint8_t *uuid, int *x)
{
	for (int bit = 0; bit < 128; bit++)
		if (!is_fixed(bit))
			*x++ = uuid[bit / 8] >> (7 - bit % 8) & 1;
}

static void
uuid_of_numerals(const int *x, uint8_t *uuid)
{
	memset(uuid, 0, SNO_UUID_SIZE);
	uuid[6] = 0x40;
	uuid[8] = 0x80;
	for (int bit = 0; bit < 128; bit++)
		if (!is_fixed(bit))
			uuid[bit / 8] |= (uint8_t) (*x++ << (7 - bit % 8));
}

/* The id's bits, and zeros */
static void
numerals_of_id(const Sno *id, int *x)
{
	for (int bit = 0; bit < 122; bit++)
		x[bit] = bit < 80 ? id->byte[bit / 8] >> (7 - bit % 8) & 1 : 0;
}

static void
read_uuid(const char *text, uint8_t *uuid)
{
	char		hex[2 * SNO_UUID_SIZE + 1];
	int			length = 0;

	for (; *text != '\0'; text++)
		if (*text != '-' && length < 2 * SNO_UUID_SIZE)
			hex[length++] = *text;
	hex[length] = '\0';
	check(bytes_of(hex, uuid) == SNO_UUID_SIZE, "reading a uuid");
}

static void
test_vectors(void)
{
	FILE	   *file = fopen(VECTORS, "r");
	char		line[256];
	int			cases = 0;
	bool		texts = true;
	bool		uuids = true;

	check(file != NULL, "opening " VECTORS);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		char		secret[33];
		char		text[17];
		char		sealed_text[17];
		char		sealed_uuid[37];
		EVP_CIPHER_CTX *aes;
		SnoFf1		f;
		Sno			id;
		Sno			sealed;
		Sno			there;
		Sno			back;
		uint8_t		uuid[SNO_UUID_SIZE];
		uint8_t		expected[SNO_UUID_SIZE];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		check(sscanf(line, "%32s %16s %16s %36s", secret, text, sealed_text, sealed_uuid) == 4,
			  "reading a vector");
		aes = aes_with(secret);
		sno_ff1_start(&f, encrypt_block, aes);
		id = id_of(text);
		sealed = id_of(sealed_text);
		there = sno_ff1_encrypt(&f, &id);
		back = sno_ff1_decrypt(&f, &sealed);
		texts = texts && sno_compare(&there, &sealed) == 0 && sno_compare(&back, &id) == 0;
		read_uuid(sealed_uuid, expected);
		sno_ff1_encrypt_uuid(&f, &id, uuid);
		uuids = uuids && memcmp(uuid, expected, SNO_UUID_SIZE) == 0 &&
			sno_ff1_decrypt_uuid(&f, expected, &back) && sno_compare(&back, &id) == 0;
		EVP_CIPHER_CTX_free(aes);
		cases++;
	}
	fclose(file);
	report(cases > 0 && texts, "texts of " VECTORS ", both ways");
	report(cases > 0 && uuids, "uuids of " VECTORS ", both ways");
}

/* Both do the same with an id, in both directions. */
static bool
agrees(const SnoFf1 *f, const Sno *id)
{
	char		text[SNO_TEXT_SIZE + 1] = "";
	char		expected[NUMERALS];
	char		result[SNO_TEXT_SIZE + 1] = "";
	Sno			there = sno_ff1_encrypt(f, id);
	Sno			back = sno_ff1_decrypt(f, id);
	bool		ok;

	sno_encode(id, text);
	sno_encode(&there, result);
	standard_text(true, f->key, ids_alphabet, 32, "", text, expected);
	ok = strcmp(result, expected) == 0;
	sno_encode(&back, result);
	standard_text(false, f->key, ids_alphabet, 32, "", text, expected);
	ok = ok && strcmp(result, expected) == 0;

	there = sno_ff1_decrypt(f, &there);
	return ok && sno_compare(&there, id) == 0;
}

/* The same with uuids.  A uuid with another bit isn't a sealed one. */
static bool
agrees_as_uuid(const SnoFf1 *f, const Sno *id)
{
	int			plain[NUMERALS];
	int			x[NUMERALS];
	uint8_t		uuid[SNO_UUID_SIZE];
	uint8_t		expected[SNO_UUID_SIZE];
	int			bit = (int) (next_random() % 128);
	Sno			back;

	numerals_of_id(id, plain);
	memcpy(x, plain, sizeof(x));
	standard_ff1(true, f->key, 2, x, 122, NULL, 0);
	uuid_of_numerals(x, expected);
	sno_ff1_encrypt_uuid(f, id, uuid);
	if (memcmp(uuid, expected, SNO_UUID_SIZE) != 0)
		return false;

	numerals_of_uuid(uuid, x);
	standard_ff1(false, f->key, 2, x, 122, NULL, 0);
	if (memcmp(x, plain, 122 * sizeof(int)) != 0 ||
		!sno_ff1_decrypt_uuid(f, uuid, &back) || sno_compare(&back, id) != 0)
		return false;
	uuid[bit / 8] ^= (uint8_t) (0x80 >> bit % 8);
	return !sno_ff1_decrypt_uuid(f, uuid, &back);
}

static void
test_agreement(void)
{
	EVP_CIPHER_CTX *aes = NULL;
	SnoFf1		f;
	Sno			id;
	bool		random = true;
	bool		uuids = true;
	bool		extreme = true;

	for (int n = 0; n < ROUNDS; n++)
	{
		uint64_t	bits[2] = {next_random(), next_random()};

		if (n % 1000 == 0)
		{
			char		key[33];

			EVP_CIPHER_CTX_free(aes);
			snprintf(key, sizeof(key), "%016llx%016llx",
					 (unsigned long long) next_random(), (unsigned long long) next_random());
			aes = aes_with(key);
			sno_ff1_start(&f, encrypt_block, aes);
		}
		memcpy(id.byte, bits, SNO_SIZE);
		random = random && agrees(&f, &id);
		if (n % 100 == 0)
			uuids = uuids && agrees_as_uuid(&f, &id);
	}
	report(random, "random ids, both ways");
	report(uuids, "random ids as uuids, both ways, and uuids with a wrong bit");

	for (int bit = 0; bit <= 80; bit++)
		for (int fill = 0; fill <= 0xff; fill += 0xff)
		{
			memset(id.byte, fill, SNO_SIZE);
			if (bit < 80)
				id.byte[bit / 8] ^= (uint8_t) (1 << bit % 8);
			extreme = extreme && agrees(&f, &id) && agrees_as_uuid(&f, &id);
		}
	report(extreme, "ids of one bit, of all but one, none and all");
	EVP_CIPHER_CTX_free(aes);
}

int
main(void)
{
	test_samples();
	test_vectors();
	test_agreement();
	return plan();
}

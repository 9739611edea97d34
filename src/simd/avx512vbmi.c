/*
 * avx512vbmi.c
 *		The codec for x86-64 with the byte permutations of AVX-512 (VBMI): an
 *		id, or four, in a register.
 *
 * What takes other processors several steps is one instruction here: to move
 * any byte of a register anywhere, to copy any eight adjacent bits of 64 into
 * each byte of these, and to look bytes up in a table of 32, 64 or 128.
 *
 * An id is two halves of five bytes, each of them eight characters, A to H:
 *
 *		byte	   0        1        2        3        4
 *				AAAAABBB BBCCCCCD DDDDEEEE EFFFFFGG GGGHHHHH
 *
 * Each half is given a lane of 64 bits.  The lowest byte of a lane comes first
 * in memory, so the half's bytes are turned round, which makes one number:
 *
 *	bit		63                      39                                     0
 *			........................AAAAABBBBBCCCCCDDDDDEEEEEFFFFFGGGGGHHHHH
 *
 * Lists are of the bytes of a lane or register, from the lowest on.
 */
#include "simd/kernel.h"

#ifdef SNO_X86

#include <immintrin.h>

#define TARGET	__attribute__((target("avx512bw,avx512vl,avx512vbmi")))

#define AT_ONCE	4				/* ids in a register of eight lanes */

/* Where the bytes of lane n come from: half n, and for the rest anywhere. */
#define LANE(n) \
	5 * (n) + 4, 5 * (n) + 3, 5 * (n) + 2, 5 * (n) + 1, 5 * (n), 0, 0, 0
static const uint8_t to_lanes[64] = {
	LANE(0), LANE(1), LANE(2), LANE(3), LANE(4), LANE(5), LANE(6), LANE(7)
};

/* Where the bytes of half n come from: lane n. */
#define HALF(n) \
	8 * (n) + 4, 8 * (n) + 3, 8 * (n) + 2, 8 * (n) + 1, 8 * (n)
static const uint8_t to_halves[64] = {
	HALF(0), HALF(1), HALF(2), HALF(3), HALF(4), HALF(5), HALF(6), HALF(7)
};

/*
 * The lowest of the eight bits that go into each byte: those of A start at bit
 * 35, those of B at bit 30, and so on.  Above the character's five there are
 * three of a neighbour.
 */
#define CHARACTER_BITS \
	(INT64_C(35) | INT64_C(30) << 8 | INT64_C(25) << 16 | \
	 INT64_C(20) << 24 | INT64_C(15) << 32 | INT64_C(10) << 40 | \
	 INT64_C(5) << 48)

/*
 * A table of 32 is indexed by the low five bits of a byte, which are just the
 * character's, but one of 64 by six: it holds everything twice.
 */
#define ALPHABET	"23456789abcdefghijklmnopqrstuvwx"
static const char alphabet_twice[] = ALPHABET ALPHABET;

/* A table of 128 is indexed by seven.  What is foreign has the top bit set. */
#define XX	0x80
static const uint8_t values_of[128] = {
	XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
	XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
	XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
	XX, XX, 0, 1, 2, 3, 4, 5, 6, 7, XX, XX, XX, XX, XX, XX, /* 2-9 */
	XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
	XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
	XX, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,	/* a-o */
	23, 24, 25, 26, 27, 28, 29, 30, 31, XX, XX, XX, XX, XX, XX, XX	/* p-x */
};

/* The smallest table needs a register of 32 bytes; an id uses half of it. */
TARGET void
sno_avx512vbmi_encode(const uint8_t *id, char *text)
{
	__m128i		order = _mm_loadu_si128((const __m128i *) to_lanes);
	__m256i		table = _mm256_loadu_si256((const __m256i *) alphabet_twice);
	__m128i		lanes;
	__m128i		values;
	__m256i		wide;

	lanes = _mm_loadl_epi64((const __m128i *) id);
	lanes = _mm_insert_epi16(lanes, load16(id + 8), 4);
	lanes = _mm_shuffle_epi8(lanes, order);
	values = _mm_multishift_epi64_epi8(_mm_set1_epi64x(CHARACTER_BITS), lanes);
	wide = _mm256_permutexvar_epi8(_mm256_castsi128_si256(values), table);
	_mm_storeu_si128((__m128i *) text, _mm256_castsi256_si128(wide));
}

/* The first 40 bytes to 64 characters. */
TARGET static inline __m512i
encode_four(__m512i bytes)
{
	__m512i		order = _mm512_loadu_si512(to_lanes);
	__m512i		table = _mm512_loadu_si512(alphabet_twice);
	__m512i		bits = _mm512_set1_epi64(CHARACTER_BITS);
	__m512i		lanes = _mm512_permutexvar_epi8(order, bytes);

	return _mm512_permutexvar_epi8(_mm512_multishift_epi64_epi8(bits, lanes),
								   table);
}

/* What a mask leaves out is neither read nor written, and need not exist. */
TARGET void
sno_avx512vbmi_encode_many(const uint8_t *ids, char *texts, size_t count)
{
	__mmask64	id_mask = (UINT64_C(1) << AT_ONCE * SNO_SIZE) - 1;
	__mmask64	text_mask;
	__m512i		bytes;

	for (; count >= AT_ONCE; count -= AT_ONCE)
	{
		bytes = _mm512_maskz_loadu_epi8(id_mask, ids);
		_mm512_storeu_si512(texts, encode_four(bytes));
		ids += AT_ONCE * SNO_SIZE;
		texts += AT_ONCE * SNO_TEXT_SIZE;
	}
	if (count > 0)
	{
		id_mask = (UINT64_C(1) << count * SNO_SIZE) - 1;
		text_mask = (UINT64_C(1) << count * SNO_TEXT_SIZE) - 1;
		bytes = _mm512_maskz_loadu_epi8(id_mask, ids);
		_mm512_mask_storeu_epi8(texts, text_mask, encode_four(bytes));
	}
}

/*
 * 64 characters to 40 bytes, unless one of them is foreign.
 *
 * Two instructions that multiply neighbours and add the products join values:
 * two, as A * 2^5 + B, and then two pairs, as AB * 2^10 + CD.  This gives the
 * halves of a lane, and the sum of a copy of it 20 bits further up and another
 * 32 bits further down is the number we want, if only in the low 40 bits:
 *
 *	bit		63          51                  31          19                 0
 *			............EEEEEFFFFFGGGGGHHHHH............AAAAABBBBBCCCCCDDDDD
 *
 *	up		FFGGGGGHHHHH............AAAAABBBBBCCCCCDDDDD....................
 *	down	............................................EEEEEFFFFFGGGGGHHHHH
 */
TARGET static inline bool
decode_four(__m512i characters, __m512i *bytes)
{
	__m512i		low_table = _mm512_loadu_si512(values_of);
	__m512i		high_table = _mm512_loadu_si512(values_of + 64);
	__m512i		order = _mm512_loadu_si512(to_halves);
	__m512i		values;

	/* the index leaves a character's top bit out */
	values = _mm512_permutex2var_epi8(low_table, characters, high_table);
	if (_mm512_movepi8_mask(_mm512_or_si512(values, characters)) != 0)
		return false;

	/* the factors of each pair, the lower neighbour's first */
	values = _mm512_maddubs_epi16(values, _mm512_set1_epi16(1 << 5 | 1 << 8));
	values = _mm512_madd_epi16(values, _mm512_set1_epi32(1 << 10 | 1 << 16));

	values = _mm512_or_si512(_mm512_slli_epi64(values, 20),
							 _mm512_srli_epi64(values, 32));
	*bytes = _mm512_permutexvar_epi8(order, values);
	return true;
}

TARGET size_t
sno_avx512vbmi_decode_many(const char *texts, uint8_t *ids, size_t count,
						   int *offset)
{
	size_t		done;

	for (done = 0; done + AT_ONCE <= count; done += AT_ONCE)
	{
		const char *text = texts + done * SNO_TEXT_SIZE;
		uint8_t    *id = ids + done * SNO_SIZE;
		__m512i		bytes;

		if (!decode_four(_mm512_loadu_si512(text), &bytes))
			break;

		/* as 32 and 8: not every processor is quick at masked stores */
		_mm256_storeu_si256((__m256i *) id, _mm512_castsi512_si256(bytes));
		_mm_storel_epi64((__m128i *) (id + 32),
						 _mm512_extracti32x4_epi32(bytes, 2));
	}

	/* those that are left, or those among which there is a bad one */
	return done + sno_ssse3_decode_many(texts + done * SNO_TEXT_SIZE,
										ids + done * SNO_SIZE, count - done,
										offset);
}

#endif							/* SNO_X86 */

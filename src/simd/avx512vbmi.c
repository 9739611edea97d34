/*
 * avx512vbmi.c
 *		Encode for x86-64 with the byte permutations of AVX-512 (VBMI).
 *
 * One instruction copies any eight adjacent bits of 64 into each byte of these.
 * One looks bytes up in a table of 32.  Other processors need several steps for each.
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

#define TARGET	__attribute__((target("avx512vl,avx512vbmi")))

/* Where the bytes of lane n come from: half n, and for the rest anywhere. */
#define LANE(n)		5 * (n) + 4, 5 * (n) + 3, 5 * (n) + 2, 5 * (n) + 1, 5 * (n), 0, 0, 0

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
 * character's.
 */
static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";

/* The smallest table needs a register of 32 bytes; an id uses half of it. */
TARGET void
sno_avx512vbmi_encode(const uint8_t *id, char *text)
{
	__m256i		table = _mm256_loadu_si256((const __m256i *) alphabet);
	__m128i		lanes;
	__m128i		values;
	__m256i		wide;

	lanes = _mm_loadl_epi64((const __m128i *) id);
	lanes = _mm_insert_epi16(lanes, load16(id + 8), 4);
	lanes = _mm_shuffle_epi8(lanes, _mm_setr_epi8(LANE(0), LANE(1)));
	values = _mm_multishift_epi64_epi8(_mm_set1_epi64x(CHARACTER_BITS), lanes);
	wide = _mm256_permutexvar_epi8(_mm256_castsi128_si256(values), table);
	_mm_storeu_si128((__m128i *) text, _mm256_castsi256_si128(wide));
}

#endif							/* SNO_X86 */

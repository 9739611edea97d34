/*
 * ssse3.c
 *		The codec for x86-64 with SSSE3, which nearly all machines have.  It holds
 *		an id in a register.  kernel.h describes the methods.
 *
 * Comments list the elements of a register, beginning with the lowest one, which
 * is the first one in memory.  They show only the first half of an id.  In each
 * element, the most significant bit is on the left.
 */
#include "simd/kernel.h"

#ifdef SNO_X86

#include <immintrin.h>

#define TARGET	__attribute__((target("ssse3")))

/*
 * Factors to encode an id.  SSSE3 has no shift with a separate count for each
 * element, so elements are multiplied by 2^n.  The upper half of the product is
 * the element shifted down by 16 - n bits, and the lower half is the element shifted
 * up by n bits.  In pair k (kernel.h), the first character is shifted down by
 * 11 - 2k bits, and the second one up by 2 + 2k bits.
 */
#define FIRST_FACTORS	1 << 5, 1 << 7, 1 << 9, 1 << 11, \
						1 << 5, 1 << 7, 1 << 9, 1 << 11
#define SECOND_FACTORS	1 << 2, 1 << 4, 1 << 6, 1 << 8, \
						1 << 2, 1 << 4, 1 << 6, 1 << 8

#define FIRST_MASK		(PAIR_MASK & 0x00ff)
#define SECOND_MASK		(PAIR_MASK & 0xff00)

/*
 * Factors and indexes to decode a text.  Two instructions multiply neighbours and
 * add the products.  The first one joins two values, as A * 2^5 + B, and the
 * second one joins two pairs.  The results are ABCD and EFGH, numbers of 32 bits,
 * of which 20 are used.  ABCD is placed four bits further up, so that ABCD and
 * EFGH meet in the middle of a byte:
 *
 *		ABCD	00000000 AAAAABBB BBCCCCCD DDDD0000		bytes 3 to 0
 *		EFGH	00000000 0000EEEE EFFFFFGG GGGHHHHH		bytes 7 to 4
 *
 * The five bytes of the half are bytes 2 and 1, bytes 0 and 6 combined, and bytes
 * 5 and 4.  A shuffle of each number, which gives zero for a negative index, puts
 * these bytes in place.
 */
#define VALUE_FACTORS	(1 << 5 | 1 << 8)	/* the bytes 2^5 and 1 */
#define PAIR_FACTORS	1 << 14, 1 << 4, 1 << 10, 1, \
						1 << 14, 1 << 4, 1 << 10, 1

#define ABCD_BYTES		2, 1, 0, -1, -1, 10, 9, 8, -1, -1, \
						-1, -1, -1, -1, -1, -1
#define EFGH_BYTES		-1, -1, 6, 5, 4, -1, -1, 14, 13, 12, \
						-1, -1, -1, -1, -1, -1

TARGET void
sno_ssse3_encode(const uint8_t *id, char *text)
{
	__m128i		bytes;
	__m128i		pairs;
	__m128i		first;
	__m128i		second;
	__m128i		values;
	__m128i		letters;

	/* AAAAABBB, BBCCCCCD, DDDDEEEE, EFFFFFGG, GGGHHHHH */
	bytes = _mm_loadl_epi64((const __m128i *) id);
	bytes = _mm_insert_epi16(bytes, load16(id + 8), 4);

	/* AAAAABBB BBCCCCCD, BBCCCCCD DDDDEEEE, DDDDEEEE EFFFFFGG, ... */
	pairs = _mm_shuffle_epi8(bytes, _mm_setr_epi8(PAIR_BYTES));

	/* 00000000 000AAAAA, 00000000 000CCCCC, 00000000 000EEEEE, ... */
	first = _mm_mulhi_epu16(pairs, _mm_setr_epi16(FIRST_FACTORS));
	first = _mm_and_si128(first, _mm_set1_epi16(FIRST_MASK));

	/* 000BBBBB 00000000, 000DDDDD 00000000, 000FFFFF 00000000, ... */
	second = _mm_mullo_epi16(pairs, _mm_setr_epi16(SECOND_FACTORS));
	second = _mm_and_si128(second, _mm_set1_epi16(SECOND_MASK));

	/* 000AAAAA, 000BBBBB, 000CCCCC, ... */
	values = _mm_or_si128(first, second);

	/* add the first digit to all values, and the gap to the values of letters */
	letters = _mm_cmpgt_epi8(values, _mm_set1_epi8(LETTER_VALUE - 1));
	letters = _mm_and_si128(letters, _mm_set1_epi8(LETTER_GAP));
	values = _mm_add_epi8(values, _mm_set1_epi8(DIGIT_FIRST));
	_mm_storeu_si128((__m128i *) text, _mm_add_epi8(values, letters));
}

/* The only branch is for characters that are not in the alphabet.  It is rarely taken. */
TARGET int
sno_ssse3_decode(const char *text, uint8_t *id)
{
	__m128i		characters = _mm_loadu_si128((const __m128i *) text);
	__m128i		digits;
	__m128i		letters;
	__m128i		no_digit;
	__m128i		no_letter;
	__m128i		values;
	__m128i		bytes;
	unsigned	foreign;

	/* the first and the second difference, see kernel.h */
	digits = _mm_sub_epi8(characters, _mm_set1_epi8(DIGIT_FIRST));
	letters = _mm_sub_epi8(characters, _mm_set1_epi8(LETTER_FIRST));

	/* gather the top bits, of which the lowest is the first character's */
	no_digit = _mm_adds_epu8(digits, _mm_set1_epi8(DIGIT_MARGIN));
	no_letter = _mm_adds_epu8(letters, _mm_set1_epi8(LETTER_MARGIN));
	foreign = (unsigned) _mm_movemask_epi8(_mm_min_epu8(no_digit, no_letter));
	if (foreign != 0)
		return __builtin_ctz(foreign);

	/* 000AAAAA, 000BBBBB, 000CCCCC, ... */
	letters = _mm_adds_epu8(letters, _mm_set1_epi8(LETTER_VALUE));
	values = _mm_min_epu8(digits, letters);

	/* 000000AA AAABBBBB, 000000CC CCCDDDDD, ... */
	values = _mm_maddubs_epi16(values, _mm_set1_epi16(VALUE_FACTORS));

	/* 00000000 AAAAABBB BBCCCCCD DDDD0000, 00000000 0000EEEE ... */
	values = _mm_madd_epi16(values, _mm_setr_epi16(PAIR_FACTORS));

	/* AAAAABBB, BBCCCCCD, DDDD0000 with 0000EEEE, EFFFFFGG, GGGHHHHH */
	bytes = _mm_or_si128(_mm_shuffle_epi8(values, _mm_setr_epi8(ABCD_BYTES)),
						 _mm_shuffle_epi8(values, _mm_setr_epi8(EFGH_BYTES)));
	_mm_storel_epi64((__m128i *) id, bytes);
	store16(id + 8, (uint16_t) _mm_extract_epi16(bytes, 4));
	return SNO_TEXT_SIZE;
}

#endif							/* SNO_X86 */

/*
 * avx2.c
 *		The batch form for x86-64 with AVX2: two ids in a register.
 *
 * Step by step it is what ssse3.c does, in both lanes of the register at once.
 * A single id fits into one lane and has no form of its own here: ssse3.c is
 * as fast.
 */
#include "simd/kernel.h"

#ifdef SNO_X86

#include <immintrin.h>

#include "simd/x86.h"

#define TARGET	__attribute__((target("avx2")))

/* The same list in both lanes. */
#define BYTES(list)		_mm256_setr_epi8(list, list)
#define WORDS(list)		_mm256_setr_epi16(list, list)

/* The first ten bytes of each lane to 32 characters. */
TARGET static inline __m256i
encode_two(__m256i bytes)
{
	__m256i		pairs;
	__m256i		first;
	__m256i		second;
	__m256i		values;
	__m256i		letters;

	/* to numbers of 16 bits, and to values */
	pairs = _mm256_shuffle_epi8(bytes, BYTES(PAIR_BYTES));
	first = _mm256_mulhi_epu16(pairs, WORDS(FIRST_FACTORS));
	first = _mm256_and_si256(first, _mm256_set1_epi16(FIRST_MASK));
	second = _mm256_mullo_epi16(pairs, WORDS(SECOND_FACTORS));
	second = _mm256_and_si256(second, _mm256_set1_epi16(SECOND_MASK));
	values = _mm256_or_si256(first, second);

	/* all as if they were digits, but those from 8 on further up */
	letters = _mm256_cmpgt_epi8(values, _mm256_set1_epi8(LETTER_VALUE - 1));
	letters = _mm256_and_si256(letters, _mm256_set1_epi8(LETTER_GAP));
	values = _mm256_add_epi8(values, _mm256_set1_epi8(DIGIT_FIRST));
	return _mm256_add_epi8(values, letters);
}

/*
 * 32 characters to ten bytes in each lane, and six zeros.  *foreign has the
 * top bit of a byte set if the character there is foreign: then what is in the
 * lane is of no use.
 */
TARGET static inline __m256i
decode_two(__m256i characters, __m256i *foreign)
{
	__m256i		digits;
	__m256i		letters;
	__m256i		no_digit;
	__m256i		no_letter;
	__m256i		values;

	/* what is left of digits, and of letters */
	digits = _mm256_sub_epi8(characters, _mm256_set1_epi8(DIGIT_FIRST));
	letters = _mm256_sub_epi8(characters, _mm256_set1_epi8(LETTER_FIRST));

	no_digit = _mm256_adds_epu8(digits, _mm256_set1_epi8(DIGIT_MARGIN));
	no_letter = _mm256_adds_epu8(letters, _mm256_set1_epi8(LETTER_MARGIN));
	*foreign = _mm256_min_epu8(no_digit, no_letter);

	/* to values of 5 bits, to 10 in 16 and 20 in 32, and to bytes */
	letters = _mm256_adds_epu8(letters, _mm256_set1_epi8(LETTER_VALUE));
	values = _mm256_min_epu8(digits, letters);
	values = _mm256_maddubs_epi16(values, _mm256_set1_epi16(VALUE_FACTORS));
	values = _mm256_madd_epi16(values, WORDS(PAIR_FACTORS));
	return _mm256_or_si256(_mm256_shuffle_epi8(values, BYTES(ABCD_BYTES)),
						   _mm256_shuffle_epi8(values, BYTES(EFGH_BYTES)));
}

/*
 * Each lane is loaded with an id and the six bytes behind it.  Those have to
 * be there, so a third id has to follow the two.
 */
TARGET void
sno_avx2_encode_many(const uint8_t *ids, char *texts, size_t count)
{
	for (; count >= 3; count -= 2)
	{
		__m128i		low = _mm_loadu_si128((const __m128i *) ids);
		__m128i		high = _mm_loadu_si128((const __m128i *) (ids + SNO_SIZE));
		__m256i		both = _mm256_castsi128_si256(low);

		both = _mm256_inserti128_si256(both, high, 1);
		_mm256_storeu_si256((__m256i *) texts, encode_two(both));
		ids += 2 * SNO_SIZE;
		texts += 2 * SNO_TEXT_SIZE;
	}
	sno_ssse3_encode_many(ids, texts, count);
}

/*
 * Four at a time.  Once all of them are known to be good, three can be stored
 * as whole lanes, in this order: the next id overwrites the zeros behind one.
 */
TARGET size_t
sno_avx2_decode_many(const char *texts, uint8_t *ids, size_t count,
					 int *offset)
{
	size_t		done;

	for (done = 0; done + 4 <= count; done += 4)
	{
		const __m256i *text = (const __m256i *) (texts + done * SNO_TEXT_SIZE);
		uint8_t    *id = ids + done * SNO_SIZE;
		__m256i		foreign;
		__m256i		more_foreign;
		__m256i		bytes = decode_two(_mm256_loadu_si256(text), &foreign);
		__m256i		more = decode_two(_mm256_loadu_si256(text + 1), &more_foreign);
		__m128i		last = _mm256_extracti128_si256(more, 1);

		foreign = _mm256_or_si256(foreign, more_foreign);
		if (_mm256_movemask_epi8(foreign) != 0)
			break;

		_mm_storeu_si128((__m128i *) id, _mm256_castsi256_si128(bytes));
		id += SNO_SIZE;
		_mm_storeu_si128((__m128i *) id, _mm256_extracti128_si256(bytes, 1));
		id += SNO_SIZE;
		_mm_storeu_si128((__m128i *) id, _mm256_castsi256_si128(more));
		id += SNO_SIZE;
		_mm_storel_epi64((__m128i *) id, last);
		store16(id + 8, (uint16_t) _mm_extract_epi16(last, 4));
	}

	/* those that are left, or those among which there is a bad one */
	return done + sno_ssse3_decode_many(texts + done * SNO_TEXT_SIZE,
										ids + done * SNO_SIZE, count - done,
										offset);
}

#endif							/* SNO_X86 */

/*
 * kernel.h
 *		What the codecs share: the functions that dispatch.c makes its table
 *		of, and the methods of those that work on vectors.
 *
 * The file of a codec is empty for an architecture without its instructions.
 * Where some machines of an architecture have them, each function is compiled
 * for them by its target attribute, and only called on such machines.
 */
#ifndef SNO_KERNEL_H
#define SNO_KERNEL_H

#include <string.h>

#include "simd/codec.h"

#if defined(__x86_64__)
#define SNO_X86
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SNO_NEON
#endif

extern void sno_portable_encode(const uint8_t *id, char *text);
extern int	sno_portable_decode(const char *text, uint8_t *id);
extern void sno_ssse3_encode(const uint8_t *id, char *text);
extern int	sno_ssse3_decode(const char *text, uint8_t *id);
extern void sno_neon_encode(const uint8_t *id, char *text);
extern int	sno_neon_decode(const char *text, uint8_t *id);

/*
 * The alphabet is two runs of ASCII:
 *
 *		value		 0 ..  7	 8 ..  31
 *		character	'2' .. '9'	'a' .. 'x'
 */
#define DIGIT_FIRST		'2'
#define DIGIT_LAST		'9'
#define LETTER_FIRST	'a'
#define LETTER_LAST		'x'
#define LETTER_VALUE	8		/* of the first letter */

/* What a letter is above where the digits' run would have put it. */
#define LETTER_GAP		(LETTER_FIRST - LETTER_VALUE - DIGIT_FIRST)

/*
 * How vector code decodes a character, without a branch or a table.
 *
 * Taking '2' from it leaves 0 to 7 if it is a digit, and 8 or more, perhaps
 * wrapped round, if not; taking 'a' leaves 0 to 23 if it is a letter, and 24
 * or more if not.  Add to each what its run lacks of 128, where sums stop at
 * 255 instead of wrapping round: then the top bit tells that it is no digit,
 * and that it is no letter.  The lower of the two sums has that bit if both
 * have, which means that the character is foreign.
 *
 * Its value is also the lower of two numbers: what is left of a digit, and 8
 * more than what is left of a letter, again stopping at 255.  If it is a
 * letter, the former is 47 to 70, more than any value; if it is a digit, the
 * latter is 217 to 224.
 */
#define DIGIT_MARGIN	(128 - (DIGIT_LAST - DIGIT_FIRST + 1))
#define LETTER_MARGIN	(128 - (LETTER_LAST - LETTER_FIRST + 1))

/*
 * How vector code takes an id apart.  It is two halves of five bytes, each of
 * them eight characters, A to H:
 *
 *		byte	   0        1        2        3        4
 *				AAAAABBB BBCCCCCD DDDDEEEE EFFFFFGG GGGHHHHH
 *
 * A pair of characters lies within two neighbouring bytes, of which a number
 * of 16 bits is made, the first byte uppermost:
 *
 *		pair 0, of bytes 0 and 1	AAAAABBB BBCCCCCD
 *		pair 1, of bytes 1 and 2	BBCCCCCD DDDDEEEE
 *		pair 2, of bytes 2 and 3	DDDDEEEE EFFFFFGG
 *		pair 3, of bytes 3 and 4	EFFFFFGG GGGHHHHH
 *
 * In memory the lower byte of a number comes first: there the first character
 * of the pair belongs, and the second in the upper byte:
 *
 *		pair 0						000BBBBB 000AAAAA
 *
 * In pair k the first character starts 2k bits below the top, and has to move
 * down by 11 - 2k.  The second has 6 - 2k bits below it, where there have to
 * be eight: it moves up by 2 + 2k.  A mask cuts off their neighbours.
 */
#define PAIR_BYTES	1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8
#define PAIR_MASK	0x1f1f

/*
 * The last two bytes of an id, in the machine's order.  Vectors take an id in
 * as eight bytes and two, and give it out so, because that is what the rest of
 * the world does: a load that spans two stores waits for both to reach the
 * cache.
 */
static inline uint16_t
load16(const uint8_t *from)
{
	uint16_t	word;

	memcpy(&word, from, sizeof(word));
	return word;
}

static inline void
store16(uint8_t *to, uint16_t word)
{
	memcpy(to, &word, sizeof(word));
}

#endif							/* SNO_KERNEL_H */

/*
 * kernel.h
 *		The common part of the codecs: the functions in the table of dispatch.c,
 *		and the methods of the vector codecs.
 *
 * On an architecture without the instructions of a codec, the codec's file
 * compiles to nothing.  If only some machines of an architecture have these
 * instructions, each function of the codec is compiled with a target attribute,
 * and is called only on the machines that have them.
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
#define LETTER_VALUE	8		/* value of the first letter */

/* The gap between the run of digits and the run of letters */
#define LETTER_GAP		(LETTER_FIRST - LETTER_VALUE - DIGIT_FIRST)

/*
 * This is how vector code decodes a character, without a branch or a table.
 *
 * The first difference, the character minus '2', is 0 to 7 for a digit, and 8 or
 * more for all other characters, because bytes wrap around.  The second
 * difference, the character minus 'a', is 0 to 23 for a letter, and 24 or more
 * for all other characters.  To each difference, vector code adds 128 minus the
 * length of the run, by an addition that saturates at 255.  The top bit of the
 * first sum is then set if the character is not a digit, and the top bit of the
 * second sum is set if it is not a letter.  The top bit of the lower one of the
 * two sums is set only if it is set in both sums, that is, if the character is
 * neither a digit nor a letter.
 *
 * The value of the character is the lower one of two numbers: the first
 * difference, and the second difference plus 8.  This addition saturates, too.  For
 * a letter, the first number is 47 to 70, and for a digit, the second number is
 * 217 to 224.  Both are higher than any value.
 */
#define DIGIT_MARGIN	(128 - (DIGIT_LAST - DIGIT_FIRST + 1))
#define LETTER_MARGIN	(128 - (LETTER_LAST - LETTER_FIRST + 1))

/*
 * This is how vector code splits an id.  An id has two halves of five bytes,
 * each with eight characters, A to H:
 *
 *		byte	   0        1        2        3        4
 *				AAAAABBB BBCCCCCD DDDDEEEE EFFFFFGG GGGHHHHH
 *
 * Each pair of characters lies within two neighbouring bytes.  These two bytes
 * become a number of 16 bits, in which the first byte is the upper one:
 *
 *		pair 0, of bytes 0 and 1	AAAAABBB BBCCCCCD
 *		pair 1, of bytes 1 and 2	BBCCCCCD DDDDEEEE
 *		pair 2, of bytes 2 and 3	DDDDEEEE EFFFFFGG
 *		pair 3, of bytes 3 and 4	EFFFFFGG GGGHHHHH
 *
 * In memory, the lower byte of a number comes first.  So the first character of
 * the pair is moved to the lower byte, and the second one to the upper byte:
 *
 *		pair 0						000BBBBB 000AAAAA
 *
 * In pair k, the first character begins 2k bits below the top, so it is moved
 * down by 11 - 2k bits.  The second character has 6 - 2k bits below it and needs
 * eight, so it is moved up by 2 + 2k bits.  A mask removes the bits of
 * neighbouring characters.
 */
#define PAIR_BYTES	1, 0, 2, 1, 3, 2, 4, 3, 6, 5, 7, 6, 8, 7, 9, 8
#define PAIR_MASK	0x1f1f

/*
 * Load or store the last two bytes of an id, in the machine's byte order.  Vector
 * codecs load and store an id as eight bytes and two bytes, because other code
 * does the same, and a load that spans two stores waits until both stores have
 * reached the cache.
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

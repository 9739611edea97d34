/*
 * portable.c
 *		The codec in plain C, for eight characters at a time in a 64-bit word.
 *
 * An id has two halves of 40 bits, each with eight characters.  The characters
 * of a half are handled as a number, whose most significant byte is the first
 * character.  So only loads and stores depend on the byte order of the machine.
 */
#include "simd/kernel.h"

/* The same byte in all eight lanes of a word. */
#define LANES(byte)		(UINT64_C(0x0101010101010101) * (byte))

/*
 * Set the top bit of each lane that is at least n.  Adding 128 - n sets the top
 * bit only in such a lane.  All lanes must be below 128, and n must be from 1 to
 * 128, so that no lane carries into its neighbour.
 */
#define LANES_AT_LEAST(lanes, n)	(((lanes) + LANES(128 - (n))) & LANES(0x80))

/* Convert between the machine's byte order and big-endian order. */
static inline uint64_t
big_endian64(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static inline uint64_t
load64(const void *from)
{
	uint64_t	word;

	memcpy(&word, from, sizeof(word));
	return big_endian64(word);
}

static inline void
store64(void *to, uint64_t word)
{
	word = big_endian64(word);
	memcpy(to, &word, sizeof(word));
}

/*
 * Convert 40 bits to eight characters.  Each step divides each lane into two
 * lanes, and puts half of the lane's bits into each of them:
 *
 *		40 bits in 64 -> 20 in 32 -> 10 in 16 -> 5 in 8
 */
static inline uint64_t
encode_half(uint64_t half)
{
	uint64_t	v = half;
	uint64_t	letters;

	v = (v & UINT64_C(0x000000fffff00000)) << 12 |
		(v & UINT64_C(0x00000000000fffff));
	v = (v & UINT64_C(0x000ffc00000ffc00)) << 6 |
		(v & UINT64_C(0x000003ff000003ff));
	v = (v & UINT64_C(0x03e003e003e003e0)) << 3 |
		(v & UINT64_C(0x001f001f001f001f));

	letters = LANES_AT_LEAST(v, LETTER_VALUE) >> 7;
	return v + LANES(DIGIT_FIRST) + letters * LETTER_GAP;
}

/*
 * Return a word in which the top bit of a lane is set if the lane is not a character of the
 * alphabet.
 */
static inline uint64_t
foreign(uint64_t text)
{
	uint64_t	low = text & LANES(0x7f);
	uint64_t	digits = LANES_AT_LEAST(low, DIGIT_FIRST) &
		~LANES_AT_LEAST(low, DIGIT_LAST + 1);
	uint64_t	letters = LANES_AT_LEAST(low, LETTER_FIRST) &
		~LANES_AT_LEAST(low, LETTER_LAST + 1);

	return (~(digits | letters) | text) & LANES(0x80);
}

/* Convert eight characters, which must belong to the alphabet, to 40 bits. */
static inline uint64_t
decode_half(uint64_t text)
{
	uint64_t	letters = LANES_AT_LEAST(text, LETTER_FIRST) >> 7;
	uint64_t	v = text - LANES(DIGIT_FIRST) - letters * LETTER_GAP;

	v = (v & UINT64_C(0x1f001f001f001f00)) >> 3 |
		(v & UINT64_C(0x001f001f001f001f));
	v = (v & UINT64_C(0x03ff000003ff0000)) >> 6 |
		(v & UINT64_C(0x000003ff000003ff));
	v = (v & UINT64_C(0x000fffff00000000)) >> 12 |
		(v & UINT64_C(0x00000000000fffff));
	return v;
}

/* Return the offset of the first lane whose top bit is set; there must be such a lane. */
static int
first_lane(uint64_t lanes)
{
	int			lane = 0;

	for (; (lanes & UINT64_C(0xff00000000000000)) == 0; lanes <<= 8)
		lane++;
	return lane;
}

void
sno_portable_encode(const uint8_t *id, char *text)
{
	uint64_t	high = load64(id);	/* bytes 0 to 7 */
	uint64_t	low = (uint64_t) id[8] << 8 | id[9];

	store64(text, encode_half(high >> 24));
	store64(text + 8, encode_half((high & UINT64_C(0xffffff)) << 16 | low));
}

int
sno_portable_decode(const char *text, uint8_t *id)
{
	uint64_t	first = load64(text);
	uint64_t	second = load64(text + 8);
	uint64_t	bad_first = foreign(first);
	uint64_t	bad_second = foreign(second);

	if (bad_first | bad_second)
		return bad_first ? first_lane(bad_first) : 8 + first_lane(bad_second);

	first = decode_half(first);
	second = decode_half(second);
	store64(id, first << 24 | second >> 16);
	id[8] = (uint8_t) (second >> 8);
	id[9] = (uint8_t) second;
	return SNO_TEXT_SIZE;
}

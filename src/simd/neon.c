/*
 * neon.c
 *		The codec for little-endian arm64, which always has NEON.  It holds an id
 *		in a register.  kernel.h describes the methods.
 *
 * Comments list the elements of a register, beginning with the lowest one, which
 * is the first one in memory.  They show only the first half of an id.  In each
 * element, the most significant bit is on the left.
 */
#include "simd/kernel.h"

#ifdef SNO_NEON

#include <arm_neon.h>

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";

static const uint8_t pair_bytes[16] = {PAIR_BYTES};

/* In pair k, the first character is shifted by 2k - 11 bits.  A negative shift is a shift down. */
static const int16_t first_shifts[8] = {-11, -9, -7, -5, -11, -9, -7, -5};

/* In pair k, the second character is shifted by 2k + 2 bits. */
static const int16_t second_shifts[8] = {2, 4, 6, 8, 2, 4, 6, 8};

/*
 * The indexes of the five low bytes of two 64-bit numbers, beginning with the
 * uppermost of the five.  An index beyond the register gives zero.
 */
static const uint8_t half_bytes[16] = {
	4, 3, 2, 1, 0, 12, 11, 10, 9, 8, 255, 255, 255, 255, 255, 255
};

void
sno_neon_encode(const uint8_t *id, char *text)
{
	uint8x16x2_t table = vld1q_u8_x2((const uint8_t *) alphabet);
	uint8x16_t	bytes;
	uint16x8_t	pairs;
	uint16x8_t	values;

	/* AAAAABBB, BBCCCCCD, DDDDEEEE, EFFFFFGG, GGGHHHHH */
	bytes = vcombine_u8(vld1_u8(id), vdup_n_u8(0));
	pairs = vreinterpretq_u16_u8(bytes);
	bytes = vreinterpretq_u8_u16(vsetq_lane_u16(load16(id + 8), pairs, 4));

	/* AAAAABBB BBCCCCCD, BBCCCCCD DDDDEEEE, DDDDEEEE EFFFFFGG, ... */
	pairs = vreinterpretq_u16_u8(vqtbl1q_u8(bytes, vld1q_u8(pair_bytes)));

	/* 000BBBBB 000AAAAA, 000DDDDD 000CCCCC, ... */
	values = vbslq_u16(vdupq_n_u16(0x00ff),
					   vshlq_u16(pairs, vld1q_s16(first_shifts)),
					   vshlq_u16(pairs, vld1q_s16(second_shifts)));
	values = vandq_u16(values, vdupq_n_u16(PAIR_MASK));

	bytes = vqtbl2q_u8(table, vreinterpretq_u8_u16(values));
	vst1q_u8((uint8_t *) text, bytes);
}

/*
 * Return the offset of the first byte whose top bit is set; there must be such
 * a byte.  Each byte becomes all ones or all zeros, and is narrowed to four
 * bits.
 */
static int
first_foreign(uint8x16_t foreign)
{
	uint8x16_t	bytes = vcgeq_u8(foreign, vdupq_n_u8(128));
	uint8x8_t	nibbles = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
	uint64_t	places = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);

	return __builtin_ctzll(places) / 4;
}

/*
 * Values are joined in three steps.  In each step, the upper one of two elements,
 * which is the second one in the text, is moved to the bottom, and the lower one
 * is inserted above it.  The bits that remain further up (dots) do no harm: the
 * next step overwrites them, and at the end, only five of eight bytes are taken.
 *
 * The only branch is for characters that are not in the alphabet.  It is rarely
 * taken.
 */
int
sno_neon_decode(const char *text, uint8_t *id)
{
	uint8x16_t	characters = vld1q_u8((const uint8_t *) text);
	uint8x16_t	digits;
	uint8x16_t	letters;
	uint8x16_t	foreign;
	uint16x8_t	pairs;
	uint32x4_t	quarters;
	uint64x2_t	halves;
	uint8x16_t	bytes;

	/* the first and the second difference, see kernel.h */
	digits = vsubq_u8(characters, vdupq_n_u8(DIGIT_FIRST));
	letters = vsubq_u8(characters, vdupq_n_u8(LETTER_FIRST));

	foreign = vminq_u8(vqaddq_u8(digits, vdupq_n_u8(DIGIT_MARGIN)),
					   vqaddq_u8(letters, vdupq_n_u8(LETTER_MARGIN)));
	if (vmaxvq_u8(foreign) >= 128)
		return first_foreign(foreign);

	/* 000BBBBB 000AAAAA, 000DDDDD 000CCCCC, ... */
	letters = vqaddq_u8(letters, vdupq_n_u8(LETTER_VALUE));
	pairs = vreinterpretq_u16_u8(vminq_u8(digits, letters));

	/* ......AA AAABBBBB, ......CC CCCDDDDD, ... */
	pairs = vsliq_n_u16(vshrq_n_u16(pairs, 8), pairs, 5);

	/* ........ ....AAAA ABBBBBCC CCCDDDDD, ... */
	quarters = vreinterpretq_u32_u16(pairs);
	quarters = vsliq_n_u32(vshrq_n_u32(quarters, 16), quarters, 10);

	/* (24 bits) AAAAABBB BBCCCCCD DDDDEEEE EFFFFFGG GGGHHHHH, ... */
	halves = vreinterpretq_u64_u32(quarters);
	halves = vsliq_n_u64(vshrq_n_u64(halves, 32), halves, 20);

	bytes = vqtbl1q_u8(vreinterpretq_u8_u64(halves), vld1q_u8(half_bytes));
	vst1_u8(id, vget_low_u8(bytes));
	store16(id + 8, vgetq_lane_u16(vreinterpretq_u16_u8(bytes), 4));
	return SNO_TEXT_SIZE;
}

#endif							/* SNO_NEON */

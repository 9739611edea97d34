/*
 * x86.h
 *		What SSSE3 and AVX2 share: how the methods of kernel.h come down to the
 *		instructions that both have.
 *
 * Both work in lanes of 16 bytes, an id in each.  Lists are of the elements of
 * a lane, from the lowest on, which is first in memory; numbers are drawn with
 * the most significant bit on the left.
 */
#ifndef SNO_X86_H
#define SNO_X86_H

/*
 * Encode.  There is no shift by a different count for each element, but there
 * are products.  The upper half of one by 2^n is a shift down by 16 - n: for
 * 11 - 2k, n is 5 + 2k.  The lower half is a shift up by n: here 2 + 2k.
 */
#define FIRST_FACTORS	1 << 5, 1 << 7, 1 << 9, 1 << 11, \
						1 << 5, 1 << 7, 1 << 9, 1 << 11
#define SECOND_FACTORS	1 << 2, 1 << 4, 1 << 6, 1 << 8, \
						1 << 2, 1 << 4, 1 << 6, 1 << 8

#define FIRST_MASK		(PAIR_MASK & 0x00ff)
#define SECOND_MASK		(PAIR_MASK & 0xff00)

/*
 * Decode.  Two instructions multiply neighbours and add the products, which
 * joins values: first two, as A * 2^5 + B, then two pairs of them.  This gives
 * ABCD and EFGH, 20 bits each in numbers of 32.  The former is put four bits
 * further up, so that the two meet in the middle of a byte:
 *
 *		ABCD	00000000 AAAAABBB BBCCCCCD DDDD0000		bytes 3 to 0
 *		EFGH	00000000 0000EEEE EFFFFFGG GGGHHHHH		bytes 7 to 4
 *
 * Of these, the five bytes of the half are 2, 1, 0 with 6, 5, and 4.  A shuffle
 * of each, which makes zeros where the index is negative, puts them in place.
 */
#define VALUE_FACTORS	(1 << 5 | 1 << 8)	/* 2^5 and 1, a byte each */
#define PAIR_FACTORS	1 << 14, 1 << 4, 1 << 10, 1, \
						1 << 14, 1 << 4, 1 << 10, 1

#define ABCD_BYTES		2, 1, 0, -1, -1, 10, 9, 8, -1, -1, \
						-1, -1, -1, -1, -1, -1
#define EFGH_BYTES		-1, -1, 6, 5, 4, -1, -1, 14, 13, 12, \
						-1, -1, -1, -1, -1, -1

#endif							/* SNO_X86_H */

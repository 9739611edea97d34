/*
 * sparx.h
 *		The block cipher SPARX-64/128, by Dinu, Perrin, Udovenko, Velichkov, Großschädl
 *		and Biryukov (2016).
 *
 * Randflake, an id generator, encrypts its ids with this cipher.  A block has 64 bits, and a key
 * has 128 bits.  All operations are additions, rotations and exclusive ors of 16-bit words, so
 * their time depends neither on the key nor on the block.
 */
#ifndef SNO_SPARX_H
#define SNO_SPARX_H

#include <stdint.h>

#define SNO_SPARX_KEY_SIZE	16
#define SNO_SPARX_STEPS		8

/* The key schedule: six words for each branch of a step, and the last subkey */
typedef struct SnoSparx
{
	uint16_t	subkey[2 * SNO_SPARX_STEPS + 1][6];
} SnoSparx;

extern void sno_sparx_schedule(SnoSparx *s, const uint8_t key[SNO_SPARX_KEY_SIZE]);

/* Blocks are numbers whose lowest byte is the first byte of the block. */
extern uint64_t sno_sparx_encrypt(const SnoSparx *s, uint64_t block);
extern uint64_t sno_sparx_decrypt(const SnoSparx *s, uint64_t block);

#endif							/* SNO_SPARX_H */

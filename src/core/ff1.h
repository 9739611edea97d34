/*
 * ff1.h
 *		Format-preserving encryption of ids: FF1 of NIST SP 800-38G.
 *
 * The text of an id is 16 numerals of radix 32, each 5 bits.  FF1 with an empty tweak
 * is a permutation of these texts, so of the ids.  Other programs that have FF1 can
 * decrypt them.  The block cipher is the caller's.  Apart from it nothing depends on
 * the id but additions, so the time doesn't either.
 */
#ifndef SNO_FF1_H
#define SNO_FF1_H

#include "sno.h"

#define SNO_BLOCK_SIZE	16		/* bytes of a block of the cipher: AES */

/* Encrypt one block.  Input and output don't overlap. */
typedef void (*SnoBlockCipher) (void *key, const uint8_t *plain, uint8_t *cipher);

typedef struct SnoFf1
{
	SnoBlockCipher encrypt;
	void	   *key;
	uint8_t		start[SNO_BLOCK_SIZE];	/* the same in all rounds of all ids */
} SnoFf1;

extern void sno_ff1_start(SnoFf1 *f, SnoBlockCipher encrypt, void *key);
extern Sno	sno_ff1_encrypt(const SnoFf1 *f, const Sno *id);
extern Sno	sno_ff1_decrypt(const SnoFf1 *f, const Sno *id);

#endif							/* SNO_FF1_H */

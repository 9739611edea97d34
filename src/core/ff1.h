/*
 * ff1.h
 *		Format-preserving encryption of ids: FF1 of NIST SP 800-38G.
 *
 * An encrypted id has one of two forms, both with an empty tweak.  The first form is a text.
 * The text of an id is 16 numerals of radix 32, each of 5 bits.  FF1 permutes these texts,
 * and so permutes the ids.  The second form is a uuid of version 4, which has 122 free bits.
 * The 80 bits of the id and 42 zero bits are encrypted together, as numerals of radix 2.  If
 * a uuid was not encrypted with the key, its decryption has other bits in place of the zeros.
 * Other programs that have FF1 can decrypt both forms.
 *
 * The caller provides the block cipher.  All other operations take the same time for all
 * ids.
 */
#ifndef SNO_FF1_H
#define SNO_FF1_H

#include "id.h"

#define SNO_BLOCK_SIZE	16		/* bytes of a block of the cipher: AES */
#define SNO_UUID_SIZE	16

/* A function that encrypts one block.  Input and output don't overlap. */
typedef void (*SnoBlockCipher) (void *key, const uint8_t *plain, uint8_t *cipher);

typedef enum SnoFf1Form
{
	SNO_FF1_TEXT,
	SNO_FF1_UUID,
	SNO_FF1_FORMS
} SnoFf1Form;

typedef struct SnoFf1
{
	SnoBlockCipher encrypt;
	void	   *key;
	/* for each form, the cipher's state after P, which is the first block of each round */
	uint8_t		start[SNO_FF1_FORMS][SNO_BLOCK_SIZE];
} SnoFf1;

extern void sno_ff1_start(SnoFf1 *f, SnoBlockCipher encrypt, void *key);
extern Sno	sno_ff1_encrypt(const SnoFf1 *f, const Sno *id);
extern Sno	sno_ff1_decrypt(const SnoFf1 *f, const Sno *sealed);
extern void sno_ff1_encrypt_uuid(const SnoFf1 *f, const Sno *id, uint8_t *uuid);
extern bool sno_ff1_decrypt_uuid(const SnoFf1 *f, const uint8_t *uuid, Sno *id);

#endif							/* SNO_FF1_H */

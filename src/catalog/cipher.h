/*
 * cipher.h
 *		The interface between the libraries sno and sno_seal.
 *
 * Keys belong to extension sno_seal, which may be missing, as may its library.  So library
 * sno isn't linked to it, but loads it when a generator has a key, and calls it by pointers.
 */
#ifndef SNO_CIPHER_H
#define SNO_CIPHER_H

#include "postgres.h"

/* The libraries, and the extension that has the keys. */
#define SNO_LIBRARY			"sno"
#define SNO_SEAL_LIBRARY	"sno_seal"
#define SNO_SEAL_EXTENSION	"sno_seal"

/*
 * The function of library sno_seal that returns SnoCiphers.  The number in its name changes
 * with the structs below: if the libraries' versions differ, the function isn't found.
 */
#define SNO_CIPHERS_FUNCTION	"sno_seal_ciphers_1"

/* The function of library sno that returns the name of a generator that uses a key, or NULL. */
#define SNO_USING_KEY_FUNCTION	"sno_nodes_using_key"
typedef char *(*SnoUsingKeyFunction) (const char *key);

/* Encryption and decryption of ids of 64 bits with a key */
typedef struct SnoCipher
{
	uint64		(*encrypt) (const struct SnoCipher *c, uint64 id);
	uint64		(*decrypt) (const struct SnoCipher *c, uint64 id);
	uint64		version;		/* of the table of keys, when this was made */
} SnoCipher;

/* The functions raise an error if there is no such key. */
typedef struct SnoCiphers
{
	/* The present version of the table of keys, which changes whenever the table may have changed. */
	const uint64 *version;

	/* Keep a key from being dropped until the end of the transaction. */
	void		(*hold) (const char *key);

	/*
	 * The cipher of a key.  It overwrites `former`, a cipher in the same memory context, unless
	 * that is NULL.  The key material is wiped when the context is reset.
	 */
	SnoCipher  *(*make) (const char *key, MemoryContext context, SnoCipher *former);
} SnoCiphers;

typedef const SnoCiphers *(*SnoCiphersFunction) (void);

#endif							/* SNO_CIPHER_H */

/*
 * cipher.h
 *		The interface between the libraries sno and sno_seal.
 *
 * The keys that encrypt ids belong to extension sno_seal.  The extension, or its library sno_seal,
 * may be missing.  So library sno isn't linked to library sno_seal, but loads it when a generator
 * has a key, and calls its functions through pointers.
 */
#ifndef SNO_CIPHER_H
#define SNO_CIPHER_H

#include "postgres.h"

/* The names of the libraries, and of the extension that has the keys */
#define SNO_LIBRARY			"sno"
#define SNO_SEAL_LIBRARY	"sno_seal"
#define SNO_SEAL_EXTENSION	"sno_seal"

/*
 * The name of the function of library sno_seal that returns SnoCiphers.  The number in the name
 * is increased when a struct below changes.  So if the libraries were compiled with different
 * structs, the function isn't found.
 */
#define SNO_CIPHERS_FUNCTION	"sno_seal_ciphers_1"

/*
 * The name of a function of library sno.  The function returns the name of a generator that uses
 * a given key, or NULL if no generator does.
 */
#define SNO_USING_KEY_FUNCTION	"sno_nodes_using_key"
typedef char *(*SnoUsingKeyFunction) (const char *key);

/* Functions that encrypt and decrypt 64-bit ids with one key */
typedef struct SnoCipher
{
	uint64		(*encrypt) (const struct SnoCipher *c, uint64 id);
	uint64		(*decrypt) (const struct SnoCipher *c, uint64 id);
	uint64		version;		/* of the table of keys, when the cipher was made */
} SnoCipher;

/* Functions for keys.  They raise an error if the key doesn't exist. */
typedef struct SnoCiphers
{
	/* The version of the table of keys.  It changes whenever the table may have changed. */
	const uint64 *version;

	/* Prevent the key from being dropped until the transaction ends. */
	void		(*hold) (const char *key);

	/*
	 * Return the cipher of the key.  If `former` isn't NULL, it must be a cipher that was made in
	 * `context`; it is overwritten and returned.  The key material is wiped when the context is
	 * reset.
	 */
	SnoCipher  *(*make) (const char *key, MemoryContext context, SnoCipher *former);
} SnoCiphers;

typedef const SnoCiphers *(*SnoCiphersFunction) (void);

#endif							/* SNO_CIPHER_H */

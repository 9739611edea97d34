/*
 * key.h
 *		Keys that encrypt ids: the table sno_seal_key.
 */
#ifndef SNO_KEY_H
#define SNO_KEY_H

#include "postgres.h"

#include "catalog/table.h"

#define SNO_KEY_SIZE	16		/* bytes of a secret */

/* The table sno_seal_key */
extern SnoTable sno_keys;

extern void sno_key_secret(const char *name, uint8 *secret);
extern void sno_key_hold(const char *name);

#endif							/* SNO_KEY_H */

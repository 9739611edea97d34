/*
 * codec.h
 *		The text form of an id: 10 bytes to 16 characters and back.
 *
 * The alphabet is 23456789abcdefghijklmnopqrstuvwx, 5 bits a character, most
 * significant first, without padding, so that text sorts as bytes do.  Only
 * this form is accepted: no upper case, no white space, no look-alikes.
 *
 * Every codec is a pair of functions under the same contract; the portable
 * one is the reference that any other must agree with for every input.
 * Nothing here needs PostgreSQL.
 */
#ifndef SNO_CODEC_H
#define SNO_CODEC_H

#include <stdint.h>

#include "sno.h"

/*
 * Encode writes exactly SNO_TEXT_SIZE characters, no terminating zero.
 *
 * Decode reads exactly SNO_TEXT_SIZE characters and returns SNO_TEXT_SIZE if
 * all of them belong to the alphabet, else the offset of the first that does
 * not; the bytes of the id are then left as they were.
 *
 * Neither needs its arguments aligned; they must not overlap.
 */
extern void sno_portable_encode(const uint8_t *id, char *text);
extern int	sno_portable_decode(const char *text, uint8_t *id);

/* The codec in use. */
static inline void
sno_encode(const Sno *id, char *text)
{
	sno_portable_encode(id->byte, text);
}

static inline int
sno_decode(const char *text, Sno *id)
{
	return sno_portable_decode(text, id->byte);
}

#endif							/* SNO_CODEC_H */

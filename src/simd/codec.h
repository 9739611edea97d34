/*
 * codec.h
 *		The text form of an id: 10 bytes to 16 characters and back.
 *
 * The alphabet is 23456789abcdefghijklmnopqrstuvwx, 5 bits a character, most
 * significant first, without padding, so that text sorts as bytes do.  Only
 * this form is accepted: no upper case, no white space, no look-alikes.
 *
 * A codec implements this conversion for some kind of machine.  All codecs have
 * the same contract, and give the portable codec's results for every input.
 * Nothing here needs PostgreSQL.
 */
#ifndef SNO_CODEC_H
#define SNO_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "id.h"

/*
 * Encode reads exactly SNO_SIZE bytes and writes exactly SNO_TEXT_SIZE
 * characters, no terminating zero.
 *
 * Decode reads exactly SNO_TEXT_SIZE characters and returns SNO_TEXT_SIZE if
 * all of them belong to the alphabet.  Otherwise, it returns the offset of the
 * first foreign character, and doesn't change the bytes of the id.
 *
 * No argument needs to be aligned; input and output must not overlap.
 */
typedef struct SnoCodec
{
	const char *name;
	bool		(*supported) (void);	/* by this machine */
	void		(*encode) (const uint8_t *id, char *text);
	int			(*decode) (const char *text, uint8_t *id);
} SnoCodec;

/* The codecs compiled in, best first; the last one is the portable one. */
extern const SnoCodec sno_codecs[];
extern const int sno_codec_count;

/* The codec in use: the portable one, until another is chosen. */
extern const SnoCodec *sno_codec_active;

/*
 * Choose a codec by its name, or by "auto" the best one that this machine
 * supports.  Returns false and changes nothing if there is no codec of that name,
 * or this machine does not support it.
 */
extern bool sno_codec_choose(const char *name);

static inline void
sno_encode(const Sno *id, char *text)
{
	sno_codec_active->encode(id->byte, text);
}

static inline int
sno_decode(const char *text, Sno *id)
{
	return sno_codec_active->decode(text, id->byte);
}

#endif							/* SNO_CODEC_H */

/*
 * codec.h
 *		The text form of an id: 10 bytes to 16 characters and back.
 *
 * The alphabet is 23456789abcdefghijklmnopqrstuvwx.  Each character has 5 bits,
 * the most significant bits come first, and there is no padding.  So texts sort
 * like the ids' bytes.  Upper case, white space, and characters that only
 * resemble a character of the alphabet are not accepted.
 *
 * A codec implements this conversion for a kind of machine.  All codecs have the
 * same contract, and return the portable codec's results for every input.  They
 * don't depend on PostgreSQL.
 */
#ifndef SNO_CODEC_H
#define SNO_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "id.h"

/*
 * `encode` reads exactly SNO_SIZE bytes and writes exactly SNO_TEXT_SIZE
 * characters, without a terminating zero.
 *
 * `decode` reads exactly SNO_TEXT_SIZE characters and returns SNO_TEXT_SIZE if
 * all of them belong to the alphabet.  Otherwise, it returns the offset of the
 * first character that doesn't, and doesn't change the bytes of the id.
 *
 * No argument needs to be aligned.  Input and output must not overlap.
 */
typedef struct SnoCodec
{
	const char *name;
	bool		(*supported) (void);	/* by this machine */
	void		(*encode) (const uint8_t *id, char *text);
	int			(*decode) (const char *text, uint8_t *id);
} SnoCodec;

/* The codecs of this build, the best one first.  The last one is the portable codec. */
extern const SnoCodec sno_codecs[];
extern const int sno_codec_count;

/* The codec in use.  It is the portable codec, until another one is chosen. */
extern const SnoCodec *sno_codec_active;

/*
 * Choose the codec called `name`, or, if `name` is "auto", the best codec that this
 * machine supports.  Returns false and changes nothing if there is no codec of this
 * name, or if this machine does not support the codec.
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

/*
 * decode_fuzz.c
 *		libFuzzer target: any sixteen characters are either refused, at one
 *		that is out of place and after none that is, or they are the very text
 *		of the id they decode to.  In this all codecs that the machine supports
 *		agree.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "simd/codec.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";

static bool
in_alphabet(char c)
{
	return (c >= '2' && c <= '9') || (c >= 'a' && c <= 'x');
}

static void
check(const SnoCodec *codec, const char *text)
{
	char		again[SNO_TEXT_SIZE];
	int			end = 0;
	Sno			id;

	while (end < SNO_TEXT_SIZE && in_alphabet(text[end]))
		end++;
	if (codec->decode(text, id.byte) != end)
		abort();
	if (end < SNO_TEXT_SIZE)
		return;

	codec->encode(id.byte, again);
	if (memcmp(text, again, SNO_TEXT_SIZE) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		any[SNO_TEXT_SIZE];
	char		good[SNO_TEXT_SIZE];

	if (size < SNO_TEXT_SIZE)
		return 0;

	/* Random bytes are hardly ever good text, so there is also text that is. */
	for (int i = 0; i < SNO_TEXT_SIZE; i++)
	{
		any[i] = (char) data[i];
		good[i] = alphabet[data[i] & 31];
	}

	for (int c = 0; c < sno_codec_count; c++)
	{
		if (!sno_codecs[c].supported())
			continue;
		check(&sno_codecs[c], any);
		check(&sno_codecs[c], good);
	}
	return 0;
}

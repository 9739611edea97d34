/*
 * decode_fuzz.c
 *		libFuzzer target: any sixteen characters are either refused, at one
 *		that is out of place and after none that is, or they are the very text
 *		of the id they decode to.  In this all codecs that the machine supports
 *		agree, whether texts come one by one or in a batch.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "simd/codec.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXTS	9				/* two groups of the widest codec and a rest */

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";

static bool
in_alphabet(char c)
{
	return (c >= '2' && c <= '9') || (c >= 'a' && c <= 'x');
}

static const SnoCodec *
portable(void)
{
	return &sno_codecs[sno_codec_count - 1];
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

/* Each text of a batch, up to the first bad one, is what it is to portable. */
static void
check_batch(const SnoCodec *codec, const char *texts, size_t count)
{
	Sno			ids[TEXTS];
	char		again[TEXTS * SNO_TEXT_SIZE];
	int			offset = SNO_TEXT_SIZE;
	size_t		good = codec->decode_many(texts, ids->byte, count, &offset);

	if ((good == count) != (offset == SNO_TEXT_SIZE))
		abort();
	for (size_t i = 0; i < count && i <= good; i++)
	{
		Sno			id;
		int			end = portable()->decode(texts + i * SNO_TEXT_SIZE, id.byte);

		if (end != (i < good ? SNO_TEXT_SIZE : offset))
			abort();
		if (i < good && memcmp(&id, &ids[i], SNO_SIZE) != 0)
			abort();
	}

	codec->encode_many(ids->byte, again, good);
	if (memcmp(texts, again, good * SNO_TEXT_SIZE) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		any[TEXTS * SNO_TEXT_SIZE];
	char		good[TEXTS * SNO_TEXT_SIZE];
	char		mixed[TEXTS * SNO_TEXT_SIZE];
	size_t		count = size / SNO_TEXT_SIZE;

	if (count == 0)
		return 0;
	if (count > TEXTS)
		count = TEXTS;

	/*
	 * Random bytes are hardly ever good text.  So there is also text that
	 * always is, and a batch that begins as such.
	 */
	for (size_t i = 0; i < count * SNO_TEXT_SIZE; i++)
	{
		any[i] = (char) data[i];
		good[i] = alphabet[data[i] & 31];
		mixed[i] = i / SNO_TEXT_SIZE < data[0] % count ? good[i] : any[i];
	}

	for (int c = 0; c < sno_codec_count; c++)
	{
		const SnoCodec *codec = &sno_codecs[c];

		if (!codec->supported())
			continue;
		check(codec, any);
		check(codec, good);
		check_batch(codec, any, count);
		check_batch(codec, good, count);
		check_batch(codec, mixed, count);
	}
	return 0;
}

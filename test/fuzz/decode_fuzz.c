/*
 * decode_fuzz.c
 *		libFuzzer target: any sixteen characters are either refused, at one
 *		that is out of place and after none that is, or they are the very text
 *		of the id they decode to.
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
check(const char *text)
{
	char		again[SNO_TEXT_SIZE];
	int			end = 0;
	Sno			id;

	while (end < SNO_TEXT_SIZE && in_alphabet(text[end]))
		end++;
	if (sno_decode(text, &id) != end)
		abort();
	if (end < SNO_TEXT_SIZE)
		return;

	sno_encode(&id, again);
	if (memcmp(text, again, SNO_TEXT_SIZE) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		text[SNO_TEXT_SIZE];

	if (size < SNO_TEXT_SIZE)
		return 0;

	memcpy(text, data, SNO_TEXT_SIZE);
	check(text);

	/* Random bytes are hardly ever good text: these always are. */
	for (int i = 0; i < SNO_TEXT_SIZE; i++)
		text[i] = alphabet[data[i] & 31];
	check(text);
	return 0;
}

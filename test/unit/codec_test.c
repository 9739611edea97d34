/*
 * codec_test.c
 *		The codec against an encoder that is too simple to be wrong: one bit
 *		at a time, by the words of the format.  Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include "simd/codec.h"

#define ROUNDS	2000000

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";
static int	tests = 0;
static int	failures = 0;

static void
ok(bool passed, const char *name)
{
	tests++;
	failures += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, name);
}

/* Bit i of the id, counted from the most significant, is bit i of the text. */
static void
naive_encode(const Sno *id, char *text)
{
	for (int i = 0; i < SNO_TEXT_SIZE; i++)
	{
		int			value = 0;

		for (int bit = i * 5; bit < i * 5 + 5; bit++)
			value = value * 2 + (id->byte[bit / 8] >> (7 - bit % 8) & 1);
		text[i] = alphabet[value];
	}
}

/* Encodes as the naive encoder does, and decodes to where it came from. */
static bool
agrees(const Sno *id)
{
	char		expected[SNO_TEXT_SIZE];
	char		text[SNO_TEXT_SIZE + 1] = {0};
	Sno			back;

	memset(&back, 0xa5, sizeof(back));
	text[SNO_TEXT_SIZE] = '!';
	naive_encode(id, expected);
	sno_encode(id, text);
	return memcmp(text, expected, SNO_TEXT_SIZE) == 0 &&
		text[SNO_TEXT_SIZE] == '!' &&
		sno_decode(text, &back) == SNO_TEXT_SIZE &&
		memcmp(&back, id, SNO_SIZE) == 0;
}

/* splitmix64, by Sebastiano Vigna; public domain. */
static uint64_t
next_random(void)
{
	static uint64_t state = 20100101;
	uint64_t	z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void
random_id(Sno *id)
{
	uint64_t	high = next_random();
	uint64_t	low = next_random();

	for (int i = 0; i < SNO_SIZE; i++)
		id->byte[i] = (uint8_t) (i < 8 ? high >> 8 * i : low >> 8 * (i - 8));
}

static void
test_known(void)
{
	Sno			id;
	char		text[SNO_TEXT_SIZE];

	memset(&id, 0, sizeof(id));
	sno_encode(&id, text);
	ok(memcmp(text, "2222222222222222", SNO_TEXT_SIZE) == 0, "zero");

	memset(&id, 0xff, sizeof(id));
	sno_encode(&id, text);
	ok(memcmp(text, "xxxxxxxxxxxxxxxx", SNO_TEXT_SIZE) == 0, "all ones");

	ok(sno_decode(alphabet, &id) == SNO_TEXT_SIZE &&
	   sno_decode(alphabet + SNO_TEXT_SIZE, &id) == SNO_TEXT_SIZE,
	   "every character of the alphabet");
}

static void
test_bits(void)
{
	bool		one = true;
	bool		none = true;
	bool		two = true;

	for (int i = 0; i < SNO_SIZE * 8; i++)
	{
		Sno			id = {{0}};
		Sno			rest;

		id.byte[i / 8] = (uint8_t) (0x80 >> i % 8);
		one &= agrees(&id);
		for (int b = 0; b < SNO_SIZE; b++)
			rest.byte[b] = (uint8_t) ~id.byte[b];
		none &= agrees(&rest);
		for (int j = 0; j < i; j++)
		{
			Sno			pair = id;

			pair.byte[j / 8] |= (uint8_t) (0x80 >> j % 8);
			two &= agrees(&pair);
		}
	}
	ok(one, "each bit alone");
	ok(none, "all bits but one");
	ok(two, "each pair of bits");
}

static void
test_bytes(void)
{
	bool		passed = true;

	for (int position = 0; position < SNO_SIZE; position++)
	{
		for (int value = 0; value < 256; value++)
		{
			Sno			id;

			random_id(&id);
			id.byte[position] = (uint8_t) value;
			passed &= agrees(&id);
		}
	}
	ok(passed, "every byte value at every position");
}

/* Every byte at every position of a good text: taken or refused, where. */
static void
test_characters(void)
{
	bool		verdicts = true;
	bool		untouched = true;

	for (int position = 0; position < SNO_TEXT_SIZE; position++)
	{
		for (int value = 0; value < 256; value++)
		{
			bool		good = value != 0 && strchr(alphabet, value) != NULL;
			char		text[SNO_TEXT_SIZE];
			Sno			id;
			Sno			before;

			random_id(&id);
			before = id;
			sno_encode(&id, text);
			text[position] = (char) value;
			verdicts &= sno_decode(text, &id) == (good ? SNO_TEXT_SIZE : position);
			if (!good)
				untouched &= memcmp(&id, &before, SNO_SIZE) == 0;
		}
	}
	ok(verdicts, "every character at every position is taken or refused there");
	ok(untouched, "refused text leaves the id as it was");
}

/* Of several bad characters the first is reported. */
static void
test_first_offender(void)
{
	bool		passed = true;

	for (int round = 0; round < 100000; round++)
	{
		unsigned	mask = (unsigned) next_random() & 0xffff;
		int			first = SNO_TEXT_SIZE;
		char		text[SNO_TEXT_SIZE];
		Sno			id;

		random_id(&id);
		sno_encode(&id, text);
		for (int i = SNO_TEXT_SIZE - 1; i >= 0; i--)
		{
			if (mask >> i & 1)
			{
				do
					text[i] = (char) next_random();
				while (text[i] != '\0' && strchr(alphabet, text[i]) != NULL);
				first = i;
			}
		}
		passed &= sno_decode(text, &id) == first;
	}
	ok(passed, "the first of several bad characters is reported");
}

static void
test_random(void)
{
	bool		round_trip = true;
	bool		order = true;
	Sno			last = {{0}};

	for (int round = 0; round < ROUNDS; round++)
	{
		char		text[SNO_TEXT_SIZE];
		char		last_text[SNO_TEXT_SIZE];
		Sno			id;

		random_id(&id);
		round_trip &= agrees(&id);
		sno_encode(&id, text);
		sno_encode(&last, last_text);
		order &= (memcmp(&id, &last, SNO_SIZE) < 0) ==
			(memcmp(text, last_text, SNO_TEXT_SIZE) < 0);
		last = id;
	}
	ok(round_trip, "random ids");
	ok(order, "text sorts as bytes do");
}

/* Neither side needs to be aligned, nor writes outside. */
static void
test_alignment(void)
{
	bool		passed = true;

	for (int offset = 0; offset < 8; offset++)
	{
		uint8_t		id[SNO_SIZE + 8];
		uint8_t		back[SNO_SIZE + 9];
		char		text[SNO_TEXT_SIZE + 9];
		Sno			source;

		random_id(&source);
		memcpy(id + offset, &source, SNO_SIZE);
		memset(back, 0x5a, sizeof(back));
		memset(text, '!', sizeof(text));
		sno_portable_encode(id + offset, text + offset);
		passed &= text[offset + SNO_TEXT_SIZE] == '!';
		passed &= offset == 0 || text[offset - 1] == '!';
		passed &= sno_portable_decode(text + offset, back + offset) == SNO_TEXT_SIZE;
		passed &= memcmp(back + offset, &source, SNO_SIZE) == 0;
		passed &= back[offset + SNO_SIZE] == 0x5a;
		passed &= offset == 0 || back[offset - 1] == 0x5a;
	}
	ok(passed, "any alignment");
}

/* The fields against the layout's own words. */
static void
test_fields(void)
{
	bool		passed = true;

	for (int round = 0; round < 100000; round++)
	{
		SnoFields	f;
		Sno			id;
		Sno			back;

		random_id(&id);
		f = sno_unpack(&id);
		sno_pack(&back, f);
		passed &= memcmp(&id, &back, SNO_SIZE) == 0;
		passed &= f.unit <= SNO_UNIT_MAX && f.tick_tock == (id.byte[4] & 1);
	}
	ok(passed, "unpacked and packed again");
}

int
main(void)
{
	test_known();
	test_bits();
	test_bytes();
	test_characters();
	test_first_offender();
	test_random();
	test_alignment();
	test_fields();
	printf("1..%d\n", tests);
	return failures != 0;
}

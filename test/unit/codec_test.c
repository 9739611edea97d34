/*
 * codec_test.c
 *		Every codec that this machine supports.  Each is held against an
 *		encoder that is too simple to be wrong: one bit at a time, by the words
 *		of the format; and against the portable codec, input by input.  Prints
 *		TAP.
 */
#define _DEFAULT_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "random.h"
#include "simd/codec.h"
#include "tap.h"

#define ROUNDS		1000000		/* of random ids beside the naive encoder */

static const char alphabet[] = "23456789abcdefghijklmnopqrstuvwx";
static const char *subject;		/* what the tests that follow are of */

static void
ok(bool passed, const char *name)
{
	char		what[200];

	snprintf(what, sizeof(what), "%s: %s", subject, name);
	report(passed, what);
}

static const SnoCodec *
portable(void)
{
	return &sno_codecs[sno_codec_count - 1];
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

/* The offset of the first character that is foreign, as the format says. */
static int
naive_verdict(const char *text)
{
	int			end = 0;

	while (end < SNO_TEXT_SIZE && text[end] != '\0' &&
		   strchr(alphabet, text[end]) != NULL)
		end++;
	return end;
}

/* Encodes as the naive encoder does, and decodes to where it came from. */
static bool
agrees(const Sno *id)
{
	char		expected[SNO_TEXT_SIZE];
	char		text[SNO_TEXT_SIZE];
	Sno			back;

	memset(&back, 0xa5, sizeof(back));
	naive_encode(id, expected);
	sno_encode(id, text);
	return memcmp(text, expected, SNO_TEXT_SIZE) == 0 &&
		sno_decode(text, &back) == SNO_TEXT_SIZE &&
		memcmp(&back, id, SNO_SIZE) == 0;
}

/* Any text is refused where it must be, and then leaves the id as it was. */
static bool
judges(const char *text)
{
	Sno			id;
	Sno			untouched;
	Sno			portable_id;
	int			expected = naive_verdict(text);

	memset(&untouched, 0x5a, SNO_SIZE);
	id = portable_id = untouched;
	return sno_decode(text, &id) == expected &&
		portable()->decode(text, portable_id.byte) == expected &&
		memcmp(&id, &portable_id, SNO_SIZE) == 0 &&
		(expected == SNO_TEXT_SIZE || memcmp(&id, &untouched, SNO_SIZE) == 0);
}

static void
random_id(Sno *id)
{
	uint64_t	high = next_random();
	uint64_t	low = next_random();

	memcpy(id->byte, &high, 8);
	memcpy(id->byte + 8, &low, 2);
}

static char
random_foreign(void)
{
	char		c;

	do
		c = (char) next_random();
	while (c != '\0' && strchr(alphabet, c) != NULL);
	return c;
}

/* ---------------- single ids ---------------- */

static void
test_known(void)
{
	Sno			id;
	char		text[SNO_TEXT_SIZE];

	memset(&id, 0, sizeof(id));
	sno_encode(&id, text);
	ok(memcmp(text, "2222222222222222", SNO_TEXT_SIZE) == 0 && agrees(&id),
	   "zero");

	memset(&id, 0xff, sizeof(id));
	sno_encode(&id, text);
	ok(memcmp(text, "xxxxxxxxxxxxxxxx", SNO_TEXT_SIZE) == 0 && agrees(&id),
	   "all ones");

	ok(sno_decode(alphabet, &id) == SNO_TEXT_SIZE &&
	   sno_decode(alphabet + SNO_TEXT_SIZE, &id) == SNO_TEXT_SIZE,
	   "every character of the alphabet");
}

static void
test_bits(void)
{
	bool		one = true;
	bool		rest = true;
	bool		two = true;

	for (int i = 0; i < SNO_SIZE * 8; i++)
	{
		Sno			id = {{0}};
		Sno			inverse;

		id.byte[i / 8] = (uint8_t) (0x80 >> i % 8);
		one &= agrees(&id);
		for (int b = 0; b < SNO_SIZE; b++)
			inverse.byte[b] = (uint8_t) ~id.byte[b];
		rest &= agrees(&inverse);
		for (int j = 0; j < i; j++)
		{
			Sno			pair = id;

			pair.byte[j / 8] |= (uint8_t) (0x80 >> j % 8);
			two &= agrees(&pair);
		}
	}
	ok(one, "each bit alone");
	ok(rest, "all bits but one");
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

/* Every byte at every position: of texts of one character, and of random ones. */
static void
test_characters(void)
{
	bool		uniform = true;
	bool		random = true;

	for (int position = 0; position < SNO_TEXT_SIZE; position++)
	{
		for (int value = 0; value < 256; value++)
		{
			char		text[SNO_TEXT_SIZE];

			for (const char *c = alphabet; *c != '\0'; c++)
			{
				memset(text, *c, SNO_TEXT_SIZE);
				text[position] = (char) value;
				uniform &= judges(text);
			}
			for (int i = 0; i < 32; i++)
			{
				Sno			id;

				random_id(&id);
				naive_encode(&id, text);
				text[position] = (char) value;
				random &= judges(text);
			}
		}
	}
	ok(uniform, "every character at every position of uniform texts");
	ok(random, "every character at every position of random texts");
}

/* All sets of positions, the same foreign character or different ones there. */
static void
test_first_offender(void)
{
	bool		passed = true;

	for (unsigned positions = 0; positions < 1 << SNO_TEXT_SIZE; positions++)
	{
		char		same = random_foreign();
		char		text[SNO_TEXT_SIZE];
		char		other[SNO_TEXT_SIZE];
		Sno			id;

		random_id(&id);
		naive_encode(&id, text);
		memcpy(other, text, SNO_TEXT_SIZE);
		for (int i = 0; i < SNO_TEXT_SIZE; i++)
		{
			if (positions >> i & 1)
			{
				text[i] = same;
				other[i] = random_foreign();
			}
		}
		passed &= judges(text) && judges(other);
	}
	ok(passed, "the first of several bad characters is reported");
}

static void
test_random(void)
{
	bool		round_trip = true;
	bool		order = true;
	Sno			last = {{0}};
	char		last_text[SNO_TEXT_SIZE];

	sno_encode(&last, last_text);
	for (int round = 0; round < ROUNDS; round++)
	{
		char		text[SNO_TEXT_SIZE];
		Sno			id;

		random_id(&id);
		round_trip &= agrees(&id);
		sno_encode(&id, text);
		order &= (memcmp(&id, &last, SNO_SIZE) < 0) ==
			(memcmp(text, last_text, SNO_TEXT_SIZE) < 0);
		last = id;
		memcpy(last_text, text, SNO_TEXT_SIZE);
	}
	ok(round_trip, "random ids");
	ok(order, "text sorts as bytes do");
}

/* Ten million random ids, as portable does them. */
static void
test_same_as_portable(void)
{
	bool		encode = true;
	bool		decode = true;

	for (int round = 0; round < 10 * ROUNDS; round++)
	{
		char		expected[SNO_TEXT_SIZE];
		char		text[SNO_TEXT_SIZE];
		Sno			id;
		Sno			back;

		random_id(&id);
		portable()->encode(id.byte, expected);
		sno_encode(&id, text);
		encode &= memcmp(text, expected, SNO_TEXT_SIZE) == 0;
		decode &= sno_decode(expected, &back) == SNO_TEXT_SIZE &&
			memcmp(&back, &id, SNO_SIZE) == 0;
	}
	ok(encode, "encodes random ids as portable does");
	ok(decode, "decodes random ids as portable does");
}

/* ---------------- nothing outside is read or written ---------------- */

#define AREA	(SNO_TEXT_SIZE + 64)

/* A page or more that may be used, between two that must not be touched. */
static uint8_t *
guarded_pages(size_t *size)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	uint8_t    *start;

	*size = (AREA + page - 1) / page * page;
	start = mmap(NULL, *size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
	if (start == MAP_FAILED ||
		mprotect(start + page, *size, PROT_READ | PROT_WRITE) != 0)
	{
		perror("guarded_pages");
		exit(1);
	}
	return start + page;
}

static bool
all(const uint8_t *from, const uint8_t *to, uint8_t value)
{
	for (; from < to; from++)
	{
		if (*from != value)
			return false;
	}
	return true;
}

/*
 * An id at `id_bytes` and its text at `text_bytes`, in the first AREA bytes or
 * the last ones of their pages: what is around them stays as it is.
 */
static bool
stays_inside(uint8_t *id_area, uint8_t *id_bytes,
			 uint8_t *text_area, uint8_t *text_bytes)
{
	Sno		   *id = (Sno *) id_bytes;
	char	   *text = (char *) text_bytes;
	char		expected[SNO_TEXT_SIZE];
	Sno			source;
	bool		passed;

	random_id(&source);
	naive_encode(&source, expected);

	memset(id_area, 0x5a, AREA);
	memset(text_area, '!', AREA);
	*id = source;
	sno_encode(id, text);
	passed = memcmp(text, expected, SNO_TEXT_SIZE) == 0 &&
		all(text_area, text_bytes, '!') &&
		all(text_bytes + SNO_TEXT_SIZE, text_area + AREA, '!');

	memset(id, 0x5a, SNO_SIZE);
	return passed && sno_decode(text, id) == SNO_TEXT_SIZE &&
		memcmp(id, &source, SNO_SIZE) == 0 &&
		all(id_area, id_bytes, 0x5a) &&
		all(id_bytes + SNO_SIZE, id_area + AREA, 0x5a);
}

static void
test_bounds(void)
{
	static size_t size = 0;
	static uint8_t *ids;
	static uint8_t *texts;
	uint8_t    *last_ids;
	uint8_t    *last_texts;
	bool		unaligned = true;

	if (size == 0)
	{
		ids = guarded_pages(&size);
		texts = guarded_pages(&size);
	}
	last_ids = ids + size - AREA;
	last_texts = texts + size - AREA;

	ok(stays_inside(ids, ids, texts, texts),
	   "right behind a page that must not be touched");
	ok(stays_inside(last_ids, last_ids + AREA - SNO_SIZE,
					last_texts, last_texts + AREA - SNO_TEXT_SIZE),
	   "right before a page that must not be touched");
	for (int offset = 0; offset < 64; offset++)
		unaligned &= stays_inside(ids, ids + offset,
								  texts, texts + (offset * 7 + 1) % 64);
	ok(unaligned, "any alignment");
}

/* ---------------- which codecs there are ---------------- */

static void
test_codec(void)
{
	subject = sno_codec_active->name;
	printf("# testing %s\n", subject);
	test_known();
	test_bits();
	test_bytes();
	test_characters();
	test_first_offender();
	test_random();
	test_same_as_portable();
	test_bounds();
}

/* Test a codec if it can be chosen, which it must be if the machine has it. */
static void
test_choice(const char *name, bool expected)
{
	const SnoCodec *before = sno_codec_active;
	bool		chosen = sno_codec_choose(name);

	subject = "dispatch";
	if (chosen)
	{
		ok(expected && strcmp(sno_codec_active->name, name) == 0, name);
		test_codec();
	}
	else
	{
		printf("# not supported here: %s\n", name);
		ok(!expected && sno_codec_active == before, name);
	}
}

/*
 * The names are here again, and the machine is asked again, so that no codec
 * gets lost between the table and the tests.
 */
static void
test_dispatch(void)
{
	int			known = 1;
	int			best = 0;

	subject = "dispatch";
	ok(sno_codec_active == portable(), "portable until another is chosen");
	ok(strcmp(portable()->name, "portable") == 0 && portable()->supported(),
	   "the last one runs everywhere");

	test_choice("portable", true);
#if defined(__x86_64__)
	test_choice("ssse3", __builtin_cpu_supports("ssse3"));
	known += 1;
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	test_choice("neon", true);
	known += 1;
#endif

	subject = "dispatch";
	ok(known == sno_codec_count, "there are no others");

	while (!sno_codecs[best].supported())
		best++;
	ok(sno_codec_choose("auto") && sno_codec_active == &sno_codecs[best],
	   "auto is the first that is supported");
	ok(!sno_codec_choose("abacus") && sno_codec_active == &sno_codecs[best],
	   "an unknown name changes nothing");
}

/* The fields against the layout's own words. */
static void
test_fields(void)
{
	bool		passed = true;

	subject = "fields";
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
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);	/* a crash is to tell where */
	test_dispatch();
	test_fields();
	return plan();
}

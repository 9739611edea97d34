/*
 * codec.c
 *		The time to encode and to decode one id through the dispatch, with each
 *		codec that this machine supports.  Needs no PostgreSQL:
 *
 *			cc -O2 -Isrc -o codec bench/codec.c src/simd/[a-z]*.c && ./codec
 *
 * Throughput is measured by independent calls.  For latency, the address of each call's
 * input depends on the result of the previous call.  So latency includes a store, and a
 * load of the stored value.  "(call)" does nothing, and so measures the dispatch itself.
 *
 * Each round runs all codecs.  Ratios to portable are computed within a round, and
 * medians over the rounds.  A smaller ratio is faster.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "simd/codec.h"

#define IDS		512				/* they and their texts fit into L1 */
#define CALLS	(64 * IDS)		/* of one measurement */
#define ROUNDS	101
#define CODECS	8				/* at most, with (call) */

static Sno	ids[IDS];
static char texts[IDS * SNO_TEXT_SIZE];
static volatile size_t zero = 0;	/* the compiler can't know that it is 0 */

static void
call_encode(const uint8_t *id, char *text)
{
	(void) id, (void) text;
}

static int
call_decode(const char *text, uint8_t *id)
{
	(void) text, (void) id;
	return SNO_TEXT_SIZE;
}

static const SnoCodec call = {"(call)", NULL, call_encode, call_decode};

static void
encode_throughput(void)
{
	for (int i = 0; i < CALLS; i++)
		sno_encode(&ids[i % IDS], &texts[i % IDS * SNO_TEXT_SIZE]);
}

static void
decode_throughput(void)
{
	for (int i = 0; i < CALLS; i++)
	{
		if (sno_decode(&texts[i % IDS * SNO_TEXT_SIZE],
					   &ids[i % IDS]) != SNO_TEXT_SIZE)
			abort();
	}
}

static void
encode_latency(void)
{
	size_t		mask = zero;
	char		text[SNO_TEXT_SIZE] = {0};

	for (int i = 0; i < CALLS; i++)
		sno_encode(&ids[(unsigned char) text[SNO_TEXT_SIZE - 1] & mask], text);
}

static void
decode_latency(void)
{
	size_t		mask = zero;
	Sno			id = {{0}};

	for (int i = 0; i < CALLS; i++)
	{
		if (sno_decode(&texts[id.byte[SNO_SIZE - 1] & mask],
					   &id) != SNO_TEXT_SIZE)
			abort();
	}
}

static const struct
{
	const char *name;
	void		(*run) (void);
}			measurements[] =

{
	{"encode, throughput", encode_throughput},
	{"encode, latency", encode_latency},
	{"decode, throughput", decode_throughput},
	{"decode, latency", decode_latency}
};

#define MEASUREMENTS	(int) (sizeof(measurements) / sizeof(measurements[0]))

static double ns[MEASUREMENTS][CODECS][ROUNDS];

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The median of values, or of their ratios to `others`. */
static double
median(const double *values, const double *others)
{
	double		sorted[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		sorted[i] = others ? values[i] / others[i] : values[i];
	qsort(sorted, ROUNDS, sizeof(sorted[0]), by_value);
	return sorted[ROUNDS / 2];
}

int
main(void)
{
	const SnoCodec *codecs[CODECS] = {&call};
	int			count = 1;

	for (int i = sno_codec_count - 1; i >= 0; i--)
	{
		if (sno_codecs[i].supported())
			codecs[count++] = &sno_codecs[i];
	}

	srand(1);
	for (int i = 0; i < IDS * SNO_SIZE; i++)
		ids[i / SNO_SIZE].byte[i % SNO_SIZE] = (uint8_t) (rand() >> 7);

	for (int round = -1; round < ROUNDS; round++)	/* the first warms up */
	{
		for (int c = 0; c < count; c++)
		{
			sno_codec_active = codecs[c];
			for (int m = 0; m < MEASUREMENTS; m++)
			{
				double		start = now();

				measurements[m].run();
				if (round >= 0)
					ns[m][c][round] = (now() - start) / CALLS;
			}
		}
	}

	printf("%-20s", "ns an id");
	for (int c = 0; c < count; c++)
		printf(c < 2 ? "%10s" : "%17s", codecs[c]->name);
	printf("\n");
	for (int m = 0; m < MEASUREMENTS; m++)
	{
		printf("%-20s", measurements[m].name);
		for (int c = 0; c < count; c++)
		{
			printf("%10.2f", median(ns[m][c], NULL));
			if (c >= 2)
				printf(" x %.2f", median(ns[m][c], ns[m][1]));
		}
		printf("\n");
	}
	return 0;
}

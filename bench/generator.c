/*
 * generator.c
 *		How many ids a second the generator core issues in one thread, with the
 *		clock read once for each batch of them.  Needs no PostgreSQL:
 *
 *			cc -O2 -Isrc -o generator bench/generator.c src/core/generator.c && ./generator
 *
 * A partition has 65,536 ids in a unit of 4 ms, 16.384 million a second.  When it
 * has none left, the next one of a ring of partitions is used, as sessions do in
 * sno_generate_many().  All ids are assembled and stored.
 *
 * Each round runs all sizes of batches.  Figures are medians over the rounds.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/generator.h"

#define RING	64				/* partitions, 1,048 million ids a second */
#define IDS		10000000		/* of one measurement */
#define ROUNDS	11

static const int batches[] = {1, 16, 256};

#define BATCHES	((int) (sizeof(batches) / sizeof(batches[0])))

static SnoGenerator ring[RING];
static Sno	ids[256];
static volatile uint8_t sink;

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t
unit_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t) (t.tv_sec - SNO_EPOCH_UNIX) * SNO_UNITS_PER_SEC +
		t.tv_nsec / (SNO_UNIT_MSEC * 1000000);
}

/* Million ids a second.  *moves counts how often a partition was exhausted. */
static double
measure(int batch, long *moves)
{
	double		start = seconds();
	int			p = 0;

	for (int done = 0; done < IDS; done += batch)
	{
		uint64_t	now = unit_now();

		for (int i = 0; i < batch; i++)
		{
			uint64_t	word;

			while (sno_generator_step(&ring[p], now, &word) != SNO_ISSUED)
			{
				p = (p + 1) % RING;
				++*moves;
			}
			sno_assemble(&ids[i], SNO_WORD_TIME(word), 0, (uint16_t) p,
						 (uint16_t) SNO_WORD_SEQUENCE(word));
		}
		sink = ids[batch - 1].byte[9];
	}
	return IDS / (seconds() - start) / 1e6;
}

static int
ascending(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

int
main(void)
{
	static double rate[BATCHES][ROUNDS];
	long		moves[BATCHES] = {0};

	for (int p = 0; p < RING; p++)
	{
		sno_generator_start(&ring[p], 0, 0, SNO_SEQUENCE_MAX);
		ring[p].ceiling = SNO_UNIT_MAX;
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int b = 0; b < BATCHES; b++)
			rate[b][round] = measure(batches[b], &moves[b]);

	printf("ids a clock reading   million ids a second   partitions exhausted a round\n");
	for (int b = 0; b < BATCHES; b++)
	{
		qsort(rate[b], ROUNDS, sizeof(double), ascending);
		printf("%19d   %20.1f   %28.1f\n", batches[b], rate[b][ROUNDS / 2],
			   (double) moves[b] / ROUNDS);
	}
	return 0;
}

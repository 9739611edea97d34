/*
 * abbrev_test.c
 *		Comparison and distance of ids, compared with memcmp(); and abbreviated
 *		keys, compared with what abbrev.h promises: they keep the order for all
 *		near parts, and tell all ids apart near the first one.  Prints TAP.
 */
#include <string.h>

#include "type/abbrev.h"
#include "random.h"
#include "tap.h"

#define ROUNDS	2000000

/* An id from its two halves of 40 bits. */
static Sno
from_parts(uint64_t time, uint64_t rest)
{
	Sno			id;

	for (int i = 0; i < 5; i++)
	{
		id.byte[i] = (uint8_t) (time >> (32 - 8 * i));
		id.byte[5 + i] = (uint8_t) (rest >> (32 - 8 * i));
	}
	return id;
}

/* A number of at most 40 bits; each length has the same probability. */
static uint64_t
random_length(void)
{
	return next_random() >> (24 + next_random() % 40);
}

/* A number of 40 bits: any, near an end, or near another number on either side. */
static uint64_t
random_part(uint64_t other)
{
	const uint64_t highest = (UINT64_C(1) << 40) - 1;

	switch (next_random() % 6)
	{
		case 0:
			return next_random() & highest;
		case 1:
			return random_length();
		case 2:
			return highest - random_length();
		case 3:
			return (other - random_length()) & highest;
		case 4:
			return (other + (next_random() % 5 - 2)) & highest;
		default:
			return (other + random_length()) & highest;
	}
}

static int
sign(int order)
{
	return (order > 0) - (order < 0);
}

static bool
keeps_order(const Sno *first, const Sno *a, const Sno *b)
{
	SnoAbbrev	near = sno_abbrev_around(first);
	uint64_t	key_a = sno_abbrev_key(&near, a);
	uint64_t	key_b = sno_abbrev_key(&near, b);
	int			order = memcmp(a, b, SNO_SIZE);

	return order == 0 ? key_a == key_b :
		order < 0 ? key_a <= key_b : key_a >= key_b;
}

static bool
tells_apart(const Sno *first, const Sno *a, const Sno *b)
{
	SnoAbbrev	near = sno_abbrev_around(first);

	return sno_abbrev_key(&near, a) != sno_abbrev_key(&near, b);
}

static void
test_compare(void)
{
	bool		same_order = true;
	bool		distances = true;

	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	time = random_part(0);
		uint64_t	rest = random_part(0);
		Sno			a = from_parts(time, rest);
		Sno			b = from_parts(next_random() % 2 ? time : random_part(time),
								   random_part(rest));
		int			order = memcmp(&a, &b, SNO_SIZE);

		same_order &= sign(sno_compare(&a, &b)) == sign(order);
		if (order <= 0)
			distances &= (sno_distance(&a, &b) > 0) == (order < 0) &&
				sno_distance(&a, &b) >= 0;
	}
	report(same_order, "sno_compare() orders ids as memcmp() does");
	report(distances, "sno_distance() is 0 for equal ids only");
}

static void
test_distance(void)
{
	Sno			low = from_parts(1, 0xffffffffff);
	Sno			next = from_parts(2, 0);
	Sno			lowest = from_parts(0, 0);
	Sno			highest = from_parts(0xffffffffff, 0xffffffffff);

	report(sno_distance(&low, &next) == 1, "sno_distance() is 1 for ids next to each other");
	report(sno_distance(&lowest, &highest) == 0x1p80,
		   "sno_distance() is 2^80, rounded, between both ends");
}

static void
test_order(void)
{
	bool		kept = true;

	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	time = random_part(0);
		uint64_t	rest = random_part(0);
		Sno			first = from_parts(time, rest);
		uint64_t	time_a = random_part(time);
		uint64_t	rest_a = random_part(rest);
		Sno			a = from_parts(time_a, rest_a);
		Sno			b = from_parts(next_random() % 2 ? time_a : random_part(time_a),
								   random_part(rest_a));

		kept &= keeps_order(&first, &a, &b);
	}
	report(kept, "abbreviated keys keep the order of random ids, around random ids");
}

/* Walk over the edges of both near parts, id by id. */
static void
test_edges(void)
{
	const uint64_t highest = (UINT64_C(1) << 40) - 1;
	const uint64_t places[] = {0, 1, 1 << 21, 1 << 22, 1 << 30, highest >> 1,
	highest - (1 << 22), highest - (1 << 21), highest};
	const int	count = sizeof(places) / sizeof(places[0]);
	bool		kept = true;

	for (int i = 0; i < count * count; i++)
	{
		Sno			first = from_parts(places[i / count], places[i % count]);
		SnoAbbrev	near = sno_abbrev_around(&first);
		uint64_t	times[] = {near.time, near.time + (1 << SNO_NEAR_TIME_BITS)};
		uint64_t	rests[] = {near.rest, near.rest + (1 << SNO_NEAR_REST_BITS)};

		for (int j = 0; j < 9 * 4; j++)
		{
			uint64_t	time = (times[j % 2] + j / 4 - 4) & highest;
			uint64_t	rest = (rests[j / 2 % 2] - 4) & highest;
			Sno			a = from_parts(time, rest);
			Sno			last_before = from_parts((time - 1) & highest, highest);
			Sno			first_of = from_parts(time, 0);

			kept &= keeps_order(&first, &last_before, &first_of);
			for (int k = 0; k < 8; k++)
			{
				Sno			b = from_parts(time, rest = (rest + 1) & highest);

				kept &= keeps_order(&first, &a, &b);
				a = b;
			}
		}
	}
	report(kept, "abbreviated keys keep the order at the edges of the near parts");
}

static void
test_near(void)
{
	const uint64_t start = UINT64_C(0x1d56b3a000);
	const uint64_t hour = 3600 * SNO_UNITS_PER_SEC * 2;	/* with tick-tock */
	const uint64_t rest = UINT64_C(0x0103e80000);		/* meta 1, partition 1000 */
	Sno			first = from_parts(start, rest);
	bool		in_time = true;
	bool		in_rest = true;

	for (int i = 0; i < ROUNDS; i++)
	{
		uint64_t	time = start - 2 * hour + next_random() % (4 * hour);
		uint64_t	any = next_random() >> 24;
		uint64_t	near = rest + (next_random() % 64 << 16) - (32 << 16) +
			next_random() % 65536;
		Sno			a = from_parts(time, any);
		Sno			b = from_parts(time, any ^ 1);
		Sno			c = from_parts(any, near);
		Sno			d = from_parts(any, near ^ 1);

		in_time &= tells_apart(&first, &a, &b);
		in_rest &= tells_apart(&first, &c, &d);
	}
	report(in_time, "abbreviated keys tell all ids apart within two hours");
	report(in_rest, "abbreviated keys tell ids of near partitions and one metabyte apart at any time");
}

int
main(void)
{
	test_compare();
	test_distance();
	test_order();
	test_edges();
	test_near();
	return plan();
}

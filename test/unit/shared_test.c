/*
 * shared_test.c
 *		A shared generator: threads use it while the clock steps, and sessions
 *		that do what named/state.c does crash at any moment.
 *
 * Each id that is issued sets its bit in a set.  A bit that is set already is an id
 * that was issued twice.  Sanitizers look for data races.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generator.h"
#include "tap.h"

#define UNITS		6000
#define MIN			3
#define MAX			10
#define THREADS		4
#define LEASE		50

/* The set of issued ids: a word for each side of each unit. */
static uint32_t issued[UNITS][2];
static uint64_t twice,
			beyond,				/* ids beyond the bounds or the lease */
			early;				/* ids of the clock's unit below the least sequence */
static uint64_t count;

static uint64_t
load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void
note(uint64_t word, uint64_t ceiling)
{
	uint64_t	unit = SNO_WORD_UNIT(word);
	uint32_t	sequence = SNO_WORD_SEQUENCE(word);

	__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	if (unit >= UNITS || sequence < MIN || sequence > MAX || unit > ceiling)
		__atomic_fetch_add(&beyond, 1, __ATOMIC_RELAXED);
	else if (__atomic_fetch_or(&issued[unit][SNO_WORD_TICK_TOCK(word)],
							   UINT32_C(1) << sequence, __ATOMIC_RELAXED) >> sequence & 1)
		__atomic_fetch_add(&twice, 1, __ATOMIC_RELAXED);
}

static void
forget(void)
{
	memset(issued, 0, sizeof(issued));
	twice = beyond = early = count = 0;
}

/*
 * Threads
 */

static SnoGenerator shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t kept;			/* the state word, while the generator is closed */
static uint64_t highest;		/* highest ceiling so far */
static uint64_t now;			/* what the clock shows: slots */
static unsigned slots;			/* of a unit; each has sequences of its own if there are more */
static bool done;

/* Change sides, open the generator or renew the lease: what is needed to issue. */
static void
reopen_or_renew(void)
{
	uint64_t	word,
				clock,
				ceiling;

	pthread_mutex_lock(&lock);
	word = sno_generator_load(&shared);
	clock = load(&now) / slots;
	if (!sno_word_is_closed(word) && clock < SNO_WORD_UNIT(word) &&
		clock > shared.wall_safe)
	{
		SnoGenerator g = {.wall_safe = shared.wall_safe, .drifts = shared.drifts};

		g.word = sno_generator_close(&shared);
		sno_generator_drift(&g, clock);
		shared.wall_safe = g.wall_safe;
		shared.drifts = g.drifts;
		kept = g.word;
		word = SNO_WORD_CLOSED;
	}
	if (sno_word_is_closed(word) || clock > __atomic_load_n(&shared.ceiling, __ATOMIC_RELAXED))
	{
		/* After a step back, the ceiling must not be below the state word's unit. */
		ceiling = clock + LEASE;
		if (sno_word_is_closed(word) && ceiling < SNO_WORD_UNIT(kept))
			ceiling = SNO_WORD_UNIT(kept);
		if (ceiling > load(&highest))
			__atomic_store_n(&highest, ceiling, __ATOMIC_RELEASE);
		__atomic_store_n(&shared.ceiling, ceiling, __ATOMIC_RELEASE);
		if (sno_word_is_closed(word))
			sno_generator_open(&shared, kept);
	}
	pthread_mutex_unlock(&lock);
}

static void *
work(void *arg)
{
	(void) arg;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
	{
		uint64_t	word = sno_generator_load(&shared);
		uint64_t	clock = load(&now);
		uint64_t	unit = clock / slots;
		uint32_t	least = slots == 1 ? 0 : MIN + clock % slots * (MAX - MIN + 1) / slots;
		uint64_t	got;

		switch (sno_generator_share(&shared, word, unit, least, &got))
		{
			case SNO_ISSUED:
			case SNO_ENTERED:
				note(got, load(&highest));
				if (SNO_WORD_UNIT(got) == unit && SNO_WORD_SEQUENCE(got) < least)
					__atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
				break;
			case SNO_RACED:
				break;
			case SNO_EXHAUSTED:
				sched_yield();
				break;
			default:
				reopen_or_renew();
		}
	}
	return NULL;
}

/* Close the generator again and again, and open it with the same state word. */
static void *
disturb(void *arg)
{
	(void) arg;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
	{
		uint64_t	word;

		pthread_mutex_lock(&lock);
		word = sno_generator_close(&shared);
		if (!sno_word_is_closed(word))
			kept = word;
		sched_yield();
		sno_generator_open(&shared, kept);
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return NULL;
}

static void
run_threads(bool steps, unsigned parts)
{
	pthread_t	thread[THREADS + 1];
	char		what[100];
	uint64_t	clock = 100 * parts;

	forget();
	slots = parts;
	done = false;
	now = clock;
	sno_generator_start(&shared, 0, MIN, MAX);
	kept = sno_generator_close(&shared);
	highest = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	pthread_create(&thread[THREADS], NULL, disturb, NULL);
	srand(1);
	while (clock < (UNITS - LEASE - 1) * slots)
	{
		uint64_t	before = load(&count);

		clock = steps && rand() % 100 == 0 ? clock - rand() % 60 : clock + 1;
		__atomic_store_n(&now, clock, __ATOMIC_RELEASE);
		for (int i = 0; i < 100 && load(&count) < before + 4 / slots; i++)
			sched_yield();
	}
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (int i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);

	snprintf(what, sizeof(what), "threads, %s clock, %u slots: none of %llu ids is issued twice",
			 steps ? "stepped" : "steady", slots, (unsigned long long) count);
	report(count > 0 && twice == 0 && beyond == 0, what);
	/* After a step back, others may enter a unit again, on the other side. */
	if (!steps)
		report(early == 0, "threads, steady clock: no id is below the least sequence");
	report(steps ? shared.drifts > 0 : shared.drifts == 0,
		   steps ? "threads, stepped clock: steps back are drifts" :
		   "threads, steady clock: there is no drift");
}

/*
 * Crashes: the row as it was last written and as it is on disk, and sessions that
 * do what named/state.c does
 */

typedef struct Row
{
	uint64_t	word;			/* state word, if the row is exact */
	uint64_t	wall_safe;
	uint64_t	until;
	uint32_t	drifts;
	bool		exact;
} Row;

static Row	written,
			disk;

static void
flush(void)
{
	disk = written;
}

/* WAL may be flushed at any time. */
static void
maybe_flush(void)
{
	if (rand() % 2)
		flush();
}

/* The generator as the row on disk tells it. */
static SnoGenerator
load_row(void)
{
	SnoGenerator g,
				row = {
		.word = disk.exact ? disk.word :
		SNO_WORD(disk.until, disk.drifts & 1, SNO_SEQUENCE_NONE),
		.wall_safe = disk.wall_safe,
		.drifts = disk.drifts
	};

	sno_generator_start(&g, 0, MIN, MAX);
	sno_generator_merge(&g, &row);
	return g;
}

/* One life of the server, which ends with a crash, or cleanly. */
static void
live(uint64_t *clock)
{
	SnoGenerator g = load_row();
	bool		open = false,
				crashed = false;
	uint64_t	word = g.word;

	for (int i = rand() % 300; i > 0 && !crashed; i--)
	{
		uint64_t	got;
		SnoStep		step = SNO_CLOSED;

		*clock = rand() % 30 == 0 ? *clock - rand() % 20 :
			rand() % 2 ? *clock + 1 : *clock;
		if (open)
		{
			word = sno_generator_load(&g);
			step = sno_generator_share(&g, word, *clock, 0, &got);
		}
		if (step == SNO_ISSUED || step == SNO_ENTERED)
			note(got, disk.until > disk.wall_safe ? disk.until : disk.wall_safe);
		else if (step == SNO_LEASE_OVER)
		{
			written = (Row) {.wall_safe = g.wall_safe, .until = *clock + LEASE / 2,
				.drifts = g.drifts};
			crashed = rand() % 20 == 0;
			if (crashed)
				break;
			flush();
			g.ceiling = written.until;
		}
		else if (step == SNO_CLOSED || step == SNO_BEHIND)
		{
			SnoGenerator to = g;
			uint64_t	unit = SNO_WORD_UNIT(word);

			to.word = word;
			if (*clock < unit)
			{
				if (*clock <= g.wall_safe)
					continue;
				(void) sno_generator_close(&g);
				sno_generator_drift(&to, *clock);
			}
			to.ceiling = *clock + LEASE / 2;
			if (to.ceiling < SNO_WORD_UNIT(to.word))
				to.ceiling = SNO_WORD_UNIT(to.word);
			written = (Row) {.wall_safe = to.wall_safe, .until = to.ceiling,
				.drifts = to.drifts};
			if (to.drifts != g.drifts && open && g.ceiling > written.wall_safe)
				written.wall_safe = g.ceiling;
			maybe_flush();
			/* A crash, or an error, after which the state word is the old one. */
			crashed = rand() % 20 == 0;
			if (crashed)
				break;
			if (rand() % 20 == 0)
			{
				(void) sno_generator_close(&g);
				sno_generator_open(&g, word);
				if (open)
				{
					/* To go on with the old state word needs a row that allows it. */
					written = (Row) {.wall_safe = g.wall_safe,
						.until = g.ceiling > unit ? g.ceiling : unit, .drifts = g.drifts};
					flush();
				}
				continue;
			}
			flush();
			g = to;
			open = true;
		}
	}
	if (rand() % 2 && open && !crashed)
	{
		g.word = sno_generator_load(&g);
		written = (Row) {.word = g.word, .wall_safe = g.wall_safe,
			.until = SNO_WORD_UNIT(g.word), .drifts = g.drifts, .exact = true};
		flush();
	}
	maybe_flush();
	written = disk;
}

static void
run_crashes(void)
{
	uint64_t	total = 0;
	bool		ok = true;
	char		what[100];

	for (int seed = 1; ok && seed <= 300; seed++)
	{
		uint64_t	clock = 2000;

		forget();
		srand(seed);
		memset(&disk, 0, sizeof(disk));
		written = disk;
		for (int life = 0; life < 40; life++)
		{
			if (rand() % 4 == 0)
				clock -= rand() % 40;
			live(&clock);
		}
		total += count;
		ok = twice == 0 && beyond == 0;
	}
	snprintf(what, sizeof(what), "crashes: none of %llu ids is issued twice",
			 (unsigned long long) total);
	report(ok && total > 0, what);
}

/* Merge two states. */
static void
run_merge(void)
{
	SnoGenerator a,
				b;

	sno_generator_start(&a, 0, MIN, MAX);
	b = a;
	b.word = SNO_WORD(500, 1, 7);
	b.wall_safe = 600;
	b.drifts = 3;
	sno_generator_merge(&a, &b);
	report(a.word == b.word && a.wall_safe == 600 && a.drifts == 3,
		   "merge: a state that was never used becomes the other one");
	b.word = SNO_WORD(700, 0, 5);
	b.wall_safe = 400;
	b.drifts = 2;
	sno_generator_merge(&a, &b);
	report(a.word == SNO_WORD(500, 1, 7) && a.wall_safe == 700 && a.drifts == 3,
		   "merge: each side is used up to the later of two units");
	b.drifts = 4;
	sno_generator_merge(&a, &b);
	report(a.word == SNO_WORD(700, 0, SNO_SEQUENCE_NONE) && a.wall_safe == 500 && a.drifts == 4,
		   "merge: the state with more drifts tells the side");
}

/* Join the sides of a state. */
static void
run_join(void)
{
	SnoGenerator g;

	sno_generator_start(&g, 0, MIN, MAX);
	g.word = SNO_WORD(500, 0, 7);
	g.wall_safe = 499;
	g.drifts = 2;
	sno_generator_join_sides(&g);
	report(g.word == SNO_WORD(500, 0, 7) && g.wall_safe == 0 && g.drifts == 2,
		   "join: side 0 goes on with its next sequence if side 1 was used less");
	g.wall_safe = 500;
	sno_generator_join_sides(&g);
	report(g.word == SNO_WORD(500, 0, SNO_SEQUENCE_NONE) && g.wall_safe == 0,
		   "join: a unit that side 1 used is used up");
	g.word = SNO_WORD(600, 1, 8);
	g.wall_safe = 599;
	g.drifts = 3;
	sno_generator_join_sides(&g);
	report(g.word == SNO_WORD(600, 0, 8) && g.wall_safe == 0 && g.drifts == 4,
		   "join: side 0 goes on after what side 1 used");
	g.word = SNO_WORD(600, 1, 8);
	g.wall_safe = 700;
	g.drifts = 5;
	sno_generator_join_sides(&g);
	report(g.word == SNO_WORD(700, 0, SNO_SEQUENCE_NONE) && g.drifts == 6,
		   "join: side 0 goes on after what it used itself, if that is later");
}

/* `least` leaves sequences out, and units as they are. */
static void
run_least(void)
{
	SnoGenerator g;
	uint64_t	w = 0;

	sno_generator_start(&g, 0, MIN, MAX);
	g.ceiling = 200;
	report(sno_generator_share(&g, g.word, 150, MIN + 2, &w) == SNO_ENTERED &&
		   w == SNO_WORD(150, 0, MIN + 2) && g.word == w + 1,
		   "least: the first id of a unit has the least sequence");
	report(sno_generator_share(&g, g.word, 150, MIN + 3, &w) == SNO_ISSUED &&
		   w == SNO_WORD(150, 0, MIN + 3),
		   "least: the next sequence is issued if it equals the least one");
	report(sno_generator_share(&g, g.word, 150, 0, &w) == SNO_ISSUED &&
		   w == SNO_WORD(150, 0, MIN + 4),
		   "least: the next sequence is issued if it is above the least one");
	report(sno_generator_share(&g, g.word, 150, MAX, &w) == SNO_ENTERED &&
		   w == SNO_WORD(150, 0, MAX) && g.word == w + 1,
		   "least: lower sequences are left out");
	report(sno_generator_share(&g, g.word, 150, MAX, &w) == SNO_EXHAUSTED &&
		   sno_generator_share(&g, g.word, 149, MAX, &w) == SNO_BEHIND &&
		   sno_generator_share(&g, g.word, 201, MAX, &w) == SNO_LEASE_OVER &&
		   sno_generator_share(&g, SNO_WORD(150, 0, MIN), 150, MAX, &w) == SNO_RACED &&
		   w == SNO_WORD(150, 0, MAX),
		   "least: an exhausted unit, an earlier one, one after the lease and a stale word issue nothing");
	report(sno_generator_share(&g, g.word, 151, MIN - 1, &w) == SNO_ENTERED &&
		   w == SNO_WORD(151, 0, MIN),
		   "least: the first id of a unit is never below the lower bound");
	g.ceiling = 100;
	report(sno_generator_share(&g, g.word, 151, MAX, &w) == SNO_LEASE_OVER && w == SNO_WORD(151, 0, MIN),
		   "least: the sequence isn't raised in a unit after the ceiling");
}

/* Sequences of 22 bits, the most that there are. */
static void
run_wide(void)
{
	const uint32_t last = SNO_SEQUENCE_NONE - 1;
	SnoGenerator g,
				other = {.word = SNO_WORD(150, 0, SNO_SEQUENCE_NONE)};
	uint64_t	w = 0;

	sno_generator_start(&g, 0, 0, last);
	g.ceiling = 200;
	report(last == 4194303 && g.word == SNO_WORD(0, 0, SNO_SEQUENCE_NONE) &&
		   sno_generator_share(&g, g.word, 0, 0, &w) == SNO_EXHAUSTED && w == 0,
		   "22 bits: nothing is issued in the floor's unit");
	report(sno_generator_share(&g, g.word, 150, last - 1, &w) == SNO_ENTERED &&
		   w == SNO_WORD(150, 0, last - 1) &&
		   sno_generator_share(&g, g.word, 150, 0, &w) == SNO_ISSUED &&
		   w == SNO_WORD(150, 0, last) &&
		   g.word == SNO_WORD(150, 0, SNO_SEQUENCE_NONE),
		   "22 bits: the last sequence is issued");

	/* Callers that loaded the last sequence before it was issued */
	for (int late = 0; late < 1023; late++)
		if (sno_generator_share(&g, SNO_WORD(150, 0, last), 150, 0, &w) != SNO_RACED)
			w = 0;
	report(w == SNO_WORD(150, 0, last) && !sno_word_is_closed(g.word) &&
		   SNO_WORD_SEQUENCE(g.word) < SNO_SEQUENCE_DRIFT(0) &&
		   SNO_WORD_TIME(g.word) == SNO_WORD_TIME(w) &&
		   sno_generator_share(&g, g.word, 150, last, &w) == SNO_EXHAUSTED,
		   "22 bits: late additions issue nothing, and reach no drift's word");

	g.word = SNO_WORD(150, 0, last);
	sno_generator_merge(&g, &other);
	report(sno_generator_share(&g, g.word, 150, 0, &w) == SNO_EXHAUSTED,
		   "22 bits: a unit that another state used is exhausted");
	g.word = SNO_WORD(150, 0, last);
	report(sno_generator_close(&g) == SNO_WORD(150, 0, last) && sno_word_is_closed(g.word) &&
		   sno_generator_share(&g, g.word, 0, 0, &w) == SNO_CLOSED &&
		   sno_generator_share(&g, g.word, 0, last, &w) == SNO_CLOSED &&
		   sno_generator_share(&g, SNO_WORD(150, 0, last), 150, 0, &w) == SNO_RACED &&
		   sno_word_is_closed(g.word) && w == SNO_WORD(150, 0, last),
		   "22 bits: a closed generator issues nothing");
}

/* Steps back make state words that differ for long, and that no exhausted unit has. */
static void
run_drifts(void)
{
	SnoGenerator g;
	bool		ok = true;

	sno_generator_start(&g, 0, 0, SNO_SEQUENCE_NONE - 1);
	for (uint32_t drifts = 1; drifts <= 2048; drifts++)
	{
		uint32_t	last;

		g.word = SNO_WORD(700, g.drifts & 1, 0);
		g.wall_safe = 0;
		sno_generator_drift(&g, 600);
		last = SNO_WORD_SEQUENCE(g.word) + 1023;
		ok = ok && g.drifts == drifts && SNO_WORD_UNIT(g.word) == 599 &&
			SNO_WORD_SEQUENCE(g.word) > SNO_SEQUENCE_NONE + 1023 && last < SNO_WORD_CLOSED &&
			((drifts & 0x7FF) == 0x7FF || last < SNO_SEQUENCE_DRIFT(drifts + 1));
	}
	report(ok, "drift: 2048 steps back to one unit make state words that differ, even after late additions");

	g.word = SNO_WORD(700, 0, 5);
	g.wall_safe = 500;
	g.drifts = 2;
	sno_generator_switch(&g, 900);
	report(g.word == SNO_WORD(500, 1, SNO_SEQUENCE_NONE) && g.wall_safe == 900 && g.drifts == 3,
		   "switch: the other side goes on, and the side that is left is used");
	sno_generator_switch(&g, 100);
	report(g.word == SNO_WORD(900, 0, SNO_SEQUENCE_NONE) && g.wall_safe == 500 && g.drifts == 4,
		   "switch: a side is used at least up to its last unit");
}

int
main(void)
{
	run_merge();
	run_join();
	run_least();
	run_wide();
	run_drifts();
	run_crashes();
	for (unsigned parts = 1; parts <= 4; parts += 3)
	{
		run_threads(false, parts);
		run_threads(true, parts);
	}
	return plan();
}

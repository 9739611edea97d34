/*
 * generator_test.c
 *		The generator core, explored in all states of a small model: every order
 *		of clock readings, lease writes, flushes, changes of the session and
 *		crashes, over UNITS units and SEQUENCES sequences.
 *
 * A state is the generator, the lease row as it is on disk and as it was last
 * written, and the set of all triples issued so far.  In each state no triple was
 * issued twice, no issued triple is beyond the ceiling on disk, and the invariants
 * I1 to I4 of src/README.md hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generator.h"
#include "tap.h"

#define UNITS		6			/* 0 is the floor of the first lease */
#define SEQUENCES	2
#define LEASE		2			/* units from now to the ceiling */

typedef struct State
{
	uint8_t		unit,
				next,			/* sequence */
				tick,
				wall_safe,
				floor,
				ceiling,
				row,			/* ceiling on disk */
				written;		/* ceiling written, perhaps not flushed */
	uint32_t	issued;			/* a bit for each triple */
} State;

static uint32_t
bit(unsigned unit, unsigned tick, unsigned sequence)
{
	return UINT32_C(1) << ((unit * 2 + tick) * SEQUENCES + sequence);
}

static SnoGenerator
thaw(const State *s)
{
	SnoGenerator g = {
		.word = SNO_WORD(s->unit, s->tick, s->next),
		.wall_safe = s->wall_safe,
		.lease_floor = s->floor,
		.ceiling = s->ceiling,
		.drifts = s->tick,		/* only its parity matters */
		.sequence_max = SEQUENCES - 1
	};

	return g;
}

static void
freeze(State *s, const SnoGenerator *g)
{
	s->unit = (uint8_t) SNO_WORD_UNIT(g->word);
	s->next = (uint8_t) SNO_WORD_SEQUENCE(g->word);
	s->tick = SNO_WORD_TICK_TOCK(g->word);
	s->wall_safe = (uint8_t) g->wall_safe;
	s->floor = (uint8_t) g->lease_floor;
	s->ceiling = (uint8_t) g->ceiling;
}

/* The set of all states seen, and the list of those to expand. */
#define SLOTS		(UINT64_C(1) << 25)
static uint64_t *seen;
static State *todo;
static uint64_t todo_count,
			todo_size,
			state_count,
			issue_count;

/* A state in 64 bits, never 0: that is an empty slot. */
static uint64_t
pack(const State *s)
{
	uint64_t	p = 1;

	p = p << 3 | s->unit;
	p = p << 2 | s->next;
	p = p << 1 | s->tick;
	p = p << 3 | s->wall_safe;
	p = p << 3 | s->floor;
	p = p << 3 | s->ceiling;
	p = p << 3 | s->row;
	p = p << 3 | s->written;
	return p << 24 | s->issued;
}

static bool
invariants(const State *s)
{
	for (unsigned u = 0; u < UNITS; u++)
		for (unsigned q = 0; q < SEQUENCES; q++)
		{
			bool		here = s->issued & bit(u, s->tick, q);
			bool		there = s->issued & bit(u, !s->tick, q);

			if (here && (u > s->unit || (u == s->unit && q >= s->next)))
				return false;	/* I1 */
			if (there && u > s->wall_safe)
				return false;	/* I2 */
			if ((here || there) && u > s->row)
				return false;	/* beyond what is on disk */
		}
	return s->floor <= s->wall_safe && s->floor <= s->unit && /* I3 */
		s->unit <= s->ceiling && s->ceiling <= s->row;	/* I4 */
}

static bool
visit(const State *s)
{
	uint64_t	p = pack(s);
	uint64_t	i = (p * UINT64_C(0x9E3779B97F4A7C15)) >> 39;

	for (; seen[i] != 0; i = (i + 1) % SLOTS)
		if (seen[i] == p)
			return true;
	if (++state_count > SLOTS / 2)
	{
		printf("Bail out! the table of states is full\n");
		exit(1);
	}
	seen[i] = p;
	if (!invariants(s))
		return false;
	if (todo_count == todo_size)
		todo = realloc(todo, (todo_size = todo_size * 2 + 1024) * sizeof(State));
	todo[todo_count++] = *s;
	return true;
}

/* One clock reading: a step, and the write of a lease. */
static bool
expand_now(const State *s, uint64_t now)
{
	SnoGenerator g = thaw(s);
	State		n = *s;
	bool		ready = sno_generator_ready(&g, now);
	uint64_t	word;
	uint64_t	until = now + LEASE < UNITS ? now + LEASE : UNITS - 1;
	SnoStep		step = sno_generator_step(&g, now, &word);

	if (ready != (step == SNO_ISSUED || step == SNO_LEASE_OVER))
		return false;
	if (step == SNO_ISSUED)
	{
		uint32_t	b = bit((unsigned) SNO_WORD_UNIT(word),
							SNO_WORD_TICK_TOCK(word), SNO_WORD_SEQUENCE(word));

		issue_count++;
		if (SNO_WORD_UNIT(word) != now || n.issued & b)
			return false;
		n.issued |= b;
		freeze(&n, &g);
		if (!visit(&n))
			return false;
	}

	/* Write a lease without a flush.  A ceiling never goes down. */
	n = *s;
	if (until > n.written)
		n.written = (uint8_t) until;
	return visit(&n);
}

static bool
expand(const State *s)
{
	SnoGenerator g;
	State		n;

	for (uint64_t now = 0; now < UNITS; now++)
		if (!expand_now(s, now))
			return false;

	/* Flush; WAL may also be flushed at any time. */
	n = *s;
	n.row = n.written;
	if (!visit(&n))
		return false;

	/* Publish.  That another session takes the partition changes nothing. */
	if (s->row == s->written)
	{
		n.ceiling = n.row;
		if (!visit(&n))
			return false;
	}

	/* Crash: what was not flushed is lost.  A new lease begins. */
	n = *s;
	n.written = n.row;
	sno_generator_start(&g, n.row, 0, SEQUENCES - 1);
	freeze(&n, &g);
	return visit(&n);
}

static void
explore(void)
{
	State		s = {0};
	SnoGenerator g;
	bool		ok;
	char		what[200];

	seen = calloc(SLOTS, sizeof(uint64_t));
	sno_generator_start(&g, 0, 0, SEQUENCES - 1);
	freeze(&s, &g);
	ok = visit(&s);
	while (ok && todo_count > 0)
	{
		s = todo[--todo_count];
		ok = expand(&s);
	}
	snprintf(what, sizeof(what),
			 "no triple is issued twice, and the invariants hold: %llu states, %llu ids",
			 (unsigned long long) state_count, (unsigned long long) issue_count);
	report(ok && issue_count > 0, what);
	free(seen);
	free(todo);
}

/* The three branches of the Go package, told as examples. */
static void
story(void)
{
	SnoGenerator g;
	uint64_t	w = 0;

	sno_generator_start(&g, 100, 7, 8);
	report(sno_generator_step(&g, 101, &w) == SNO_LEASE_OVER && w == 0,
		   "nothing is issued without a lease");
	g.ceiling = 200;
	report(sno_generator_step(&g, 100, &w) == SNO_EXHAUSTED &&
		   sno_generator_step(&g, 99, &w) == SNO_BEHIND && w == 0,
		   "nothing is issued at or below the floor");
	report(sno_generator_step(&g, 150, &w) == SNO_ISSUED && w == SNO_WORD(150, 0, 7) &&
		   sno_generator_step(&g, 150, &w) == SNO_ISSUED && w == SNO_WORD(150, 0, 8),
		   "the sequence starts at its lower bound and counts up");
	report(sno_generator_step(&g, 150, &w) == SNO_EXHAUSTED &&
		   sno_generator_step(&g, 151, &w) == SNO_ISSUED && w == SNO_WORD(151, 0, 7),
		   "the sequence never exceeds its upper bound, and starts again in the next unit");
	report(sno_generator_step(&g, 120, &w) == SNO_ISSUED && w == SNO_WORD(120, 1, 7) &&
		   g.drifts == 1 && g.wall_safe == 151,
		   "after a step back, the other side goes on");
	report(sno_generator_step(&g, 119, &w) == SNO_BEHIND &&
		   sno_generator_step(&g, 152, &w) == SNO_ISSUED && w == SNO_WORD(152, 1, 7) &&
		   sno_generator_step(&g, 151, &w) == SNO_BEHIND,
		   "after a second step back into the same time, nothing is issued");
	report(sno_generator_step(&g, 160, &w) == SNO_ISSUED &&
		   sno_generator_step(&g, 155, &w) == SNO_ISSUED && w == SNO_WORD(155, 0, 7),
		   "after a second step back, past that time, the first side goes on");
	report(sno_generator_step(&g, 200, &w) == SNO_ISSUED &&
		   sno_generator_step(&g, 201, &w) == SNO_LEASE_OVER,
		   "the ceiling is the last unit of the lease");
	sno_generator_start(&g, 0, 65535, 65535);
	g.ceiling = SNO_UNIT_MAX;
	report(sno_generator_step(&g, SNO_UNIT_MAX, &w) == SNO_ISSUED &&
		   w == SNO_WORD(SNO_UNIT_MAX, 0, 65535) &&
		   sno_generator_step(&g, SNO_UNIT_MAX, &w) == SNO_EXHAUSTED,
		   "the last sequence of the last unit is the last id");
}

int
main(void)
{
	story();
	explore();
	return plan();
}

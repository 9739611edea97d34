/*
 * given_test.c
 *		The generator core for given times, explored whole: every order of
 *		UNITS units, until nothing more is issued in any.
 *
 * A state is the generator and the set of all (unit, count) pairs issued so far,
 * where the count is the sequence less the start of the sequences.  In each one it
 * holds that no pair was issued twice, and the invariants G1 and G2 of generator.h;
 * where nothing is issued, all that they leave is used up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/generator.h"
#include "tap.h"

#define UNITS		4			/* the lease ends one before the last */
#define SEQUENCES	4
#define START		3			/* of the sequences */

typedef struct State
{
	uint8_t		unit,
				next,			/* sequence */
				spare;
	uint32_t	issued;			/* a bit for each pair */
} State;

static uint32_t
bit(unsigned unit, unsigned sequence)
{
	return UINT32_C(1) << (unit * SEQUENCES + sequence);
}

/* The set of states seen: all of a state in an index. */
static uint8_t *seen;
static unsigned long state_count,
			issue_count;

static bool
invariants(const State *s)
{
	for (unsigned u = 0; u < UNITS; u++)
		for (unsigned q = 0; q < SEQUENCES; q++)
			if (s->issued & bit(u, q) &&
				(u > s->unit || (u == s->unit && q >= s->next) || /* G1 */
				 q >= s->spare)) /* G2 */
				return false;
	return true;
}

static bool
explore(State s)
{
	size_t		i = ((((size_t) s.unit * (SEQUENCES + 1) + s.next) *
					  (SEQUENCES + 1) + s.spare) << (UNITS - 1) * SEQUENCES) + s.issued;

	if (seen[i])
		return true;
	seen[i] = 1;
	state_count++;
	if (!invariants(&s))
		return false;

	for (unsigned u = 0; u < UNITS; u++)
	{
		SnoGenerator g = {
			.word = SNO_WORD(s.unit, true, s.next),
			.ceiling = UNITS - 2,
			.sequence_max = SEQUENCES - 1,
			.drifts = START << 1 | 1,
			.spare = s.spare,
			.given = true
		};
		uint64_t	word = 0;
		unsigned	count;
		SnoStep		expected = SNO_ISSUED;
		State		n = s;

		if (u > g.ceiling)
			expected = SNO_LEASE_OVER;
		else if (u == s.unit ? s.next == SEQUENCES : u < s.unit && s.spare == SEQUENCES)
			expected = SNO_EXHAUSTED;
		if (sno_generator_ready_given(&g, u) != (expected != SNO_EXHAUSTED) ||
			sno_generator_step_given(&g, u, &word) != expected)
			return false;
		if (expected != SNO_ISSUED)
			continue;

		issue_count++;
		count = (SNO_WORD_SEQUENCE(word) + SEQUENCES - START) % SEQUENCES;
		if (SNO_WORD_UNIT(word) != u || !SNO_WORD_TICK_TOCK(word) ||
			SNO_WORD_SEQUENCE(word) >= SEQUENCES || n.issued & bit(u, count))
			return false;
		n.unit = (uint8_t) SNO_WORD_UNIT(g.word);
		n.next = (uint8_t) SNO_WORD_SEQUENCE(g.word);
		n.spare = (uint8_t) g.spare;
		n.issued |= bit(u, count);
		if (!explore(n))
			return false;
	}
	return true;
}

/* How it is told to users. */
static void
story(void)
{
	SnoGenerator g;
	uint64_t	w = 0;
	bool		ok;

	sno_generator_start_given(&g, 65535, 0xFFF0000 | 7 << 1 | 1);
	report(sno_generator_step_given(&g, 1, &w) == SNO_LEASE_OVER && w == 0,
		   "nothing is issued without a lease");
	g.ceiling = SNO_UNIT_MAX;
	report(sno_generator_step_given(&g, 0, &w) == SNO_ISSUED && w == SNO_WORD(0, 1, 7) &&
		   sno_generator_step_given(&g, 0, &w) == SNO_ISSUED && w == SNO_WORD(0, 1, 8),
		   "the epoch begins with unit 0, at the start that was drawn");
	report(sno_generator_step_given(&g, 90, &w) == SNO_ISSUED && w == SNO_WORD(90, 1, 7) &&
		   sno_generator_step_given(&g, SNO_UNIT_MAX, &w) == SNO_ISSUED &&
		   w == SNO_WORD(SNO_UNIT_MAX, 1, 7),
		   "and goes on to the last unit, each with sequences of its own");
	report(sno_generator_step_given(&g, 90, &w) == SNO_ISSUED && w == SNO_WORD(90, 1, 9) &&
		   sno_generator_step_given(&g, 5, &w) == SNO_ISSUED && w == SNO_WORD(5, 1, 10),
		   "an earlier unit takes a sequence that none has");
	ok = true;
	for (unsigned q = 11; q < 65536 + 7; q++)
		ok = ok && sno_generator_step_given(&g, q % 80, &w) == SNO_ISSUED &&
			w == SNO_WORD(q % 80, 1, q & 0xFFFF);
	report(ok && sno_generator_step_given(&g, 5, &w) == SNO_EXHAUSTED &&
		   sno_generator_step_given(&g, SNO_UNIT_MAX, &w) == SNO_ISSUED &&
		   w == SNO_WORD(SNO_UNIT_MAX, 1, 8),
		   "until these are used up, which leaves the latest unit its own");
}

int
main(void)
{
	char		what[200];
	State		s = {0};
	bool		ok;

	story();
	seen = calloc((size_t) UNITS * (SEQUENCES + 1) * (SEQUENCES + 1),
				  (size_t) 1 << (UNITS - 1) * SEQUENCES);
	ok = explore(s);
	snprintf(what, sizeof(what),
			 "no pair twice, invariants hold: %lu states, %lu ids issued",
			 state_count, issue_count);
	report(ok && issue_count > 0, what);
	free(seen);
	return plan();
}

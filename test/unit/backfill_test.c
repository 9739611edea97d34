/*
 * backfill_test.c
 *		The core of backfill, explored whole: every order of UNITS units, until
 *		nothing more is issued in any.
 *
 * A state is the generator and the set of all (unit, count) pairs issued so far,
 * where the count is the sequence less the start of the sequences.  In each state no
 * pair was issued twice, and the invariants B1 and B2 of src/README.md hold.  Where
 * nothing is issued, no count is left that they allow.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/backfill.h"
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
				(u > s->unit || (u == s->unit && q >= s->next) || /* B1 */
				 q >= s->spare)) /* B2 */
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
			.drifts = 1
		};
		SnoBackfill b = {.spare = s.spare,.start = START};
		uint64_t	word = 0;
		unsigned	count;
		SnoStep		expected = SNO_ISSUED;
		State		n = s;

		if (u > g.ceiling)
			expected = SNO_LEASE_OVER;
		else if (u == s.unit ? s.next == SEQUENCES : u < s.unit && s.spare == SEQUENCES)
			expected = SNO_EXHAUSTED;
		if (sno_backfill_ready(&g, &b, u) != (expected != SNO_EXHAUSTED) ||
			sno_backfill_step(&g, &b, u, &word) != expected)
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
		n.spare = (uint8_t) b.spare;
		n.issued |= bit(u, count);
		if (!explore(n))
			return false;
	}
	return true;
}

/* What doc/reference.md tells users. */
static void
test_story(void)
{
	SnoGenerator g;
	SnoBackfill b;
	uint64_t	w = 0;
	bool		ok;

	sno_backfill_start(&g, &b, 65535, 0xFFF0000 | 7 << 1 | 1);
	report(sno_backfill_step(&g, &b, 1, &w) == SNO_LEASE_OVER && w == 0,
		   "nothing is issued without a lease");
	g.ceiling = SNO_UNIT_MAX;
	report(sno_backfill_step(&g, &b, 0, &w) == SNO_ISSUED && w == SNO_WORD(0, 1, 7) &&
		   sno_backfill_step(&g, &b, 0, &w) == SNO_ISSUED && w == SNO_WORD(0, 1, 8),
		   "the epoch begins with unit 0, at the start that was drawn");
	report(sno_backfill_step(&g, &b, 90, &w) == SNO_ISSUED && w == SNO_WORD(90, 1, 7) &&
		   sno_backfill_step(&g, &b, SNO_UNIT_MAX, &w) == SNO_ISSUED &&
		   w == SNO_WORD(SNO_UNIT_MAX, 1, 7),
		   "and it ends with the last unit; each later unit has sequences of its own");
	report(sno_backfill_step(&g, &b, 90, &w) == SNO_ISSUED && w == SNO_WORD(90, 1, 9) &&
		   sno_backfill_step(&g, &b, 5, &w) == SNO_ISSUED && w == SNO_WORD(5, 1, 10),
		   "an earlier unit takes a sequence that none has");
	ok = true;
	for (unsigned q = 11; q < 65536 + 7; q++)
		ok = ok && sno_backfill_step(&g, &b, q % 80, &w) == SNO_ISSUED &&
			w == SNO_WORD(q % 80, 1, q & 0xFFFF);
	report(ok && sno_backfill_step(&g, &b, 5, &w) == SNO_EXHAUSTED &&
		   sno_backfill_step(&g, &b, SNO_UNIT_MAX, &w) == SNO_ISSUED &&
		   w == SNO_WORD(SNO_UNIT_MAX, 1, 8),
		   "until none of these is left; the latest unit still has its own");
}

int
main(void)
{
	char		what[200];
	State		s = {0};
	bool		ok;

	test_story();
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

/*
 * numbers_test.c
 *		The notes of a counter: random ones, compared with all that were ever made.  What
 *		an issuer tells, and how a transaction that is open for long keeps its answer.
 */
#include "core/numbers.h"
#include "random.h"
#include "tap.h"

#define ROUNDS		2000
#define NOTES		200			/* of a round */

/* All notes of a round */
static SnoNote all[NOTES];
static unsigned count;

/* The answer if nothing were forgotten */
static uint64_t
exact(uint64_t since)
{
	for (unsigned i = count; i > 0; i--)
		if (all[i - 1].tick < since)
			return all[i - 1].next;
	return 0;
}

static bool
is_sound(SnoNumbers numbers, uint64_t since)
{
	uint64_t	answer = sno_numbers_lowest(&numbers, since);
	bool		noted = answer == 0;

	for (unsigned i = 0; i < count; i++)
		noted |= all[i].next == answer;
	return noted && answer <= exact(since);
}

/*
 * A transaction stays open for `open` notes from the note `begin` on, and each reader's answer
 * is for that; else for the present.
 */
static bool
is_round_sound(unsigned begin, unsigned open)
{
	SnoNumbers	numbers = {0};
	uint64_t	ticks = 0,
				next = 1,
				since = SNO_NO_UNIT,
				kept = 0;
	bool		ok = true;

	count = 0;
	while (count < NOTES)
	{
		uint64_t	drawn = next_random() % 3;
		uint64_t	before = ticks;

		next += drawn;
		sno_numbers_note(&numbers, &ticks, next);
		/* A number is noted once. */
		ok &= (ticks != before) == (drawn > 0 || before == 0);
		if (ticks != before)
			all[count++] = (SnoNote) {ticks, next};
		if (count == begin && since == SNO_NO_UNIT)
		{
			since = ticks + 1;
			kept = next;
		}
		if (count >= begin + open)
			since = SNO_NO_UNIT;
		if (count >= begin && since != SNO_NO_UNIT)
			ok &= sno_numbers_lowest(&numbers, since) == kept;
		else
			ok &= sno_numbers_lowest(&numbers, SNO_NO_UNIT) == next;
		ok &= numbers.count <= SNO_NUMBERS_NOTES;
		ok &= is_sound(numbers, 1 + next_random() % (ticks + 1));
	}
	return ok;
}

static void
check_issuer(void)
{
	SnoIssuer	issuer = {0};
	uint64_t	ticks = 0;

	sno_numbers_begin(&issuer, &ticks);
	report(sno_issuer_since(&issuer) == 1, "the first tick is told as the next one");
	ticks = 7;
	sno_numbers_begin(&issuer, &ticks);
	report(sno_issuer_since(&issuer) == 1, "what was told stays until the transaction ends");
	sno_issuer_end(&issuer, 3);
	sno_numbers_begin(&issuer, &ticks);
	report(sno_issuer_since(&issuer) == 8, "the next transaction tells the next tick");
}

static void
check_first(void)
{
	SnoNumbers	numbers = {0};
	uint64_t	ticks = 0;

	report(sno_numbers_lowest(&numbers, SNO_NO_UNIT) == 0, "nothing is known without a note");
	sno_numbers_note(&numbers, &ticks, 5);
	report(ticks == 1 && sno_numbers_lowest(&numbers, 1) == 0, "a note of the tick that was told doesn't count");
	report(sno_numbers_lowest(&numbers, 2) == 5, "an earlier one does");
	sno_numbers_note(&numbers, &ticks, 4);
	report(ticks == 1 && sno_numbers_lowest(&numbers, 2) == 5,
		   "a reader that read a lower number before notes nothing");
}

int
main(void)
{
	bool		ok = true;

	check_issuer();
	check_first();
	for (int i = 0; i < ROUNDS && ok; i++)
		ok = is_round_sound(1 + next_random() % 50, next_random() % 150);
	report(ok, "answers of random notes");
	return plan();
}

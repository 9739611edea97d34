/*
 * share.c
 *		Proofs about generators that sessions share: S1 to S3, P1 and F2 of src/README.md, with I1 to I4.
 *
 * Before each access of the function that is proved, others may have done what the rules
 * allow them: stepped the word, entered units, closed it, or stepped back to a new word.
 *
 * options: --unwind 5 --unsigned-overflow-check --conversion-check
 */
#include <stdbool.h>
#include <stdint.h>

static void others(void);
static uint64_t add(uint64_t *word, uint64_t n);
static bool swap(uint64_t *word, uint64_t *expected, uint64_t to);

#define __atomic_load_n(from, order) (others(), *(from))
#define __atomic_fetch_add(word, n, order) add(word, n)
#define __atomic_compare_exchange_n(word, expected, to, weak, one, two) swap(word, expected, to)

#include "core/generator.c"
#include "proof.h"
#include "generator.h"

/* Callers that may come late, in addition to this one */
#define OTHERS	1022

static SnoGenerator g;
static uint64_t was;			/* any id that was issued before our access */
static uint64_t loaded;			/* the state word that our caller loaded */
static bool step_back;			/* others may step back */
static bool has_turn;			/* our caller has the turn */
static bool closed;				/* so the word was at our access */

/*
 * A sequence within the bounds, or one that no addition led to, and late additions.  A word may be closed at
 * each of them.
 */
static bool
is_shared_word(uint64_t word, uint32_t late)
{
	uint32_t	sequence = SNO_WORD_SEQUENCE(word & ~SNO_WORD_CLOSED);

	return sequence <= g.sequence_max + 1 + late ||
		(sequence >= SNO_SEQUENCE_NONE && sequence <= SNO_SEQUENCE_NONE + late) ||
		(sequence >= SNO_SEQUENCE_DRIFT(0) && sequence <= SNO_SEQUENCE_DRIFT(0x7FF) + late && (sequence & 0x3FF) <= late);
}

static void
others(void)
{
	const SnoGenerator before = g;

	g.word = nondet_uint64();
	g.ceiling = nondet_uint64();
	g.wall_safe = nondet_uint64();
	g.drifts = nondet_uint32();
	ASSUME(is_shared_word(g.word, OTHERS));
	ASSUME(sno_word_is_closed(g.word) || (well_formed(&g) && i4(&g)));
	/* P1: they only step the word, or close it. */
	ASSUME(!has_turn || (g.wall_safe == before.wall_safe && g.drifts == before.drifts));
	/* S2: no word comes back with a lower ceiling. */
	ASSUME(g.word != loaded || g.ceiling >= before.ceiling);
	/* On one side, words ascend. */
	ASSUME(step_back || (g.word >= before.word && SNO_WORD_TICK_TOCK(g.word) == SNO_WORD_TICK_TOCK(before.word)));
}

static uint64_t
add(uint64_t *word, uint64_t n)
{
	uint64_t	got;

	others();
	closed = sno_word_is_closed(g.word);
	ASSUME(closed || i1_i2(&g, was));
	got = *word;
	*word += n;
	return got;
}

static bool
swap(uint64_t *word, uint64_t *expected, uint64_t to)
{
	others();
	closed = sno_word_is_closed(g.word);
	ASSUME(closed || i1_i2(&g, was));
	if (*word != *expected)
	{
		*expected = *word;
		return false;
	}
	*word = to;
	return true;
}

static void
begin(void)
{
	g = any_generator();
	was = any_id();
	step_back = true;
	has_turn = false;
	closed = false;
	if (nondet_bool())
		g.word = SNO_WORD_CLOSED;
	loaded = g.word;
	ASSUME(is_shared_word(loaded, OTHERS));
	ASSUME(i4(&g));
}

PROOF(share)
{
	uint64_t	issued = nondet_uint64();
	const uint64_t untouched = issued;
	uint64_t	now = any_unit();
	uint32_t	least;
	SnoStep		step;

	begin();
	least = (uint32_t) any_between(0, g.sequence_max);
	step = sno_generator_share(&g, loaded, now, least, &issued);
	if (step == SNO_ISSUED || step == SNO_ENTERED)
	{
		PROVE(!closed);
		PROVE(issued != was);
		PROVE(is_id(issued));
		PROVE(i1_i2(&g, issued) && i1_i2(&g, was));
		PROVE(i4(&g) && SNO_WORD_UNIT(issued) <= g.ceiling);
		PROVE(SNO_WORD_SEQUENCE(issued) >= g.sequence_min && SNO_WORD_SEQUENCE(issued) <= g.sequence_max);
		PROVE(well_formed(&g));
	}
	else
		PROVE(issued == untouched);
	/* The next one of those that come late finds the same. */
	PROVE(is_shared_word(g.word, OTHERS + 1));
	MAY_BE(step == SNO_ISSUED && g.word != loaded + 1);
	MAY_BE(step == SNO_ISSUED && SNO_WORD_TICK_TOCK(issued) != SNO_WORD_TICK_TOCK(loaded));
	MAY_BE(step == SNO_ENTERED && SNO_WORD_UNIT(issued) == SNO_WORD_UNIT(loaded));
	MAY_BE(step == SNO_ENTERED && SNO_WORD_UNIT(issued) > SNO_WORD_UNIT(loaded));
	MAY_BE(step == SNO_RACED);
	MAY_BE(step == SNO_EXHAUSTED);
	MAY_BE(step == SNO_BEHIND);
	MAY_BE(step == SNO_LEASE_OVER);
	MAY_BE(step == SNO_CLOSED);
	MAY_BE(step == SNO_RACED && closed);
}

/* F2: while nobody steps back, an id isn't before the clock, nor below the least sequence. */
PROOF(share_least)
{
	uint64_t	issued;
	uint64_t	now = any_unit();
	uint32_t	least;
	SnoStep		step;

	begin();
	step_back = false;
	least = (uint32_t) any_between(0, g.sequence_max);
	step = sno_generator_share(&g, loaded, now, least, &issued);
	if (step == SNO_ISSUED || step == SNO_ENTERED)
	{
		PROVE(SNO_WORD_UNIT(issued) >= now);
		PROVE(SNO_WORD_UNIT(issued) > now || SNO_WORD_SEQUENCE(issued) >= least);
	}
	MAY_BE(step == SNO_ISSUED && SNO_WORD_UNIT(issued) > now);
	MAY_BE(step == SNO_ENTERED && SNO_WORD_SEQUENCE(issued) == least && least > g.sequence_min);
}

/* A step back of who has the turn of a partition, while others go on, or close it */
PROOF(turn)
{
	uint64_t	now = any_unit();
	SnoGenerator before;

	begin();
	step_back = false;
	has_turn = true;
	before = g;
	ASSUME(closed || SNO_WORD_TICK_TOCK(was) == SNO_WORD_TICK_TOCK(loaded) || SNO_WORD_UNIT(was) <= g.wall_safe);
	if (sno_generator_turn(&g, loaded, now))
	{
		PROVE(!closed);
		PROVE(i1_i2(&g, was) && i4(&g) && well_formed(&g));
		PROVE(SNO_WORD_UNIT(g.word) < now && g.wall_safe > before.wall_safe && g.drifts == before.drifts + 1);
		/* No addition leads to it. */
		PROVE(is_shared_word(g.word, 0) && SNO_WORD_SEQUENCE(g.word) >= SNO_SEQUENCE_DRIFT(0));
	}
	else
		PROVE(g.wall_safe == before.wall_safe && g.drifts == before.drifts);
	MAY_BE(g.drifts > before.drifts && SNO_WORD_UNIT(g.word) == before.wall_safe);
	MAY_BE(g.drifts == before.drifts && g.word != loaded && closed);
	MAY_BE(g.drifts == before.drifts && g.word != loaded && !closed);
}

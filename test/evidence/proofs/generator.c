/*
 * generator.c
 *		Proofs about generators with one owner at a time: I1 to I4 of src/README.md.
 *
 * `was` is any id that was issued before.  What is proved for it is proved for all of them.
 *
 * options: --unwind 5 --unsigned-overflow-check --conversion-check
 */
#include "core/generator.c"
#include "core/lease.h"
#include "proof.h"
#include "generator.h"

static SnoGenerator
any_generator_after(uint64_t was)
{
	SnoGenerator g = any_generator();

	ASSUME(i1_i2(&g, was) && i3(&g) && i4(&g));
	return g;
}

static bool
unchanged(const SnoGenerator *a, const SnoGenerator *b)
{
	return a->word == b->word && a->wall_safe == b->wall_safe && a->lease_floor == b->lease_floor &&
		a->ceiling == b->ceiling && a->drifts == b->drifts &&
		a->sequence_min == b->sequence_min && a->sequence_max == b->sequence_max;
}

PROOF(start)
{
	uint64_t	floor = any_unit();
	uint64_t	was = any_id();
	uint32_t	min = (uint32_t) any_between(0, SNO_FLAKE_SEQUENCES - 1);
	uint32_t	max = (uint32_t) any_between(min, SNO_FLAKE_SEQUENCES - 1);
	SnoGenerator g;

	/* Earlier leases may have issued all ids up to the floor. */
	ASSUME(SNO_WORD_UNIT(was) <= floor && SNO_WORD_SEQUENCE(was) <= max);
	sno_generator_start(&g, floor, min, max);
	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g) && i4(&g));
	PROVE(g.lease_floor == floor && g.ceiling == floor && !sno_generator_ready(&g, floor));
	MAY_BE(SNO_WORD_UNIT(was) == floor && SNO_WORD_SEQUENCE(was) == max);
}

PROOF(step)
{
	uint64_t	was = any_id();
	uint64_t	now = any_unit();
	uint64_t	issued = nondet_uint64();
	const uint64_t untouched = issued;
	SnoGenerator g = any_generator_after(was);
	const SnoGenerator before = g;
	SnoStep		step = sno_generator_step(&g, now, &issued);

	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g) && i4(&g));
	if (step == SNO_ISSUED)
	{
		PROVE(issued != was);
		PROVE(i1_i2(&g, issued));
		PROVE(is_id(issued) && SNO_WORD_UNIT(issued) == now);
		PROVE(SNO_WORD_SEQUENCE(issued) >= g.sequence_min && SNO_WORD_SEQUENCE(issued) <= g.sequence_max);
		PROVE(now > g.lease_floor && now <= g.ceiling);
		/* On one side, ids ascend. */
		PROVE(SNO_WORD_TICK_TOCK(issued) != SNO_WORD_TICK_TOCK(was) || issued > was);
	}
	else
		PROVE(issued == untouched && unchanged(&g, &before));
	MAY_BE(step == SNO_ISSUED && g.drifts > before.drifts);
	MAY_BE(step == SNO_ISSUED && now > SNO_WORD_UNIT(before.word));
	MAY_BE(step == SNO_ISSUED && now == SNO_WORD_UNIT(before.word));
	MAY_BE(step == SNO_EXHAUSTED);
	MAY_BE(step == SNO_BEHIND);
	MAY_BE(step == SNO_LEASE_OVER);
}

/* A step says why it issues nothing, and sno_generator_ready() foretells it. */
PROOF(refusal)
{
	uint64_t	was = any_id();
	uint64_t	now = any_unit();
	uint64_t	issued;
	SnoGenerator g = any_generator_after(was);
	const uint64_t unit = SNO_WORD_UNIT(g.word);
	const uint64_t sequence = SNO_WORD_SEQUENCE(g.word);
	const uint64_t wall_safe = g.wall_safe;
	const bool	ready = sno_generator_ready(&g, now);
	SnoStep		step = sno_generator_step(&g, now, &issued);

	PROVE(step == SNO_ISSUED || step == SNO_EXHAUSTED || step == SNO_BEHIND || step == SNO_LEASE_OVER);
	PROVE((step == SNO_EXHAUSTED) == (now == unit && sequence > g.sequence_max));
	PROVE((step == SNO_BEHIND) == (now < unit && now <= wall_safe));
	PROVE((step == SNO_LEASE_OVER) == (now > g.ceiling));
	PROVE((step == SNO_ISSUED) == (ready && now <= g.ceiling));
	MAY_BE(ready);
	MAY_BE(!ready);
}

/* Four steps in a row from the start on, without any rule as assumption */
PROOF(history)
{
	uint64_t	issued[4];
	int			count = 0;
	SnoGenerator g;

	sno_generator_start(&g, any_unit(), 0, (uint32_t) any_between(0, SNO_FLAKE_SEQUENCES - 1));
	g.ceiling = any_between(g.ceiling, SNO_UNIT_MAX);
	for (int i = 0; i < 4; i++)
		if (sno_generator_step(&g, any_unit(), &issued[count]) == SNO_ISSUED)
			count++;
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			PROVE(i >= count || issued[i] != issued[j]);
	MAY_BE(count == 4 && g.drifts == 2);
}

/* A step back on its own.  The step that follows issues. */
PROOF(drift)
{
	uint64_t	was = any_id();
	uint64_t	now = any_unit();
	uint64_t	issued;
	SnoGenerator g = any_generator_after(was);
	const uint32_t drifts = g.drifts;
	const uint64_t word = g.word;

	ASSUME(now < SNO_WORD_UNIT(g.word) && now > g.wall_safe);
	sno_generator_drift(&g, now);
	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g) && i4(&g));
	PROVE(g.drifts == drifts + 1 && g.wall_safe == SNO_WORD_UNIT(word));
	PROVE(SNO_WORD_SEQUENCE(g.word) > SNO_SEQUENCE_NONE);
	PROVE(sno_generator_step(&g, now, &issued) == SNO_ISSUED && issued != was && g.drifts == drifts + 1);
	MAY_BE(SNO_WORD_UNIT(was) == SNO_WORD_UNIT(word));
}

/*
 * Additions of 1023 callers that come late don't lead from the word of a step back to that
 * of another one, nor to a sequence that issues, nor to that of a closed word.
 */
PROOF(drift_words)
{
	uint32_t	one = nondet_uint32();
	uint32_t	distance = (uint32_t) any_between(1, 2047);
	uint32_t	late = (uint32_t) any_between(0, 1023);
	uint32_t	later = (uint32_t) any_between(0, 1023);
	uint32_t	a,
				b;

	ASSUME(one <= UINT32_MAX - distance);
	a = SNO_SEQUENCE_DRIFT(one) + late;
	b = SNO_SEQUENCE_DRIFT(one + distance) + later;
	PROVE(a != b);
	PROVE(a > SNO_SEQUENCE_NONE + 1023 && !sno_word_is_closed(SNO_WORD(SNO_UNIT_MAX, true, a)));
	MAY_BE(a + 1 == b);
}

/* Another server may have used this side, too, up to `until`. */
PROOF(switch_side)
{
	uint64_t	was = any_id();
	uint64_t	until = any_unit();
	SnoGenerator g = any_generator();
	const bool	left = g.drifts & 1;
	const SnoGenerator before = g;

	ASSUME(i3(&g));
	ASSUME(i1_i2(&g, was) || (SNO_WORD_TICK_TOCK(was) == left && SNO_WORD_UNIT(was) <= until));
	sno_generator_switch(&g, until);
	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g));
	PROVE((g.drifts & 1) != left && SNO_WORD_UNIT(g.word) == before.wall_safe);
	MAY_BE(SNO_WORD_TICK_TOCK(was) == left && SNO_WORD_UNIT(was) == until && until > SNO_WORD_UNIT(before.word));
}

/* I4 isn't kept: whoever merges writes a lease before he issues. */
PROOF(merge)
{
	uint64_t	was = any_id();
	SnoGenerator g = any_generator();
	SnoGenerator other = any_generator();
	const SnoGenerator before = g;

	ASSUME(other.sequence_min == g.sequence_min && other.sequence_max == g.sequence_max);
	ASSUME(i3(&g));
	ASSUME(i1_i2(&g, was) || i1_i2(&other, was));
	sno_generator_merge(&g, &other);
	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g));
	PROVE(g.drifts >= before.drifts && g.drifts >= other.drifts);
	MAY_BE(i1_i2(&before, was) && !i1_i2(&other, was));
	MAY_BE(!i1_i2(&before, was) && i1_i2(&other, was));
	MAY_BE((before.drifts & 1) != (other.drifts & 1));
}

/* A merge counts as used no more than it must: each side is that of one of the two. */
PROOF(merge_exact)
{
	SnoGenerator g = any_generator();
	SnoGenerator other = any_generator();
	const SnoGenerator before = g;

	ASSUME((other.drifts & 1) == (g.drifts & 1));
	sno_generator_merge(&g, &other);
	PROVE(g.word == before.word || g.word == other.word);
	PROVE(g.wall_safe == before.wall_safe || g.wall_safe == other.wall_safe);
	MAY_BE(g.word != before.word && g.wall_safe != other.wall_safe);
}

/* Ids that don't tell the side */
PROOF(join_sides)
{
	uint64_t	was = any_id();
	uint64_t	now = any_unit();
	uint64_t	issued;
	SnoGenerator g = any_generator();

	ASSUME(i1_i2(&g, was));
	sno_generator_join_sides(&g);
	g.ceiling = any_unit();
	PROVE(well_formed(&g) && (g.drifts & 1) == 0);
	/* On side 0, the state word is above the id, whichever side that was on. */
	PROVE(without_side(was) < g.word);
	if (now >= SNO_WORD_UNIT(g.word) && sno_generator_step(&g, now, &issued) == SNO_ISSUED)
		PROVE(without_side(issued) > without_side(was));
	MAY_BE(SNO_WORD_TICK_TOCK(was) && now == SNO_WORD_UNIT(was));
}

/* A session that leaves a shared generator takes the word, and nobody issues any more. */
PROOF(close)
{
	uint64_t	was = any_id();
	uint64_t	now = any_unit();
	uint64_t	issued;
	SnoGenerator g = any_generator_after(was);
	const uint64_t word = g.word;
	const uint32_t late = (uint32_t) any_between(0, 1023);

	PROVE(sno_generator_close(&g) == word);
	g.word += late;
	PROVE(sno_generator_share(&g, g.word, now, 0, &issued) == SNO_CLOSED);
	sno_generator_open(&g, word);
	PROVE(well_formed(&g) && i1_i2(&g, was) && i3(&g) && i4(&g));
	MAY_BE(now == 0 && late == 1023);
}

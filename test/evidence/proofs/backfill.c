/*
 * backfill.c
 *		Proofs about backfill: B1 and B2 of src/README.md.
 *
 * `was` is any id that was issued before, with its count in place of its sequence.
 *
 * options: --unwind 5 --unsigned-overflow-check --conversion-check
 */
#include "core/backfill.c"
#include "core/generator.c"
#include "proof.h"
#include "generator.h"

static uint32_t
sequence_of(const SnoGenerator *g, const SnoBackfill *b, uint32_t count)
{
	return (count + b->start) % (g->sequence_max + 1);
}

static bool
backfill_well_formed(const SnoGenerator *g, const SnoBackfill *b)
{
	return g->sequence_min == 0 && g->sequence_max <= SNO_SEQUENCE_MAX && well_formed(g) &&
		SNO_WORD_SEQUENCE(g->word) <= g->sequence_max + 1 &&
		b->start <= SNO_SEQUENCE_MAX / 2 && b->spare <= g->sequence_max + 1;
}

static bool
b1_b2(const SnoGenerator *g, const SnoBackfill *b, uint64_t was)
{
	/* The side that tick-tock names is the only one. */
	return was < g->word && SNO_WORD_SEQUENCE(was) < b->spare &&
		SNO_WORD_TICK_TOCK(was) == SNO_WORD_TICK_TOCK(g->word);
}

/* No id was issued before. */
PROOF(backfill_start)
{
	uint16_t	max = (uint16_t) any_between(0, SNO_SEQUENCE_MAX);
	uint64_t	unit = any_unit();
	SnoGenerator g;
	SnoBackfill b;

	sno_backfill_start(&g, &b, max, nondet_uint32());
	PROVE(backfill_well_formed(&g, &b));
	/* So no unit is used. */
	PROVE(sno_backfill_ready(&g, &b, unit) && SNO_WORD_UNIT(g.word) == 0 && SNO_WORD_SEQUENCE(g.word) == 0);
	MAY_BE(b.start == SNO_SEQUENCE_MAX / 2);
}

PROOF(backfill_step)
{
	uint64_t	was = any_id();
	uint64_t	unit = any_unit();
	uint64_t	issued = nondet_uint64();
	const uint64_t untouched = issued;
	SnoGenerator g = any_generator();
	SnoBackfill b = {.spare = nondet_uint32(),.start = nondet_uint32()};
	uint32_t	used;
	bool		ready;
	SnoStep		step;

	/* All that sessions have, and few: to divide by any number takes CBMC too long. */
	ASSUME(g.sequence_max == SNO_SEQUENCE_MAX || g.sequence_max <= 7);
	ASSUME(backfill_well_formed(&g, &b) && b1_b2(&g, &b, was) && SNO_WORD_SEQUENCE(was) <= g.sequence_max);
	used = sequence_of(&g, &b, SNO_WORD_SEQUENCE(was));
	ready = sno_backfill_ready(&g, &b, unit);
	step = sno_backfill_step(&g, &b, unit, &issued);
	PROVE(backfill_well_formed(&g, &b) && b1_b2(&g, &b, was));
	if (step == SNO_ISSUED)
	{
		uint32_t	count = nondet_uint32();

		PROVE(SNO_WORD_UNIT(issued) == unit && unit <= g.ceiling);
		PROVE(SNO_WORD_TICK_TOCK(issued) == SNO_WORD_TICK_TOCK(was));
		PROVE(SNO_WORD_SEQUENCE(issued) <= g.sequence_max);
		PROVE(SNO_WORD_UNIT(was) != unit || SNO_WORD_SEQUENCE(issued) != used);
		ASSUME(count <= g.sequence_max && sequence_of(&g, &b, count) == SNO_WORD_SEQUENCE(issued));
		PROVE(b1_b2(&g, &b, SNO_WORD(unit, g.drifts & 1, count)));
	}
	else
		PROVE(issued == untouched);
	PROVE((step == SNO_ISSUED) == (ready && unit <= g.ceiling));
	PROVE((step == SNO_LEASE_OVER) == (unit > g.ceiling));
	MAY_BE(step == SNO_ISSUED && unit > SNO_WORD_UNIT(was));
	MAY_BE(step == SNO_ISSUED && unit == SNO_WORD_UNIT(was) && unit < SNO_WORD_UNIT(g.word));
	MAY_BE(step == SNO_ISSUED && unit == SNO_WORD_UNIT(was) && unit == SNO_WORD_UNIT(g.word));
	MAY_BE(step == SNO_EXHAUSTED);
}

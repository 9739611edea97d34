/*
 * generator.h
 *		Any generator, and the rules I1 to I4 as conditions.
 */
#ifndef PROOF_GENERATOR_H
#define PROOF_GENERATOR_H

#include "core/flake.h"
#include "proof.h"

static inline uint64_t
any_unit(void)
{
	return any_between(0, SNO_UNIT_MAX);
}

/* Can this state word be an id? */
static inline bool
is_id(uint64_t word)
{
	return SNO_WORD_SEQUENCE(word) < SNO_FLAKE_SEQUENCES;
}

static inline uint64_t
any_id(void)
{
	uint64_t	id = nondet_uint64();

	ASSUME(is_id(id));
	return id;
}

static inline uint64_t
without_side(uint64_t id)
{
	return id & ~SNO_WORD(0, true, 0);
}

/* What the functions of a generator keep, apart from the rules */
static inline bool
well_formed(const SnoGenerator *g)
{
	return SNO_WORD_TICK_TOCK(g->word) == ((g->drifts & 1) != 0) && !sno_word_is_closed(g->word) &&
		SNO_WORD_SEQUENCE(g->word) >= g->sequence_min && g->wall_safe <= SNO_UNIT_MAX &&
		g->sequence_min <= g->sequence_max && g->sequence_max < SNO_FLAKE_SEQUENCES;
}

/* I1 and I2, for an id that was issued */
static inline bool
i1_i2(const SnoGenerator *g, uint64_t was)
{
	if (SNO_WORD_TICK_TOCK(was) == SNO_WORD_TICK_TOCK(g->word))
		return was < g->word;
	return SNO_WORD_UNIT(was) <= g->wall_safe;
}

/* I3: of the floor's unit, all sequences were used. */
static inline bool
i3(const SnoGenerator *g)
{
	return g->lease_floor <= g->wall_safe && g->lease_floor <= SNO_WORD_UNIT(g->word) &&
		(g->lease_floor < SNO_WORD_UNIT(g->word) || SNO_WORD_SEQUENCE(g->word) > g->sequence_max);
}

static inline bool
i4(const SnoGenerator *g)
{
	return SNO_WORD_UNIT(g->word) <= g->ceiling && g->ceiling <= SNO_UNIT_MAX;
}

/* Any generator; its clock was set back less than 2^32 times. */
static inline SnoGenerator
any_generator(void)
{
	SnoGenerator g = {
		.word = nondet_uint64(),
		.wall_safe = nondet_uint64(),
		.lease_floor = nondet_uint64(),
		.ceiling = nondet_uint64(),
		.drifts = (uint32_t) any_between(0, UINT32_MAX - 1),
		.sequence_min = nondet_uint32(),
		.sequence_max = nondet_uint32()
	};

	ASSUME(well_formed(&g));
	return g;
}

#endif							/* PROOF_GENERATOR_H */

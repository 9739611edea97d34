/*
 * flake_word.h
 *		The state word of an id of a layout: sno_flake_parts() the other way, for tests.
 */
#ifndef FLAKE_WORD_H
#define FLAKE_WORD_H

#include "core/flake.h"

/* The state word that stands for an id of one of these nodes, or false if none does. */
static inline bool
word_of(const SnoNodes *nodes, SnoFlakeParts parts, uint64_t *word)
{
	const SnoLayout *layout = &nodes->layout;
	int64_t		msec;
	SnoFlakeTime at;
	uint64_t	k;
	unsigned	half = layout->sequence_bits - 1;

	if (layout->unit == 0)
	{
		if (parts.time == 0 || parts.time > SNO_UNIT_MAX * SNO_COUNTER_BLOCK)
			return false;
		*word = SNO_WORD((parts.time - 1) / SNO_COUNTER_BLOCK + 1, false,
						 (parts.time - 1) % SNO_COUNTER_BLOCK);
		return true;
	}
	if (parts.node < nodes->first || parts.node - nodes->first >= SNO_FLAKE_SEQUENCES)
		return false;
	k = (parts.node - nodes->first) << half | (parts.sequence & sno_bits_max(half));
	if (k >= nodes->size || parts.time > INT64_MAX / 2 / layout->unit)
		return false;
	msec = sno_layout_msec(layout, parts.time);
	if (msec < 0 || (uint64_t) msec / SNO_UNIT_MSEC > SNO_UNIT_MAX)
		return false;
	at = sno_flake_at(nodes, msec);
	*word = SNO_WORD(at.unit, parts.sequence >> half & 1, at.least + (uint32_t) k);
	return true;
}

#endif							/* FLAKE_WORD_H */

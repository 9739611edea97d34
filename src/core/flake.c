/*
 * flake.c
 *		Ids of other systems: their parts, and the words that stand for them.
 */
#include "core/flake.h"

/* Add the lowest `bits` of `value` below what the id has. */
static SnoFlake
append(SnoFlake id, uint64_t value, unsigned bits)
{
	if (bits == 64)
		return (SnoFlake) {id.low, value};
	if (bits > 0)
	{
		id.high = id.high << bits | id.low >> (64 - bits);
		id.low = id.low << bits | (value & sno_bits_max(bits));
	}
	return id;
}

/* Take the lowest `bits` off the id. */
static uint64_t
take(SnoFlake *id, unsigned bits)
{
	uint64_t	value = id->low & sno_bits_max(bits);

	if (bits == 64)
		*id = (SnoFlake) {0, id->high};
	else if (bits > 0)
	{
		id->low = id->low >> bits | id->high << (64 - bits);
		id->high >>= bits;
	}
	return value;
}

/* Put an id together.  Of each part, its lowest bits count. */
SnoFlake
sno_flake_pack(const SnoLayout *layout, SnoFlakeParts parts)
{
	SnoFlake	id = append((SnoFlake) {0, 0}, parts.time, layout->time_bits);

	if (layout->node_last)
		return append(append(id, parts.sequence, layout->sequence_bits), parts.node, layout->node_bits);
	return append(append(id, parts.node, layout->node_bits), parts.sequence, layout->sequence_bits);
}

/* Take an id apart, which has no bits above those of the layout. */
SnoFlakeParts
sno_flake_unpack(const SnoLayout *layout, SnoFlake id)
{
	SnoFlakeParts parts;

	if (layout->node_last)
	{
		parts.node = take(&id, layout->node_bits);
		parts.sequence = take(&id, layout->sequence_bits);
	}
	else
	{
		parts.sequence = take(&id, layout->sequence_bits);
		parts.node = take(&id, layout->node_bits);
	}
	parts.time = take(&id, layout->time_bits);
	return parts;
}

/*
 * The last time that a generator may issue.  An id of 64 bits is an int8, so its highest
 * bit is the sign.  Negative ids would come before all others, unless they are sealed,
 * because then they have no order.
 */
uint64_t
sno_flake_last_time(const SnoLayout *layout, bool sealed)
{
	return sno_bits_max(layout->time_bits - (sno_layout_bits(layout) == 64 && !sealed));
}

/*
 * Ids that a generator with this many nodes issues in a unit of the layout, on one
 * side.  If one node has more sequences than the state word can tell apart, the rest is
 * left out.  0 if there are too many nodes for that.
 */
uint32_t
sno_flake_size(const SnoLayout *layout, uint64_t nodes)
{
	uint32_t	most = SNO_FLAKE_SEQUENCES / sno_layout_slots(layout);
	unsigned	half;

	if (layout->unit == 0)
		return nodes == 1 ? SNO_COUNTER_BLOCK : 0;
	half = layout->sequence_bits - 1;
	if (nodes == 1)
		return half < 22 && UINT32_C(1) << half < most ? UINT32_C(1) << half : most;
	return half < 22 && nodes <= most >> half ? (uint32_t) nodes << half : 0;
}

/*
 * The state word that stands for an id of one of these nodes, or false if none does:
 * sno_flake_parts() the other way.
 */
bool
sno_flake_word(const SnoNodes *nodes, SnoFlakeParts parts, uint64_t *word)
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

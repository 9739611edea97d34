/*
 * flake.c
 *		Ids of other systems: their parts, and the limits of their generators.
 */
#include "core/flake.h"

#include <inttypes.h>
#include <stdio.h>

/* Write a number as bytes, the highest byte first. */
static void
write_number(uint8_t *bytes, int size, uint64_t number)
{
	for (int i = size - 1; i >= 0; i--, number >>= 8)
		bytes[i] = (uint8_t) number;
}

static uint64_t
read_number(const uint8_t *bytes, int size)
{
	uint64_t	number = 0;

	for (int i = 0; i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Write a layout as bytes.  Only equal layouts have equal bytes. */
void
sno_layout_write(const SnoLayout *layout, uint8_t *bytes)
{
	write_number(bytes, 8, (uint64_t) layout->epoch);
	write_number(bytes + 8, 4, layout->unit);
	bytes[12] = layout->time_bits;
	bytes[13] = layout->node_bits;
	bytes[14] = layout->sequence_bits;
	bytes[15] = layout->node_last;
}

SnoLayout
sno_layout_read(const uint8_t *bytes)
{
	return (SnoLayout) {
		.epoch = (int64_t) read_number(bytes, 8),
		.unit = (uint32_t) read_number(bytes + 8, 4),
		.time_bits = bytes[12],
		.node_bits = bytes[13],
		.sequence_bits = bytes[14],
		.node_last = bytes[15] != 0
	};
}

/*
 * Print the text by which a registry identifies a layout: epoch in ms since 1970, unit,
 * bits of time, node and sequence, and "last" if the node is last.  `text` has room for
 * SNO_LAYOUT_TEXT_SIZE bytes.
 */
void
sno_layout_print(const SnoLayout *layout, char *text)
{
	snprintf(text, SNO_LAYOUT_TEXT_SIZE, "%" PRId64 "/%" PRIu32 "/%d/%d/%d%s", layout->epoch, layout->unit,
			 layout->time_bits, layout->node_bits, layout->sequence_bits, layout->node_last ? "/last" : "");
}

/* Append the lowest `bits` bits of `value` to the bits of the id. */
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

/* Remove the lowest `bits` bits from the id, and return them. */
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

/*
 * Assemble an id from its parts.  If a part has more bits than in the layout, its highest bits
 * are ignored.
 */
SnoFlake
sno_flake_pack(const SnoLayout *layout, SnoFlakeParts parts)
{
	SnoFlake	id = append((SnoFlake) {0, 0}, parts.time, layout->time_bits);

	if (layout->node_last)
		return append(append(id, parts.sequence, layout->sequence_bits), parts.node, layout->node_bits);
	return append(append(id, parts.node, layout->node_bits), parts.sequence, layout->sequence_bits);
}

/* Split an id into its parts.  The id must have no bits above those of the layout. */
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
 * Return the last time of the ids that a generator may issue.  An id of 64 bits is
 * an int8, whose highest bit is the sign.  Negative ids would sort before all others,
 * so they are issued only if the ids are sealed.  Sealed ids have no order.
 */
uint64_t
sno_flake_last_time(const SnoLayout *layout, bool sealed)
{
	return sno_bits_max(layout->time_bits - (sno_layout_bits(layout) == 64 && !sealed));
}

/*
 * Return how many ids a generator with `nodes` nodes has in a unit of the layout, on one side.
 * If a single node has more sequences than the state word can count, the generator uses only
 * some of them.  Returns 0 if the state word can't count the ids of so many nodes.
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

/* Return the nodes of a generator.  sno_flake_size() must not return 0 for their number. */
SnoNodes
sno_nodes(const SnoLayout *layout, SnoShard shard, bool sealed)
{
	uint64_t	last = sno_flake_last_time(layout, sealed);
	const int64_t end_of_epoch = (SNO_UNIT_MAX + 1) * SNO_UNIT_MSEC - 1;
	SnoNodes	nodes = {
		.layout = *layout,
		.first = shard.min,
		.size = sno_flake_size(layout, shard.max - shard.min + 1),
		/* Ids of a unit of the layout that began before 2010 have no state word. */
		.begin = layout->epoch > SNO_EPOCH_MSEC ? layout->epoch - SNO_EPOCH_MSEC : layout->unit,
		.end = end_of_epoch
	};

	if (layout->unit > 0 && last < (uint64_t) (end_of_epoch - sno_layout_msec(layout, 0)) / layout->unit)
		nodes.end = sno_layout_msec(layout, last + 1) - 1;
	nodes.last = layout->unit == 0 ? last : sno_layout_time(layout, nodes.end);
	return nodes;
}

/*
 * Get the state word with which a generator goes on after a given id.  The generator's next id
 * then has a later time than the given id.  If the generator is a counter, the next id is the
 * lowest id of the counter's node that is above the given id.  Returns false if the given id
 * is too high for a state word.
 */
bool
sno_flake_after(const SnoNodes *nodes, SnoFlake id, uint64_t *word)
{
	const SnoLayout *layout = &nodes->layout;
	SnoFlakeParts parts = sno_flake_unpack(layout, id);
	int64_t		msec;

	*word = 0;
	if (layout->unit == 0)
	{
		/* Find the highest number that, with the generator's node, gives an id not above the given id. */
		parts.node = nodes->first;
		if (parts.time > 0 && sno_flake_pack(layout, parts).low > id.low)
			parts.time--;
		if (parts.time > 0)
			*word = SNO_WORD((parts.time - 1) / SNO_COUNTER_BLOCK + 1, false,
							 (parts.time - 1) % SNO_COUNTER_BLOCK + 1);
		return parts.time <= SNO_UNIT_MAX * SNO_COUNTER_BLOCK;
	}
	if (parts.time > nodes->last)
		return false;
	msec = sno_layout_msec(layout, parts.time);
	if (msec >= 0)
		*word = SNO_WORD(msec / SNO_UNIT_MSEC, false, SNO_SEQUENCE_NONE);
	return true;
}

/*
 * flake.c
 *		Proofs about layouts: F1 to F4 of src/README.md.
 *
 * options: --unwind 12
 */
#include "core/flake.c"
#include "core/generator.c"
#include "proof.h"
#include "generator.h"

/* As in catalog/layout.c */
#define LAST_EPOCH	((SNO_EPOCH_MSEC + (int64_t) SNO_UNIT_MAX * SNO_UNIT_MSEC) / 86400000 * 86400000)

/* Any layout with this unit that sno_flake_layout can have */
static SnoLayout
any_layout(uint32_t unit)
{
	SnoLayout	l = {
		.epoch = (int64_t) any_between(0, LAST_EPOCH),
		.unit = unit,
		.time_bits = (uint8_t) any_between(1, 64),
		.node_bits = (uint8_t) any_between(0, SNO_NODE_BITS_MAX),
		.sequence_bits = (uint8_t) any_between(0, 32),
		.node_last = nondet_bool()
	};

	if (unit == 0)
		ASSUME(l.sequence_bits == 0 && l.time_bits >= 31 && l.node_bits <= 16);
	else
		ASSUME(l.sequence_bits > 0);
	ASSUME(sno_layout_bits(&l) <= 64 || (sno_layout_bits(&l) <= 128 && sno_layout_bits(&l) % 8 == 0));
	return l;
}

/* Any nodes that a generator of it can have */
static SnoNodes
any_nodes(const SnoLayout *layout)
{
	uint64_t	first = any_between(0, sno_bits_max(layout->node_bits));
	uint64_t	last = any_between(first, sno_bits_max(layout->node_bits));
	SnoNodes	nodes = sno_nodes(layout, (SnoShard) {(int64_t) first, (int64_t) last}, nondet_bool());

	/* A layout may have ended before 2010. */
	ASSUME(nodes.size > 0 && nodes.begin <= nodes.end);
	return nodes;
}

/* Any time in ms since 2010 at which they may issue */
static int64_t
any_msec(const SnoNodes *nodes)
{
	return (int64_t) any_between((uint64_t) nodes->begin, (uint64_t) nodes->end);
}

/* Any state word that may be issued at such a time, with a sequence that may follow there */
static uint64_t
any_word_at(const SnoNodes *nodes, int64_t msec)
{
	SnoFlakeTime at = sno_flake_at(nodes, msec);

	return SNO_WORD(at.unit, nondet_bool(), any_between(at.least, sno_nodes_sequence_max(nodes)));
}

static bool
parts_equal(SnoFlakeParts a, SnoFlakeParts b)
{
	return a.time == b.time && a.node == b.node && a.sequence == b.sequence;
}

/* F1: words that differ stand for parts that differ, in units of 1 ms and of 4 ms, which need no rounding. */
static void
prove_words_differ(uint32_t unit)
{
	SnoLayout	layout = any_layout(unit);
	SnoNodes	nodes = any_nodes(&layout);
	uint64_t	one = SNO_WORD(any_unit(), nondet_bool(), any_between(0, sno_nodes_sequence_max(&nodes)));
	uint64_t	two = SNO_WORD(any_unit(), nondet_bool(), any_between(0, sno_nodes_sequence_max(&nodes)));
	SnoFlakeParts a = sno_flake_parts(&nodes, one);
	SnoFlakeParts b = sno_flake_parts(&nodes, two);

	ASSUME(one != two);
	PROVE(!parts_equal(a, b));
	MAY_BE(a.time == b.time && a.node == b.node);
	MAY_BE(a.time == b.time && a.sequence == b.sequence);
}

PROOF(words_differ_1)
{
	prove_words_differ(1);
}

PROOF(words_differ_4)
{
	prove_words_differ(4);
}

/* In one unit, for layouts of any unit: time needs no proof. */
PROOF(words_differ_within)
{
	SnoLayout	layout = any_layout((uint32_t) any_between(4, 3600000));
	SnoNodes	nodes = any_nodes(&layout);
	uint64_t	unit = any_unit();
	uint64_t	one = SNO_WORD(unit, nondet_bool(), any_between(0, sno_nodes_sequence_max(&nodes)));
	uint64_t	two = SNO_WORD(unit, nondet_bool(), any_between(0, sno_nodes_sequence_max(&nodes)));
	SnoFlakeParts a = sno_flake_parts(&nodes, one);
	SnoFlakeParts b = sno_flake_parts(&nodes, two);

	ASSUME(one != two);
	PROVE(a.node != b.node || a.sequence != b.sequence);
	MAY_BE(a.node == b.node);
}

/* What is issued has parts that the layout has, of no time after the last one. */
static void
prove_parts_fit(uint32_t unit)
{
	SnoLayout	layout = any_layout(unit);
	SnoNodes	nodes = any_nodes(&layout);
	SnoFlakeParts parts = sno_flake_parts(&nodes, any_word_at(&nodes, any_msec(&nodes)));

	/* A unit of ours may have times after the last one.  next_flake() raises an error for these. */
	if (unit == 1)
		ASSUME(parts.time <= nodes.last);
	PROVE(parts.time <= nodes.last);
	PROVE(nodes.last <= sno_bits_max(layout.time_bits));
	PROVE(parts.node >= nodes.first && parts.node <= sno_bits_max(layout.node_bits));
	PROVE(parts.sequence <= sno_bits_max(layout.sequence_bits));
	MAY_BE(parts.time == nodes.last);
	MAY_BE(parts.node > nodes.first);
}

PROOF(parts_fit_1)
{
	prove_parts_fit(1);
}

PROOF(parts_fit_4)
{
	prove_parts_fit(4);
}

/* F2: an id is not of an earlier time than the clock, and at most 3 ms ahead. */
PROOF(slots)
{
	SnoLayout	layout = any_layout(1);
	SnoNodes	nodes = any_nodes(&layout);
	int64_t		msec = any_msec(&nodes);
	SnoFlakeTime at = sno_flake_at(&nodes, msec);
	SnoFlakeParts parts = sno_flake_parts(&nodes, any_word_at(&nodes, msec));
	uint64_t	time = sno_layout_time(&layout, msec);

	PROVE(at.unit == (uint64_t) msec / SNO_UNIT_MSEC && at.clock == at.unit);
	PROVE(parts.time >= time && parts.time <= time + 3);
	MAY_BE(parts.time == time + 3);
	MAY_BE(at.least > 0 && parts.time == time);
}

/*
 * F1, F4: a word stands for the time of the clock by which it was made.  Its unit follows from
 * that time alone.  So different units stand for different times.
 */
static void
prove_time(uint32_t unit, int64_t epoch_to, int64_t msec_to)
{
	SnoLayout	layout = any_layout(unit);
	SnoNodes	nodes = any_nodes(&layout);
	int64_t		msec = any_msec(&nodes);
	SnoFlakeTime at = sno_flake_at(&nodes, msec);
	uint64_t	time = sno_layout_time(&layout, msec);

	ASSUME(layout.epoch >= SNO_EPOCH_MSEC - epoch_to && layout.epoch <= SNO_EPOCH_MSEC + epoch_to);
	ASSUME(msec <= msec_to);
	PROVE(sno_flake_parts(&nodes, any_word_at(&nodes, msec)).time == time);
	PROVE(at.unit == (uint64_t) sno_layout_msec(&layout, time) / SNO_UNIT_MSEC);
	PROVE(at.unit <= at.clock && at.clock == (uint64_t) msec / SNO_UNIT_MSEC && at.least == 0);
	MAY_BE(at.unit < at.clock || unit == 4);
	MAY_BE(at.unit == at.clock);
}

PROOF(time_4)
{
	prove_time(4, LAST_EPOCH, INT64_MAX);
}

PROOF(time_short)
{
	prove_time((uint32_t) any_between(4, 15), 1 << 6, 1 << 8);
}

PROOF(time_1000)
{
	prove_time(1000, 1 << 12, 1 << 16);
}

PROOF(time_hour)
{
	prove_time(3600000, 1 << 12, 1 << 26);
}

/* F3 */
PROOF(numbers_ascend)
{
	SnoLayout	layout = any_layout(0);
	SnoNodes	nodes = any_nodes(&layout);
	uint64_t	was = any_id();
	uint64_t	issued;
	SnoGenerator g = any_generator();
	const uint64_t word = g.word;
	uint64_t	number;
	SnoStep		step;

	ASSUME(g.sequence_min == 0 && g.sequence_max == sno_nodes_sequence_max(&nodes));
	ASSUME((g.drifts & 1) == 0 && g.wall_safe == 0 && i1_i2(&g, was) && i4(&g));
	ASSUME(SNO_WORD_UNIT(was) > 0 && SNO_WORD_SEQUENCE(was) <= g.sequence_max && !SNO_WORD_TICK_TOCK(was));
	step = sno_generator_step(&g, sno_flake_count(word).unit, &issued);
	if (step == SNO_ISSUED)
	{
		number = sno_flake_parts(&nodes, issued).time;
		PROVE(number > sno_flake_parts(&nodes, was).time);
		/* Nothing is left out, if nothing was left out at the word. */
		PROVE(SNO_WORD_SEQUENCE(word) > SNO_COUNTER_BLOCK ||
			  number == (SNO_WORD_UNIT(word) - 1) * SNO_COUNTER_BLOCK + SNO_WORD_SEQUENCE(word) + 1);
	}
	PROVE(step == SNO_ISSUED || step == SNO_LEASE_OVER);
	MAY_BE(step == SNO_ISSUED && SNO_WORD_UNIT(issued) > SNO_WORD_UNIT(word));
	MAY_BE(step == SNO_ISSUED && SNO_WORD_UNIT(issued) == SNO_WORD_UNIT(word));
	MAY_BE(step == SNO_LEASE_OVER);
}

/* Words of a count that differ stand for numbers that differ. */
PROOF(words_differ_0)
{
	SnoLayout	layout = any_layout(0);
	SnoNodes	nodes = any_nodes(&layout);
	uint64_t	one = SNO_WORD(any_between(1, SNO_UNIT_MAX), false, any_between(0, SNO_COUNTER_BLOCK - 1));
	uint64_t	two = SNO_WORD(any_between(1, SNO_UNIT_MAX), false, any_between(0, SNO_COUNTER_BLOCK - 1));

	ASSUME(one < two);
	PROVE(sno_flake_parts(&nodes, one).time < sno_flake_parts(&nodes, two).time);
	MAY_BE(SNO_WORD_UNIT(one) < SNO_WORD_UNIT(two));
}

/* The range of times that a generator has is within that of its layout, and of our units. */
PROOF(range)
{
	SnoLayout	layout = any_layout(nondet_bool() ? 1 : 1000);
	SnoNodes	nodes = any_nodes(&layout);

	PROVE(nodes.begin >= 0 && nodes.end <= (int64_t) ((SNO_UNIT_MAX + 1) * SNO_UNIT_MSEC - 1));
	PROVE(nodes.begin + SNO_EPOCH_MSEC >= layout.epoch);
	PROVE(nodes.last <= sno_flake_last_time(&layout, true));
	PROVE(sno_nodes_sequence_max(&nodes) < SNO_FLAKE_SEQUENCES);
	MAY_BE(nodes.end == (int64_t) ((SNO_UNIT_MAX + 1) * SNO_UNIT_MSEC - 1));
	MAY_BE(nodes.last == sno_flake_last_time(&layout, true));
}

/* How many sequences of state words a generator has. */
PROOF(size)
{
	SnoLayout	layout = any_layout((uint32_t) any_between(0, 3600000));
	uint64_t	nodes = any_between(1, UINT64_C(1) << SNO_NODE_BITS_MAX);
	uint64_t	size = sno_flake_size(&layout, nodes);

	ASSUME(layout.unit != 2 && layout.unit != 3);
	PROVE(size * sno_layout_slots(&layout) <= SNO_FLAKE_SEQUENCES);
	PROVE(nodes > 1 || size > 0);
	if (layout.unit > 0 && nodes > 1 && size > 0)
		PROVE(size == nodes << (layout.sequence_bits - 1));
	/* Too many nodes are those that have too many sequences. */
	if (layout.unit > 0 && size == 0)
		PROVE(nodes > (SNO_FLAKE_SEQUENCES / sno_layout_slots(&layout)) >> (layout.sequence_bits - 1));
	MAY_BE(size == 0);
	MAY_BE(size == SNO_FLAKE_SEQUENCES);
}

/* A snowflake's bits, with any epoch */
static SnoLayout
any_snowflake(uint32_t unit)
{
	return (SnoLayout) {
		.epoch = (int64_t) any_between(0, LAST_EPOCH),.unit = unit,
		.time_bits = 41,.node_bits = 10,.sequence_bits = 12
	};
}

/* What is issued after an id is of a later time. */
static void
prove_after(uint32_t unit)
{
	SnoLayout	layout = any_snowflake(unit);
	SnoNodes	nodes = any_nodes(&layout);
	SnoFlake	id = {0, any_between(0, INT64_MAX)};
	const uint64_t time = sno_flake_unpack(&layout, id).time;
	uint64_t	word;
	uint64_t	issued = any_word_at(&nodes, any_msec(&nodes));

	if (sno_flake_after(&nodes, id, &word))
	{
		PROVE(time <= nodes.last);
		PROVE(without_side(issued) <= word || sno_flake_parts(&nodes, issued).time > time);
		MAY_BE(without_side(issued) > word);
	}
	else
		PROVE(time > nodes.last);
	MAY_BE(time > nodes.last);
}

PROOF(after_1)
{
	prove_after(1);
}

PROOF(after_4)
{
	prove_after(4);
}

PROOF(after_0)
{
	SnoLayout	layout = any_layout(0);
	SnoNodes	nodes = any_nodes(&layout);
	SnoFlake	id = {0, nondet_uint64()};
	SnoFlakeParts next;
	uint64_t	word;

	ASSUME(sno_layout_bits(&layout) <= 64 && id.low <= sno_bits_max(sno_layout_bits(&layout)));
	if (sno_flake_after(&nodes, id, &word) && word != 0)
	{
		/* The number of the word is the next one. */
		next = sno_flake_parts(&nodes, word);
		ASSUME(next.time <= sno_bits_max(layout.time_bits));
		PROVE(sno_flake_pack(&layout, next).low > id.low);
		next.time--;
		PROVE(sno_flake_pack(&layout, next).low <= id.low);
		PROVE(SNO_WORD_SEQUENCE(word) <= SNO_COUNTER_BLOCK);
		MAY_BE(true);
	}
}

/*
 * An id is three times append(), and its parts are three times take().  Only the time may have 64
 * bits.  It is taken last, so what take() leaves then doesn't matter.
 */
PROOF(append_take)
{
	SnoFlake	id = {nondet_uint64(), nondet_uint64()};
	const SnoFlake before = id;
	uint64_t	value = nondet_uint64();
	unsigned	bits = (unsigned) any_between(0, 64);

	/* There is room for them. */
	ASSUME(id.high <= sno_bits_max(64 - bits));
	id = append(id, value, bits);
	PROVE(take(&id, bits) == (value & sno_bits_max(bits)));
	PROVE(bits == 64 || (id.high == before.high && id.low == before.low));
	MAY_BE(bits == 64);
	MAY_BE(bits == 0);
}

/* Put ids of some layouts together, and take them apart. */
PROOF(pack)
{
	static const uint8_t bits[][3] = {
		{41, 10, 12}, {39, 16, 8}, {42, 10, 12}, {64, 48, 16}, {64, 32, 32},
		{32, 24, 24}, {31, 0, 1}, {56, 16, 0}, {48, 48, 32}
	};

	for (unsigned i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		for (int last = 0; last < 2; last++)
		{
			SnoLayout	layout = {
				.time_bits = bits[i][0],.node_bits = bits[i][1],.sequence_bits = bits[i][2],.node_last = last == 1
			};
			SnoFlakeParts parts = {
				any_between(0, sno_bits_max(bits[i][0])), any_between(0, sno_bits_max(bits[i][1])),
				any_between(0, sno_bits_max(bits[i][2]))
			};
			SnoFlake	id = sno_flake_pack(&layout, parts);

			PROVE(parts_equal(sno_flake_unpack(&layout, id), parts));
			if (sno_layout_bits(&layout) <= 64)
				PROVE(id.high == 0 && id.low <= sno_bits_max(sno_layout_bits(&layout)) &&
					  id.low >> (sno_layout_bits(&layout) - bits[i][0]) == parts.time);
		}
	MAY_BE(true);
}

/*
 * flake_test.c
 *		Ids of other systems: an id and its parts, and an id and its state word.  Each
 *		is compared with a reference that goes bit by bit, or with the other way round,
 *		for random layouts.
 */
#include <inttypes.h>
#include <string.h>

#include "core/flake.h"
#include "flake_word.h"
#include "random.h"
#include "tap.h"

#define LAYOUTS		20000
#define TRIES		100			/* of each layout */

static uint64_t
random_bits(unsigned bits)
{
	uint64_t	value = next_random() & sno_bits_max(bits);

	/* The ends are likely, too. */
	switch (next_random() % 8)
	{
		case 0:
			return 0;
		case 1:
			return sno_bits_max(bits);
		default:
			return value;
	}
}

static uint64_t
random_to(uint64_t last)
{
	switch (next_random() % 8)
	{
		case 0:
			return 0;
		case 1:
			return last;
		default:
			return next_random() % (last + 1);
	}
}

static SnoLayout
random_layout(void)
{
	static const uint32_t units[] = {1, 1, 4, 5, 7, 10, 100, 1000, 3600000};
	SnoLayout	layout;

	do
		layout = (SnoLayout) {
			.epoch = (int64_t) random_to(UINT64_C(3461270400000)),	/* to 2079-09-07 */
			.unit = units[next_random() % (sizeof(units) / sizeof(*units))],
			.time_bits = (uint8_t) (1 + random_to(63)),
			.node_bits = (uint8_t) random_to(48),
			.sequence_bits = (uint8_t) (1 + random_to(31)),
			.node_last = next_random() & 1
		};
	while (sno_layout_bits(&layout) > 128);
	return layout;
}

/*
 * Ids and parts
 */

/* Bit `place` of an id, from 0, the lowest */
static unsigned
bit_of(SnoFlake id, unsigned place)
{
	return (place < 64 ? id.low >> place : id.high >> (place - 64)) & 1;
}

/* Is this what the id has from bit `*place` on?  *place then is the one after it. */
static bool
has_bits(SnoFlake id, unsigned *place, uint64_t value, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++)
		if (bit_of(id, (*place)++) != (value >> i & 1))
			return false;
	return true;
}

static bool
pack_is_right(const SnoLayout *layout)
{
	/* What is above the bits of a part doesn't count. */
	SnoFlakeParts parts = {random_bits(64), random_bits(64), random_bits(64)};
	SnoFlake	id = sno_flake_pack(layout, parts);
	SnoFlakeParts back = sno_flake_unpack(layout, id);
	unsigned	place = 0;

	if (!has_bits(id, &place, layout->node_last ? parts.node : parts.sequence,
				  layout->node_last ? layout->node_bits : layout->sequence_bits) ||
		!has_bits(id, &place, layout->node_last ? parts.sequence : parts.node,
				  layout->node_last ? layout->sequence_bits : layout->node_bits) ||
		!has_bits(id, &place, parts.time, layout->time_bits))
		return false;
	while (place < 128)
		if (bit_of(id, place++) != 0)
			return false;
	return back.time == (parts.time & sno_bits_max(layout->time_bits)) &&
		back.node == (parts.node & sno_bits_max(layout->node_bits)) &&
		back.sequence == (parts.sequence & sno_bits_max(layout->sequence_bits));
}

/*
 * Ids and state words
 */

/* A generator of a random layout */
static SnoNodes
random_nodes(void)
{
	SnoNodes	nodes;
	uint64_t	count;

	do
	{
		nodes.layout = random_layout();
		count = 1 + random_to(sno_bits_max(nodes.layout.node_bits < 8 ? nodes.layout.node_bits : 8));
		nodes.size = sno_flake_size(&nodes.layout, count);
		nodes.first = random_to(sno_bits_max(nodes.layout.node_bits) + 1 - count);
	}
	while (nodes.size == 0);
	return nodes;
}

/* The first ms since 2010 of which all layouts and state words have the unit */
static int64_t
first_msec(const SnoLayout *layout)
{
	int64_t		epoch = layout->epoch - SNO_EPOCH_MSEC;

	return epoch > 0 ? epoch : layout->unit;
}

/* A size is all sequences of all nodes on one side, or less for one node, or none fits. */
static bool
size_is_right(const SnoLayout *layout)
{
	uint64_t	most = layout->unit == 1 ? UINT64_C(1) << 20 : layout->unit == 2 ? UINT64_C(1) << 21 : UINT64_C(1) << 22;
	uint64_t	one = UINT64_C(1) << (layout->sequence_bits - 1);
	uint64_t	nodes = 2 + random_bits(24);

	return sno_flake_size(layout, 1) == (one < most ? one : most) &&
		sno_flake_size(layout, nodes) == (nodes * one <= most ? nodes * one : 0);
}

/* From a word that is issued at some time to its id, and back */
static bool
word_is_right(const SnoNodes *nodes)
{
	int64_t		first = first_msec(&nodes->layout);
	int64_t		msec = first + (int64_t) random_to((uint64_t) (SNO_UNIT_MAX * SNO_UNIT_MSEC - first));
	SnoFlakeTime at = sno_flake_at(nodes, msec);
	uint32_t	last = sno_nodes_sequence_max(nodes);
	uint32_t	least = at.least + (uint32_t) random_to(nodes->size - 1);
	bool		tick = next_random() & 1;
	SnoFlakeParts parts = sno_flake_parts(nodes, SNO_WORD(at.unit, tick, least));
	uint64_t	word = SNO_WORD(at.unit, tick, at.least + random_to(last - at.least));
	uint64_t	back;

	/* Until the sequence goes into the next unit of the layout, the time is exact. */
	if (last >= SNO_FLAKE_SEQUENCES || parts.time != sno_layout_time(&nodes->layout, msec))
		return false;
	if (parts.node < nodes->first || parts.node - nodes->first >= nodes->size ||
		parts.sequence > sno_bits_max(nodes->layout.sequence_bits))
		return false;
	parts = sno_flake_parts(nodes, word);
	return word_of(nodes, parts, &back) && back == word;
}

/* From any id to its word, and back */
static bool
id_is_right(const SnoNodes *nodes)
{
	const SnoLayout *layout = &nodes->layout;
	SnoFlakeParts parts = {
		.time = random_bits(layout->time_bits),
		.node = random_to(1) ? random_bits(layout->node_bits) : nodes->first + random_to(300),
		.sequence = random_bits(layout->sequence_bits)
	};
	SnoFlakeParts back;
	uint64_t	word;

	if (!word_of(nodes, parts, &word))
		return true;
	back = sno_flake_parts(nodes, word);
	return SNO_WORD_SEQUENCE(word) <= sno_nodes_sequence_max(nodes) &&
		back.time == parts.time && back.node == parts.node && back.sequence == parts.sequence;
}

/* A counter: its numbers ascend without a gap, and each has one word. */
static bool
count_is_right(void)
{
	SnoNodes	nodes = {.layout = {.time_bits = 62, .node_bits = 1}, .first = next_random() & 1};
	uint64_t	number = 1 + random_to(SNO_UNIT_MAX * SNO_COUNTER_BLOCK - 2);
	uint64_t	word,
				back;
	SnoFlakeParts parts;
	SnoFlakeTime next;

	nodes.size = sno_flake_size(&nodes.layout, 1);
	if (!word_of(&nodes, (SnoFlakeParts) {.time = number}, &word) ||
		SNO_WORD_SEQUENCE(word) > sno_nodes_sequence_max(&nodes))
		return false;
	parts = sno_flake_parts(&nodes, word);
	if (parts.time != number || parts.node != nodes.first || parts.sequence != 0)
		return false;
	next = sno_flake_count(word + 1);
	parts = sno_flake_parts(&nodes, SNO_WORD(next.unit, false, next.unit == SNO_WORD_UNIT(word) ?
											 SNO_WORD_SEQUENCE(word) + 1 : next.least));
	return parts.time == number + 1 &&
		word_of(&nodes, parts, &back) && back > word &&
		!word_of(&nodes, (SnoFlakeParts) {.time = 0}, &back) &&
		!word_of(&nodes, (SnoFlakeParts) {.time = SNO_UNIT_MAX * SNO_COUNTER_BLOCK + 1}, &back);
}

/* Its bytes are the layout, and one bit of them more or less is another one. */
static bool
bytes_are_right(const SnoLayout *layout)
{
	uint8_t		bytes[SNO_LAYOUT_SIZE];
	SnoLayout	back;

	sno_layout_write(layout, bytes);
	back = sno_layout_read(bytes);
	if (!sno_layouts_equal(&back, layout))
		return false;
	/* The last byte is a bool. */
	bytes[next_random() % (SNO_LAYOUT_SIZE - 1)] ^= 1 << next_random() % 8;
	back = sno_layout_read(bytes);
	return !sno_layouts_equal(&back, layout);
}

/* The bytes are the same on all machines: those of Sonyflake. */
static bool
bytes_are_known(void)
{
	static const uint8_t known[SNO_LAYOUT_SIZE] =
	{0, 0, 0x01, 0x48, 0x2E, 0x82, 0xD8, 0x00, 0, 0, 0, 10, 39, 16, 8, 1};
	SnoLayout	back = sno_layout_read(known);

	return back.epoch == INT64_C(1409529600000) && back.unit == 10 && back.time_bits == 39 &&
		back.node_bits == 16 && back.sequence_bits == 8 && back.node_last && bytes_are_right(&back);
}

/* The definition of a layout as text */
static bool
text_is(const SnoLayout *layout, const char *wanted)
{
	char		text[SNO_LAYOUT_TEXT_SIZE + 1];

	/* What is beyond its size is left alone. */
	memset(text, '!', sizeof(text));
	sno_layout_print(layout, text);
	return text[SNO_LAYOUT_TEXT_SIZE] == '!' && strcmp(text, wanted) == 0;
}

/* A registry knows layouts by these texts, so they never change. */
static bool
texts_are_known(void)
{
	static const struct
	{
		SnoLayout	layout;
		const char *text;
	}			known[] = {
		{{INT64_C(1288834974657), 1, 41, 10, 12, false}, "1288834974657/1/41/10/12"},
		{{INT64_C(1409529600000), 10, 39, 16, 8, true}, "1409529600000/10/39/16/8/last"},
		{{0, 0, 63, 0, 0, false}, "0/0/63/0/0"},
		{{0, 0, 62, 1, 0, true}, "0/0/62/1/0/last"},
		{{-1, 3600000, 1, 48, 32, false}, "-1/3600000/1/48/32"},
		/* The longest ones, whatever the bits are */
		{{INT64_MIN, UINT32_MAX, 255, 255, 255, true}, "-9223372036854775808/4294967295/255/255/255/last"},
		{{INT64_MAX, UINT32_MAX, 255, 255, 255, false}, "9223372036854775807/4294967295/255/255/255"}
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!text_is(&known[i].layout, known[i].text))
			return false;
	return true;
}

/* The text tells all of the layout, and so different layouts apart. */
static bool
text_is_right(const SnoLayout *layout)
{
	SnoLayout	back;
	char		text[SNO_LAYOUT_TEXT_SIZE],
				last[6] = "";

	sno_layout_print(layout, text);
	if (sscanf(text, "%" SCNd64 "/%" SCNu32 "/%" SCNu8 "/%" SCNu8 "/%" SCNu8 "%5s", &back.epoch, &back.unit,
			   &back.time_bits, &back.node_bits, &back.sequence_bits, last) < 5)
		return false;
	back.node_last = strcmp(last, "/last") == 0;
	return sno_layouts_equal(&back, layout);
}

int
main(void)
{
	bool		packs = true,
				bytes = bytes_are_known(),
				texts = texts_are_known(),
				sizes = true,
				words = true,
				ids = true,
				counts = true;

	for (int i = 0; i < LAYOUTS; i++)
	{
		SnoNodes	nodes = random_nodes();

		for (int j = 0; j < TRIES; j++)
		{
			packs = packs && pack_is_right(&nodes.layout);
			bytes = bytes && bytes_are_right(&nodes.layout);
			texts = texts && text_is_right(&nodes.layout);
			sizes = sizes && size_is_right(&nodes.layout);
			words = words && word_is_right(&nodes);
			ids = ids && id_is_right(&nodes);
			counts = counts && count_is_right();
		}
	}
	report(packs, "an id has the bits of its parts, and the parts of its bits");
	report(bytes, "a layout and its bytes determine each other");
	report(texts, "a layout and its text determine each other");
	report(sizes, "a generator uses all sequences of its nodes that the state word can tell apart");
	report(words, "a state word of any time is one id, of that time, and that id is no other word");
	report(ids, "an id that has a state word is that of the word");
	report(counts, "the numbers of a counter ascend without a gap, and each has one state word");
	return plan();
}

/*
 * flake.h
 *		Ids of other systems: their layouts, and the id that a state word stands for.
 *
 * A layout has a time, a node and a sequence, with at most 128 bits in total.  The time
 * counts the layout's units since its epoch.  A layout whose unit is 0 has the number of
 * a counter in place of the time.
 *
 * A generator of a layout has one or more nodes, which no other generator uses at the same
 * time.  The generator works as generator.h describes.  Its state words have units of 4 ms,
 * and a sequence c of up to 22 bits, which consists of:
 *
 *		the millisecond in the unit, if the layout's unit is 1 ms,
 *		the node,
 *		the sequence without its highest bit, which is the tick-tock bit.
 *
 * A state word and an id determine each other.  Because no word is issued twice, no id
 * is issued twice.  src/README.md has the argument, F1 to F4.
 */
#ifndef SNO_FLAKE_H
#define SNO_FLAKE_H

#include "core/generator.h"

/* 2010-01-01 in ms since 1970 */
#define SNO_EPOCH_MSEC		(SNO_EPOCH_UNIX * 1000)

/* The exclusive upper bound of a state word's sequences */
#define SNO_FLAKE_SEQUENCES	(UINT32_C(1) << 22)

/*
 * How many ids of a counter fit into a unit of its state word.  Units are numbered with 39
 * bits, so a counter reaches 2^56.  After a crash, a counter skips at most three units.
 * The models of test/model define a lower value.
 */
#ifndef SNO_COUNTER_BLOCK
#define SNO_COUNTER_BLOCK	(UINT32_C(1) << 17)
#endif

typedef struct SnoLayout
{
	int64_t		epoch;			/* ms since 1970 */
	uint32_t	unit;			/* ms: 1, or at least 4; 0 for a counter */
	uint8_t		time_bits;
	uint8_t		node_bits;
	uint8_t		sequence_bits;	/* 0 for a counter, otherwise at least 1 */
	bool		node_last;		/* are the parts in the order time, sequence, node? */
} SnoLayout;

/* The maximum number of bits of a node in a layout */
#define SNO_NODE_BITS_MAX	48

/* Size of a layout as bytes, which are the same on all machines */
#define SNO_LAYOUT_SIZE		16

/* Maximum size of a layout as text, with the terminating zero */
#define SNO_LAYOUT_TEXT_SIZE	64

/* Are all members of the layouts equal, so that a state word stands for the same id in both? */
static inline bool
sno_layouts_equal(const SnoLayout *a, const SnoLayout *b)
{
	return a->epoch == b->epoch && a->unit == b->unit && a->time_bits == b->time_bits &&
		a->node_bits == b->node_bits && a->sequence_bits == b->sequence_bits &&
		a->node_last == b->node_last;
}

/* An id of a layout, as a number of 128 bits */
typedef struct SnoFlake
{
	uint64_t	high;
	uint64_t	low;
} SnoFlake;

typedef struct SnoFlakeParts
{
	uint64_t	time;			/* units of the layout, or the number of a counter */
	uint64_t	node;
	uint64_t	sequence;
} SnoFlakeParts;

/* The nodes of a generator */
typedef struct SnoNodes
{
	SnoLayout	layout;
	uint64_t	first;			/* the first node; of a counter, also a hash of its name, in the bits
								 * above the node */
	uint32_t	size;			/* ids in a unit of the layout, on one side */
	int64_t		begin;			/* first and last time of ids, in ms since 2010 */
	int64_t		end;
	uint64_t	last;			/* the last time of ids, or the last number of a counter */
} SnoNodes;

/*
 * The position of the next id: the unit of its state word, and the lowest sequence c that the
 * word may have
 */
typedef struct SnoFlakeTime
{
	uint64_t	unit;
	uint32_t	least;
	uint64_t	clock;			/* the clock's unit, not rounded down (F4); 0 for a counter */
} SnoFlakeTime;

extern void sno_layout_write(const SnoLayout *layout, uint8_t *bytes);
extern SnoLayout sno_layout_read(const uint8_t *bytes);
extern void sno_layout_print(const SnoLayout *layout, char *text);
extern SnoFlake sno_flake_pack(const SnoLayout *layout, SnoFlakeParts parts);
extern SnoFlakeParts sno_flake_unpack(const SnoLayout *layout, SnoFlake id);
extern uint64_t sno_flake_last_time(const SnoLayout *layout, bool sealed);
extern uint32_t sno_flake_size(const SnoLayout *layout, uint64_t nodes);
extern bool sno_flake_after(const SnoNodes *nodes, SnoFlake id, uint64_t *word);
extern SnoNodes sno_nodes(const SnoLayout *layout, SnoShard shard, bool sealed);

static inline unsigned
sno_layout_bits(const SnoLayout *layout)
{
	return layout->time_bits + layout->node_bits + layout->sequence_bits;
}

static inline uint64_t
sno_bits_max(unsigned bits)
{
	return bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
}

/*
 * Return the number of slots into which the sequences of a state word are divided: 4 if the layout's
 * unit is 1 ms, one slot for each ms, and otherwise 1.
 */
static inline uint32_t
sno_layout_slots(const SnoLayout *layout)
{
	return layout->unit == 1 ? SNO_UNIT_MSEC : 1;
}

/* Convert a time of a layout to ms since 2010. */
static inline int64_t
sno_layout_msec(const SnoLayout *layout, uint64_t time)
{
	return (int64_t) (time * layout->unit) + layout->epoch - SNO_EPOCH_MSEC;
}

/* Return a layout's time at `msec` since 2010, which must not be before the layout's epoch. */
static inline uint64_t
sno_layout_time(const SnoLayout *layout, int64_t msec)
{
	return (uint64_t) (msec + SNO_EPOCH_MSEC - layout->epoch) / layout->unit;
}

/* Return the highest sequence of the state words. */
static inline uint32_t
sno_nodes_sequence_max(const SnoNodes *nodes)
{
	return sno_layout_slots(&nodes->layout) * nodes->size - 1;
}

/*
 * Return the position of an id at `msec` since 2010.  If the layout's unit is 1 ms, each ms
 * has its own slot (F2).  If the unit is longer, `msec` is rounded down to the beginning of
 * the unit (F4).
 */
static inline SnoFlakeTime
sno_flake_at(const SnoNodes *nodes, int64_t msec)
{
	const SnoLayout *layout = &nodes->layout;
	uint64_t	clock = (uint64_t) msec / SNO_UNIT_MSEC;

	if (layout->unit > 1)
		msec = sno_layout_msec(layout, sno_layout_time(layout, msec));
	return (SnoFlakeTime) {
		.unit = (uint64_t) msec / SNO_UNIT_MSEC,
		.least = layout->unit > 1 ? 0 : (uint32_t) (msec % SNO_UNIT_MSEC) * nodes->size,
		.clock = clock
	};
}

/*
 * Return the position of the next number of a counter that has this state word.  If the
 * word's unit is exhausted, the number is in the next unit (F3).
 */
static inline SnoFlakeTime
sno_flake_count(uint64_t word)
{
	return (SnoFlakeTime) {
		.unit = SNO_WORD_UNIT(word) + (SNO_WORD_SEQUENCE(word) >= SNO_COUNTER_BLOCK)
	};
}

/*
 * Return the number of units that are skipped when a server goes on with another server's
 * counter.  These units have 2^32 numbers, or a 256th of all numbers of the layout if that
 * is less.
 */
static inline uint64_t
sno_count_unseen(const SnoLayout *layout)
{
	unsigned	bits = layout->time_bits < 40 ? layout->time_bits - 8 : 32;

	return ((UINT64_C(1) << bits) - 1) / SNO_COUNTER_BLOCK + 1;
}

/* Return the parts of the one id that a state word stands for (F1). */
static inline SnoFlakeParts
sno_flake_parts(const SnoNodes *nodes, uint64_t word)
{
	const SnoLayout *layout = &nodes->layout;
	uint32_t	c = SNO_WORD_SEQUENCE(word);
	uint32_t	slot,			/* the ms in the unit, if the layout has units of 1 ms */
				k;
	unsigned	half = layout->sequence_bits - 1;

	if (layout->unit == 0)
		return (SnoFlakeParts) {
			.time = (SNO_WORD_UNIT(word) - 1) * SNO_COUNTER_BLOCK + c + 1,
			.node = nodes->first
		};
	slot = layout->unit == 1 ? c / nodes->size : SNO_UNIT_MSEC - 1;
	k = layout->unit == 1 ? c % nodes->size : c;
	return (SnoFlakeParts) {
		/*
		 * If the layout's unit is longer than 1 ms, it begins within the 4 ms of the word's
		 * unit, so it has begun by the last of these 4 ms.
		 */
		.time = sno_layout_time(layout, (int64_t) (SNO_WORD_UNIT(word) * SNO_UNIT_MSEC + slot)),
		.node = nodes->first + (k >> half),
		.sequence = (uint64_t) SNO_WORD_TICK_TOCK(word) << half | (k & sno_bits_max(half))
	};
}

#endif							/* SNO_FLAKE_H */

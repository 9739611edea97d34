/*
 * id.h
 *		The sno id: its size, the layout of its 80 bits, and pure inline
 *		functions that pack and unpack it.
 *
 * This file doesn't depend on PostgreSQL, so the codec and the generator core
 * can be tested, fuzzed and measured without a server.
 *
 *	 byte 0        1        2        3        4        5        6   7    8   9
 *		+--------+--------+--------+--------+-------+-+--------+---------+---------+
 *		|         timestamp, 39 bits                |t|  meta  |partition| sequence|
 *		+--------+--------+--------+--------+-------+-+--------+---------+---------+
 *
 * All fields are big-endian, so ids, their bytes and their texts have the same
 * order.  The timestamp counts units of 4 ms since 2010-01-01 00:00:00 UTC.  t
 * is the tick-tock bit, which is toggled when the wall clock steps back.
 */
#ifndef SNO_ID_H
#define SNO_ID_H

#include <stdbool.h>
#include <stdint.h>

#define SNO_SIZE			10	/* bytes of an id */
#define SNO_TEXT_SIZE		16	/* characters of an id as text */

#define SNO_UNIT_MSEC		4	/* milliseconds in a unit */
#define SNO_UNITS_PER_SEC	250
#define SNO_UNIT_MAX		((UINT64_C(1) << 39) - 1)	/* 2079-09-07 15:47:35.548 */
#define SNO_EPOCH_UNIX		INT64_C(1262304000) /* 2010-01-01 in Unix seconds */
#define SNO_META_MAX		255
#define SNO_PARTITION_MAX	65535
#define SNO_SEQUENCE_MAX	65535

/*
 * A 64-bit number that sessions load and change at the same time.  It must not cross cache
 * lines.  So it is aligned to 8 bytes even on 32-bit machines, where structs align 64-bit
 * numbers to 4 bytes.
 */
typedef uint64_t SnoAtomic __attribute__((aligned(8)));

/*
 * Atomic operations that aren't lock-free would use locks of libatomic, which processes don't
 * share.
 */
#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#error "sno needs a machine with atomic operations of 64 bits"
#endif

typedef struct Sno
{
	uint8_t		byte[SNO_SIZE];
} Sno;

typedef struct SnoFields
{
	uint64_t	unit;			/* 0 .. SNO_UNIT_MAX */
	bool		tick_tock;
	uint8_t		meta;
	uint16_t	partition;
	uint16_t	sequence;
} SnoFields;

static inline void
sno_set_sequence(Sno *id, uint16_t sequence)
{
	id->byte[8] = (uint8_t) (sequence >> 8);
	id->byte[9] = (uint8_t) sequence;
}

/*
 * Assemble an id.  `time` is the unit followed by the tick-tock bit, as in the
 * first five bytes of an id.  The unit must be at most SNO_UNIT_MAX.
 */
static inline void
sno_assemble(Sno *id, uint64_t time, uint8_t meta, uint16_t partition,
			 uint16_t sequence)
{
	uint64_t	head = time << 24 | (uint64_t) meta << 16 | partition;

	/* Compilers merge these assignments into one byte-swapped store. */
	id->byte[0] = (uint8_t) (head >> 56);
	id->byte[1] = (uint8_t) (head >> 48);
	id->byte[2] = (uint8_t) (head >> 40);
	id->byte[3] = (uint8_t) (head >> 32);
	id->byte[4] = (uint8_t) (head >> 24);
	id->byte[5] = (uint8_t) (head >> 16);
	id->byte[6] = (uint8_t) (head >> 8);
	id->byte[7] = (uint8_t) head;
	sno_set_sequence(id, sequence);
}

static inline void
sno_pack(Sno *id, SnoFields f)
{
	sno_assemble(id, f.unit << 1 | f.tick_tock, f.meta, f.partition, f.sequence);
}

/* Return the first eight bytes of an id as a number: time, tick-tock, meta and partition. */
static inline uint64_t
sno_head(const Sno *id)
{
	const uint8_t *b = id->byte;

	/* Compilers merge these expressions into one byte-swapped load. */
	return (uint64_t) b[0] << 56 | (uint64_t) b[1] << 48 |
		(uint64_t) b[2] << 40 | (uint64_t) b[3] << 32 |
		(uint64_t) b[4] << 24 | (uint64_t) b[5] << 16 |
		(uint64_t) b[6] << 8 | b[7];
}

/* Return the last two bytes of an id as a number: the sequence. */
static inline uint16_t
sno_tail(const Sno *id)
{
	return (uint16_t) (id->byte[8] << 8 | id->byte[9]);
}

static inline SnoFields
sno_unpack(const Sno *id)
{
	uint64_t	head = sno_head(id);
	SnoFields	f;

	f.unit = head >> 25;
	f.tick_tock = head >> 24 & 1;
	f.meta = (uint8_t) (head >> 16);
	f.partition = (uint16_t) head;
	f.sequence = sno_tail(id);
	return f;
}

/*
 * Compare ids as memcmp() compares their ten bytes.  Returns a negative number,
 * zero or a positive number.
 */
static inline int
sno_compare(const Sno *a, const Sno *b)
{
	uint64_t	a_head = sno_head(a);
	uint64_t	b_head = sno_head(b);

	if (a_head != b_head)
		return a_head < b_head ? -1 : 1;
	return (int) sno_tail(a) - (int) sno_tail(b);
}

/* Return the distance from `a` to `b`.  `b` must not be below `a`. */
static inline double
sno_distance(const Sno *a, const Sno *b)
{
	return (double) (sno_head(b) - sno_head(a)) * (SNO_SEQUENCE_MAX + 1) +
		(sno_tail(b) - sno_tail(a));
}

#endif							/* SNO_ID_H */

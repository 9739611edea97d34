/*
 * abbrev.h
 *		Abbreviated keys for sorting: 64 bits that keep the order of ids of 80 bits.
 *
 * The first eight bytes of an id would be a bad key: up to 65,536 ids of a partition and a
 * unit have the same first eight bytes, and a bulk load consists mostly of such ids.  But
 * the ids of one sort are usually similar.  So keys are exact for ids that are near the
 * first id of the sort, and coarse for other ids.  An id has two parts of 40 bits: the time,
 * which includes the tick-tock bit, and the rest, which is metabyte, partition and sequence.
 *
 *	- If the time is within 2.3 hours of the first id's time, the key is exact: different
 *	  ids have different keys.
 *	- Otherwise, the key is still exact if the metabyte is the same as the first id's, and
 *	  the partition is at most 32 away from the first id's.
 *	- Otherwise, the key lacks the sequence and the two lowest bits of the partition.
 *
 * Half of the 2^64 keys are for near times, which the first case covers.  Each far time has
 * 2^23 keys.  Half of these are for near rests, which the second case covers, and half are
 * for far rests.
 *
 *		keys ^                         .
 *			 |                     . '		far: key = value >> lost
 *			 |                   /
 *			 |                  /			near: one key a value
 *			 |                 /
 *			 |             . '				far
 *			 +---------'-------------> values
 *
 * The picture is the same for times and for rests.  The curve never falls, wherever the
 * near part is.  So keys have the order of the ids for any first id.  If the first id is
 * not similar to the others, more ids have equal keys.
 */
#ifndef SNO_ABBREV_H
#define SNO_ABBREV_H

#include "id.h"

#define SNO_NEAR_TIME_BITS	23	/* 2^22 units of 4 ms, with tick-tock */
#define SNO_NEAR_REST_BITS	22	/* 2^6 partitions, with their sequences */
#define SNO_LOST_REST_BITS	18	/* the sequence, and two bits of the partition */
#define SNO_REST_BITS		40	/* meta, partition, sequence */
#define SNO_REST_KEY_BITS	23	/* bits of a rest's key if the time is far */

/* The lowest near time, and the lowest near rest */
typedef struct SnoAbbrev
{
	uint64_t	time;
	uint64_t	rest;
} SnoAbbrev;

static inline uint64_t
sno_time_part(const Sno *id)
{
	return sno_head(id) >> 24;
}

static inline uint64_t
sno_rest_part(const Sno *id)
{
	return (sno_head(id) & 0xffffff) << 16 | sno_tail(id);
}

/* Return the near parts, with this id in the middle if possible. */
static inline SnoAbbrev
sno_abbrev_around(const Sno *id)
{
	const uint64_t half_time = UINT64_C(1) << (SNO_NEAR_TIME_BITS - 1);
	const uint64_t half_rest = UINT64_C(1) << (SNO_NEAR_REST_BITS - 1);
	uint64_t	time = sno_time_part(id);
	uint64_t	rest = sno_rest_part(id);
	SnoAbbrev	near;

	near.time = time < half_time ? 0 : time - half_time;
	near.rest = rest < half_rest ? 0 : rest - half_rest;
	return near;
}

/* Return the key of a rest whose time is far.  The key is below 2^SNO_REST_KEY_BITS. */
static inline uint64_t
sno_abbrev_rest(const SnoAbbrev *near, uint64_t rest)
{
	const uint64_t width = UINT64_C(1) << SNO_NEAR_REST_BITS;

	if (rest < near->rest)
		return rest >> SNO_LOST_REST_BITS;
	if (rest - near->rest < width)
		return (near->rest >> SNO_LOST_REST_BITS) + (rest - near->rest);
	return (rest >> SNO_LOST_REST_BITS) + width - (width >> SNO_LOST_REST_BITS);
}

/* Return the abbreviated key of an id.  If a < b, the key of a is not above the key of b. */
static inline uint64_t
sno_abbrev_key(const SnoAbbrev *near, const Sno *id)
{
	const uint64_t width = UINT64_C(1) << SNO_NEAR_TIME_BITS;
	uint64_t	time = sno_time_part(id);
	uint64_t	rest = sno_rest_part(id);
	uint64_t	key;

	if (time - near->time < width)
		return (near->time << SNO_REST_KEY_BITS) +
			((time - near->time) << SNO_REST_BITS | rest);

	key = time << SNO_REST_KEY_BITS | sno_abbrev_rest(near, rest);
	if (time > near->time)
		key += (width << SNO_REST_BITS) - (width << SNO_REST_KEY_BITS);
	return key;
}

#endif							/* SNO_ABBREV_H */

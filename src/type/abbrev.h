/*
 * abbrev.h
 *		Abbreviated keys for sorting: an id of 80 bits in 64, in the same order.
 *
 * The first eight bytes are not enough: up to 65,536 ids of a partition and a unit share
 * them, and a bulk load consists mostly of such ids.  But the ids of one sort are
 * similar, so the first id shows which bits matter.  An id is a time (with tick-tock, 40
 * bits) and a rest (meta, partition and sequence, 40 bits).
 *
 *	- If the time is within 2.3 hours of the first id's, the key has all bits.
 *	- Otherwise, the key still has all bits if the metabyte is the first id's, and the
 *	  partition is at most 32 away from the first id's.
 *	- Otherwise, the key lacks the sequence and the partition's two lowest bits.
 *
 * Half of the 2^64 keys are for near times.  In the other half, each time has 2^23 keys:
 * half of them for the near rests, half for all other rests.
 *
 *		keys ^                         .
 *			 |                     . '		far: key = value >> lost
 *			 |                   /
 *			 |                  /			near: one key a value
 *			 |                 /
 *			 |             . '				far
 *			 +---------'-------------> values
 *
 * Both curves only rise, wherever their near part lies.  So the order is right for any
 * first id.  An untypical first id only causes more ties.
 */
#ifndef SNO_ABBREV_H
#define SNO_ABBREV_H

#include "id.h"

#define SNO_NEAR_TIME_BITS	23	/* 2^22 units of 4 ms, with tick-tock */
#define SNO_NEAR_REST_BITS	22	/* 2^6 partitions, with their sequences */
#define SNO_LOST_REST_BITS	18	/* the sequence, two bits of the partition */
#define SNO_REST_BITS		40	/* meta, partition, sequence */
#define SNO_REST_KEY_BITS	23	/* bits of the rest's key, far in time */

/* The beginnings of the near parts */
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

/* Put the near parts around an id. */
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

/* Return the key of a rest whose time is far: below 2^SNO_REST_KEY_BITS */
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

/* Return the abbreviated key of an id: if a < b, a's key is not above b's key. */
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

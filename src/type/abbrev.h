/*
 * abbrev.h
 *		Abbreviated keys for sorting: 80 bits of an id in 64, order kept.
 *
 * The first eight bytes are not enough.  All ids that one partition issues in a unit
 * tie in them, up to 65,536, and a bulk load consists of little else.  But the ids of
 * one sort are like each other, so the first id tells which bits matter.  An id is a
 * time (with tick-tock, 40 bits) and a rest (meta, partition and sequence, 40 bits).
 *
 *	- It is kept whole if its time is within 2.3 hours of the first one's.
 *	- Else it is kept whole if it has the same metabyte, and is within 32 partitions of
 *	  the first one.
 *	- Else it loses its sequence and the partition's two lowest bits.
 *
 * Half of the 2^64 keys are for the near times.  In the other half each time has 2^23
 * keys: half of them for the near rests, half for all others.
 *
 *		keys ^                         .
 *			 |                     . '		far: key = value >> lost
 *			 |                   /
 *			 |                  /			near: one key a value
 *			 |                 /
 *			 |             . '				far
 *			 +---------'-------------> values
 *
 * Both curves only rise, wherever their near part lies.  So no choice of the first id
 * can make the order wrong.  A bad one makes more ties.
 */
#ifndef SNO_ABBREV_H
#define SNO_ABBREV_H

#include "id.h"

#define SNO_NEAR_TIME_BITS	23	/* 2^22 units of 4 ms, with tick-tock */
#define SNO_NEAR_REST_BITS	22	/* 2^6 partitions, with their sequences */
#define SNO_LOST_REST_BITS	18	/* the sequence, two bits of the partition */
#define SNO_REST_BITS		40	/* meta, partition, sequence */
#define SNO_REST_KEY_BITS	23	/* what is left of them, far in time */

/* Where the near parts begin. */
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

/* The key of a rest where the time is far: below 2^SNO_REST_KEY_BITS. */
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

/* The abbreviated key of an id: if a < b, its key is not above that of b. */
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

/*
 * notes.h
 *		What clients note of the ids that they receive, and how they are told
 *		what happens to the server meanwhile.
 *
 * Ids of one timeline whose sequences follow each other are noted as one run:
 * nothing is lost but the metabyte, on which uniqueness must not rest.
 */
#ifndef NOTES_H
#define NOTES_H

#include <stdint.h>

#define ID_SIZE			10
#define MAX_SESSIONS	64
#define MAX_FAULTS		64

typedef enum Fate
{
	UNKNOWN,					/* or of no interest: the id isn't in a row */
	COMMITTED,					/* and the client was told so */
	ROLLED_BACK
} Fate;

typedef struct Run
{
	uint64_t	time;			/* unit << 1 | tick-tock */
	uint64_t	life;			/* one life of one server */
	uint32_t	session;		/* one connection of one client */
	uint16_t	partition;
	uint8_t		fault;			/* the one that was on */
	uint8_t		fate;
	uint16_t	first;			/* sequence */
	uint8_t		promotions;		/* before this life */
	uint8_t		named;			/* of a named generator? */
	uint32_t	count;
} Run;

/*
 * The units up to which a server, in one of its lives, had leased a partition, or
 * up to which its successor knows of that.  One with NO_PARTITION tells that all
 * of the life is noted.
 */
#define NO_PARTITION	UINT64_MAX

typedef struct Bound
{
	uint64_t	life;
	uint64_t	partition;
	uint64_t	until[2];		/* unit, by tick-tock */
} Bound;

/* What one client did under each fault.  Its clock is the monotonic one. */
typedef struct Progress
{
	uint64_t	ids[MAX_FAULTS];
	uint64_t	stall[MAX_FAULTS];	/* longest time between two ids, ns */
} Progress;

/* A file that the nemesis and the clients share. */
typedef struct Control
{
	uint64_t	stop;			/* clients are to end */
	uint64_t	fault;			/* the one that is on */
	uint64_t	promotions;		/* of standbys, before the present life */
	Progress	progress[MAX_SESSIONS];
} Control;

/* Fields of an id, whose bytes are big-endian. */
static inline uint64_t
id_time(const unsigned char *id)
{
	return (uint64_t) id[0] << 32 | (uint64_t) id[1] << 24 |
		(uint64_t) id[2] << 16 | (uint64_t) id[3] << 8 | id[4];
}

static inline uint16_t
id_partition(const unsigned char *id)
{
	return (uint16_t) (id[6] << 8 | id[7]);
}

static inline uint16_t
id_sequence(const unsigned char *id)
{
	return (uint16_t) (id[8] << 8 | id[9]);
}

#endif							/* NOTES_H */

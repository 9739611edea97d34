/*
 * notes.h
 *		The notes of clients on the ids that they receive, and the files that tell
 *		the clients and the server which fault strikes.
 *
 * Ids of one unit, side and partition whose sequences follow each other are noted
 * as one run.  Only the metabyte is lost, and ids must be unique without it.  Ids of
 * other systems, flakes, are noted one by one, after a header for those of a query.
 */
#ifndef NOTES_H
#define NOTES_H

#include <stdint.h>

#define ID_SIZE			10
#define MAX_SESSIONS	64
#define MAX_FAULTS		64

typedef enum Fate
{
	UNKNOWN,					/* or the id isn't in a row */
	COMMITTED,					/* and the client knows it */
	ROLLED_BACK
} Fate;

typedef struct Run
{
	uint64_t	time;			/* unit << 1 | tick-tock */
	uint64_t	life;			/* one life of one server */
	uint32_t	session;		/* one connection of one client */
	uint16_t	partition;
	uint8_t		fault;			/* under which it was received */
	uint8_t		fate;
	uint16_t	first;			/* sequence */
	uint8_t		promotions;		/* of standbys, before this life */
	uint8_t		named;			/* of a named generator? */
	uint32_t	count;
} Run;

typedef struct Flake
{
	uint64_t	high;
	uint64_t	low;
} Flake;

/* What comes before the flakes of one query, in a file of one client and generator. */
typedef struct FlakeBatch
{
	uint64_t	count;			/* of the flakes that follow */
	int64_t		from;			/* wall clock of the server, ms since 1970: lowest */
	int64_t		until;			/* and highest that it was meanwhile */
} FlakeBatch;

/*
 * The last units, on both sides, of the leases that one life of a server had for a
 * partition, or of those that its successor knows.  A bound of NO_PARTITION tells
 * that all bounds of the life are noted.
 */
#define NO_PARTITION	UINT64_MAX

typedef struct Bound
{
	uint64_t	life;
	uint64_t	partition;
	uint64_t	until[2];		/* unit, by tick-tock */
} Bound;

/* What one client did under each fault; times are of the monotonic clock. */
typedef struct Progress
{
	uint64_t	ids[MAX_FAULTS];
	uint64_t	stall[MAX_FAULTS];	/* longest time between two ids, ns */
} Progress;

/* The file that Torture.pm and the clients share. */
typedef struct Control
{
	uint64_t	stop;			/* must clients end? */
	uint64_t	fault;			/* that strikes now */
	uint64_t	promotions;		/* of standbys, before the present life */
	Progress	progress[MAX_SESSIONS];
} Control;

/* The file by which Torture.pm sets the clock and the disk of a server. */
typedef struct Faults
{
	int64_t		offset;			/* of the wall clock, ns */
	int64_t		strobe;			/* added to it in every other period, ns */
	int64_t		period;			/* ns, 0 for none */
	int64_t		stall;			/* do flushes of WAL, by fdatasync(), wait? */
	/* These may be left out of the file, and are 0 then. */
	int64_t		at;				/* the wall clock stands there, ns, or 0: it runs */
	int64_t		grain;			/* it shows multiples of this only, ns, 0 for none */
} Faults;

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

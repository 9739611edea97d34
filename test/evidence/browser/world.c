/*
 * world.c
 *		A small world around the core, for a page: a server with sessions, its disk, a
 *		standby that lags, and a clock.
 *
 * What decides is the project's own code: core/generator.c, core/lease.h and sno.h.  The
 * rest is simulated.  A step is one turn of one session, in the phase that it is in, so
 * a kill strikes between any two phases.  The same session then issues an id by a peer's
 * rules, for comparison, by the same clock.  Which session it is, and when the disk
 * flushes, are drawn from a seed.
 *
 * Here each session owns a partition, as if sno.sharing were never.  Leases are short, so
 * that they are renewed while you look.  There are no named generators.
 *
 * A test may set MUTANT, for a mistake: 1 publishes a lease before its row is flushed, 2
 * forgets all rows at a restart, 3 promotes a standby that takes itself for the primary.
 */
#include <stddef.h>

#include "core/lease.h"

#ifndef MUTANT
#define MUTANT			0
#endif

#define EXPORT(name)	__attribute__((export_name(#name)))

#define PARTITIONS		(SNO_PARTITION_MAX + 1)
#define SESSIONS		8
#define TURNS			8		/* steps in a unit of the clock */
#define LEASE_HALF		25		/* units */
#define TABLE_FILE		1		/* it is never rewritten here */
#define QUEUE			256		/* rows that the standby may lack, at most */
#define FLUSH_ODDS		20		/* one in so many steps ends a flush of the WAL, */
#define SEND_ODDS		150		/* and the standby receives what was flushed */
#define DOWN_STEPS		24		/* while the server starts again */
#define BACK_UNITS		20
#define STANDBY_BEHIND	10		/* units that its clock is behind */
#define EPOCH			UINT64_C(126230400000)	/* unit: 2026-01-01 */

typedef enum Phase
{
	RESERVE, WRITE, FLUSH, PUBLISH, ISSUE
} Phase;

typedef enum PeerRules
{
	FLAKE,						/* a snowflake, counted from 0 in each new time */
	FLAKE_WAITS,				/* the same, but issues nothing while the clock is behind */
	GO							/* the Go package: the core without a lease */
} PeerRules;

/* What shared memory has of a partition. */
typedef struct Partition
{
	SnoGenerator generator;
	SnoLease	lease;
	bool		used;			/* since the server started */
	bool		parked;
} Partition;

/* A row of sno_lease. */
typedef struct Row
{
	uint64_t	holder;
	uint64_t	ceiling;		/* 0 if there is no row */
} Row;

typedef struct Record
{
	int			partition;
	Row			row;
} Record;

typedef struct Session
{
	Partition  *p;
	SnoGenerator peer;
} Session;

/* The ids that the last step issued. */
static Sno	own_id;
static Sno	peer_id;

static Partition partitions[PARTITIONS];
static Row	disk[PARTITIONS];
static Row	standby[PARTITIONS];
static int	server;				/* counted from 1 */
static int	lost[PARTITIONS];	/* the last server of which the standby lacked a row */
static Record queue[QUEUE];
static uint64_t written,		/* records of the WAL so far */
			flushed,
			sent;
static Session sessions[SESSIONS];
static int	session_count;
static PeerRules rules;
static uint64_t holder;
static uint64_t unit;			/* what the clock says */
static uint32_t turns;
static int	down;				/* steps until the server is up */
static uint64_t random_state;

/* splitmix64 */
static uint64_t
draw(void)
{
	uint64_t	z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static bool
one_in(uint32_t odds)
{
	return draw() % odds == 0;
}

/* Let rows of the WAL come to be on the disk, or on the standby. */
static void
apply(Row *rows, uint64_t *done, uint64_t until)
{
	for (; *done < until; ++*done)
		rows[queue[*done % QUEUE].partition] = queue[*done % QUEUE].row;
}

/* A session writes the row of its next lease: not yet on disk. */
static void
write_row(Partition *p)
{
	uint64_t	ceiling = sno_lease_end(unit, LEASE_HALF);

	if (ceiling < p->generator.ceiling)
		ceiling = p->generator.ceiling;
	if (written - sent == QUEUE)
	{
		/* The queue is full: nobody goes on before the standby has received it. */
		apply(disk, &flushed, written);
		apply(standby, &sent, flushed);
	}
	queue[written++ % QUEUE] = (Record) {(int) (p - partitions), {holder, ceiling}};
	sno_lease_note_written(&p->lease, ceiling, written, TABLE_FILE);
}

/*
 * Which partition to lease anew, as rank_of() and choose_in() of shared/reserve.c do it:
 * best an own one that has lapsed, then one that no row names, then one that another
 * holder had.  The search begins at a number that the holder gives.
 */
static Partition *
choose(void)
{
	enum {OWN, NEVER_LEASED, LAPSED, NO_CHOICE};
	int			best = NO_CHOICE;
	int			choice = 0;

	for (int i = 0; i < PARTITIONS && best > OWN; i++)
	{
		int			n = (int) ((holder + i) % PARTITIONS);
		const Row  *row = &disk[n];
		int			rank = row->ceiling == 0 ? NEVER_LEASED : row->holder == holder ? OWN : LAPSED;

		if (!partitions[n].used && row->ceiling < unit &&
			(rank < best || (rank == best && rank == LAPSED && row->ceiling < disk[choice].ceiling)))
		{
			best = rank;
			choice = n;
		}
	}
	return best == NO_CHOICE ? NULL : &partitions[choice];
}

/* Go on in a partition that is parked, else reserve one.  Park the one that the session has. */
static void
move_on(Session *s)
{
	Partition  *p = NULL;

	for (int n = 0; n < PARTITIONS && p == NULL; n++)
		if (partitions[n].parked && sno_generator_ready(&partitions[n].generator, unit))
			p = &partitions[n];
	if (p == NULL && (p = choose()) != NULL)
	{
		sno_lease_clear(&p->lease);
		sno_generator_start(&p->generator, disk[p - partitions].ceiling, 0, SNO_SEQUENCE_MAX);
	}
	if (p == NULL)
		return;
	p->used = true;
	p->parked = false;
	if (s->p != NULL)
		s->p->parked = true;
	s->p = p;
}

/* What the session does in its next turn. */
static Phase
next_phase(const Session *s)
{
	const Partition *p = s->p;

	if (p == NULL || !sno_generator_ready(&p->generator, unit))
		return RESERVE;
	switch (sno_lease_task(&p->lease, &p->generator, unit, TABLE_FILE))
	{
		case SNO_LEASE_WRITE:
			return WRITE;
		case SNO_LEASE_PUBLISH:
			return MUTANT != 1 && flushed < p->lease.pending_lsn ? FLUSH : PUBLISH;
		default:
			return ISSUE;
	}
}

static bool
issue(Partition *p)
{
	SnoGenerator *g = &p->generator;
	uint64_t	word;

	if (sno_lease_task(&p->lease, g, unit, TABLE_FILE) == SNO_LEASE_RENEW_EARLY)
	{
		sno_lease_postpone(&p->lease, g, unit);
		write_row(p);
		sno_lease_rest(&p->lease, g);
	}
	if (sno_generator_step(g, unit, &word) != SNO_ISSUED)
		return false;
	sno_assemble(&own_id, SNO_WORD_TIME(word), 0, (uint16_t) (p - partitions),
				 (uint16_t) SNO_WORD_SEQUENCE(word));
	return true;
}

/* One turn of a session.  True if it issued an id. */
static bool
take_turn(Session *s)
{
	switch (next_phase(s))
	{
		case RESERVE:
			move_on(s);
			return false;
		case WRITE:
			write_row(s->p);
			return false;
		case FLUSH:				/* it waits for the disk */
			return false;
		case PUBLISH:
			sno_lease_note_flushed(&s->p->lease, &s->p->generator, LEASE_HALF);
			return false;
		case ISSUE:
			return issue(s->p);
	}
}

/* The same for the peer.  A session's node is its number, as a configuration says it. */
static bool
take_peer_turn(Session *s)
{
	SnoGenerator *g = &s->peer;
	uint64_t	word = sno_generator_word(g);
	uint16_t	node = (uint16_t) (s - sessions);

	if (rules == GO)
	{
		if (sno_generator_step(g, unit, &word) != SNO_ISSUED)
			return false;
		sno_assemble(&peer_id, SNO_WORD_TIME(word), 0, node, (uint16_t) SNO_WORD_SEQUENCE(word));
		return true;
	}
	if (rules == FLAKE_WAITS && unit < SNO_WORD_UNIT(word))
		return false;
	if (unit != SNO_WORD_UNIT(word))
		word = SNO_WORD(unit, false, 0);
	sno_generator_set_word(g, word + 1);
	/* 41 bits of milliseconds, 10 of the node, 12 of the sequence */
	word = unit * SNO_UNIT_MSEC << 22 | (uint64_t) node << 12 | SNO_WORD_SEQUENCE(word);
	sno_assemble(&peer_id, word >> 24, (uint8_t) (word >> 16), (uint16_t) word, 0);
	return true;
}

static void
connect(Session *s)
{
	s->p = NULL;
	sno_generator_start(&s->peer, 0, 0, SNO_SEQUENCE_MAX);
	s->peer.ceiling = SNO_UNIT_MAX;
}

/* All memory is lost, and all clients connect again. */
static void
restart(void)
{
	__builtin_memset(partitions, 0, sizeof(partitions));
	for (int i = 0; i < session_count; i++)
		connect(&sessions[i]);
	server++;
	down = DOWN_STEPS;
}

/* What wasn't flushed may have come to be on disk, up to any record. */
EXPORT(kill) void
kill_server(void)
{
	apply(disk, &flushed, flushed + draw() % (written - flushed + 1));
	written = flushed;
	if (MUTANT == 2)
		__builtin_memset(disk, 0, sizeof(disk));
	restart();
}

EXPORT(back) void
step_back(void)
{
	unit -= BACK_UNITS;
}

/* The standby goes on with what it received.  How many rows are lost? */
EXPORT(promote) int
promote(void)
{
	int			missing = (int) (written - sent);

	for (uint64_t n = sent; n < written; n++)
		lost[queue[n % QUEUE].partition] = server;
	written = flushed = sent;
	__builtin_memcpy(disk, standby, sizeof(disk));
	if (MUTANT != 3)
		holder = draw();
	unit -= STANDBY_BEHIND;
	restart();
	return missing;
}

EXPORT(add) void
add_session(void)
{
	if (session_count < SESSIONS)
		connect(&sessions[session_count++]);
}

/* Begin.  A page makes a new instance for each run, so all is zero before. */
EXPORT(begin) void
begin(uint32_t seed, int count, int peer_rules)
{
	random_state = seed;
	rules = (PeerRules) peer_rules;
	unit = EPOCH;
	server = 1;
	holder = draw();
	while (session_count < count && session_count < SESSIONS)
		add_session();
}

/* Its result is -1 if the server is down, else 4 * session + 2 * peer issued + sno issued. */
EXPORT(step) int
step(void)
{
	int			n;

	if (++turns % TURNS == 0)
		unit++;
	if (one_in(FLUSH_ODDS))
		apply(disk, &flushed, written);
	if (one_in(SEND_ODDS))
		apply(standby, &sent, flushed);
	n = (int) (draw() % session_count);
	if (down > 0)
	{
		down--;
		return -1;
	}
	return 4 * n + 2 * take_peer_turn(&sessions[n]) + take_turn(&sessions[n]);
}

/* What the page shows */

EXPORT(own_id) const Sno *get_own_id(void) { return &own_id; }
EXPORT(peer_id) const Sno *get_peer_id(void) { return &peer_id; }
EXPORT(clock) double get_clock(void) { return (double) (int64_t) (unit - EPOCH) * SNO_UNIT_MSEC; }
EXPORT(epoch) double get_epoch(void) { return (double) EPOCH; }
EXPORT(is_down) bool is_down(void) { return down > 0; }
EXPORT(session_count) int get_session_count(void) { return session_count; }
EXPORT(phase) int get_phase(int n) { return next_phase(&sessions[n]); }
EXPORT(partition) int get_partition(int n) { return sessions[n].p ? (int) (sessions[n].p - partitions) : -1; }
EXPORT(server) int get_server(void) { return server; }
EXPORT(lost) int get_lost(int partition) { return lost[partition]; }
EXPORT(written) int get_written(void) { return (int) written; }
EXPORT(flushed) int get_flushed(void) { return (int) flushed; }
EXPORT(sent) int get_sent(void) { return (int) sent; }

/* Units that are left of the lease */
EXPORT(lease) int
get_lease(int n)
{
	const Partition *p = sessions[n].p;

	return p == NULL || p->generator.ceiling < unit ? 0 : (int) (p->generator.ceiling - unit);
}

/* Is the peer's session waiting for the clock? */
EXPORT(peer_waits) bool
peer_waits(int n)
{
	SnoGenerator *g = &sessions[n].peer;

	return rules == GO ? !sno_generator_ready(g, unit) :
		rules == FLAKE_WAITS && unit < SNO_WORD_UNIT(sno_generator_word(g));
}

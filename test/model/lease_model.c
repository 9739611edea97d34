/*
 * lease_model.c
 *		The lease protocol on models small enough to be explored whole: every
 *		order of its steps in every session, of clock readings, crashes,
 *		promotions and copies.  Prints TAP.
 *
 * The generator core and the partitions' code, src/shared/partition.c, are the real
 * ones.  What generate.c and lease.c do is transcribed, cut into steps between
 * which anything else may happen: each function here names the one it mirrors.
 * (simulation.c runs these two files themselves, but can't try everything.)
 *
 * A world is shared memory, the sessions and the rows, each as it is written
 * and as it is on disk.  Clocks aren't part of it: each reading may be any unit.
 * So clocks run, stand, and step either way, each session's by itself.  When
 * leases are renewed early is left open too: anywhere within the lease.
 *
 * Which ids were issued isn't recorded either.  Instead, a world remembers at
 * most one of its ids, and at each id issued the search goes on both ways: with
 * a world that remembers it, if it remembers none yet, and one that doesn't.
 * An id is issued twice in some run if and only if it is in one that remembers
 * it from its first time on.
 *
 * A server's successors continue its world: a crash loses its memory, a
 * promotion makes it another holder as well.  As either may happen at any
 * moment, they stand for backups too: to go on from what was on disk at a moment
 * is all that those do.  A standby that never received the end of the WAL goes on
 * from what was on disk before, while the ids that were issued since count.  It
 * can't know of them, so they may come again if its clock is behind.  That they
 * don't otherwise is shown by a scope whose clock never is.
 *
 * A database may also be dropped, and made again of another one with the same OID
 * and the same files, while the server runs: its space begins another life.
 *
 * Each rule of the protocol has its mutant, a decision made wrong.  All are to
 * be caught, and nothing is to be found without one.
 */
#include "../../src/shared/partition.c"

#include <string.h>

/* The libc's, not the server's. */
#undef printf
#undef qsort

#include "explore.h"

#define PARTITIONS	2			/* the most there can be of each */
#define SESSIONS	3
#define LINES		2
#define HOLDERS		2
#define FILE_NOW	1			/* the file of a table, and what it was before */
#define FILE_BEFORE 2

/* A line of descent: a database, whose past is to be met by none of its ids. */
typedef enum Lines
{
	ONE,
	TWO_DATABASES,				/* of one server, the second made of the first */
	TWO_SERVERS					/* the second copied from the first; both live */
} Lines;

typedef struct Scope
{
	const char *name;
	unsigned	units,			/* 0 is where never-leased partitions start */
				sequences,
				lease,			/* units that it reaches beyond now */
				partitions,
				sessions[LINES];
	Lines		lines;
	bool		promotions,		/* the server becomes another holder, once */
				lags,			/* and lacks the end of the WAL */
				restores,		/* rows and ids of another holder come in */
				again,			/* a database is dropped, and made again */
				rewrites,		/* the table is given a new file */
				disjoint,		/* the servers' partitions are */
				plain,			/* no early renewals, no call broken off */
				large;			/* too much so to be explored whole: for mutants only */
} Scope;

static const Scope scopes[] = {
	{"one partition, few units", 5, 1, 2, 1, {2}, ONE, .rewrites = true},
	{"one partition, two sessions", 6, 2, 2, 1, {2}, ONE, .rewrites = true},
	{"rows restored", 6, 1, 2, 1, {2}, ONE, .restores = true},
	{"two partitions, two sessions", 4, 1, 2, 2, {2}, ONE},
	{"a promotion", 4, 1, 2, 2, {1}, ONE, .promotions = true},
	{"a promotion without the end of the WAL", 4, 1, 2, 2, {1}, ONE, .promotions = true,
	.lags = true, .plain = true},
	{"two databases", 2, 1, 1, 2, {1, 1}, TWO_DATABASES, .plain = true},
	{"a database made again", 4, 1, 2, 1, {1, 1}, TWO_DATABASES, .again = true, .plain = true},
	{"two servers", 4, 1, 2, 1, {1, 1}, TWO_SERVERS, .plain = true},
	{"two servers kept apart", 3, 1, 1, 2, {1, 1}, TWO_SERVERS, .disjoint = true, .plain = true},
	{"two databases, more units", 3, 1, 1, 2, {1, 1}, TWO_DATABASES, .plain = true, .large = true}
};

typedef enum Mutant
{
	NONE,
	PUBLISHED_BEFORE_FLUSHED,
	ISSUED_BEFORE_PUBLISHED,
	CEILING_LOWERED,
	GOES_ON_BELOW_CEILING,
	FLOOR_IGNORES_OTHERS,
	FLOOR_OFF_BY_ONE,
	FLOOR_IGNORES_MEMORY,
	RESERVED_BY_ROW_ALONE,
	PARKED_GIVEN_TWICE,
	FORMER_LIFE_TRUSTED,
	OTHERS_NOT_AVOIDED,
	ABANDONED_FORGOTTEN,
	CLASH_IGNORED,
	PENDING_KEPT,
	SEQUENCE_NOT_CARRIED,
	WALL_SAFE_NOT_CARRIED,
	DRIFTS_NOT_CARRIED,
	TICK_TOCK_NOT_TOGGLED,
	WALL_SAFE_OFF_BY_ONE,
	CEILING_OFF_BY_ONE,
	HOLDER_WITHOUT_TIMELINE,
	HOLDER_WITHOUT_DATABASE,
	MUTANTS
} Mutant;

/*
 * What each one is, and the scope that is to catch it: by an id issued twice,
 * or by the rule that is broken, where one more rule or what isn't modelled (a
 * race within the core's step, a server never heard of) stands between.
 */
static const struct
{
	const char *name;
	int			scope;
	bool		by_rule;
}			mutants[] = {
	[PUBLISHED_BEFORE_FLUSHED] = {"a ceiling is published before it is flushed", 0},
	[ISSUED_BEFORE_PUBLISHED] = {"ids are issued under a ceiling that is only written", 0},
	[CEILING_LOWERED] = {"a renewal lowers the ceiling", 0},
	[GOES_ON_BELOW_CEILING] = {"after a crash it goes on where the lease began", 0},
	[FLOOR_IGNORES_OTHERS] = {"the floor ignores other holders' rows", 4, true},
	[FLOOR_OFF_BY_ONE] = {"the floor's unit counts as free", 0},
	[FLOOR_IGNORES_MEMORY] = {"the floor is what the rows say, whatever memory knows", 2},
	[RESERVED_BY_ROW_ALONE] = {"a partition whose row isn't written yet isn't reserved", 0, true},
	[PARKED_GIVEN_TWICE] = {"a parked partition is given to two sessions", 0, true},
	[FORMER_LIFE_TRUSTED] = {"what a former database had parked is given to another one", 7},
	[OTHERS_NOT_AVOIDED] = {"another database's partition is taken while one is free", 6, true},
	[ABANDONED_FORGOTTEN] = {"an abandoned partition's state is forgotten", 2},
	[CLASH_IGNORED] = {"another holder's lease of the partition is ignored", 2},
	[PENDING_KEPT] = {"a pending ceiling is kept for the next partition", 3},
	[SEQUENCE_NOT_CARRIED] = {"a parked partition forgets its sequence", 1},
	[WALL_SAFE_NOT_CARRIED] = {"a parked partition forgets its wall_safe", 0},
	[DRIFTS_NOT_CARRIED] = {"a parked partition forgets its drifts", 0},
	[TICK_TOCK_NOT_TOGGLED] = {"a step back stays in the timeline", 0},
	[WALL_SAFE_OFF_BY_ONE] = {"a step back may go to wall_safe", 0},
	[CEILING_OFF_BY_ONE] = {"the ceiling's next unit counts as leased", 0},
	[HOLDER_WITHOUT_TIMELINE] = {"a promoted server remains the same holder", 4, true},
	[HOLDER_WITHOUT_DATABASE] = {"all databases are one holder", 10, true}
};

/* Where a session is; nothing but generate() begins at IDLE. */
typedef enum Place
{
	IDLE,
	SURVEYED,					/* reserves next */
	WRITTEN,					/* flushes next */
	FLUSHED						/* publishes next */
} Place;

typedef struct Session
{
	uint8_t		place,
				mine,			/* partition's number + 1, or 0 */
				pending,		/* ceiling, 0 if none */
				pending_file;
	uint8_t		bound[PARTITIONS];	/* what SURVEYED saw */
} Session;

/* The ceiling in a row; 0 is that of no row. */
typedef struct Row
{
	uint8_t		written,
				durable;
} Row;

/* The id that is remembered. */
typedef struct Memory
{
	bool		is_set;
	uint8_t		partition,
				unit,
				tick_tock,
				sequence;
	uint8_t		lines;			/* a bit for each that has it in its past */
	bool		everywhere;		/* other lines are to keep off as well, for now */
	bool		restored;		/* it came from another holder */
} Memory;

typedef struct World
{
	SnoSpace	space[LINES];
	SnoPartition partition[LINES][PARTITIONS];
	Session		session[LINES][SESSIONS];
	Row			row[LINES][HOLDERS][PARTITIONS];	/* in a line's table */
	uint8_t		standby[PARTITIONS];	/* ceilings that it has received */
	Memory		memory;
	uint8_t		turned;			/* promotions and copies that have taken place */
	uint8_t		earliest;		/* that a clock may read now, and */
	uint8_t		latest;			/* what one has read, where that matters */
} World;

static const Scope *scope;
static Mutant mutant;
static World w;

/* Whose turn it is: a line, which has a space of its own, and a session of it. */
static int	line;
static Session *session;

/* Are ids issued twice all that the search is for? */
static bool only_ids;

static void
amiss(const char *what)
{
	if (!only_ids)
		wrong(what);
}

/* The id that the last event issued, if it did. */
static bool issued;
static uint64_t issued_word;
static uint64_t issue_count;

/* What partition.c needs of others; here, one session at a time runs. */
int			MyProcPid;
SnoSpace   *sno_space;
dsa_area   *sno_area;
pg_prng_state pg_global_prng_state;

uint32
pg_prng_uint32(pg_prng_state *state)
{
	return 0;
}

/* Which partitions are used is seen by the partitions themselves. */
void
sno_shmem_note_use(int number)
{
}

bool
sno_shmem_is_used(int number)
{
	if (mutant == OTHERS_NOT_AVOIDED || scope->lines == TWO_SERVERS)
		return false;
	return w.partition[0][number].life != 0 || w.partition[1][number].life != 0;
}

bool
LWLockAcquire(LWLock *lock, LWLockMode mode)
{
	return true;
}

void
LWLockRelease(LWLock *lock)
{
}

/* All partitions are in the first block, which is there. */
dsa_pointer
dsa_allocate_extended(dsa_area *a, size_t size, int flags)
{
	abort();
}

void *
dsa_get_address(dsa_area *a, dsa_pointer place)
{
	abort();
}

/* No generator is named. */
bool
bms_is_member(int x, const Bitmapset *a)
{
	return false;
}

static void
enter(int l, int s)
{
	line = l;
	session = &w.session[l][s];
	sno_space = &w.space[l];
	blocks[0] = w.partition[l];
	MyProcPid = l * SESSIONS + s + 1;
	sno_partition_range.first = scope->disjoint ? l : 0;
	sno_partition_range.last = scope->disjoint ? l : (int) scope->partitions - 1;
}

/* The holder that this line's server and database are now. */
static int
self(void)
{
	return scope->promotions ? w.turned : scope->lines == ONE ? 0 : line;
}

/* lease.c, is_own() */
static bool
is_own(int holder)
{
	if ((mutant == HOLDER_WITHOUT_TIMELINE && (scope->promotions || scope->lines == TWO_SERVERS)) ||
		(mutant == HOLDER_WITHOUT_DATABASE && scope->lines == TWO_DATABASES))
		return true;
	return holder == self();
}

static SnoPartition *
mine(void)
{
	return session->mine == 0 ? NULL : &blocks[0][session->mine - 1];
}

/* generate.c, own() and lease_stands() */
static void
own(SnoPartition *p)
{
	session->mine = (uint8_t) (sno_partition_number(p) + 1);
	if (mutant != PENDING_KEPT)
		session->pending = 0;
}

/* lease.c, sno_lease_write(), and generate.c, write_lease(); false for a clash. */
static bool
write_lease(unsigned now)
{
	SnoPartition *p = mine();
	int			number = sno_partition_number(p);
	Row		   *row = &w.row[line][self()][number];
	uint8_t		ceiling = (uint8_t) Min(now + scope->lease, scope->units - 1);

	for (int h = 0; h < HOLDERS; h++)
		if (!is_own(h) && w.row[line][h][number].written > p->generator.lease_floor &&
			mutant != CLASH_IGNORED)
		{
			sno_partition_abandon(p);
			if (mutant == ABANDONED_FORGOTTEN)
				memset(p, 0, sizeof(*p));
			session->mine = session->pending = 0;
			return false;
		}
	if (mutant != CEILING_LOWERED)
		ceiling = Max(ceiling, (uint8_t) p->generator.ceiling);
	session->pending = ceiling;
	session->pending_file = FILE_NOW;
	row->written = mutant == CEILING_LOWERED ? ceiling : Max(ceiling, row->written);
	return true;
}

/* generate.c, renew(), until it has to wait for the disk. */
static void
renew(unsigned now)
{
	if ((session->pending < now || session->pending_file != FILE_NOW) &&
		!write_lease(now))
		return;
	session->place = mutant == PUBLISHED_BEFORE_FLUSHED ? FLUSHED : WRITTEN;
}

/* renew(), the rest. */
static bool
flush(void)
{
	Row		   *row;

	if (session->place != WRITTEN)
		return false;
	row = &w.row[line][self()][session->mine - 1];
	row->durable = row->written;
	session->place = FLUSHED;
	return true;
}

static bool
publish(void)
{
	if (session->place != FLUSHED)
		return false;
	mine()->generator.ceiling = session->pending;
	mine()->file = session->pending_file;
	session->pending = 0;
	session->place = IDLE;
	return true;
}

/* generate.c, renew_early() */
static bool
renew_early(unsigned now)
{
	if (scope->plain || session->place != IDLE || mine() == NULL || mine()->file != FILE_NOW ||
		now > mine()->generator.ceiling)
		return false;
	write_lease(now);
	return true;
}

/* lease.c, note_bound(), for all rows of a partition */
static uint8_t
survey(int number)
{
	uint8_t		bound = 0;

	for (int h = 0; h < HOLDERS; h++)
	{
		unsigned	ceiling = w.row[line][h][number].written;
		bool		own = is_own(h);

		if (ceiling == 0 || (!own && mutant == FLOOR_IGNORES_OTHERS))
			continue;
		if (mutant == GOES_ON_BELOW_CEILING)
			ceiling = ceiling < scope->lease ? 0 : ceiling - scope->lease;
		if (bound != 0)
		{
			ceiling = Max(ceiling, (unsigned) SNO_BOUND_CEILING(bound));
			own = own || SNO_BOUND_OWN(bound);
		}
		bound = (uint8_t) SNO_BOUND(ceiling, own);
	}
	return bound;
}

/* What a mutant doesn't carry along when a partition is parked. */
static void
forget(SnoPartition *p)
{
	SnoGenerator *g = &p->generator;

	if (p == NULL)
		return;
	if (mutant == SEQUENCE_NOT_CARRIED)
		g->word = SNO_WORD(SNO_WORD_UNIT(g->word), SNO_WORD_TICK_TOCK(g->word), 0);
	if (mutant == WALL_SAFE_NOT_CARRIED)
		g->wall_safe = g->lease_floor;
	if (mutant == DRIFTS_NOT_CARRIED)
		g->drifts = 0;
}

/* generate.c, move(), up to the survey */
static void
move(unsigned now)
{
	SnoPartition *old = mine();
	SnoPartition *p;

	/* What is left behind is to come back with the lease that is written. */
	if (old != NULL && session->pending != 0 && session->pending_file == old->file &&
		mutant != PENDING_KEPT)
	{
		session->place = WRITTEN;
		return;
	}
	p = sno_partition_exchange(old, now, false);
	if (p != NULL)
	{
		forget(old);
		if (mutant == PARKED_GIVEN_TWICE && p->next == NOT_PARKED)
		{
			p->next = sno_space->parked[false];
			sno_space->parked[false] = sno_partition_number(p) + 1;
		}
		own(p);
		return;
	}
	for (int i = 0; i < (int) scope->partitions; i++)
		session->bound[i] = survey(i);
	session->place = SURVEYED;
}

/* Was `number` free for all, when the caller took one that others leased? */
static bool
is_untouched(int number)
{
	for (int h = 0; h < HOLDERS; h++)
		if (w.row[line][h][number].written != 0)
			return false;
	return blocks[0][number].life == 0;
}

/* Does another database of the server use it? */
static bool
is_other_ones(int number)
{
	return scope->lines == TWO_DATABASES && w.partition[!line][number].life != 0;
}

/* move(), the rest.  The clock may have moved on, or back, which is no matter. */
static bool
reserve(unsigned now, unsigned holder)
{
	uint64_t	block[SNO_BOUNDS_BLOCK] = {0};
	SnoBounds	bounds = {.block = {block}};
	SnoPartition before[PARTITIONS];
	SnoPartition *old = mine();
	SnoPartition *p;
	int			number;
	uint8_t		bound_seen[PARTITIONS];
	bool		choice = false,
				free_choice = false;

	if (session->place != SURVEYED)
		return false;
	memcpy(before, blocks[0], sizeof(before));
	for (int i = 0; i < (int) scope->partitions; i++)
	{
		block[i] = session->bound[i];
		choice = choice || is_untouched(i);
		free_choice = free_choice || (is_untouched(i) && !is_other_ones(i));
		if (mutant == FLOOR_IGNORES_MEMORY)
			blocks[0][i].generator.ceiling = 0;
		if (mutant == RESERVED_BY_ROW_ALONE && blocks[0][i].owner != 0 &&
			blocks[0][i].owner != MyProcPid && blocks[0][i].file == InvalidOid)
			memset(&blocks[0][i], 0, sizeof(SnoPartition));
	}
	p = sno_partition_reserve(old, now, &bounds, holder, false);
	for (int i = 0; i < (int) scope->partitions; i++)
		if (&blocks[0][i] != p)
		{
			blocks[0][i].generator.ceiling = before[i].generator.ceiling;
			if (mutant == RESERVED_BY_ROW_ALONE && before[i].owner != MyProcPid)
				blocks[0][i] = before[i];
		}
	session->place = IDLE;
	memcpy(bound_seen, session->bound, sizeof(bound_seen));
	memset(session->bound, 0, sizeof(session->bound));
	if (p == NULL)
		return true;

	forget(old);
	number = sno_partition_number(p);
	own(p);
	if (free_choice && is_other_ones(number) && bound_seen[number] == 0)
		amiss("another database's partition was taken while one was free");
	if (mutant == FLOOR_OFF_BY_ONE && p->generator.lease_floor > 0)
		sno_generator_start(&p->generator, p->generator.lease_floor - 1,
							0, p->generator.sequence_max);
	p->generator.sequence_max = (uint16_t) (scope->sequences - 1);
	p->generator.word = SNO_WORD(p->generator.lease_floor, 0, scope->sequences);
	if (choice && w.row[line][self()][number].written == 0)
		for (int h = 0; h < HOLDERS; h++)
			if (w.row[line][h][number].written != 0)
				amiss("another holder's partition was taken while one was free");
	return true;
}

/* The core's step, or a mutant of it. */
static SnoStep
step(SnoGenerator *g, unsigned now)
{
	SnoGenerator before = *g;
	SnoStep		result;

	if (mutant == ISSUED_BEFORE_PUBLISHED)
		g->ceiling = Max(g->ceiling, session->pending);
	if (mutant == CEILING_OFF_BY_ONE)
		g->ceiling++;
	if (mutant == WALL_SAFE_OFF_BY_ONE && now == g->wall_safe && now > 0)
		g->wall_safe--;
	result = sno_generator_step(g, now, &issued_word);
	g->ceiling = before.ceiling;
	if (result != SNO_ISSUED)
		*g = before;
	else if (mutant == TICK_TOCK_NOT_TOGGLED && g->drifts != before.drifts)
	{
		g->drifts = before.drifts;
		g->word ^= UINT64_C(1) << 24;
		issued_word ^= UINT64_C(1) << 24;
	}
	return result;
}

/* generate.c, next(), next_slowly() and step_mine(), up to what may take time. */
static bool
generate(unsigned now)
{
	SnoPartition *p = mine();
	SnoStep		result = SNO_EXHAUSTED;

	if (session->place != IDLE)
		return false;
	if (p != NULL)
	{
		uint64_t	word = p->generator.word;

		/* The table's file is looked up but in the common case; a session that has
		 * just taken a partition isn't in that. */
		if (p->file == InvalidOid ||
			(p->file != FILE_NOW &&
			 (now != SNO_WORD_UNIT(word) ||
			  SNO_WORD_SEQUENCE(word) > p->generator.sequence_max)))
			result = SNO_LEASE_OVER;
		else
			result = step(&p->generator, now);
	}
	if (result == SNO_LEASE_OVER)
		renew(now);
	else if (result != SNO_ISSUED)
		move(now);
	else
	{
		issued = true;
		if (SNO_WORD_UNIT(issued_word) != now)
			amiss("an id isn't of its time");
		if (now > w.row[line][self()][sno_partition_number(p)].durable)
			amiss("an id is beyond the ceiling on disk");
		if (now <= p->generator.lease_floor)
			amiss("an id is at or below the floor");
	}
	return true;
}

/* An error in mid-call: all that was done so far stays. */
static bool
cancel(void)
{
	if (scope->plain || session->place == IDLE)
		return false;
	session->place = IDLE;
	memset(session->bound, 0, sizeof(session->bound));
	return true;
}

/* generate.c, session_end(), anywhere; another session takes the place. */
static bool
end(void)
{
	SnoPartition *p = mine();

	if (session->place == IDLE ? p == NULL : scope->plain)
		return false;
	if (p != NULL && p->next == NOT_PARKED)
	{
		forget(p);
		sno_partition_park(p);
	}
	memset(session, 0, sizeof(*session));
	return true;
}

/* The disk gets a row without being asked to. */
static bool
settle(int holder, int number)
{
	Row		   *row = &w.row[line][holder][number];

	if (row->durable == row->written)
		return false;
	row->durable = row->written;
	return true;
}

/* A space begins another life when its database was dropped and made again. */
static uint32
life_of(int l)
{
	return 1 + (l == 1 && w.turned == 2 && mutant != FORMER_LIFE_TRUSTED);
}

/* A space without anything in it. */
static void
begin_space(int l)
{
	memset(w.partition[l], 0, sizeof(w.partition[l]));
	w.space[l].parked[false] = SNO_LAST_PARKED;
	w.space[l].life = life_of(l);
}

/* A crash, of the server or one session, which makes the server start over. */
static bool
crash(void)
{
	for (int l = 0; l < LINES; l++)
		if (scope->lines != TWO_SERVERS || l == line)
		{
			begin_space(l);
			memset(w.session[l], 0, sizeof(w.session[l]));
			for (int h = 0; h < HOLDERS; h++)
				for (int i = 0; i < PARTITIONS; i++)
					w.row[l][h][i].written = w.row[l][h][i].durable;
		}
	w.memory.everywhere = w.memory.everywhere && scope->disjoint;
	return true;
}

/* The standby receives what is on the disk, or as much of it as it will. */
static bool
receive(void)
{
	bool		more = false;

	if (!scope->lags || w.turned > 0)
		return false;
	for (int i = 0; i < PARTITIONS; i++)
	{
		more = more || w.standby[i] != w.row[0][0][i].durable;
		w.standby[i] = w.row[0][0][i].durable;
	}
	return more;
}

/* A standby is promoted: another holder, with a clock that isn't behind if it lags. */
static void
promote(void)
{
	if (scope->lags)
	{
		for (int i = 0; i < PARTITIONS; i++)
			w.row[0][0][i].durable = w.standby[i];
		w.earliest = (uint8_t) (w.latest + 1);
		memset(w.standby, 0, sizeof(w.standby));
	}
	crash();
}

/* A server is copied, or a database made of another; it may have been dropped. */
static void
copy(void)
{
	for (int i = 0; i < PARTITIONS; i++)
	{
		Row		   *row = &w.row[0][0][i];

		/* CREATE DATABASE sees to it that what it copies is on disk. */
		if (scope->lines == TWO_DATABASES)
			row->durable = row->written;
		w.row[1][0][i].written = w.row[1][0][i].durable = row->durable;
		w.row[1][1][i].written = w.row[1][1][i].durable = 0;
	}
	w.turned++;
	w.space[1].life = life_of(1);
	if (w.memory.lines & 1)
		w.memory.lines = 3;
	else
		memset(&w.memory, 0, sizeof(w.memory));
}

static bool
has_sessions(int l)
{
	for (int s = 0; s < SESSIONS; s++)
		if (w.session[l][s].place != IDLE || w.session[l][s].mine != 0)
			return true;
	return false;
}

static bool
turn(void)
{
	if (w.turned == 1 + scope->again ||
		(scope->lines == ONE && !scope->promotions) ||
		(w.turned == 1 && has_sessions(1)))
		return false;
	if (scope->lines != ONE)
		copy();
	else
	{
		w.turned++;
		promote();
	}
	return true;
}

/* VACUUM FULL: the table has a new file, which is on disk. */
static bool
rewrite(void)
{
	if (!scope->rewrites)
		return false;
	for (int i = 0; i < PARTITIONS; i++)
	{
		settle(self(), i);
		if (blocks[0][i].file == FILE_NOW)
			blocks[0][i].file = FILE_BEFORE;
	}
	for (int s = 0; s < SESSIONS; s++)
		w.session[line][s].pending_file = FILE_BEFORE;
	return true;
}

/*
 * A row of another holder is restored from a dump, with the ids that go with
 * it.  What was leased by then can't keep off them, but what is leased from then
 * on does.
 */
static bool
restore(int number, unsigned ceiling)
{
	Row		   *row = &w.row[line][1][number];

	if (!scope->restores || ceiling <= row->written)
		return false;
	row->written = row->durable = (uint8_t) ceiling;
	return true;
}

static void
remember(int number, uint64_t word)
{
	w.memory = (Memory) {
		.is_set = true,
		.partition = (uint8_t) number,
		.unit = (uint8_t) SNO_WORD_UNIT(word),
		.tick_tock = SNO_WORD_TICK_TOCK(word),
		.sequence = (uint8_t) SNO_WORD_SEQUENCE(word),
		.lines = (uint8_t) (1 << line),
		.everywhere = scope->disjoint
	};
}

/* An id was issued: is it the one that is remembered? */
static void
compare(int number)
{
	Memory	   *m = &w.memory;

	if (!m->is_set || m->partition != number ||
		issued_word != SNO_WORD(m->unit, m->tick_tock, m->sequence))
		return;
	if (m->everywhere || m->lines & 1 << line)
		wrong("an id is issued twice");
	m->lines |= (uint8_t) (1 << line);
	m->everywhere = scope->disjoint;
}

/* generator.h's I1 to I4, of a partition that is owned or parked. */
static void
check_invariants(int number)
{
	const SnoPartition *p = &blocks[0][number];
	const SnoGenerator *g = &p->generator;
	const Memory *m = &w.memory;
	uint64_t	word = g->word;
	uint64_t	unit = SNO_WORD_UNIT(word);

	if (g->lease_floor > g->wall_safe || g->lease_floor > unit)
		amiss("I3 does not hold");
	if (unit > g->ceiling)
		amiss("I4 does not hold");
	if (!m->is_set || m->restored || m->partition != number ||
		!(m->everywhere || m->lines & 1 << line))
		return;
	if (m->tick_tock == SNO_WORD_TICK_TOCK(word) &&
		(m->unit > unit || (m->unit == unit && m->sequence >= SNO_WORD_SEQUENCE(word))))
		amiss("I1 does not hold");
	if (m->tick_tock != SNO_WORD_TICK_TOCK(word) && m->unit > g->wall_safe)
		amiss("I2 does not hold");
}

/* Does it come from a database that was dropped, without a lease of this one yet? */
static bool
is_of_former_life(const SnoPartition *p)
{
	return sno_space->life > 1 &&
		(p->life != sno_space->life || p->file == InvalidOid);
}

/* Check the world, and forget what nobody will look at any more. */
static void
check(void)
{
	for (int l = 0; l < LINES; l++)
	{
		enter(l, 0);
		for (int i = 0; i < PARTITIONS; i++)
		{
			SnoPartition *p = &blocks[0][i];
			int			owners = 0;

			for (int s = 0; s < SESSIONS; s++)
				owners += w.session[l][s].mine == i + 1;
			if (owners > 1)
				amiss("two sessions own one partition");
			if (is_at_rest(p))
				*p = (SnoPartition) {
					.generator.ceiling = p->generator.ceiling,
					.life = p->life != 0
				};
			else if ((!scope->lags || w.turned == 0) && !is_of_former_life(p))
				check_invariants(i);
		}
		for (int s = 0; s < SESSIONS; s++)
			if (w.session[l][s].pending == 0)
				w.session[l][s].pending_file = 0;
	}
}

static void
transfer_space(int l, unsigned unit_width)
{
	w.space[l].parked[false] = (int32) field((uint64_t) w.space[l].parked[false] + 1, 2) - 1;
	w.space[l].life = life_of(l);
	for (unsigned i = 0; i < scope->partitions; i++)
	{
		SnoPartition *p = &w.partition[l][i];
		SnoGenerator *g = &p->generator;
		uint64_t	unit = field(SNO_WORD_UNIT(g->word), unit_width);
		uint64_t	tick_tock = field(SNO_WORD_TICK_TOCK(g->word), 1);

		g->word = SNO_WORD(unit, tick_tock, field(SNO_WORD_SEQUENCE(g->word),
												  width_of(scope->sequences)));
		FIELD(g->wall_safe, unit_width);
		FIELD(g->lease_floor, unit_width);
		FIELD(g->ceiling, unit_width);
		g->drifts = (uint32_t) field(g->drifts & 1, 1);
		g->sequence_max = (uint16_t) (scope->sequences - 1);
		FIELD(p->life, 1 + l);
		FIELD(p->file, scope->rewrites ? 2 : 1);
		p->next = (int32) field((uint64_t) p->next + 1, 2) - 1;
	}
}

static void
transfer_session(Session *s, unsigned unit_width)
{
	FIELD(s->place, 2);
	FIELD(s->mine, width_of(scope->partitions));
	FIELD(s->pending, unit_width);
	if (scope->rewrites)
		FIELD(s->pending_file, 2);
	else
		s->pending_file = s->pending == 0 ? 0 : FILE_NOW;
	for (unsigned i = 0; i < scope->partitions && s->place == SURVEYED; i++)
		FIELD(s->bound[i], width_of(2 * scope->units + 1));
}

static int
compare_sessions(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Session));
}

/* Sessions of a line are interchangeable, so they are sorted. */
static void
transfer(void)
{
	unsigned	unit_width = width_of(scope->units - 1);
	Memory	   *m = &w.memory;

	if (!key_wanted)
		memset(&w, 0, sizeof(w));
	else
		for (int l = 0; l < LINES; l++)
			qsort(w.session[l], scope->sessions[l], sizeof(Session), compare_sessions);
	FIELD(w.turned, 2);
	for (int l = 0; l < (scope->lines == ONE ? 1 : 2); l++)
		transfer_space(l, unit_width);
	if (scope->lags)
	{
		FIELD(w.earliest, unit_width + 1);
		FIELD(w.latest, unit_width);
		for (unsigned i = 0; i < scope->partitions; i++)
			FIELD(w.standby[i], unit_width);
	}
	for (int l = 0; l < (scope->lines == ONE ? 1 : 2); l++)
	{
		int			holders = l > 0 || scope->promotions || scope->restores ? 2 : 1;

		for (unsigned s = 0; s < scope->sessions[l]; s++)
		{
			transfer_session(&w.session[l][s], unit_width);
			if (!key_wanted && w.session[l][s].mine != 0)
			{
				enter(l, (int) s);
				mine()->owner = MyProcPid;
			}
		}
		for (int h = 0; h < holders; h++)
			for (unsigned i = 0; i < scope->partitions; i++)
			{
				FIELD(w.row[l][h][i].written, unit_width);
				FIELD(w.row[l][h][i].durable, unit_width);
			}
	}
	FIELD(m->is_set, 1);
	if (!m->is_set)
		return;
	FIELD(m->partition, 1);
	FIELD(m->unit, unit_width);
	FIELD(m->tick_tock, 1);
	FIELD(m->sequence, scope->sequences - 1);
	FIELD(m->lines, 2);
	FIELD(m->everywhere, 1);
	FIELD(m->restored, 1);
}

/* What may happen to a world: to a session, a line, or a server; a and b are its arguments. */
typedef enum Event
{
	GENERATE,
	RENEW_EARLY,
	RESERVE,
	FLUSH,
	PUBLISH,
	CANCEL,
	END,						/* the last one that is a session's */
	SETTLE,
	CRASH,
	RECEIVE,
	TURN,
	REWRITE,
	RESTORE,
	EVENTS
} Event;

static const char *const events[] = {
	"generate at %u", "renew early at %u", "reserve at %u, holder %u", "flush",
	"publish", "cancel", "end", "holder %u's row of partition %u gets to disk",
	"crash", "the standby receives what is on disk", "promotion or copy", "table rewritten",
	"row of partition %2$u restored, ceiling %1$u"
};

static bool
apply(Event event, unsigned a, unsigned b)
{
	if (scope->lags && (event == GENERATE || event == RENEW_EARLY || event == RESERVE))
	{
		if (a < w.earliest)
			return false;
		w.latest = (uint8_t) Max(a, w.latest);
	}
	switch (event)
	{
		case GENERATE:
			return generate(a);
		case RENEW_EARLY:
			return renew_early(a);
		case RESERVE:
			return reserve(a, b);
		case FLUSH:
			return flush();
		case PUBLISH:
			return publish();
		case CANCEL:
			return cancel();
		case END:
			return end();
		case SETTLE:
			return settle((int) a, (int) b);
		case CRASH:
			return crash();
		case RECEIVE:
			return receive();
		case TURN:
			return turn();
		case REWRITE:
			return rewrite();
		case RESTORE:
			return restore((int) b, a);
		default:
			return false;
	}
}

/* How many values each argument of an event takes. */
static unsigned
values(Event event, int argument)
{
	switch (event)
	{
		case GENERATE:
		case RENEW_EARLY:
			return argument == 0 ? scope->units : 1;
		case RESERVE:
			return argument == 0 ? scope->units : scope->partitions;
		case SETTLE:
			return argument == 0 ? HOLDERS : scope->partitions;
		case RESTORE:
			return argument == 0 ? scope->units : scope->partitions;
		default:
			return 1;
	}
}

static const Model model;

static void
visit_checked(Step step)
{
	check();
	visit(&model, step);
}

/* The world goes on without a memory, and with each one that there may be. */
static void
visit_all(Step step)
{
	World		after = w;

	if (issued)
	{
		int			number = session->mine - 1;

		issue_count++;
		compare(number);
		if (!w.memory.is_set)
		{
			remember(number, issued_word);
			visit_checked(step);
			w = after;
		}
	}
	if (step.event == RESTORE && !w.memory.is_set)
		for (unsigned unit = w.row[line][self()][step.b].written + 1; unit <= step.a; unit++)
			for (int tick_tock = 0; tick_tock <= 1; tick_tock++)
			{
				remember(step.b, SNO_WORD(unit, tick_tock, 0));
				w.memory.restored = true;
				visit_checked(step);
				w = after;
			}
	visit_checked(step);
}

static void
expand(Step step)
{
	World		before = w;

	for (int l = 0; l <= (scope->lines != ONE && before.turned > 0); l++)
		for (int e = 0; e < EVENTS; e++)
			for (unsigned s = 0; s < (e <= END ? scope->sessions[l] : 1); s++)
				for (unsigned a = 0; a < values(e, 0); a++)
					for (unsigned b = 0; b < values(e, 1); b++)
					{
						w = before;
						issued = false;
						enter(l, (int) s);
						step.event = (uint8_t) e;
						step.who = (uint8_t) (l * SESSIONS + s);
						step.a = (uint8_t) a;
						step.b = (uint8_t) b;
						if (apply(e, a, b))
							visit_all(step);
						if (violation != NULL)
							return;
					}
}

static void
describe(Step step)
{
	printf("%s %u, session %u: ", scope->lines == TWO_SERVERS ? "server" : "database",
		   step.who / SESSIONS, step.who % SESSIONS);
	printf(events[step.event], step.a, step.b);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(int number, Mutant with, bool ids)
{
	scope = &scopes[number];
	mutant = with;
	only_ids = ids;
	issue_count = 0;
	memset(&w, 0, sizeof(w));
	for (int l = 0; l < LINES; l++)
		begin_space(l);
	return explore(&model);
}

static void
explore_all(void)
{
	for (size_t i = 0; i < lengthof(scopes) && !scopes[i].large; i++)
	{
		bool		ok = explore_scope((int) i, NONE, false);

		report_scope(&model, ok, scope->name, issue_count);
	}
}

static void
catch_mutants(void)
{
	for (int m = NONE + 1; m < MUTANTS; m++)
	{
		bool		caught = !explore_scope(mutants[m].scope, m, !mutants[m].by_rule);

		report_mutant(caught, mutants[m].name, scope->name);
	}
}

/* Explores the scopes, or with any argument, their mutants. */
int
main(int argc, char **argv)
{
	if (argc == 1)
		explore_all();
	else
		catch_mutants();
	printf("1..%d\n", tests);
	return failures != 0;
}

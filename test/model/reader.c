/*
 * reader.c
 *		A reader of a feed on models small enough to be explored whole: every order of the
 *		steps of its sessions, of the rows that become visible, of leases that end, and of
 *		clock readings.  Prints TAP.
 *
 * sno_feeds is written in SQL, so none of its code runs here.  The model contains its protocol.
 *
 * A feed has at most three rows, with the keys 1 to 3, which become visible in any order, or
 * never, and a watermark, which only rises.  No row becomes visible below the watermark:
 * feed.c shows that.  A reader has a position in each part of the feed.  Its part -1, RETRY,
 * returns again the rows that were set aside.
 *
 * A session begins a statement, which gets a snapshot: the visible rows and a watermark.
 * Then it calls sno_feed_next() or sno_feed_take(), which locks a part and reads the latest
 * version of its row, but returns rows of the snapshot.  After sno_feed_next(), the part stays
 * locked until the transaction commits or aborts.  After sno_feed_take(), which commits, the
 * session has a lease, and calls sno_feed_done(), _fail() or _extend(), or never calls again.
 * A crash of the server has the effect that all transactions abort, so it is no step of its
 * own.  After a failover, the end of the WAL may be lost, but sessions keep their leases.  An
 * operator rewinds the reader, or creates it again, marks rows to be retried, and removes
 * rows.  A rewind or a removal first reads its bounds, in a step of its own.  All other calls
 * are atomic, because they lock the part.
 *
 * Leases end at any time.  In some scopes, they end by a clock, which may be set to any time.
 *
 * The model checks that these violations don't occur:
 *
 *	MISSED		A visible row below a position was neither acknowledged nor set aside, or a
 *				row may still appear there.  After a rewind, rows must be handled again.
 *	TWICE		A row that was acknowledged is returned again.
 *	ORDER		A part returns its rows out of order.
 *	HELD		A session gets a row that another session has in a transaction, or by a lease
 *				that was never over.
 *	STALE		A session whose rows were returned to another one, or whose reader was
 *				rewound or dropped, acknowledges rows or changes the part.
 *	BLAMED		A row is set aside for failures of other rows.
 *	STILL		After all sessions are gone and their leases are over, some rows can't be
 *				handled, or can't be removed afterwards.  Only a row that always fails may be
 *				set aside.
 *	REMOVED		A row is removed that wasn't handled or is set aside, or that a part returns
 *				again.
 */
#include <stdbool.h>
#include <stdint.h>

#include "explore.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))
#define Max(x, y)		((x) > (y) ? (x) : (y))
#define Min(x, y)		((x) < (y) ? (x) : (y))

/* The limits of all scopes */
#define ROWS		3
#define SESSIONS	3
#define PARTS		2
#define RETRY		PARTS		/* part -1 */
#define ALL_PARTS		(PARTS + 1)

typedef struct Scope
{
	const char *name;
	unsigned	rows,
				sessions,
				parts,
				max_tries,
				clocks;			/* times that a clock may read; 0 if there is none */
	bool		next,			/* do sessions call sno_feed_next(), sno_feed_take()? */
				take,
				late,			/* may a watermark be lower than possible? */
				fails,			/* do sessions call sno_feed_fail(), sno_feed_extend()? */
				poison,			/* are there rows that always fail? */
				rewinds,
				retries,
				removes,
				deletes,		/* are rows deleted, or given new ids? */
				fails_over,
				large;			/* does it take a long time? */
} Scope;

typedef enum ScopeNumber
{
	NEXT, TAKE, MIXED, CLOCK, REWIND, ASIDE, AGAIN, REMOVAL, TWO_PARTS, DELETED, FAILOVER,
	NEXT_MORE, TAKE_MORE, MIXED_MORE, CLOCK_MORE, ALL
} ScopeNumber;

static const Scope scopes[] = {
	[NEXT] = {"sno_feed_next()", 3, 2, 1, 1,.next = true,.late = true},
	[TAKE] = {"sno_feed_take()", 3, 2, 1, 2,.take = true,.fails = true,.poison = true},
	[MIXED] = {"both", 2, 2, 1, 2,.next = true,.take = true,.late = true,.fails = true},
	[CLOCK] = {"a clock that is set", 2, 2, 1, 2, 3,.take = true,.fails = true},
	[REWIND] = {"rewinds", 2, 2, 1, 2,.next = true,.take = true,.rewinds = true},
	[ASIDE] = {"rows set aside, and rewinds", 2, 2, 1, 1,.take = true,.fails = true,.rewinds = true,
	.retries = true},
	[AGAIN] = {"retries", 2, 2, 1, 1,.next = true,.take = true,.fails = true,.poison = true,.retries = true,
	.deletes = true},
	[REMOVAL] = {"removal", 2, 2, 1, 1,.take = true,.rewinds = true,.retries = true,.removes = true},
	[TWO_PARTS] = {"two parts", 3, 2, 2, 1,.next = true,.removes = true},
	[DELETED] = {"rows that are deleted", 3, 1, 1, 2,.next = true,.take = true,.fails = true,.removes = true,
	.deletes = true},
	[FAILOVER] = {"a failover, and a reader that is created again", 2, 2, 1, 1,.take = true,.fails_over = true},
	[NEXT_MORE] = {"sno_feed_next() in three sessions", 3, 3, 1, 1,.next = true,.late = true,.large = true},
	[TAKE_MORE] = {"sno_feed_take() in three sessions", 3, 3, 1, 2,.take = true,.fails = true,.poison = true,
	.large = true},
	[MIXED_MORE] = {"both, of more rows", 3, 2, 1, 2,.next = true,.take = true,.late = true,.fails = true,
	.large = true},
	[CLOCK_MORE] = {"a clock that is set, and more rows", 3, 2, 1, 2, 4,.next = true,.take = true,.fails = true,
	.large = true},
	[ALL] = {"all but a clock", 2, 2, 1, 2,.next = true,.take = true,.late = true,.fails = true,.poison = true,
	.rewinds = true,.retries = true,.removes = true,.deletes = true,.large = true},
};

/* The error of each mutant, and the scope that finds it */
#define MUTANTS(M) \
	M(NEWER_WATERMARK, "a position moves to a watermark newer than the rows", NEXT) \
	M(NEXT_ROW, "a position moves to the next row, even above the watermark", NEXT) \
	M(LAST_ROW, "a position moves to the last row that was returned", NEXT) \
	M(AFTER_POSITION, "rows are returned after the position, not from it on", NEXT) \
	M(ABOVE_WATERMARK, "rows above the watermark are returned, too", NEXT) \
	M(OLD_PART, "a part is read as the snapshot shows it", NEXT) \
	M(NOT_LOCKED, "a part isn't locked", NEXT) \
	M(MOVED_AT_ONCE, "a position moves before the transaction commits", NEXT) \
	M(FENCE_KEPT, "a lease doesn't raise the fence", TAKE) \
	M(DONE_UNFENCED, "the fence isn't checked by sno_feed_done()", TAKE) \
	M(FAIL_UNFENCED, "the fence isn't checked by sno_feed_fail()", TAKE) \
	M(EXTEND_UNFENCED, "the fence isn't checked by sno_feed_extend()", TAKE) \
	M(FAILED_PASSED, "a position moves past the row that failed", TAKE) \
	M(ASIDE_WITH_BATCH, "a position moves past all rows of the batch if one is set aside", ASIDE) \
	M(ENDS_UNCOUNTED, "a lease that ends counts no try", TAKE) \
	M(SINGLE_UNCOUNTED, "a failure without a row counts no try, even of a single row", TAKE) \
	M(NEVER_SINGLY, "rows of a batch that failed don't come again one by one", TAKE) \
	M(LEASE_IGNORED, "sno_feed_next() returns rows of a leased part", MIXED) \
	M(LEASE_KEPT, "sno_feed_next() doesn't end a lease that is over", MIXED) \
	M(DONE_AGAIN, "a lease that was acknowledged or given back is acknowledged", MIXED) \
	M(BY_END, "a lease counts until its end, whenever it began", CLOCK) \
	M(REWIND_LEASED, "a lease outlives a rewind", REWIND) \
	M(REWIND_AHEAD, "a rewind may go ahead of the watermark", REWIND) \
	M(REWIND_KEPT_ASIDE, "a rewind keeps rows aside that the part returns again", ASIDE) \
	M(REWIND_RETRIED, "a rewind leaves part -1 as it is", ASIDE) \
	M(STAYS_MARKED, "a retry that fails is retried at once", AGAIN) \
	M(MARK_BEFORE_LOCK, "a row to be retried is chosen before the part is locked", AGAIN) \
	M(GONE_BY_SNAPSHOT, "a row to be retried that the snapshot doesn't show is forgotten", AGAIN) \
	M(GONE_CHOSEN, "a row that was deleted is chosen to be retried", AGAIN) \
	M(REMOVED_ASIDE, "rows that are set aside are removed", REMOVAL) \
	M(RETRY_HOLDS_BACK, "part -1 holds back removal", REMOVAL) \
	M(BOUND_UNKNOWN, "a removal doesn't note how far it went", REMOVAL) \
	M(NO_REMOVAL_LOCK, "a rewind and a removal look at the same time", REMOVAL) \
	M(FURTHEST_PART, "rows below the furthest part are removed", TWO_PARTS) \
	M(TRIES_INHERITED, "tries of a row that is gone count for the next row", DELETED) \
	M(GONE_HOLDS_BACK, "a row set aside that is gone holds back removal", DELETED) \
	M(FENCE_REPEATED, "a fence is one more than the last one", FAILOVER)

#define NAME_OF(name, ...)	name,
#define ROW_OF(name, text, scope)	{text, scope},

typedef enum Mutant
{
	MUTANTS(NAME_OF)
	NONE
} Mutant;

static const struct
{
	const char *name;
	ScopeNumber scope;
}			mutants[] = {
	MUTANTS(ROW_OF)
};

/* Sets of rows have a bit for each row. */
typedef uint8_t Rows;

typedef struct Feed
{
	uint8_t		watermark;		/* for a new snapshot */
	Rows		visible,
				deleted,		/* by their owner */
				removed,
				aside,
				marked,			/* to be retried */
				handled;		/* acknowledged, and not rewound since */
	uint8_t		bound,			/* the key below which rows were removed */
				removing,		/* the bound of a removal that has begun, or 0 */
				clock,
				fence,			/* the last one, even if a failover lost it */
				failed_over,
				created;
	uint8_t		blame[ROWS];	/* the number of failures of each row */
} Feed;

typedef struct PartRow
{
	uint8_t		position,
				upto,			/* the end of the leased batch, or the leased row of part -1, or 0 */
				singly,
				tries,
				busy_at,		/* 0 if the part isn't busy */
				free_at,
				fence,
				first;			/* the first row of the last lease */
} PartRow;

typedef enum State
{
	IDLE,
	STATEMENT,					/* has a snapshot */
	TRANSACTION,				/* of sno_feed_next() */
	LEASED,
	REWINDING					/* has read the bounds of a rewind */
} State;

typedef struct Session
{
	uint8_t		state,
				part,
				watermark;		/* of its snapshot */
	Rows		visible;		/* to its snapshot */
	Rows		rows;			/* that were returned to it */
	uint8_t		fence,
				busy_at,
				free_at,
				is_over,		/* was its lease over at any time? */
				is_stale,		/* must it not change the part any more? */
				is_durable,		/* would its lease survive a failover? */
				position;		/* of part 0 in the snapshot, for a mutant */
	Rows		marked;			/* in the snapshot, for a mutant */
	Rows		set_aside,		/* changes of its transaction to rows set aside */
				unmarked,
				forgotten;		/* for a mutant */
	PartRow		changed;		/* the part, as its transaction leaves it */
} Session;

typedef struct World
{
	Feed		feed;
	PartRow		part[ALL_PARTS];
	Session		session[SESSIONS];
	Feed		disk_feed;		/* the state that a failover doesn't lose */
	PartRow		disk_part[ALL_PARTS];
} World;

typedef enum Event
{
	APPEAR, RISE, DELETE, END, SET_CLOCK,
	BEGIN, NEXT_ROWS, TAKE_ROWS, MORE_ROWS, COMMIT, DONE, FAIL, EXTEND, LEAVE,
	LOOK_BACK, SET_BACK, MARK, LOOK, REMOVE, FLUSH, FAIL_OVER, CREATE,
	EVENTS
} Event;

static const Scope *scope;
static Mutant mutant;
static World w;
static Feed *const feed = &w.feed;
static uint64_t handled_count;

static Rows
row(unsigned key)
{
	return (Rows) (1 << (key - 1));
}

static Rows
below(unsigned key)
{
	return (Rows) (row(key) - 1);
}

static unsigned
lowest(Rows rows)
{
	return (unsigned) __builtin_ctz(rows) + 1;
}

static bool
is_one(Rows rows)
{
	return rows != 0 && (rows & (rows - 1)) == 0;
}

static Rows
rows_of(unsigned part)
{
	Rows		rows = 0;

	for (unsigned i = 1; i <= scope->rows; i++)
		if (i % scope->parts == part)
			rows |= row(i);
	return rows;
}

static Rows
present(void)
{
	return feed->visible & ~(feed->deleted | feed->removed);
}

static bool
is_locked(unsigned part)
{
	for (unsigned i = 0; i < scope->sessions; i++)
		if (w.session[i].state == TRANSACTION && w.session[i].part == part)
			return mutant != NOT_LOCKED;
	return false;
}

static bool
is_within(unsigned busy_at, unsigned free_at)
{
	return (busy_at <= feed->clock || mutant == BY_END) && feed->clock <= free_at;
}

static bool
is_busy(const PartRow *p)
{
	return p->free_at != 0 && is_within(p->busy_at, p->free_at);
}

static void
occupy(PartRow *p)
{
	p->busy_at = feed->clock;
	p->free_at = (uint8_t) (feed->clock + (scope->clocks != 0));
}

static void
release(PartRow *p)
{
	p->upto = p->busy_at = p->free_at = p->first = 0;
	if (p->singly <= p->position)
		p->singly = 0;
}

static void
forget_blame(Rows rows)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (rows & row(i + 1))
			feed->blame[i] = 0;
}

static void
blame(unsigned key)
{
	feed->blame[key - 1] = (uint8_t) Min(feed->blame[key - 1] + 1u, scope->max_tries);
}

static void
acknowledge(Rows rows)
{
	if (rows & feed->handled)
		wrong("a row is acknowledged twice");
	feed->handled |= rows;
	forget_blame(rows);
	handled_count++;
}

/* All other leases of the part are no longer valid. */
static void
supersede(unsigned part, const Session *by)
{
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		Session    *s = &w.session[i];

		if (s != by && s->state == LEASED && s->part == part)
			s->is_stale = true;
	}
}

static void
check_held(const Session *by)
{
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		const Session *s = &w.session[i];

		if (s != by && s->part == by->part && (s->rows & by->rows) &&
			(s->state == TRANSACTION || (s->state == LEASED && !s->is_over && !s->is_stale)))
			wrong("two sessions hold a row");
	}
}

static void
hand_out(Session *s, unsigned part, Rows rows)
{
	if (rows & feed->handled)
		wrong("a row is returned that was acknowledged");
	if (part != RETRY)
	{
		Rows		left = feed->visible & ~(feed->deleted | feed->handled | feed->aside | s->set_aside | s->rows);

		if (rows & feed->aside)
			wrong("a part returns a row that is set aside");
		if (left & rows_of(part) & below(lowest(rows)))
			wrong("rows are returned out of order");
	}
	s->rows |= rows;
	s->part = (uint8_t) part;
	check_held(s);
}

static void
check_blame(unsigned key, bool once_more)
{
	if (feed->blame[key - 1] + once_more < scope->max_tries)
		wrong("a row is set aside for failures of another one");
}

/* The position after a row, if the batch ends at `upto`. */
static unsigned
pass(Rows rows, unsigned key, unsigned upto)
{
	rows &= below(upto) & ~below(key + 1);
	return rows == 0 || mutant == ASIDE_WITH_BATCH ? upto : lowest(rows);
}

/* Remove rows from NAME_aside. */
static void
forget(Rows rows)
{
	feed->aside &= ~rows;
	feed->marked &= ~rows;
}

static void
leave(Session *s)
{
	memset(s, 0, sizeof(*s));
}

/* Make the changes of a call visible. */
static void
commit(Session *s)
{
	unsigned	part = s->part;

	if (mutant == LEASE_KEPT && s->state == TRANSACTION && w.part[part].upto != 0)
		w.part[part].position = s->changed.position;
	else
		w.part[part] = s->changed;
	feed->aside |= s->set_aside;
	forget_blame(s->set_aside);
	feed->marked &= ~s->unmarked;
	forget(s->forgotten);
	s->set_aside = s->unmarked = s->forgotten = 0;
	if (s->rows != 0)
		supersede(part, s);
	if (s->state == TRANSACTION)
	{
		acknowledge(s->rows);
		if (part == RETRY)
			forget(s->rows);
	}
}

/* The rows are returned: sno_feed_next() keeps the transaction open, sno_feed_take() commits. */
static void
got(Session *s, unsigned part, Rows rows, bool take)
{
	if (rows != 0)
		hand_out(s, part, rows);
	s->part = (uint8_t) part;
	s->watermark = s->visible = s->marked = s->position = 0;
	if (!take && (rows != 0 || s->state == TRANSACTION))
	{
		if (mutant == MOVED_AT_ONCE)
			w.part[part] = s->changed;
		s->state = TRANSACTION;
		return;
	}
	if (rows != 0)
	{
		s->changed.fence += mutant != FENCE_KEPT;
		if (scope->fails_over && mutant != FENCE_REPEATED)
			s->changed.fence = ++feed->fence;
		s->fence = s->changed.fence;
		occupy(&s->changed);
		s->busy_at = s->changed.busy_at;
		s->free_at = s->changed.free_at;
		s->state = LEASED;
	}
	commit(s);
	memset(&s->changed, 0, sizeof(s->changed));
	if (rows == 0)
		leave(s);
}

/* Are rows of the part returned one by one? */
static bool
is_single(const PartRow *p)
{
	return p->tries > 0 || p->position < p->singly;
}

/* If a lease of the part ended, does that count as a failure of the first row? */
static bool
count_try(PartRow *p, unsigned first, bool take)
{
	bool		failed = p->upto != 0 && is_single(p);

	if (failed && mutant != ENDS_UNCOUNTED)
		p->tries++;
	else if (p->upto != 0 && mutant != NEVER_SINGLY)
		p->singly = p->upto;
	if (failed && take)
		blame(p->first);
	if (mutant != TRIES_INHERITED && first != p->position)
		p->tries = 0;
	return failed && !take && first == p->first;
}

/* The end of a batch: the next row of the snapshot below the watermark, otherwise the watermark */
static unsigned
end_of(Rows batch, Rows visible, unsigned watermark)
{
	Rows		next = visible & ~(below(lowest(batch)) | batch);

	if (mutant == LAST_ROW)
		while (!is_one(batch))
			batch &= batch - 1;
	if (mutant == LAST_ROW)
		return lowest(batch);
	if (mutant != NEXT_ROW)
		next &= below(watermark);
	return next != 0 ? lowest(next) : watermark;
}

/* sno_feed_next() or sno_feed_take() of a part of the feed, for one row or for all rows */
static void
read_part(Session *s, unsigned part, bool alone, bool take)
{
	PartRow	   *p = &s->changed;
	Rows		visible = s->visible & rows_of(part);
	unsigned	watermark = mutant == NEWER_WATERMARK ? feed->watermark : s->watermark;
	unsigned	first;
	bool		failed;
	Rows		rows;

	if (s->state == STATEMENT)
		*p = w.part[part];
	if (mutant == OLD_PART && s->state == STATEMENT)
		p->position = s->position;
	rows = visible & ~below(p->position + (mutant == AFTER_POSITION));
	if (mutant != ABOVE_WATERMARK)
		rows &= below(watermark);
	if (rows == 0)
	{
		if (s->state == STATEMENT)
			leave(s);
		return;
	}
	first = lowest(rows);
	failed = count_try(p, first, take);
	if (p->tries >= scope->max_tries)
	{
		check_blame(first, failed);
		s->set_aside |= row(first);
		p->position = (uint8_t) pass(rows, first, p->upto);
		p->tries = 0;
		rows &= ~below(p->position);
		if (rows == 0)
		{
			release(p);
			got(s, part, 0, take);
			return;
		}
		first = lowest(rows);
	}
	if (alone || is_single(p))
		rows = row(first);

	/* A try counts only for the row at the position. */
	if (mutant != TRIES_INHERITED)
		p->position = (uint8_t) first;
	p->first = (uint8_t) first;
	p->upto = (uint8_t) end_of(rows, visible, watermark);
	if (!take)
	{
		p->position = p->upto;
		p->tries = 0;
		release(p);
	}
	got(s, part, rows, take);
}

/* sno_feed_next() or sno_feed_take() of part -1 */
static void
read_retry(Session *s, bool take)
{
	PartRow	   *p = &s->changed;
	Rows		marked = mutant == MARK_BEFORE_LOCK ? s->marked : feed->marked;
	Rows		rows = 0;

	*p = w.part[RETRY];
	if (p->upto != 0 && mutant != STAYS_MARKED)
	{
		/* The lease ended. */
		s->unmarked = row(p->upto);
		marked &= ~s->unmarked;
	}
	if (mutant == GONE_BY_SNAPSHOT)
		s->forgotten = marked & ~s->visible;
	if (mutant != GONE_CHOSEN)
		marked &= ~(s->forgotten | feed->deleted);
	if (marked != 0)
		rows = row(lowest(marked)) & s->visible;
	release(p);
	if (rows != 0 && take)
		p->upto = (uint8_t) lowest(rows);
	if (rows != 0 || s->unmarked != 0 || s->forgotten != 0)
		got(s, RETRY, rows, take);
	else
		leave(s);
}

static bool
may_read(unsigned part, bool take)
{
	const PartRow *p = &w.part[part];

	if (part == RETRY ? !scope->retries : part >= scope->parts)
		return false;
	if (!(take ? scope->take : scope->next) || is_locked(part))
		return false;
	if (take && scope->fails_over && Max(feed->fence, p->fence) >= 4)
		return false;
	return !is_busy(p) || (mutant == LEASE_IGNORED && !take);
}

static void
begin(Session *s, unsigned watermark)
{
	s->state = STATEMENT;
	s->watermark = (uint8_t) watermark;
	s->visible = present();
	if (mutant == OLD_PART)
		s->position = w.part[0].position;
	if (mutant == MARK_BEFORE_LOCK)
		s->marked = feed->marked;
}

/* The part that the session leased, or null if its fence is refused */
static PartRow *
leased(Session *s, bool unfenced)
{
	PartRow	   *p = &w.part[s->part];

	if (p->fence != s->fence && !unfenced)
		return NULL;
	if (p->upto == 0 && (mutant != DONE_AGAIN || s->part == RETRY))
		return NULL;
	if (s->is_stale)
		wrong("a stale session changes a part");
	return p;
}

static void
done(Session *s)
{
	PartRow	   *p = leased(s, mutant == DONE_UNFENCED);

	if (p != NULL)
	{
		acknowledge(s->rows);
		if (s->part == RETRY)
			forget(row(p->upto));
		else if (p->upto != 0)
			p->position = p->upto;
		p->tries = 0;
		release(p);
	}
	leave(s);
}

/* sno_feed_fail().  With an error, row `key` failed, or if it is 0, one of the rows did. */
static void
fail(Session *s, unsigned key, bool error)
{
	PartRow	   *p = leased(s, mutant == FAIL_UNFENCED);

	if (p == NULL)
	{
		leave(s);
		return;
	}
	if (s->part == RETRY)
	{
		if (error && mutant != STAYS_MARKED)
			feed->marked &= ~row(p->upto);
	}
	else
	{
		Rows		rows = present() & rows_of(s->part) & below(p->upto) & ~below(p->position);
		unsigned	position = key != 0 ? key : p->position;

		acknowledge(key != 0 ? s->rows & below(key) : 0);
		if (error && key == 0 && is_single(p) && mutant != SINGLE_UNCOUNTED)
			key = position;
		if (error && key != 0)
		{
			blame(key);
			p->tries++;
		}
		else if (error && mutant != NEVER_SINGLY)
			p->singly = Max(p->singly, p->upto);
		p->position = (uint8_t) position;
		if (mutant == FAILED_PASSED && key != 0)
			p->position = (uint8_t) pass(rows, key, p->upto);
		else if (p->tries >= scope->max_tries)
		{
			check_blame(key, false);
			feed->aside |= row(key);
			forget_blame(row(key));
			p->position = (uint8_t) pass(rows, key, p->upto);
			p->tries = 0;
		}
	}
	release(p);
	occupy(p);
	leave(s);
}

static void
extend(Session *s)
{
	PartRow	   *p = leased(s, mutant == EXTEND_UNFENCED);

	if (p == NULL)
	{
		leave(s);
		return;
	}
	occupy(p);
	s->busy_at = p->busy_at;
	s->free_at = p->free_at;
	s->is_over = false;
	check_held(s);
}

static void
set_back(unsigned start)
{
	for (unsigned i = 0; i < ALL_PARTS; i++)
	{
		PartRow	   *p = &w.part[i];

		if (i < scope->parts)
		{
			/* The operator skips rows, or lets them be returned again. */
			if (start > p->position)
				feed->handled |= feed->visible & rows_of(i) & below(start) & ~(below(p->position) | feed->aside);
			feed->handled &= ~(rows_of(i) & ~below(start));
			p->position = (uint8_t) start;
		}
		/* Either a new fence or no lease makes the lease invalid, so the mutants keep both. */
		if (mutant != REWIND_LEASED && (mutant != REWIND_RETRIED || i != RETRY))
		{
			p->singly = p->tries = 0;
			p->fence++;
			release(p);
		}
		supersede(i, NULL);
	}
	if (mutant != REWIND_KEPT_ASIDE)
		forget(~below(start));
	forget_blame(~below(start));
}

/* The key below which rows may be removed. */
static unsigned
needed(void)
{
	unsigned	lower = feed->watermark;
	unsigned	furthest = 1;
	Rows		aside;

	for (unsigned i = 0; i < scope->parts; i++)
	{
		Rows		rows = present() & rows_of(i) & ~below(w.part[i].position);

		if (rows != 0)
			lower = Min(lower, lowest(rows));
		furthest = Max(furthest, w.part[i].position);
	}
	if (mutant == FURTHEST_PART)
		lower = furthest;
	if (mutant == RETRY_HOLDS_BACK)
		lower = Min(lower, w.part[RETRY].position);
	aside = mutant == GONE_HOLDS_BACK ? feed->aside : feed->aside & ~feed->deleted;
	if (aside != 0 && mutant != REMOVED_ASIDE)
		lower = Min(lower, lowest(aside));
	return lower;
}

static void
remove_rows(void)
{
	feed->removed |= present() & below(feed->removing);
	if (mutant != BOUND_UNKNOWN)
		feed->bound = Max(feed->bound, feed->removing);
	feed->removing = 0;
}

static void
end_lease(unsigned part)
{
	w.part[part].busy_at = w.part[part].free_at = 0;
	for (unsigned i = 0; i < scope->sessions; i++)
		if (w.session[i].state == LEASED && w.session[i].part == part)
			w.session[i].is_over = true;
}

static void
set_clock(unsigned to)
{
	feed->clock = (uint8_t) to;
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		Session    *s = &w.session[i];

		if (s->state == LEASED && (to < s->busy_at || to > s->free_at))
			s->is_over = true;
	}
}

static void
fail_over(void)
{
	uint8_t		fence = feed->fence;

	w.feed = w.disk_feed;
	memcpy(w.part, w.disk_part, sizeof(w.part));
	feed->fence = fence;
	feed->failed_over = true;
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		Session    *s = &w.session[i];

		if (s->state != LEASED)
			leave(s);
		else
			s->is_stale = !s->is_durable;
	}
}

/* The reader is dropped, and created with the same name. */
static void
create_again(void)
{
	memset(w.part, 0, sizeof(w.part));
	for (int i = 0; i < ALL_PARTS; i++)
		w.part[i].position = 1;
	feed->aside = feed->handled = 0;
	feed->created = true;
	memset(feed->blame, 0, sizeof(feed->blame));
	supersede(0, NULL);
}

static bool
is_rewinding(void)
{
	for (unsigned i = 0; i < scope->sessions; i++)
		if (w.session[i].state == REWINDING)
			return true;
	return false;
}

/* Is a row of NAME_aside locked by a transaction? */
static bool
is_row_locked(unsigned key)
{
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		const Session *s = &w.session[i];

		if (s->state == TRANSACTION && s->part == RETRY && ((s->rows | s->unmarked | s->forgotten) & row(key)))
			return true;
	}
	return false;
}

/* Execute an event.  Returns false if it can't occur now. */
static bool
apply(Event event, unsigned who, unsigned a, unsigned b)
{
	Session    *s = &w.session[who];

	switch (event)
	{
		case APPEAR:
			/* What the watermark promises */
			if ((feed->visible & row(a + 1)) || a + 1 < feed->watermark)
				return false;
			feed->visible |= row(a + 1);
			return true;
		case RISE:
			if (feed->watermark > scope->rows)
				return false;
			feed->watermark++;
			return true;
		case DELETE:
			if (!scope->deletes || !(present() & row(a + 1)))
				return false;
			feed->deleted |= row(a + 1);
			return true;
		case END:
			if (scope->clocks != 0 || !is_busy(&w.part[a]))
				return false;
			end_lease(a);
			return true;
		case SET_CLOCK:
			if (a + 1 > scope->clocks || a + 1 == feed->clock)
				return false;
			set_clock(a + 1);
			return true;
		case BEGIN:
			if (s->state != IDLE || a + 1 > feed->watermark || (!scope->late && a + 1 != feed->watermark))
				return false;
			begin(s, a + 1);
			return true;
		case NEXT_ROWS:
		case TAKE_ROWS:
			if (s->state != STATEMENT || !may_read(a, event == TAKE_ROWS) || (a == RETRY && b))
				return false;
			if (a == RETRY)
				read_retry(s, event == TAKE_ROWS);
			else
				read_part(s, a, b, event == TAKE_ROWS);
			return true;
		case MORE_ROWS:
			if (s->state != TRANSACTION || s->part == RETRY)
				return false;
			s->watermark = feed->watermark;
			s->visible = present();
			read_part(s, s->part, b, false);
			s->watermark = s->visible = 0;
			return true;
		case COMMIT:
			if (s->state != TRANSACTION)
				return false;
			commit(s);
			leave(s);
			return true;
		case DONE:
			if (s->state != LEASED || is_locked(s->part))
				return false;
			done(s);
			return true;
		case FAIL:
			if (s->state != LEASED || is_locked(s->part) || !scope->fails || (a != 0 && !(s->rows & row(a))))
				return false;
			fail(s, a, b);
			return true;
		case EXTEND:
			if (s->state != LEASED || is_locked(s->part) || !scope->fails)
				return false;
			extend(s);
			return true;
		case LEAVE:
			if (s->state == IDLE)
				return false;
			leave(s);
			return true;
		case LOOK_BACK:
			if (s->state != IDLE || !scope->rewinds || (feed->removing && mutant != NO_REMOVAL_LOCK))
				return false;
			s->state = REWINDING;
			s->position = feed->bound;
			s->watermark = feed->watermark;
			return true;
		case SET_BACK:
			if (s->state != REWINDING || a + 1 < s->position || (a + 1 > s->watermark && mutant != REWIND_AHEAD))
				return false;
			for (unsigned i = 0; i < ALL_PARTS; i++)
				if (is_locked(i))
					return false;
			set_back(a + 1);
			leave(s);
			return true;
		case MARK:
			if (!scope->retries || !(feed->aside & row(a + 1)) || is_row_locked(a + 1))
				return false;
			feed->marked |= row(a + 1);
			forget(feed->deleted);
			return true;
		case LOOK:
			if (!scope->removes || feed->removing || (is_rewinding() && mutant != NO_REMOVAL_LOCK))
				return false;
			feed->removing = (uint8_t) needed();
			return true;
		case REMOVE:
			if (!feed->removing)
				return false;
			remove_rows();
			return true;
		case FLUSH:
			if (!scope->fails_over || feed->failed_over)
				return false;
			w.disk_feed = w.feed;
			memcpy(w.disk_part, w.part, sizeof(w.part));
			for (unsigned i = 0; i < scope->sessions; i++)
				w.session[i].is_durable = w.session[i].state == LEASED && !w.session[i].is_stale;
			return true;
		case FAIL_OVER:
			if (!scope->fails_over || feed->failed_over)
				return false;
			fail_over();
			return true;
		case CREATE:
			if (!scope->fails_over || feed->created)
				return false;
			create_again();
			return true;
		default:
			return false;
	}
}

/* Check the state after each step. */
static void
check(void)
{
	for (unsigned part = 0; part < scope->parts; part++)
	{
		unsigned	position = w.part[part].position;
		Rows		rows = rows_of(part) & below(position);

		if (position > feed->watermark)
			wrong("a position is above the watermark");
		if (rows & feed->visible & ~(feed->deleted | feed->handled | feed->aside))
			wrong("a position is above a row that nobody handled");
		if (feed->aside & rows_of(part) & ~rows)
			wrong("a part returns a row again that is set aside");
		if (feed->removed & rows_of(part) & ~rows)
			wrong("a row was removed that a part still needs");
	}
	if (feed->removed & feed->aside)
		wrong("a row was removed that is set aside");
	if (feed->marked & ~feed->aside)
		wrong("a row is retried that isn't set aside");
}

typedef enum Failure
{
	LEASE_ENDS,
	BATCH_FAILS,
	ROW_FAILS,
	FAILURES
} Failure;

/* Let one session alone handle the next rows of a part.  Returns false if there are none. */
static bool
take_alone(unsigned part, Rows poison, Failure failure)
{
	Session    *s = &w.session[0];

	if (!may_read(part, scope->take))
		return false;
	begin(s, feed->watermark);
	if (part == RETRY)
		read_retry(s, scope->take);
	else
		read_part(s, part, false, scope->take);
	if (s->state == IDLE)
		return false;
	if (s->state == TRANSACTION)
		commit(s);
	else if (!(s->rows & poison))
		done(s);
	else if (failure == BATCH_FAILS)
		fail(s, 0, true);
	else if (failure == ROW_FAILS)
		fail(s, lowest(poison), true);
	leave(s);
	end_lease(part);
	return true;
}

/* Check that all rows can be handled after the sessions are gone, and the watermark has risen. */
static void
settle(Rows poison, Failure failure)
{
	World		before = w;
	uint64_t	count = handled_count;
	unsigned	tries = 40;
	unsigned	ticks = 2;
	Rows		retry;
	Rows		retried = 0;

	memset(w.session, 0, sizeof(w.session));
	feed->removing = 0;
	feed->fence = 0;
	for (int i = 0; scope->fails_over && i < ALL_PARTS; i++)
		w.part[i].fence = 0;
	feed->watermark = (uint8_t) (scope->rows + 1);
	while (violation == NULL)
	{
		bool		some = false;

		if (scope->retries)
			some = take_alone(RETRY, poison, failure);
		for (unsigned part = 0; part < scope->parts; part++)
			some |= take_alone(part, poison, failure);
		if (scope->fails_over)
			feed->fence = w.part[0].fence = 0;
		if (tries-- == 0)
			wrong("rows that fail hold others back");
		if (some)
			continue;
		retry = scope->retries ? feed->aside & ~(feed->marked | retried) : 0;
		if (retry != 0)
		{
			feed->marked |= retry;
			retried |= retry & poison;
		}
		else if (ticks-- == 0)
			break;
		else if (scope->clocks != 0)
			set_clock(feed->clock + 1);
		else
			for (unsigned part = 0; part < ALL_PARTS; part++)
				end_lease(part);
	}
	if (feed->visible & ~(feed->deleted | feed->handled | feed->aside))
		wrong("rows stand still");
	if (scope->retries && (feed->aside & ~(poison | feed->deleted)))
		wrong("rows stay aside");
	if (scope->removes && !(feed->aside & ~feed->deleted))
	{
		feed->removing = (uint8_t) needed();
		remove_rows();
		if (present() != 0)
			wrong("rows that all handled are never removed");
	}
	check();
	w = before;
	handled_count = count;
}

static void
check_still(void)
{
	settle(0, LEASE_ENDS);
	if (scope->poison)
		for (unsigned i = 1; i <= scope->rows; i++)
			if (present() & row(i))
				for (int failure = 0; failure < FAILURES; failure++)
					settle(row(i), (Failure) failure);
}

/* A fence matters only by being equal to the fence of the part, unless a failover repeats a fence. */
static void
forget_fences(void)
{
	if (scope->fails_over)
		return;
	for (unsigned i = 0; i < scope->sessions; i++)
	{
		Session    *s = &w.session[i];

		if (s->state == LEASED)
			s->fence = s->fence == w.part[s->part].fence;
		if (s->state == TRANSACTION)
			s->changed.fence = 1;
	}
	for (unsigned i = 0; i < ALL_PARTS; i++)
		w.part[i].fence = 1;
}

static void
transfer(void)
{
	transfer_part(&w.feed, sizeof(w.feed));
	transfer_part(w.part, sizeof(w.part));
	for (unsigned i = 0; i < scope->sessions; i++)
		transfer_part(&w.session[i], sizeof(Session));
	if (scope->fails_over)
	{
		transfer_part(&w.disk_feed, sizeof(w.disk_feed));
		transfer_part(w.disk_part, sizeof(w.disk_part));
	}
}

static const Model model;

static void
expand(Step step)
{
	static World before;
	static const struct
	{
		bool		is_session;
		unsigned	as,
					bs;
	}			range[EVENTS] = {
		[APPEAR] = {false, ROWS, 1},[RISE] = {false, 1, 1},[DELETE] = {false, ROWS, 1},
		[END] = {false, ALL_PARTS, 1},[SET_CLOCK] = {false, 4, 1},
		[BEGIN] = {true, ROWS + 1, 1},[NEXT_ROWS] = {true, ALL_PARTS, 2},[TAKE_ROWS] = {true, ALL_PARTS, 2},
		[MORE_ROWS] = {true, 1, 2},[COMMIT] = {true, 1, 1},[DONE] = {true, 1, 1},
		[FAIL] = {true, ROWS + 1, 2},[EXTEND] = {true, 1, 1},[LEAVE] = {true, 1, 1},
		[LOOK_BACK] = {true, 1, 1},[SET_BACK] = {true, ROWS + 1, 1},
		[MARK] = {false, ROWS, 1},[LOOK] = {false, 1, 1},[REMOVE] = {false, 1, 1},
		[FLUSH] = {false, 1, 1},[FAIL_OVER] = {false, 1, 1},[CREATE] = {false, 1, 1}
	};

	uint32_t	count;

	before = w;
	for (int event = 0; event < EVENTS; event++)
		for (unsigned who = 0; who < (range[event].is_session ? scope->sessions : 1); who++)
			for (unsigned a = 0; a < range[event].as; a++)
				for (unsigned b = 0; b < range[event].bs; b++)
				{
					if ((event == APPEAR || event == DELETE || event == MARK) && a >= scope->rows)
						continue;
					w = before;
					if (!apply((Event) event, who, a, b))
						continue;
					check();
					forget_fences();
					step.event = (uint8_t) event;
					step.who = (uint8_t) who;
					step.a = (uint8_t) a;
					step.b = (uint8_t) b;
					count = seen_count;
					visit(&model, step);
					if (violation == NULL && seen_count > count)
						check_still();
					if (violation != NULL)
						return;
				}
}

static void
describe(Step step)
{
	static const char *const part[] = {"part 0", "part 1", "part -1"};
	unsigned	key = step.a + 1u;

	switch ((Event) step.event)
	{
		case APPEAR:
			printf("row %u becomes visible", key);
			break;
		case RISE:
			printf("the watermark rises to %u", feed->watermark + 1u);
			break;
		case DELETE:
			printf("row %u is deleted", key);
			break;
		case END:
			printf("the lease of %s ends", part[step.a]);
			break;
		case SET_CLOCK:
			printf("the clock is set to %u", key);
			break;
		case BEGIN:
			printf("session %u begins a statement, whose watermark is %u", step.who, key);
			break;
		case NEXT_ROWS:
		case TAKE_ROWS:
			printf("session %u calls %s of %s, for %s", step.who,
				   step.event == NEXT_ROWS ? "sno_feed_next()" : "sno_feed_take()", part[step.a],
				   step.b ? "one row" : "all rows");
			break;
		case MORE_ROWS:
			printf("session %u calls sno_feed_next() once more, for %s", step.who, step.b ? "one row" : "all rows");
			break;
		case COMMIT:
			printf("session %u commits", step.who);
			break;
		case DONE:
			printf("session %u calls sno_feed_done()", step.who);
			break;
		case FAIL:
			printf("session %u calls sno_feed_fail() with row %u, %s an error", step.who, step.a,
				   step.b ? "with" : "without");
			break;
		case EXTEND:
			printf("session %u calls sno_feed_extend()", step.who);
			break;
		case LEAVE:
			printf("session %u is gone", step.who);
			break;
		case LOOK_BACK:
			printf("session %u reads the bounds of a rewind: from %u to %u", step.who, feed->bound, feed->watermark);
			break;
		case SET_BACK:
			printf("session %u rewinds to %u", step.who, key);
			break;
		case MARK:
			printf("row %u is to be retried", key);
			break;
		case LOOK:
			printf("a removal reads its bound: %u", needed());
			break;
		case REMOVE:
			printf("the rows below %u are removed", feed->removing);
			break;
		case FLUSH:
			printf("the WAL is flushed");
			break;
		case FAIL_OVER:
			printf("a failover, after which the last flush was the end of the WAL");
			break;
		default:
			printf("the reader is dropped, and created again");
	}
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(ScopeNumber number, Mutant with)
{
	scope = &scopes[number];
	mutant = with;
	handled_count = 0;
	memset(&w, 0, sizeof(w));
	feed->watermark = feed->bound = feed->clock = 1;
	for (int i = 0; i < ALL_PARTS; i++)
		w.part[i].position = w.part[i].fence = 1;
	feed->fence = 1;
	w.disk_feed = w.feed;
	memcpy(w.disk_part, w.part, sizeof(w.part));
	return explore(&model);
}

/* Explores the scopes, or with any argument, their mutants. */
int
main(int argc, char **argv)
{
	bool		only_large = argc > 1 && strcmp(argv[1], "large") == 0;

	if (argc == 1 || only_large)
		for (size_t i = 0; i < lengthof(scopes); i++)
		{
			bool		ok;

			if (scopes[i].large != only_large)
				continue;
			ok = explore_scope((ScopeNumber) i, NONE);
			report_scope(&model, ok, scope->name, handled_count, "acknowledgements");
		}
	else
		for (size_t i = 0; i < lengthof(mutants); i++)
		{
			bool		caught = !explore_scope(mutants[i].scope, (Mutant) i);

			report_mutant(caught, mutants[i].name, scope->name);
		}
	printf("1..%d\n", tests);
	return failures != 0;
}

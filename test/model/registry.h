/*
 * registry.h
 *		The rules of the registry, as a model in C: of sno_registry.answer(), and of what
 *		operators say.  test/t/random_registry_model.pl compares it with the SQL.
 *
 * A registry has spaces: partitions, and the nodes of layouts.  It grants blocks of each.
 * The blocks are in several parts, of which one is in use.  If the registry may have lost
 * its last grants, it goes on with the next part.  It closes the parts in which lost grants
 * may be, for as long as they can last.
 *
 * A file that includes this has mutate(), which says what rule is made wrong.
 */
#ifndef SNO_REGISTRY_MODEL_H
#define SNO_REGISTRY_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The most there can be of each. */
#ifndef BLOCKS
#define BLOCKS			4		/* of a space */
#define HOLDERS			8		/* likewise */
#endif
#define SPACES			3
#define PARTS			4
#define WANTED			64		/* blocks that a holder may ask for */
#define PARTITIONS		0		/* the layout of that space */

#define MIN(a, b)		((a) < (b) ? (a) : (b))
#define MAX(a, b)		((a) > (b) ? (a) : (b))

/*
 * What is made wrong, the scope that is to catch it, and the rule that is to be broken
 * there.
 */
#define MUTANTS(M) \
	M(FILE_TRUSTED, "a copied file is trusted in another place", LEASES, TWICE) \
	M(OLD_FLOOR, "a block keeps its floor when another holder gets it", LEASES, TWICE) \
	M(FLOOR_BY_CLOCK, "a block is granted before it is over, from the clock on", LEASES, TWICE) \
	M(CEILING_LOWERED, "a renewal may lower a ceiling", LEASES, TWICE) \
	M(SILENCE_RENEWS, "a missing answer counts as a renewal", LEASES, TWICE) \
	M(BLOCKS_TRUSTED, "who asks for blocks again gets them", LEASES, TWICE) \
	M(BEFORE_COMMIT, "the registry answers before the commit", LEASES, TWICE) \
	M(BEFORE_FILE, "grants are published before the file is written", LEASES, FORGOT) \
	M(NEXT_NOT_WRITTEN, "the next token is sent before it is written", LEASES, REFUSED) \
	M(NO_EXCHANGE, "any token is good", MEMORY, TWICE) \
	M(COUNTED_TOKENS, "tokens are counted, not drawn", MEMORY, TWICE) \
	M(REVOKED_IN_MEMORY, "who is superseded keeps the file", MEMORY, REVOKED) \
	M(REVOKED_FIRST, "who is superseded writes the file last", MEMORY, REVOKED) \
	M(REVOKED_FILE_STAYS, "who can't write what it gave up keeps the file", MEMORY, REVOKED) \
	M(LOSS_IGNORED, "a loss is ignored", FAILOVER, TWICE) \
	M(FORGOTTEN_RENEWED, "holders of earlier eras are renewed", FAILOVER, TWICE) \
	M(ONE_LOSS, "of several timelines only one counts as a loss", RESTORED, TWICE) \
	M(REUSED_EARLY, "a part is used again while it is closed", REUSED, TWICE) \
	M(UNTIL_TRUSTED, "the registry's clock doesn't bound a grant", REUSED, TWICE) \
	M(CLOSED_SHORT, "a part is closed for one longest grant only", REUSED, TWICE) \
	M(CLOSED_NO_FLOOR, "the time until which a part was closed is no floor", REUSED, TWICE) \
	M(PRUNED_REMEMBERED, "a holder that was pruned has its blocks again", REUSED, TWICE) \
	M(VOUCHED_FOR_ALL, "an operator who vouches for the last loss vouches for all", VOUCHED_LATER, TWICE) \
	M(VOUCHED_UNSEEN, "an operator who vouches hides a loss that no request has met", VOUCHED, TWICE) \
	M(VOUCHED_FLOOR, "an operator who vouches takes the floor of a part away", VOUCHED, TWICE) \
	M(PART_ALONE, "a loss closes no part but the one in use", SWITCHED, TWICE) \
	M(TOLD_ONCE, "an operator tells the last loss, not those before", SNAPSHOTS, TWICE) \
	M(NAMED_LAYOUTS, "a layout is known by its name", NAMES, TWICE) \
	M(NODES_ASIDE, "a loss closes no part for holders of nodes", SWITCHED_NODES, TWICE) \
	M(ADDED_LOW, "a layout that is added again has no floor from what was lost", ADDED, TWICE)

#define NAME_OF(name, ...)	name,

typedef enum Mutant
{
	MUTANTS(NAME_OF)
	NONE
} Mutant;

/* Is this the mutant that runs? */
static bool mutate(Mutant m);

typedef enum Status
{
	GRANTED, FULL, FORGOTTEN, SUPERSEDED, RANGE
} Status;

typedef struct Block
{
	int64_t		holder;			/* 0 if it was never granted */
	int64_t		floor;
	int64_t		ceiling;
} Block;

typedef struct Holder
{
	int64_t		holder;
	int64_t		token;
	int64_t		seen;
	int64_t		era;
} Holder;

typedef struct Space
{
	int64_t		layout;
	int64_t		first;			/* number of the first block; after the last one comes 0 */
	int32_t		blocks;
	int32_t		holders;
	Block		block[BLOCKS];
	Holder		holder[HOLDERS];
} Space;

typedef struct Registry
{
	int32_t		spaces;
	int32_t		parts;			/* one if it is lossless */
	int32_t		lossless;
	int32_t		timeline;
	int32_t		part;
	int32_t		era;
	int64_t		share;			/* blocks that one holder can have */
	int64_t		longest;
	int64_t		closed[PARTS];	/* up to this unit */
	Space		space[SPACES];
} Registry;

typedef struct Request
{
	int64_t		holder;
	int64_t		token;
	int64_t		next;
	int64_t		now;
	int64_t		until;
	int64_t		layout;
	int			want;
	unsigned	has;			/* blocks, as bits: for a mutant */
} Request;

static int
part_of_block(const Registry *r, const Space *s, int block)
{
	return block * r->parts / s->blocks;
}

static Space *
find_space(Registry *r, int64_t layout)
{
	for (int i = 0; i < r->spaces; i++)
		if (r->space[i].layout == layout)
			return &r->space[i];
	return NULL;
}

static Holder *
find_holder(Space *s, int64_t holder)
{
	for (int i = 0; i < s->holders; i++)
		if (s->holder[i].holder == holder)
			return &s->holder[i];
	return NULL;
}

/* May lost grants be in this part, if so many timelines passed? */
static bool
may_lack(Registry *r, int part, int timelines)
{
	if ((part - r->part + r->parts) % r->parts < timelines)
		return true;
	/* An operator may have vouched for a holder of another part. */
	for (int i = 0; i < r->spaces && !mutate(PART_ALONE); i++)
	{
		Space	   *s = &r->space[i];

		if (mutate(NODES_ASIDE) && s->layout != PARTITIONS)
			continue;
		for (int b = 0; b < s->blocks; b++)
			if (part_of_block(r, s, b) == part && find_holder(s, s->block[b].holder) != NULL)
				return true;
	}
	return false;
}

/* Grants of so many timelines may be lost. */
static void
lose(Registry *r, int timelines, int64_t now)
{
	int64_t		until = now + (mutate(CLOSED_SHORT) ? 1 : 2) * r->longest;

	for (int i = 0; i < r->parts; i++)
		if (may_lack(r, i, timelines))
			r->closed[i] = MAX(r->closed[i], until);
	r->era++;
	r->part = (r->part + timelines) % r->parts;
}

/* Is this holder known, by the token?  GRANTED is yes. */
static Status
recognize(const Registry *r, Space *s, const Request *q, int64_t now)
{
	Holder	   *h = find_holder(s, q->holder);

	if (h == NULL && q->token != 0 && !mutate(BLOCKS_TRUSTED))
		return FORGOTTEN;
	if (h == NULL)
	{
		h = &s->holder[s->holders++];
		*h = (Holder) {q->holder, q->next, now, r->era};
		/* What it had before it was pruned, others may have had since then. */
		for (int i = 0; i < s->blocks && !mutate(PRUNED_REMEMBERED); i++)
			if (s->block[i].holder == q->holder)
				s->block[i].holder = 0;
	}
	if (h->era != r->era && !mutate(FORGOTTEN_RENEWED))
		return FORGOTTEN;
	if (h->token != q->token && h->token != q->next && !mutate(NO_EXCHANGE))
		return SUPERSEDED;
	h->token = q->next;
	h->seen = now;
	return GRANTED;
}

/* The block to be granted next, -1 if there is none. */
static int
next_block(const Registry *r, const Space *s, int64_t past)
{
	int			best = -1;

	for (int i = 0; i < s->blocks; i++)
		if (part_of_block(r, s, i) == r->part && (s->block[i].ceiling < past || mutate(FLOOR_BY_CLOCK)) &&
			(best < 0 || s->block[i].ceiling < s->block[best].ceiling))
			best = i;
	return best;
}

static Status
grant(const Registry *r, Space *s, const Request *q, int64_t now)
{
	int64_t		ceiling = mutate(UNTIL_TRUSTED) ? q->until : MIN(q->until, now + r->longest);
	int64_t		past = MIN(q->now, now);
	int64_t		closed = r->closed[r->part];
	int			has = 0,
				usable = 0;

	if (mutate(REUSED_EARLY) || (mutate(CLOSED_NO_FLOOR) && closed < now))
		closed = 0;
	for (int i = 0; i < s->blocks; i++)
	{
		Block	   *b = &s->block[i];

		if (mutate(BLOCKS_TRUSTED) && q->has & 1u << i)
			b->holder = q->holder;
		if (b->holder != q->holder)
			continue;
		b->ceiling = mutate(CEILING_LOWERED) ? ceiling : MAX(b->ceiling, ceiling);
		has++;
		usable += b->floor < q->now;
	}
	while (usable < q->want && has < r->share && closed < past && next_block(r, s, past) >= 0)
	{
		Block	   *b = &s->block[next_block(r, s, past)];

		b->holder = q->holder;
		if (!mutate(OLD_FLOOR))
			b->floor = mutate(FLOOR_BY_CLOCK) ? past - 1 : MAX(b->ceiling, closed);
		b->ceiling = ceiling;
		has++;
		usable++;
	}
	return usable < q->want ? FULL : GRANTED;
}

/* Forget holders that have no block, or no grant, and didn't ask for long. */
static void
prune(const Registry *r, Space *s, int64_t now)
{
	int			kept = 0;

	for (int i = 0; i < s->holders; i++)
	{
		bool		seen = s->holder[i].seen >= now - 2 * r->longest,
					keep = false;

		for (int b = 0; b < s->blocks && !keep; b++)
			keep = s->block[b].holder == s->holder[i].holder && (seen || s->block[b].ceiling >= now);
		if (keep)
			s->holder[kept++] = s->holder[i];
	}
	memset(&s->holder[kept], 0, (s->holders - kept) * sizeof(Holder));
	s->holders = kept;
}

/* The WAL is on this timeline: each that passed may have lost grants. */
static void
follow(Registry *r, int64_t now, int timeline)
{
	int			passed = timeline > r->timeline ? timeline - r->timeline : PARTS;

	if (timeline != r->timeline && !r->lossless && !mutate(LOSS_IGNORED))
		lose(r, mutate(ONE_LOSS) ? 1 : passed, now);
	r->timeline = timeline;
}

/*
 * Grant blocks of a layout, too.  The registry may have had it before, cut in other blocks,
 * and have lost it.
 */
static Space *
add_space(Registry *r, int64_t layout, int blocks, int64_t now, int timeline)
{
	Space	   *s;

	follow(r, now, timeline);
	s = &r->space[r->spaces++];
	*s = (Space) {.layout = layout,.blocks = blocks};
	for (int i = 0; i < blocks && !mutate(ADDED_LOW); i++)
		for (int part = 0; part < PARTS; part++)
			s->block[i].ceiling = MAX(s->block[i].ceiling, r->closed[part]);
	return s;
}

/* Answer a request.  One for nothing, or for an unknown layout, just asks what there is. */
static Status
answer(Registry *r, const Request *q, int64_t now, int timeline)
{
	Space	   *s = find_space(r, q->layout);
	Status		status;

	if (s == NULL || q->want == 0)
		return RANGE;
	follow(r, now, timeline);
	status = recognize(r, s, q, now);
	if (status == GRANTED)
		status = grant(r, s, q, now);
	for (int i = 0; i < r->spaces; i++)
		prune(r, &r->space[i], now);
	return status;
}

/*
 * An operator says that nothing was lost within three times the longest grant, and that
 * no former primary was alive.  Whom the registry didn't see for twice as long as the
 * longest grant may be of before that.  Its clock may be late by the longest grant.  A
 * timeline that no request has seen yet may still be of a loss before that, too.
 */
static void
vouch(Registry *r, int64_t now, int timeline)
{
	if (mutate(VOUCHED_UNSEEN))
		r->timeline = timeline;
	follow(r, now, timeline);
	for (int i = 0; i < r->spaces; i++)
	{
		Space	   *s = &r->space[i];

		for (int h = 0; h < s->holders; h++)
			if (s->holder[h].seen >= now - 2 * r->longest || mutate(VOUCHED_FOR_ALL))
				s->holder[h].era = r->era;
	}
	for (int i = 0; i < r->parts; i++)
		r->closed[i] = mutate(VOUCHED_FLOOR) ? 0 : MIN(r->closed[i], now);
}

#endif							/* SNO_REGISTRY_MODEL_H */

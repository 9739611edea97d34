/*
 * grant.c
 *		Grants of a registry on models small enough to be explored whole: every order of
 *		requests and answers, losses of them, crashes, copies, failovers and clock
 *		readings.  Prints TAP.
 *
 * core/asker.c runs as it is.  registry.h is the registry.  A place is a folder in which
 * one server runs, with one database.  It has the asker in a file, the asker as its
 * worker has it, and in memory what is in force.  The worker prepares a request, writes
 * the file, asks, writes the file, and publishes.  Each of that is a step, and between
 * any two of them the server may crash and go on from the file.  If the file can't be
 * written, nothing is in force until the worker has gone on from the file.
 *
 * The registry answers at once, or the answer gets lost.  A request may also arrive
 * late, any number of times, when nobody waits for its answer any more.
 *
 * The registry may fail over to what it was at some point before.  The former primary may
 * live on, and each asker then reaches the one or the other, at each request anew.  Or it
 * is restored from a backup.  Each failover and each such restore begins a timeline of
 * its own, since PostgreSQL takes the next number after all that it finds in the
 * archive.  A snapshot of the disk keeps the timeline.  Then an operator says so, once
 * for the snapshot and once for each loss that it doesn't know of.
 *
 * Askers' clocks aren't part of the world: each reading may be any unit.  The registry's
 * clock is late by the longest grant at most, likewise at each reading.
 *
 * What must hold:
 *
 *	TWICE		No unit of a partition is in force in two places, at whatever times: an asker
 *				whose clock steps may issue all that is in force.  If a place is copied with
 *				its memory, both may issue what was granted before, or in answer to the
 *				request that wasn't answered when the copy was made.
 *	REVOKED		What a place gave up, because another one goes on as its holder, never is in
 *				force there again.
 *	FORGOT		A restart in place brings back what was in force.
 *	REFUSED		Who was never copied isn't superseded, as long as one registry answers.
 *
 * Which units were in force isn't recorded.  A world remembers one of them at most, as
 * in model.c: when one comes in force, the search goes on with a world that remembers
 * it, and with one that doesn't.
 *
 * Random numbers never meet.  So worlds that differ only in these are one.
 *
 * With the arguments "traces" and a seed, the program writes random calls of the
 * registry, and how the model answers, as SQL.
 */
#include <stdbool.h>
#include <stdint.h>

#include "registry.h"
#include "explore.h"

#include "../../src/core/asker.c"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

#define PLACES		3			/* the most there can be */
#define LONGEST		1			/* units */
#define COUNTED		32			/* the highest token if they are counted */
#define NOBODY		255			/* a number that no place has any more */

typedef enum Rule
{
	TWICE, REVOKED, FORGOT, REFUSED
} Rule;

static const char *const rules[] = {
	"a unit is in force in two places",
	"what was given up is in force again",
	"a restart forgets what was in force",
	"a place is superseded that was never copied"
};

typedef struct Scope
{
	const char *name;
	unsigned	places,
				units,			/* that a clock may read, from 1 on */
				blocks,
				parts,
				duration;		/* that an asker asks for */
	bool		late_clock,		/* is the registry's? */
				late,			/* do requests arrive late? */
				copies,			/* is a place copied with its memory? */
				vouches;		/* does an operator vouch? */
	unsigned	losses,			/* new timelines, at most */
				snapshots;		/* that are restored, at most */
	bool		formers,		/* do former primaries live on? */
				again,			/* is a backup restored more than once? */
				large;			/* too much so to be explored whole: for mutants only */
} Scope;

typedef enum ScopeNumber
{
	LEASES, LATE, MEMORY, FAILOVER, FORMERS, RESTORED, REUSED, VOUCHED, VOUCHED_LATER, SWITCHED, SNAPSHOTS
} ScopeNumber;

static const Scope scopes[] = {
	[LEASES] = {"two places", 2, 4, 2, 1, 2},
	[LATE] = {"late requests", 2, 3, 1, 1, 1,.late = true},
	[MEMORY] = {"a place copied with its memory", 3, 2, 1, 1, 0,.copies = true},
	[FAILOVER] = {"a failover", 2, 2, 2, 2, 0,.losses = 1},
	[FORMERS] = {"a failover, and the former primary lives on", 2, 1, 2, 2, 0,.losses = 1,
	.formers = true},
	[RESTORED] = {"two restores", 2, 2, 3, 3, 1,.losses = 2,.again = true},
	[REUSED] = {"a part used again", 2, 4, 1, 1, 2,.late_clock = true,.losses = 1},
	[VOUCHED] = {"an operator vouches long after a loss", 2, 5, 1, 1, 0,.losses = 1,
	.vouches = true},
	[VOUCHED_LATER] = {"an operator vouches later after a loss", 2, 6, 1, 1, 0,.losses = 1,
	.vouches = true,.large = true},
	[SWITCHED] = {"an operator vouches, and then a loss", 2, 2, 2, 2, 0,.losses = 2,
	.vouches = true},
	[SNAPSHOTS] = {"snapshots restored", 2, 2, 4, 4, 1,.snapshots = 2,.again = true}
};

#define ROW_OF(name, text, scope, rule)	{#name, text, scope, rule},

static const struct
{
	const char *symbol,
			   *name;
	ScopeNumber scope;
	Rule		rule;
}			mutants[] = {
	MUTANTS(ROW_OF)
};

/* Small forms of what core/asker.h has. */
typedef struct Range
{
	uint8_t		block,
				floor,
				ceiling;
} Range;

typedef struct Granted
{
	uint8_t		holder,
				count;
	Range		range[BLOCKS];
	uint8_t		unused[2];
} Granted;

typedef struct Asker
{
	uint8_t		holder,
				token,
				next,
				unused[5];
	Granted		granted;
} Asker;

typedef struct Place
{
	Asker		file,
				worker;
	Granted		memory;			/* in force */
	uint8_t		gave_up,		/* the holder, for a rule */
				unused[7];
} Place;

typedef struct Rest
{
	uint8_t		time,
				timeline,		/* of the registry */
				timelines,		/* the highest there was */
				eras,			/* likewise */
				snapshots,		/* that were restored */
				former,			/* the timeline of the former primary, 0 if there is none */
				lossy;			/* the last time when something was lost, 0 if never */
	/* A request that may arrive late */
	uint8_t		holder,
				token,
				next;
	/* The copy with memory: whose, and the request that wasn't answered */
	uint8_t		copied,			/* the place + 1 */
				copy,			/* likewise */
				copied_next;
	Granted		copied_grants;
	/* What is remembered: this unit was in force in a place. */
	uint8_t		place,			/* + 1, 0 if nothing is */
				block,
				unit,
				unused[7];
} Rest;

typedef struct World
{
	Registry	registry,
				backup,
				former;
	Place		place[PLACES];
	Rest		rest;
} World;

typedef enum Event
{
	PREPARE, WRITE, WRITE_IN_VAIN, PUBLISH, ASK, ASK_FORMER, ASK_IN_VAIN, ASK_FORMER_IN_VAIN, ARRIVE,
	ARRIVE_FORMER, POST, CRASH, COPY, COPY_FILE, WAIT, BACK_UP, SWITCH_OVER, FAIL_OVER,
	RESTORE, RESTORE_SNAPSHOT, END_FORMER, VOUCH, EVENTS
} Event;

static const char *const events[] = {
	"prepares a request", "writes the file", "can't write the file", "publishes", "asks", "asks the former primary",
	"asks, and the answer gets lost", "asks the former primary, and the answer gets lost",
	"a late request arrives", "a late request arrives at the former primary",
	"sends a request that may arrive late", "crashes and restarts", "is copied with its memory",
	"is copied", "time passes", "a backup is made", "a standby that lacks nothing is promoted",
	"a standby is promoted that is as the backup", "the backup is restored",
	"the backup is restored as a snapshot", "the former primary ends", "an operator vouches"
};

static const Scope *scope;
static Mutant mutant = NONE;
static World w;
static uint64_t issue_count;

static bool
mutate(Mutant m)
{
	return m == mutant;
}

static void
broken(Rule rule)
{
	if (mutant == NONE || mutants[mutant].rule == rule)
		wrong(rules[rule]);
}

/* Numbers */

/* Each number that a place has, or a late request: holders or tokens. */
static int
numbers_of(bool holders, uint8_t *number[])
{
	int			count = 0;

	for (int i = 0; i < PLACES; i++)
	{
		Place	   *p = &w.place[i];
		Asker	   *askers[] = {&p->file, &p->worker};

		for (int a = 0; a < 2; a++)
		{
			number[count++] = holders ? &askers[a]->holder : &askers[a]->token;
			number[count++] = holders ? &askers[a]->granted.holder : &askers[a]->next;
		}
		if (holders)
		{
			number[count++] = &p->memory.holder;
			number[count++] = &p->gave_up;
		}
	}
	number[count++] = holders ? &w.rest.holder : &w.rest.token;
	if (!holders)
		number[count++] = &w.rest.next;
	return count;
}

static uint8_t
draw(bool holders)
{
	uint8_t    *number[64];
	int			count = numbers_of(holders, number);
	uint8_t		highest = 0;

	for (int i = 0; i < count; i++)
		highest = MAX(highest, *number[i]);
	return highest + 1;
}

static uint8_t
new_number(const uint8_t *map, int64_t number)
{
	return number == 0 ? 0 : map[number] != 0 ? map[number] : NOBODY;
}

static int
compare_holders(const void *a, const void *b)
{
	return (int) (((const Holder *) a)->holder - ((const Holder *) b)->holder);
}

/* Does an asker with this holder ask for the first time? */
static bool
is_first_request(int64_t holder)
{
	for (int i = 0; i < PLACES; i++)
	{
		const Place *p = &w.place[i];

		if ((p->file.holder == holder && p->file.token == 0) ||
			(p->worker.holder == holder && p->worker.token == 0))
			return true;
	}
	return w.rest.holder == holder && w.rest.token == 0;
}

/* Does the registry forget the holder, whatever it knows of it? */
static bool
is_forgotten(const Registry *r, int64_t holder)
{
	const Holder *h = find_holder((Registry *) r, holder);

	return h != NULL && h->era != r->era && !scope->vouches && mutant != FORGOTTEN_RENEWED;
}

/*
 * What nobody can ask for any more makes no difference.  So it is left out, though the
 * registry may close more parts because of it.
 */
static void
renumber_registry(Registry *r, const uint8_t *holders, const uint8_t *tokens)
{
	Registry	before = *r;
	int64_t		unseen = MAX((int) scope->units - 2 * LONGEST, 0);
	int			kept = 0;

	for (int i = 0; i < r->blocks; i++)
		r->block[i].holder = is_forgotten(&before, r->block[i].holder) ? NOBODY :
			new_number(holders, r->block[i].holder);
	for (int i = 0; i < r->holders; i++)
	{
		Holder		h = before.holder[i];
		bool		forgotten = is_forgotten(&before, h.holder);

		h.holder = new_number(holders, h.holder);
		if (mutant != COUNTED_TOKENS)
			h.token = forgotten ? NOBODY : new_number(tokens, h.token);
		h.seen = MIN(h.seen, unseen);
		if (h.holder != NOBODY && (!forgotten || is_first_request(h.holder)))
			r->holder[kept++] = h;
	}
	memset(&r->holder[kept], 0, (HOLDERS - kept) * sizeof(Holder));
	r->holders = kept;
	qsort(r->holder, kept, sizeof(Holder), compare_holders);
	/* Eras are only compared, unless an operator counts them. */
	for (int i = 0; i < kept && scope->snapshots == 0; i++)
		r->holder[i].era = r->holder[i].era == r->era;
	if (scope->snapshots == 0)
		r->era = 1;
}

static void
map_numbers(bool holders, uint8_t *map)
{
	uint8_t    *number[64];
	int			count = numbers_of(holders, number);
	uint8_t		last = 0;

	memset(map, 0, 256);
	for (int i = 0; i < count; i++)
	{
		if (*number[i] == 0)
			continue;
		if (map[*number[i]] == 0)
			map[*number[i]] = ++last;
		*number[i] = map[*number[i]];
	}
}

/* What a place is, whatever its numbers are. */
static Place
without_numbers(const Place *p)
{
	Place		it = *p;

	it.file.holder = it.worker.holder = it.memory.holder = it.gave_up = 0;
	it.file.granted.holder = it.worker.granted.holder = 0;
	it.file.token = it.worker.token = it.file.token != 0;
	it.file.next = it.worker.next = it.file.next != 0;
	return it;
}

static void
swap_places(int a, int b)
{
	Place		p = w.place[a];
	uint8_t    *number[] = {&w.rest.place, &w.rest.copied, &w.rest.copy};

	w.place[a] = w.place[b];
	w.place[b] = p;
	for (size_t i = 0; i < lengthof(number); i++)
		if (*number[i] == a + 1 || *number[i] == b + 1)
			*number[i] = (uint8_t) (a + b + 2 - *number[i]);
}

/* Places are interchangeable, so they are sorted. */
static void
sort_places(void)
{
	for (int i = 1; i < (int) scope->places; i++)
		for (int j = i; j > 0; j--)
		{
			Place		a = without_numbers(&w.place[j - 1]);
			Place		b = without_numbers(&w.place[j]);

			if (memcmp(&a, &b, sizeof(Place)) < 0)
				swap_places(j - 1, j);
		}
}

static void
renumber(void)
{
	uint8_t		holders[256],
				tokens[256];

	sort_places();
	for (int i = 0; i < PLACES; i++)
		if (w.place[i].memory.holder != w.place[i].gave_up &&
			w.place[i].file.granted.holder != w.place[i].gave_up)
			w.place[i].gave_up = 0;
	map_numbers(true, holders);
	if (mutant != COUNTED_TOKENS)
	{
		map_numbers(false, tokens);
		w.rest.copied_next = tokens[w.rest.copied_next];
	}
	renumber_registry(&w.registry, holders, tokens);
	renumber_registry(&w.backup, holders, tokens);
	renumber_registry(&w.former, holders, tokens);
}

/* What core/asker.c gets and gives */

static SnoGrants
large_grants(const Granted *g)
{
	SnoGrants	large = {.holder = g->holder,.count = g->count};

	for (int i = 0; i < g->count; i++)
		large.grant[i] = (SnoGrant) {
			.floor = g->range[i].floor,
			.ceiling = g->range[i].ceiling,
			.first = g->range[i].block,
			.last = g->range[i].block
		};
	return large;
}

static Granted
small_grants(const SnoGrants *g)
{
	Granted		small = {.holder = (uint8_t) g->holder,.count = (uint8_t) g->count};

	for (int i = 0; i < g->count; i++)
		small.range[i] = (Range) {
			(uint8_t) g->grant[i].first, (uint8_t) g->grant[i].floor,
			(uint8_t) g->grant[i].ceiling
		};
	return small;
}

static SnoAsker
large_asker(const Asker *a)
{
	return (SnoAsker) {
		a->holder, a->token, a->next, large_grants(&a->granted)
	};
}

static Asker
small_asker(const SnoAsker *a)
{
	return (Asker) {
		.holder = (uint8_t) a->holder,.token = (uint8_t) a->token,.next = (uint8_t) a->next,
		.granted = small_grants(&a->granted)
	};
}

static bool
same_grants(const Granted *a, const Granted *b)
{
	return memcmp(a, b, sizeof(Granted)) == 0;
}

/* Places */

static bool
covers(const Granted *g, int block, int unit)
{
	for (int i = 0; i < g->count; i++)
		if (g->range[i].block == block && g->range[i].floor < unit && unit <= g->range[i].ceiling)
			return true;
	return false;
}

static bool
is_written(const Place *p)
{
	return memcmp(&p->file, &p->worker, sizeof(Asker)) == 0;
}

static bool
is_published(const Place *p)
{
	return same_grants(&p->worker.granted, &p->memory);
}

static bool
prepare(Place *p)
{
	SnoAsker	a = large_asker(&p->worker);
	uint8_t		next = mutate(COUNTED_TOKENS) ? p->worker.token + 1 : draw(false);

	if (!is_written(p) || !is_published(p) || !sno_asker_prepare(&a, draw(true), next) ||
		a.next > COUNTED)
		return false;
	p->worker = small_asker(&a);
	return true;
}

static bool
write_file(Place *p)
{
	if (is_written(p) || (mutate(BEFORE_FILE) && !is_published(p)))
		return false;
	if (mutate(REVOKED_FIRST) && p->worker.holder == 0 && !is_published(p))
		return false;
	p->file = p->worker;
	if (mutate(REVOKED_IN_MEMORY) && p->worker.holder == 0 && p->worker.granted.count == 0)
		p->file.granted = p->memory;
	return true;
}

/* What was given up leaves the file all the same, because that is removed. */
static bool
write_in_vain(Place *p)
{
	if (is_written(p))
		return false;
	if (p->worker.granted.holder == 0)
		p->gave_up = p->memory.holder;
	if (p->worker.granted.holder == 0 && !mutate(REVOKED_FILE_STAYS))
		memset(&p->file, 0, sizeof(Asker));
	memset(&p->memory, 0, sizeof(Granted));
	p->worker = p->file;
	return true;
}

static bool
publish(Place *p)
{
	bool		revokes = p->worker.granted.holder == 0;

	if (is_published(p))
		return false;
	if (!is_written(p) && !mutate(BEFORE_FILE) && !mutate(REVOKED_IN_MEMORY) &&
		!(mutate(REVOKED_FIRST) && revokes))
		return false;
	if (revokes)
		p->gave_up = p->memory.holder;
	p->memory = p->worker.granted;
	return true;
}

/* May the worker ask? */
static bool
may_ask(const Place *p)
{
	return p->worker.next != 0 && is_published(p) && (is_written(p) || mutate(NEXT_NOT_WRITTEN));
}

static Request
request_of(int64_t holder, int64_t token, int64_t next, unsigned now)
{
	return (Request) {
		.holder = holder,.token = token,.next = next,.now = now,
		.until = now + scope->duration,.want = 1
	};
}

/* What the answer grants */
static SnoGrants
grants_of(const Registry *r, int64_t holder, Status status)
{
	SnoGrants	blocks = {0};

	for (int i = 0; i < r->blocks && status <= FULL; i++)
		if (r->block[i].holder == holder)
			blocks.grant[blocks.count++] = (SnoGrant) {
				(uint64_t) r->block[i].floor, (uint64_t) r->block[i].ceiling, i, i
			};
	return blocks;
}

static bool
is_twin(const Place *p)
{
	return w.rest.copied != 0 &&
		(p == &w.place[w.rest.copied - 1] || p == &w.place[w.rest.copy - 1]);
}

/* Both twins may use what the request that both made is answered with. */
static void
add_to_copied(const Granted *g)
{
	Granted    *copied = &w.rest.copied_grants;

	for (int i = 0; i < g->count; i++)
	{
		const Range *new = &g->range[i];
		Range	   *old = copied->range;

		while (old < copied->range + copied->count && old->block != new->block)
			old++;
		if (old == copied->range + copied->count)
			copied->range[copied->count++] = *new;
		old->floor = MIN(old->floor, new->floor);
		old->ceiling = MAX(old->ceiling, new->ceiling);
	}
}

static void
take(Place *p, Status status, const SnoGrants *blocks)
{
	SnoAsker	a = large_asker(&p->worker);
	bool		shared = is_twin(p) && w.rest.copied_next == p->worker.next;

	if (!sno_grants_are_valid(blocks, BLOCKS - 1))
		wrong("an answer isn't valid");
	if (status == SUPERSEDED && w.rest.copied == 0 && !scope->formers && !scope->late)
		broken(REFUSED);
	sno_asker_take(&a, (SnoAnswer) status, blocks);
	p->worker = small_asker(&a);
	if (shared && status <= FULL)
		add_to_copied(&p->worker.granted);
}

/* A place asks, at units of both clocks. */
static bool
ask(Place *p, bool former, bool in_vain, unsigned asker_now, unsigned now)
{
	Registry	before = w.registry;
	Registry   *r = former ? &w.former : &w.registry;
	Request		q = request_of(p->worker.holder, p->worker.token, p->worker.next, asker_now);
	Status		status;
	SnoGrants	blocks;

	if (!may_ask(p) || (former && w.rest.former == 0))
		return false;
	for (int i = 0; i < p->worker.granted.count; i++)
		q.has |= 1u << p->worker.granted.range[i].block;
	status = answer(r, &q, now, former ? w.rest.former : w.rest.timeline);
	blocks = grants_of(r, q.holder, status);
	if (scope->snapshots > 0)
		w.rest.eras = MAX(w.rest.eras, r->era);
	if (in_vain && mutate(SILENCE_RENEWS))
	{
		for (int i = 0; i < p->memory.count; i++)
			p->memory.range[i].ceiling = (uint8_t) MAX(p->memory.range[i].ceiling, q.until);
		p->file.granted = p->worker.granted = p->memory;
	}
	/* The registry crashes. */
	if (in_vain && (mutate(SILENCE_RENEWS) || mutate(BEFORE_COMMIT)))
		w.registry = before;
	if (!in_vain || mutate(BEFORE_COMMIT))
		take(p, status, &blocks);
	return true;
}

static bool
arrive(bool former, unsigned asker_now, unsigned now)
{
	Request		q = request_of(w.rest.holder, w.rest.token, w.rest.next, asker_now);

	if (w.rest.next == 0 || (former && w.rest.former == 0))
		return false;
	answer(former ? &w.former : &w.registry, &q, now,
		   former ? w.rest.former : w.rest.timeline);
	return true;
}

static bool
post(const Place *p)
{
	if (!scope->late || !may_ask(p))
		return false;
	w.rest.holder = p->worker.holder;
	w.rest.token = p->worker.token;
	w.rest.next = p->worker.next;
	return true;
}

static bool
crash(Place *p)
{
	if (is_published(p) && !same_grants(&p->memory, &p->file.granted))
		broken(FORGOT);
	p->worker = p->file;
	p->memory = p->file.granted;
	return true;
}

static bool
is_new(const Place *p)
{
	static const Place new;

	return memcmp(p, &new, sizeof(Place)) == 0;
}

static bool
copy(int from, int to)
{
	const Place *p = &w.place[from];

	if (!scope->copies || w.rest.copied != 0 || from == to || is_new(p) || !is_new(&w.place[to]))
		return false;
	w.place[to] = *p;
	w.rest.copied = (uint8_t) (from + 1);
	w.rest.copy = (uint8_t) (to + 1);
	w.rest.copied_next = p->worker.next != 0 ? p->worker.next : p->file.next;
	add_to_copied(&p->memory);
	add_to_copied(&p->worker.granted);
	return true;
}

/* A file that is in another place is no asker's. */
static bool
copy_file(int from, int to)
{
	if (!mutate(FILE_TRUSTED) || !is_new(&w.place[to]))
		return false;
	w.place[to].file = w.place[from].file;
	return crash(&w.place[to]);
}

/* The registry */

/* Will a backup be of use? */
static bool
may_restore(void)
{
	return w.rest.timelines <= scope->losses || w.rest.snapshots < scope->snapshots;
}

static void
after_restore(void)
{
	if (!scope->again || !may_restore())
		memset(&w.backup, 0, sizeof(Registry));
}

static bool
promote(const Registry *standby, bool lossy)
{
	if (w.rest.timelines > scope->losses)
		return false;
	w.registry = *standby;
	w.rest.timeline = ++w.rest.timelines;
	if (lossy && scope->vouches)
		w.rest.lossy = w.rest.time;
	return true;
}

static bool
fail_over(bool lives)
{
	Registry	before = w.registry;
	uint8_t		timeline = w.rest.timeline;

	if (lives && (!scope->formers || w.rest.former != 0))
		return false;
	if (w.backup.blocks == 0 || !promote(&w.backup, true))
		return false;
	if (lives)
	{
		w.former = before;
		w.rest.former = timeline;
	}
	after_restore();
	return true;
}

static bool
restore_snapshot(unsigned now)
{
	int			eras = MAX(w.rest.eras, w.registry.era) - w.backup.era;

	if (w.backup.blocks == 0 || w.rest.snapshots >= scope->snapshots)
		return false;
	w.rest.snapshots++;
	w.registry = w.backup;
	for (int i = 0; i <= (mutate(TOLD_ONCE) ? 0 : eras); i++)
		lose(&w.registry, 1, now);
	w.rest.eras = (uint8_t) w.registry.era;
	after_restore();
	return true;
}

static bool
end_former(void)
{
	if (w.rest.former == 0)
		return false;
	w.rest.former = 0;
	w.rest.lossy = scope->vouches ? w.rest.time : 0;
	memset(&w.former, 0, sizeof(Registry));
	return true;
}

/* Only if it is true. */
static bool
may_vouch(void)
{
	return scope->vouches && w.rest.former == 0 &&
		(w.rest.lossy == 0 || w.rest.time > w.rest.lossy + 3 * LONGEST);
}

static bool
apply(Event event, int who, unsigned a, unsigned b)
{
	Place	   *p = &w.place[who];
	unsigned	now = w.rest.time > b ? w.rest.time - b : 0;

	switch (event)
	{
		case PREPARE:
			return prepare(p);
		case WRITE:
			return write_file(p);
		case WRITE_IN_VAIN:
			return write_in_vain(p);
		case PUBLISH:
			return publish(p);
		case ASK:
		case ASK_FORMER:
			return ask(p, event == ASK_FORMER, false, a, now);
		case ASK_IN_VAIN:
		case ASK_FORMER_IN_VAIN:
			return ask(p, event == ASK_FORMER_IN_VAIN, true, a, now);
		case ARRIVE:
		case ARRIVE_FORMER:
			return arrive(event == ARRIVE_FORMER, a, now);
		case POST:
			return post(p);
		case CRASH:
			return crash(p);
		case COPY:
			return copy(who, (int) a);
		case COPY_FILE:
			return copy_file(who, (int) a);
		case WAIT:
			return w.rest.time++ < scope->units;
		case BACK_UP:
			if (w.backup.blocks != 0 || !may_restore())
				return false;
			w.backup = w.registry;
			return true;
		case SWITCH_OVER:
			return scope->vouches && promote(&w.registry, false);
		case FAIL_OVER:
			return fail_over(true);
		case RESTORE:
			return fail_over(false);
		case RESTORE_SNAPSHOT:
			return restore_snapshot(now);
		case END_FORMER:
			return end_former();
		case VOUCH:
			if (!may_vouch())
				return false;
			vouch(&w.registry, now, w.rest.timeline);
			return true;
		default:
			return false;
	}
}

/* Worlds as keys. */

static void
transfer(void)
{
	if (key_wanted)
		renumber();
	else
		memset(&w, 0, sizeof(w));
	transfer_part(&w.rest, sizeof(w.rest));
	transfer_part(&w.registry, sizeof(Registry));
	if (scope->losses + scope->snapshots > 0)
		transfer_part(&w.backup, sizeof(Registry));
	if (scope->formers)
		transfer_part(&w.former, sizeof(Registry));
	for (unsigned i = 0; i < scope->places; i++)
		transfer_part(&w.place[i], sizeof(Place));
}

static const Model model;

static void
check(void)
{
	const Rest *rest = &w.rest;

	for (int i = 0; i < (int) scope->places; i++)
	{
		const Place *p = &w.place[i];

		if (p->memory.holder != 0 && p->memory.holder == p->gave_up)
			broken(REVOKED);
		if (rest->place == 0 || i == rest->place - 1 || !covers(&p->memory, rest->block, rest->unit))
			continue;
		if (!is_twin(p) || !is_twin(&w.place[rest->place - 1]) ||
			!covers(&rest->copied_grants, rest->block, rest->unit))
			broken(TWICE);
	}
}

static void
visit_checked(Step step)
{
	check();
	visit(&model, step);
}

/* The world goes on without a memory, and with each one that there may be. */
static void
visit_all(const World *before, Step step)
{
	World		after = w;
	const Granted *had = &before->place[step.who].memory;
	const Granted *has = &after.place[step.who].memory;

	visit_checked(step);
	if (same_grants(had, has) || after.rest.place != 0)
		return;
	for (int block = 0; block < (int) scope->blocks; block++)
		for (int unit = 1; unit <= (int) (scope->units + scope->duration); unit++)
			if (covers(has, block, unit) && !covers(had, block, unit) && violation == NULL)
			{
				issue_count++;
				w = after;
				w.rest.place = step.who + 1;
				w.rest.block = (uint8_t) block;
				w.rest.unit = (uint8_t) unit;
				visit_checked(step);
			}
}

static bool
asks(Event event)
{
	return event >= ASK && event <= ARRIVE_FORMER;
}

/* How many values an event's arguments take. */
static void
count_values(Event event, unsigned *who, unsigned *a, unsigned *b)
{
	*who = event <= ASK_FORMER_IN_VAIN || (event >= POST && event <= COPY_FILE) ? scope->places : 1;
	*a = asks(event) ? w.rest.time + 1U : event == COPY || event == COPY_FILE ? scope->places : 1;
	*b = asks(event) || event == VOUCH || event == RESTORE_SNAPSHOT ? scope->late_clock + 1U : 1;
}

/*
 * A place that isn't ready to ask, -1 if there is none.  What it does until then is no
 * business of others, so it does that first.  It may also crash or be copied meanwhile.
 */
static int
busy_place(void)
{
	for (int i = 0; i < (int) scope->places; i++)
	{
		const Place *p = &w.place[i];

		if (!is_new(p) && (p->worker.next == 0 || !is_written(p) || !is_published(p)))
			return i;
	}
	return -1;
}

static void
expand(Step step)
{
	static World before;
	unsigned	count_who,
				count_a,
				count_b;
	int			busy;

	before = w;
	busy = busy_place();
	for (int event = 0; event < EVENTS; event++)
	{
		count_values((Event) event, &count_who, &count_a, &count_b);
		if (busy >= 0 && count_who == 1)
			continue;
		for (unsigned n = 0; n < count_who * count_a * count_b; n++)
		{
			if (busy >= 0 && n / count_b / count_a != (unsigned) busy)
				continue;
			w = before;
			step.event = (uint8_t) event;
			step.who = (uint8_t) (n / count_b / count_a);
			step.a = (uint8_t) (n / count_b % count_a);
			step.b = (uint8_t) (n % count_b);
			if (apply((Event) event, step.who, step.a, step.b))
				visit_all(&before, step);
			if (violation != NULL)
				return;
		}
	}
}

static void
describe_grants(const char *what, const Granted *g)
{
	printf(" %s", what);
	for (int i = 0; i < g->count; i++)
		printf(" %u:(%u,%u]", g->range[i].block, g->range[i].floor, g->range[i].ceiling);
}

static void
describe(Step step)
{
	unsigned	who,
				a,
				b;

	count_values((Event) step.event, &who, &a, &b);
	if (who > 1)
		printf("place %u ", step.who);
	printf("%s", events[step.event]);
	if (step.event == COPY || step.event == COPY_FILE)
		printf(" to place %u", step.a);
	else if (a > 1)
		printf(", at unit %u of its clock", step.a);
	if (b > 1)
		printf(", unit %d of the registry's", w.rest.time - step.b);
	if (step.event == PUBLISH)
		describe_grants("what it has,", &w.place[step.who].worker.granted);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(ScopeNumber number, Mutant with)
{
	scope = &scopes[number];
	mutant = with;
	issue_count = 0;
	memset(&w, 0, sizeof(w));
	w.registry.blocks = (int32_t) scope->blocks;
	w.registry.parts = (int32_t) scope->parts;
	w.registry.longest = LONGEST;
	w.registry.share = WANTED;
	w.registry.timeline = w.rest.timeline = w.rest.timelines = 1;
	w.rest.time = 1;
	return explore(&model);
}

/* Traces */

#define ASKERS			40
#define FIRST			1000	/* partition */
#define TRACE_LONGEST	150000	/* ten minutes */

static Registry traced;
static int	traced_size;		/* of a block */
static int	traced_last;		/* partition */
static uint64_t random_state;

/* Splitmix64 */
static uint64_t
random_number(void)
{
	uint64_t	z = random_state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static bool
one_of(unsigned count)
{
	return random_number() % count == 0;
}

static void
trace_registry(int blocks, int size, bool lossless, int share)
{
	traced = (Registry) {
		.blocks = blocks,.parts = lossless ? 1 : PARTS,.lossless = lossless,.timeline = 1,
		.share = share,.longest = TRACE_LONGEST
	};
	traced_size = size;
	/* The last block is shorter, if it can be. */
	traced_last = FIRST + blocks * size - (size > 1 ? 2 : 1);
	printf("create(%d, %d, %d, %s, %d)\tcreated\n", FIRST, traced_last, size,
		   lossless ? "true" : "false", share);
}

static bool
trace_answer(const Request *q, int64_t now, int timeline, Status *status)
{
	static const char *const names[] = {"granted", "full", "forgotten", "superseded"};
	bool		valid = q->holder != 0 && q->next != 0 && q->next != q->token && q->now >= 0 &&
		q->until >= q->now && q->until <= (int64_t) SNO_UNIT_MAX && q->want >= 1 &&
		q->want <= WANTED;

	printf("answer(%lld, %lld, %lld, %lld, %lld, %d, %lld, %d)\t",
		   (long long) q->holder, (long long) q->token, (long long) q->next,
		   (long long) q->now, (long long) q->until, q->want, (long long) now, timeline);
	if (!valid)
	{
		printf("error 22023\n");
		return false;
	}
	*status = answer(&traced, q, now, timeline);
	printf("%s %d %d %lld", names[*status], FIRST, traced_last, (long long) now);
	for (int i = 0; i < traced.blocks && *status <= FULL; i++)
		if (traced.block[i].holder == q->holder)
			printf(" %d-%d:%lld-%lld", FIRST + i * traced_size,
				   MIN(FIRST + (i + 1) * traced_size - 1, traced_last),
				   (long long) traced.block[i].floor, (long long) traced.block[i].ceiling);
	printf("\n");
	return true;
}

/* What an asker asks for, mostly as it should */
static Request
random_request(const SnoAsker *a, int64_t now)
{
	Request		q = {
		.holder = (int64_t) a->holder,.token = (int64_t) a->token,.next = (int64_t) a->next,
		.now = now,.want = 1 + (int) (random_number() % 3)
	};

	if (one_of(4))
		q.now += (int64_t) (random_number() % (2 * TRACE_LONGEST)) - TRACE_LONGEST;
	if (one_of(20))
		q.want = 1 + (int) (random_number() % WANTED);
	q.until = q.now + (int64_t) (random_number() % (2 * TRACE_LONGEST));
	switch (random_number() % 300)
	{
		case 0:
			q.holder = 0;
			break;
		case 1:
			q.next = 0;
			break;
		case 2:
			q.next = q.token;
			break;
		case 3:
			q.until = q.now - 1;
			break;
		case 4:
			q.now = -1;
			break;
		case 5:
			q.until = (int64_t) SNO_UNIT_MAX + 1;
			break;
		case 6:
			q.want = WANTED + 1;
			break;
		case 7:
			q.want = 0;
			break;
		case 8:
			q.token = (int64_t) random_number();
			break;
	}
	return q;
}

static void
trace_step(SnoAsker *askers, Request *late, int64_t now, int *timeline)
{
	SnoAsker   *a = &askers[random_number() % ASKERS];
	Request		q;
	Status		status;
	SnoGrants	blocks;

	if (one_of(20))
		*a = askers[random_number() % ASKERS];
	if (one_of(30) && traced.holders < HOLDERS - 2)
		*a = (SnoAsker) {0};
	if (one_of(200))
		*timeline += one_of(10) ? -1 : 1 + one_of(4) + 3 * one_of(20);
	if (one_of(300))
	{
		printf("lose(1, %lld)\tdone\n", (long long) now);
		lose(&traced, 1, now);
	}
	if (one_of(300))
	{
		printf("trust(%d, %lld)\tdone\n", *timeline, (long long) now);
		vouch(&traced, now, *timeline);
	}
	sno_asker_prepare(a, random_number(), random_number());
	q = random_request(a, now);
	if (one_of(10))
		*late = q;
	if (one_of(20) && late->holder != 0)
		trace_answer(late, now, *timeline, &status);
	/* The answer may get lost. */
	if (!trace_answer(&q, now, *timeline, &status) || one_of(5))
		return;
	blocks = grants_of(&traced, q.holder, status);
	if (blocks.count <= SNO_GRANTS && q.holder == (int64_t) a->holder &&
		q.next == (int64_t) a->next)
		sno_asker_take(a, (SnoAnswer) status, &blocks);
}

static void
trace(uint64_t seed, int steps)
{
	static SnoAsker askers[ASKERS];
	static const struct
	{
		int			blocks,
					size;
		bool		lossless;
		int			share;
	}			registries[] = {
		{BLOCKS, 1, false, WANTED}, {BLOCKS, 1, true, 5}, {7, 10, false, 1}, {4, 3, false, 2}
	};

	random_state = seed;
	for (size_t i = 0; i < lengthof(registries); i++)
	{
		Request		late = {0};
		int64_t		now = INT64_C(125000000000);
		int			timeline = 1;

		memset(askers, 0, sizeof(askers));
		trace_registry(registries[i].blocks, registries[i].size, registries[i].lossless,
					   registries[i].share);
		for (int n = 0; n < steps; n++)
		{
			now += (int64_t) (random_number() % (TRACE_LONGEST / 8));
			if (one_of(100))
				now += (int64_t) (random_number() % (8 * TRACE_LONGEST)) - 2 * TRACE_LONGEST;
			trace_step(askers, &late, now, &timeline);
		}
	}
}

static void
explore_all(void)
{
	for (size_t i = 0; i < lengthof(scopes); i++)
		if (!scopes[i].large)
		{
			bool		ok = explore_scope((ScopeNumber) i, NONE);

			report_scope(&model, ok, scope->name, issue_count);
		}
}

static void
catch_mutants(void)
{
	for (size_t i = 0; i < lengthof(mutants); i++)
	{
		bool		caught = !explore_scope(mutants[i].scope, (Mutant) i);

		report_mutant(caught, mutants[i].name, scope->name);
	}
}

/*
 * Explores the scopes, or with the argument "mutants" the mutants.  With "traces", a
 * seed, a number of steps and maybe the symbol of a mutant it writes traces.
 */
int
main(int argc, char **argv)
{
	if (argc > 3)
	{
		for (mutant = 0; mutant < NONE; mutant++)
			if (argc > 4 && strcmp(argv[4], mutants[mutant].symbol) == 0)
				break;
		trace(strtoull(argv[2], NULL, 10), atoi(argv[3]));
		return 0;
	}
	if (argc == 1)
		explore_all();
	else
		catch_mutants();
	printf("1..%d\n", tests);
	return failures != 0;
}

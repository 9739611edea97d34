/*
 * grant.c
 *		Grants of a registry on models small enough to be explored whole: every order of
 *		requests and answers, losses of them, crashes, copies, failovers and clock
 *		readings.  Prints TAP.
 *
 * core/asker.c runs as it is.  registry.h is the registry.  A place is a folder in which
 * one server runs, with one database.  It has the asker in a file, the asker as its
 * worker has it, and in memory what is in force.  There may be two askers, for partitions
 * and for nodes of a layout, in one file.  A layout has another name in each place.  The
 * worker prepares a request, writes the file, asks, writes the file, and publishes.  Each
 * of that is a step, and between any two of them the server may crash and go on from the
 * file.  If the file can't be written, nothing is in force until the worker has gone on
 * from the file.
 *
 * The registry answers at once, or the answer gets lost.  A request may also arrive
 * late, any number of times, when nobody waits for its answer any more.
 *
 * The registry may fail over to what it was at some point before.  The former primary may
 * live on, and each asker then reaches the one or the other, at each request anew.  Or it
 * is restored from a backup.  Each failover and each such restore begins a timeline of
 * its own, since PostgreSQL takes the next number after all that it finds in the
 * archive.  A snapshot of the disk keeps the timeline.  Then an operator says so, once
 * for the snapshot and once for each loss that it doesn't know of.  If a layout was lost, an
 * operator adds it again, in other blocks.
 *
 * Askers' clocks aren't part of the world: each reading may be any unit.  The registry's
 * clock is late by the longest grant at most, likewise at each reading.
 *
 * What must hold:
 *
 *	TWICE		No unit of a partition or node is in force in two places, at whatever times:
 *				an asker whose clock steps may issue all that is in force.  If a place is
 *				copied with its memory, both may issue what was granted before, or in answer
 *				to the request that wasn't answered when the copy was made.
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
#define ASKERS		2			/* of a place, likewise */
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
				layouts,		/* does a place ask for nodes, too? */
				nodes,			/* or for nodes alone? */
				adds,			/* does an operator add what is granted? */
				slow,			/* explored by the suite worlds */
				large;			/* too much so to be explored whole: for mutants only */
} Scope;

typedef enum ScopeNumber
{
	LEASES, LATE, MEMORY, FAILOVER, FORMERS, RESTORED, REUSED, VOUCHED, VOUCHED_LATER, SWITCHED, SNAPSHOTS,
	NAMES, SWITCHED_NODES, ADDED
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
	.vouches = true,.slow = true},
	[VOUCHED_LATER] = {"an operator vouches later after a loss", 2, 6, 1, 1, 0,.losses = 1,
	.vouches = true,.large = true},
	[SWITCHED] = {"an operator vouches, and then a loss", 2, 2, 2, 2, 0,.losses = 2,
	.vouches = true,.slow = true},
	[SNAPSHOTS] = {"snapshots restored", 2, 2, 4, 4, 1,.snapshots = 2,.again = true},
	[NAMES] = {"two names of a layout, beside partitions", 2, 2, 1, 1, 0,.layouts = true},
	[SWITCHED_NODES] = {"an operator vouches for who has nodes, and then a loss", 2, 2, 2, 2, 0,.losses = 2,
	.vouches = true,.nodes = true,.large = true},
	[ADDED] = {"a layout is lost, and added again", 2, 4, 2, 2, 0,.losses = 1,.adds = true,.slow = true}
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
	Asker		file[ASKERS],
				worker[ASKERS];
	Granted		memory[ASKERS]; /* in force */
	uint8_t		gave_up[ASKERS],	/* the holder, for a rule */
				unused[6];
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
	uint8_t		layout,
				holder,
				token,
				next;
	/* The copy with memory: whose, and the requests that weren't answered */
	uint8_t		copied,			/* the place + 1 */
				copy,			/* likewise */
				copied_next[ASKERS];
	Granted		copied_grants[ASKERS];
	/* What is remembered: this unit was in force in a place. */
	uint8_t		place,			/* + 1, 0 if nothing is */
				asker,
				block,
				unit,
				added,			/* was the layout added before? */
				unused[4];
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
	RESTORE, RESTORE_SNAPSHOT, END_FORMER, VOUCH, ADD, EVENTS
} Event;

static const char *const events[] = {
	"prepares a request", "writes the file", "can't write the file", "publishes", "asks", "asks the former primary",
	"asks, and the answer gets lost", "asks the former primary, and the answer gets lost",
	"a late request arrives", "a late request arrives at the former primary",
	"sends a request that may arrive late", "crashes and restarts", "is copied with its memory",
	"is copied", "time passes", "a backup is made", "a standby that lacks nothing is promoted",
	"a standby is promoted that is as the backup", "the backup is restored",
	"the backup is restored as a snapshot", "the former primary ends", "an operator vouches",
	"an operator adds the layout"
};

static const Scope *scope;
static Mutant mutant = NONE;
static World w;
static int	spaces;				/* that a registry has at most */
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

/* Askers */

static int
askers(void)
{
	return scope->layouts ? 2 : 1;
}

/* Whose event is it: of an asker of a place, or of the place? */
static bool
is_of_asker(Event event)
{
	return event == PREPARE || (event >= ASK && event <= ASK_FORMER_IN_VAIN) || event == POST;
}

static int
place_of(Step step)
{
	return is_of_asker((Event) step.event) ? step.who / askers() : step.who;
}

/* The layout that an asker asks for.  The places have other names of it. */
static int64_t
layout_of(int place, int asker)
{
	if (asker == 0 && !scope->nodes)
		return PARTITIONS;
	return mutate(NAMED_LAYOUTS) ? 1 + place : 1;
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

		for (int n = 0; n < askers(); n++)
		{
			Asker	   *forms[] = {&p->file[n], &p->worker[n]};

			for (int f = 0; f < 2; f++)
			{
				number[count++] = holders ? &forms[f]->holder : &forms[f]->token;
				number[count++] = holders ? &forms[f]->granted.holder : &forms[f]->next;
			}
			if (holders)
			{
				number[count++] = &p->memory[n].holder;
				number[count++] = &p->gave_up[n];
			}
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

		for (int n = 0; n < askers(); n++)
			if ((p->file[n].holder == holder && p->file[n].token == 0) ||
				(p->worker[n].holder == holder && p->worker[n].token == 0))
				return true;
	}
	return w.rest.holder == holder && w.rest.token == 0;
}

/* Does the registry forget the holder, whatever it knows of it? */
static bool
is_forgotten(const Registry *r, const Space *s, int64_t holder)
{
	const Holder *h = find_holder((Space *) s, holder);

	return h != NULL && h->era != r->era && !scope->vouches && mutant != FORGOTTEN_RENEWED;
}

/*
 * What nobody can ask for any more makes no difference.  So it is left out, though the
 * registry may close more parts because of it.
 */
static void
renumber_space(const Registry *r, Space *s, const uint8_t *holders, const uint8_t *tokens)
{
	Space		before = *s;
	int64_t		unseen = MAX((int) scope->units - 2 * LONGEST, 0);
	int			kept = 0;

	for (int i = 0; i < s->blocks; i++)
		s->block[i].holder = is_forgotten(r, &before, s->block[i].holder) ? NOBODY :
			new_number(holders, s->block[i].holder);
	for (int i = 0; i < s->holders; i++)
	{
		Holder		h = before.holder[i];
		bool		forgotten = is_forgotten(r, &before, h.holder);

		h.holder = new_number(holders, h.holder);
		if (mutant != COUNTED_TOKENS)
			h.token = forgotten ? NOBODY : new_number(tokens, h.token);
		h.seen = MIN(h.seen, unseen);
		if (h.holder != NOBODY && (!forgotten || is_first_request(h.holder)))
			s->holder[kept++] = h;
	}
	memset(&s->holder[kept], 0, (HOLDERS - kept) * sizeof(Holder));
	s->holders = kept;
	qsort(s->holder, kept, sizeof(Holder), compare_holders);
	/* Eras are only compared, unless an operator counts them. */
	for (int i = 0; i < kept && scope->snapshots == 0; i++)
		s->holder[i].era = s->holder[i].era == r->era;
}

static void
renumber_registry(Registry *r, const uint8_t *holders, const uint8_t *tokens)
{
	for (int i = 0; i < r->spaces; i++)
		renumber_space(r, &r->space[i], holders, tokens);
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

	for (int n = 0; n < askers(); n++)
	{
		Asker	   *file = &it.file[n],
				   *worker = &it.worker[n];

		file->holder = worker->holder = it.memory[n].holder = it.gave_up[n] = 0;
		file->granted.holder = worker->granted.holder = 0;
		file->token = worker->token = file->token != 0;
		file->next = worker->next = file->next != 0;
	}
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

/* Places are interchangeable, so they are sorted, unless their names matter. */
static void
sort_places(void)
{
	for (int i = 1; i < (int) scope->places && mutant != NAMED_LAYOUTS; i++)
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
		for (int n = 0; n < askers(); n++)
		{
			Place	   *p = &w.place[i];

			if (p->memory[n].holder != p->gave_up[n] && p->file[n].granted.holder != p->gave_up[n])
				p->gave_up[n] = 0;
		}
	map_numbers(true, holders);
	if (mutant != COUNTED_TOKENS)
	{
		map_numbers(false, tokens);
		for (int n = 0; n < askers(); n++)
			w.rest.copied_next[n] = tokens[w.rest.copied_next[n]];
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
	return memcmp(p->file, p->worker, sizeof(p->file)) == 0;
}

static bool
is_published(const Place *p)
{
	for (int n = 0; n < askers(); n++)
		if (!same_grants(&p->worker[n].granted, &p->memory[n]))
			return false;
	return true;
}

static bool
prepare(Place *p, int n)
{
	SnoAsker	a = large_asker(&p->worker[n]);
	uint8_t		next = mutate(COUNTED_TOKENS) ? p->worker[n].token + 1 : draw(false);

	if (!is_written(p) || !is_published(p) || !sno_asker_prepare(&a, draw(true), next) ||
		a.next > COUNTED)
		return false;
	p->worker[n] = small_asker(&a);
	return true;
}

/* Does an asker have nothing: not yet, or not any more? */
static bool
has_none(const Place *p, int n)
{
	return p->worker[n].granted.holder == 0;
}

static bool
write_file(Place *p)
{
	if (is_written(p) || (mutate(BEFORE_FILE) && !is_published(p)))
		return false;
	if (mutate(REVOKED_FIRST) && p->worker[0].holder == 0 && !is_published(p))
		return false;
	memcpy(p->file, p->worker, sizeof(p->file));
	if (mutate(REVOKED_IN_MEMORY) && p->worker[0].holder == 0 && has_none(p, 0))
		p->file[0].granted = p->memory[0];
	return true;
}

/* What was given up leaves the file all the same, because that is removed. */
static bool
write_in_vain(Place *p)
{
	bool		gave_up = false;

	if (is_written(p))
		return false;
	for (int n = 0; n < askers(); n++)
		if (has_none(p, n))
		{
			p->gave_up[n] = p->memory[n].holder;
			gave_up = gave_up || p->file[n].granted.holder != 0;
		}
	if (gave_up && !mutate(REVOKED_FILE_STAYS))
		memset(p->file, 0, sizeof(p->file));
	memset(p->memory, 0, sizeof(p->memory));
	memcpy(p->worker, p->file, sizeof(p->file));
	return true;
}

static bool
publish(Place *p)
{
	if (is_published(p))
		return false;
	if (!is_written(p) && !mutate(BEFORE_FILE) && !mutate(REVOKED_IN_MEMORY) &&
		!(mutate(REVOKED_FIRST) && has_none(p, 0)))
		return false;
	for (int n = 0; n < askers(); n++)
	{
		if (has_none(p, n))
			p->gave_up[n] = p->memory[n].holder;
		p->memory[n] = p->worker[n].granted;
	}
	return true;
}

/* May the worker ask? */
static bool
may_ask(const Place *p, int n)
{
	return p->worker[n].next != 0 && is_published(p) && (is_written(p) || mutate(NEXT_NOT_WRITTEN));
}

static Request
request_of(int64_t layout, int64_t holder, int64_t token, int64_t next, unsigned now)
{
	return (Request) {
		.layout = layout,.holder = holder,.token = token,.next = next,.now = now,
		.until = now + scope->duration,.want = 1
	};
}

/* What the answer grants */
static SnoGrants
grants_of(Registry *r, const Request *q, Status status)
{
	const Space *s = find_space(r, q->layout);
	SnoGrants	blocks = {0};

	for (int i = 0; status <= FULL && i < s->blocks; i++)
		if (s->block[i].holder == q->holder)
		{
			int64_t		number = (s->first + i) % s->blocks;

			blocks.grant[blocks.count++] = (SnoGrant) {
				(uint64_t) s->block[i].floor, (uint64_t) s->block[i].ceiling, number, number
			};
		}
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
add_to_copied(int n, const Granted *g)
{
	Granted    *copied = &w.rest.copied_grants[n];

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
take(Place *p, int n, Status status, const SnoGrants *blocks)
{
	SnoAsker	a = large_asker(&p->worker[n]);
	bool		shared = is_twin(p) && w.rest.copied_next[n] == p->worker[n].next;

	if (!sno_grants_are_valid(blocks, BLOCKS - 1))
		wrong("an answer isn't valid");
	if (status == SUPERSEDED && w.rest.copied == 0 && !scope->formers && !scope->late)
		broken(REFUSED);
	sno_asker_take(&a, (SnoAnswer) status, blocks);
	p->worker[n] = small_asker(&a);
	if (shared && status <= FULL)
		add_to_copied(n, &p->worker[n].granted);
}

/* An asker of a place asks, at units of both clocks. */
static bool
ask(Place *p, int n, bool former, bool in_vain, unsigned asker_now, unsigned now)
{
	Registry	before = w.registry;
	Registry   *r = former ? &w.former : &w.registry;
	Asker	   *a = &p->worker[n];
	Request		q = request_of(layout_of((int) (p - w.place), n), a->holder, a->token, a->next,
							   asker_now);
	Status		status;
	SnoGrants	blocks;

	if (!may_ask(p, n) || (former && w.rest.former == 0))
		return false;
	for (int i = 0; i < a->granted.count; i++)
		q.has |= 1u << a->granted.range[i].block;
	status = answer(r, &q, now, former ? w.rest.former : w.rest.timeline);
	blocks = grants_of(r, &q, status);
	if (scope->snapshots > 0)
		w.rest.eras = MAX(w.rest.eras, r->era);
	if (in_vain && mutate(SILENCE_RENEWS))
	{
		Granted    *g = &p->memory[n];

		for (int i = 0; i < g->count; i++)
			g->range[i].ceiling = (uint8_t) MAX(g->range[i].ceiling, q.until);
		p->file[n].granted = a->granted = *g;
	}
	/* The registry crashes. */
	if (in_vain && (mutate(SILENCE_RENEWS) || mutate(BEFORE_COMMIT)))
		w.registry = before;
	if (!in_vain || mutate(BEFORE_COMMIT))
		take(p, n, status, &blocks);
	return true;
}

static bool
arrive(bool former, unsigned asker_now, unsigned now)
{
	Request		q = request_of(w.rest.layout, w.rest.holder, w.rest.token, w.rest.next, asker_now);

	if (w.rest.next == 0 || (former && w.rest.former == 0))
		return false;
	answer(former ? &w.former : &w.registry, &q, now,
		   former ? w.rest.former : w.rest.timeline);
	return true;
}

static bool
post(const Place *p, int n)
{
	if (!scope->late || !may_ask(p, n))
		return false;
	w.rest.layout = (uint8_t) layout_of((int) (p - w.place), n);
	w.rest.holder = p->worker[n].holder;
	w.rest.token = p->worker[n].token;
	w.rest.next = p->worker[n].next;
	return true;
}

static bool
crash(Place *p)
{
	for (int n = 0; n < askers(); n++)
		if (is_published(p) && !same_grants(&p->memory[n], &p->file[n].granted))
			broken(FORGOT);
	memcpy(p->worker, p->file, sizeof(p->file));
	for (int n = 0; n < askers(); n++)
		p->memory[n] = p->file[n].granted;
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
	for (int n = 0; n < askers(); n++)
	{
		w.rest.copied_next[n] = p->worker[n].next != 0 ? p->worker[n].next : p->file[n].next;
		add_to_copied(n, &p->memory[n]);
		add_to_copied(n, &p->worker[n].granted);
	}
	return true;
}

/* A file that is in another place is no asker's. */
static bool
copy_file(int from, int to)
{
	if (!mutate(FILE_TRUSTED) || !is_new(&w.place[to]))
		return false;
	memcpy(w.place[to].file, w.place[from].file, sizeof(w.place[to].file));
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
	if (w.backup.parts == 0 || !promote(&w.backup, true))
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

	if (w.backup.parts == 0 || w.rest.snapshots >= scope->snapshots)
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

/* The second time, its blocks are other ones. */
static bool
add(unsigned now)
{
	if (!scope->adds || find_space(&w.registry, PARTITIONS) != NULL)
		return false;
	add_space(&w.registry, PARTITIONS, (int) scope->blocks, now, w.rest.timeline)->first = w.rest.added;
	w.rest.added = 1;
	return true;
}

static bool
apply(Step step)
{
	Event		event = (Event) step.event;
	int			place = place_of(step),
				n = step.who % askers();
	Place	   *p = &w.place[place];
	unsigned	now = w.rest.time > step.b ? w.rest.time - step.b : 0;

	switch (event)
	{
		case PREPARE:
			return prepare(p, n);
		case WRITE:
			return write_file(p);
		case WRITE_IN_VAIN:
			return write_in_vain(p);
		case PUBLISH:
			return publish(p);
		case ASK:
		case ASK_FORMER:
			return ask(p, n, event == ASK_FORMER, false, step.a, now);
		case ASK_IN_VAIN:
		case ASK_FORMER_IN_VAIN:
			return ask(p, n, event == ASK_FORMER_IN_VAIN, true, step.a, now);
		case ARRIVE:
		case ARRIVE_FORMER:
			return arrive(event == ARRIVE_FORMER, step.a, now);
		case POST:
			return post(p, n);
		case CRASH:
			return crash(p);
		case COPY:
			return copy(place, step.a);
		case COPY_FILE:
			return copy_file(place, step.a);
		case WAIT:
			return w.rest.time++ < scope->units;
		case BACK_UP:
			if (w.backup.parts != 0 || !may_restore())
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
		case ADD:
			return add(now);
		default:
			return false;
	}
}

/* Worlds as keys. */

/* A registry has no more spaces than it begins with. */
static void
transfer_registry(Registry *r)
{
	transfer_part(r, offsetof(Registry, space) + spaces * sizeof(Space));
}

static void
transfer(void)
{
	if (key_wanted)
		renumber();
	else
		memset(&w, 0, sizeof(w));
	transfer_part(&w.rest, sizeof(w.rest));
	transfer_registry(&w.registry);
	if (scope->losses + scope->snapshots > 0)
		transfer_registry(&w.backup);
	if (scope->formers)
		transfer_registry(&w.former);
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

		for (int n = 0; n < askers(); n++)
			if (p->memory[n].holder != 0 && p->memory[n].holder == p->gave_up[n])
				broken(REVOKED);
		if (rest->place == 0 || i == rest->place - 1 ||
			!covers(&p->memory[rest->asker], rest->block, rest->unit))
			continue;
		if (!is_twin(p) || !is_twin(&w.place[rest->place - 1]) ||
			!covers(&rest->copied_grants[rest->asker], rest->block, rest->unit))
			broken(TWICE);
	}
}

static void
visit_checked(Step step)
{
	check();
	visit(&model, step);
}

/* Each memory that there may be of what came into force of an asker */
static void
visit_memories(const World *after, Step step, int n, const Granted *had)
{
	int			place = place_of(step);
	const Granted *has = &after->place[place].memory[n];

	for (int block = 0; block < (int) scope->blocks; block++)
		for (int unit = 1; unit <= (int) (scope->units + scope->duration); unit++)
			if (covers(has, block, unit) && !covers(had, block, unit) && violation == NULL)
			{
				issue_count++;
				w = *after;
				w.rest.place = (uint8_t) (place + 1);
				w.rest.asker = (uint8_t) n;
				w.rest.block = (uint8_t) block;
				w.rest.unit = (uint8_t) unit;
				visit_checked(step);
			}
}

/* The world goes on without a memory, and with each one that there may be. */
static void
visit_all(const World *before, Step step)
{
	World		after = w;

	visit_checked(step);
	for (int n = 0; n < askers() && after.rest.place == 0; n++)
		visit_memories(&after, step, n, &before->place[place_of(step)].memory[n]);
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
	if (is_of_asker(event))
		*who *= (unsigned) askers();
	*a = asks(event) ? w.rest.time + 1U : event == COPY || event == COPY_FILE ? scope->places : 1;
	*b = asks(event) || event == VOUCH || event == ADD || event == RESTORE_SNAPSHOT ? scope->late_clock + 1U : 1;
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

		bool		ready = is_written(p) && is_published(p);

		for (int n = 0; n < askers(); n++)
			ready = ready && p->worker[n].next != 0;
		if (!is_new(p) && !ready)
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
			w = before;
			step.event = (uint8_t) event;
			step.who = (uint8_t) (n / count_b / count_a);
			step.a = (uint8_t) (n / count_b % count_a);
			step.b = (uint8_t) (n % count_b);
			if (busy >= 0 && place_of(step) != busy)
				continue;
			if (apply(step))
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
		printf("place %d ", place_of(step));
	printf("%s", events[step.event]);
	if (scope->layouts && is_of_asker((Event) step.event))
		printf(step.who % askers() == 0 ? ", for partitions" : ", for nodes");
	if (step.event == COPY || step.event == COPY_FILE)
		printf(" to place %u", step.a);
	else if (a > 1)
		printf(", at unit %u of its clock", step.a);
	if (b > 1)
		printf(", unit %d of the registry's", w.rest.time - step.b);
	for (int n = 0; n < askers() && step.event == PUBLISH; n++)
		describe_grants(n == 0 ? "what it has," : "and of nodes,", &w.place[step.who].worker[n].granted);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(ScopeNumber number, Mutant with)
{
	scope = &scopes[number];
	mutant = with;
	issue_count = 0;
	memset(&w, 0, sizeof(w));
	w.registry.parts = (int32_t) scope->parts;
	w.registry.longest = LONGEST;
	w.registry.share = WANTED;
	w.registry.timeline = w.rest.timeline = w.rest.timelines = 1;
	w.rest.time = 1;
	if (!scope->adds)
		add_space(&w.registry, PARTITIONS, (int) scope->blocks, 0, w.rest.timeline);
	for (int place = 0; place < (int) scope->places && !scope->adds; place++)
		for (int n = 0; n < askers(); n++)
			if (find_space(&w.registry, layout_of(place, n)) == NULL)
				add_space(&w.registry, layout_of(place, n), (int) scope->blocks, 0, w.rest.timeline);
	spaces = scope->adds ? 1 : w.registry.spaces;
	return explore(&model);
}

/* Traces */

#define TRACED			40		/* askers */
#define TRACE_LONGEST	150000	/* ten minutes */

/* What askers ask for.  Two names are of the same layout, and the last one is unknown. */
typedef enum Name
{
	SNO, SNOWFLAKE, TWITTER, SONYFLAKE, UNKNOWN, NAMES_COUNT
} Name;

static const char *const definitions[NAMES_COUNT] = {
	"", "1288834974657/1/41/10/12", "1288834974657/1/41/10/12", "1409529600000/10/39/16/8/last",
	"0/1/41/10/12"
};

/* How it is cut. */
typedef struct Cut
{
	int			first,
				last,
				size;
} Cut;

static Registry traced;
static Cut	cuts[NAMES_COUNT];
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

static int64_t
layout_by_name(Name name)
{
	return name == TWITTER && !mutate(NAMED_LAYOUTS) ? SNOWFLAKE : name;
}

/* The last block is shorter, if it can be. */
static void
cut_space(Name name, int first, int blocks, int size)
{
	cuts[name] = (Cut) {first, first + blocks * size - (size > 1 ? 2 : 1), size};
}

static void
trace_registry(int blocks, int size, bool lossless, int share)
{
	const Cut  *cut = &cuts[SNO];

	traced = (Registry) {
		.parts = lossless ? 1 : PARTS,.lossless = lossless,.timeline = 1,.share = share,
		.longest = TRACE_LONGEST
	};
	cut_space(SNO, 1000, blocks, size);
	add_space(&traced, PARTITIONS, blocks, 0, 1);
	printf("create(%d, %d, %d, %s, %d)\tcreated\n", cut->first, cut->last, size,
		   lossless ? "true" : "false", share);
}

static void
trace_add(Name name, int blocks, int size, int64_t now, int timeline)
{
	const Cut  *cut = &cuts[name];

	cut_space(name, 7, blocks, size);
	printf("add('%s', %d, %d, %d, %lld, %d)\tadded\n", definitions[name], cut->first, cut->last, size,
		   (long long) now, timeline);
	add_space(&traced, layout_by_name(name), blocks, now, timeline);
}

/* By a mutant, another name is another layout. */
static void
trace_layouts(int64_t now, int timeline)
{
	trace_add(SNOWFLAKE, 12, 5, now, timeline);
	cuts[TWITTER] = cuts[SNOWFLAKE];
	if (mutate(NAMED_LAYOUTS))
		add_space(&traced, TWITTER, 12, now, timeline);
}

static bool
trace_answer(const Request *q, Name name, int64_t now, int timeline, Status *status)
{
	static const char *const names[] = {"granted", "full", "forgotten", "superseded", "range"};
	bool		valid = q->holder != 0 && q->next != 0 && q->next != q->token && q->now >= 0 &&
		q->until >= q->now && q->until <= (int64_t) SNO_UNIT_MAX && q->want >= 0 &&
		q->want <= WANTED;
	const Space *s = find_space(&traced, q->layout);
	const Cut  *cut = &cuts[name];

	printf("answer(%lld, %lld, %lld, %lld, %lld, %d, '%s', %lld, %d)\t",
		   (long long) q->holder, (long long) q->token, (long long) q->next,
		   (long long) q->now, (long long) q->until, q->want, definitions[name], (long long) now, timeline);
	if (!valid)
	{
		printf("error 22023\n");
		return false;
	}
	*status = answer(&traced, q, now, timeline);
	printf("%s", names[*status]);
	if (s != NULL)
		printf(" %d %d", cut->first, cut->last);
	printf(" %lld", (long long) now);
	for (int i = 0; *status <= FULL && i < s->blocks; i++)
		if (s->block[i].holder == q->holder)
			printf(" %d-%d:%lld-%lld", cut->first + i * cut->size,
				   MIN(cut->first + (i + 1) * cut->size - 1, cut->last),
				   (long long) s->block[i].floor, (long long) s->block[i].ceiling);
	printf("\n");
	return true;
}

/* What an asker asks for, mostly as it should */
static Request
random_request(const SnoAsker *a, Name name, int64_t now)
{
	Request		q = {
		.layout = layout_by_name(name),
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

/* A request that may arrive late */
typedef struct Late
{
	Request		request;
	Name		name;
} Late;

static void
trace_step(SnoAsker *all, Late *late, int64_t now, int *timeline)
{
	unsigned	i = random_number() % TRACED;
	Name		name = (Name) (i % NAMES_COUNT);
	SnoAsker   *a = &all[i];
	const Space *s = find_space(&traced, layout_by_name(name));
	Request		q;
	Status		status;
	SnoGrants	blocks;

	/* A copy, mostly of one that asks for the same */
	if (one_of(20))
		*a = all[one_of(4) ? random_number() % TRACED :
				 (i + random_number() % TRACED * NAMES_COUNT) % TRACED];
	if (one_of(30) && (s == NULL || s->holders < HOLDERS - 2))
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
	q = random_request(a, name, now);
	if (one_of(10))
		*late = (Late) {q, name};
	if (one_of(20) && late->request.holder != 0)
		trace_answer(&late->request, late->name, now, *timeline, &status);
	/* The answer may get lost. */
	if (!trace_answer(&q, name, now, *timeline, &status) || one_of(5))
		return;
	blocks = grants_of(&traced, &q, status);
	if (blocks.count <= SNO_GRANTS && q.holder == (int64_t) a->holder &&
		q.next == (int64_t) a->next)
		sno_asker_take(a, (SnoAnswer) status, &blocks);
}

static void
trace(uint64_t seed, int steps)
{
	static SnoAsker all[TRACED];
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
		Late		late = {0};
		int64_t		now = INT64_C(125000000000);
		int			timeline = 1;

		memset(all, 0, sizeof(all));
		trace_registry(registries[i].blocks, registries[i].size, registries[i].lossless,
					   registries[i].share);
		trace_layouts(now, timeline);
		for (int n = 0; n < steps; n++)
		{
			if (n == steps / 4)
				trace_add(SONYFLAKE, 4, 1, now, timeline);
			now += (int64_t) (random_number() % (TRACE_LONGEST / 8));
			if (one_of(100))
				now += (int64_t) (random_number() % (8 * TRACE_LONGEST)) - 2 * TRACE_LONGEST;
			trace_step(all, &late, now, &timeline);
		}
	}
}

static void
explore_all(bool slow)
{
	for (size_t i = 0; i < lengthof(scopes); i++)
		if (!scopes[i].large && scopes[i].slow == slow)
		{
			bool		ok = explore_scope((ScopeNumber) i, NONE);

			report_scope(&model, ok, scope->name, issue_count, "ids issued");
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
 * Explores the scopes, or with the argument "large" the slow ones, or with "mutants" the mutants.  With "traces", a
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
	if (argc == 1 || strcmp(argv[1], "large") == 0)
		explore_all(argc > 1);
	else
		catch_mutants();
	printf("1..%d\n", tests);
	return failures != 0;
}

/*
 * generators.c
 *		sno_generators(): shows the state of each generator.
 *
 * Each row of the result shows an open partition or a named generator.  The state is copied
 * while sessions go on issuing (shared/activity.c).  So the columns of a row may show the states
 * at different moments, which may be a unit apart.  The spaces are locked only while states are
 * copied from them (sno_spaces_hold()), and not while catalogs are read.
 *
 * Only members of pg_monitor see generators of other databases.  Named generators of this
 * database are listed even if no session uses them.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/definition.h"
#include "catalog/layout.h"
#include "flake/nodes.h"
#include "named/state.h"
#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/partition.h"
#include "type/fields.h"

/* The columns of the result, counted from 0 */
enum
{
	DATABASE, NAME, PARTITION, SEQUENCE_MIN, SEQUENCE_MAX, SEQUENCE,
	UNIT_ISSUED, UNIT_SPARE, WALL_HI, WALL_SAFE, DRIFTS, LEASE_UNTIL,
	ISSUED, EXHAUSTED, WAITS, LONGEST_WAIT,
	LAYOUT, NODE_FIRST, NODE_LAST,
	COLUMNS
};

typedef struct Row
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
} Row;

static void
set_column(Row *row, int column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_time(Row *row, int column, uint64 unit)
{
	set_column(row, column, TimestampTzGetDatum(sno_unit_to_timestamptz(Min(unit, SNO_UNIT_MAX))));
}

/*
 * Set the columns that show the state of a generator.  If the next id will be in another unit
 * than the last id, `sequence` shows the lowest sequence of the new unit, as in the Go package.
 */
static void
set_generator(Row *row, const SnoGenerator *g, SnoFlakeTime now)
{
	uint64		word = sno_generator_word(g);
	int			next = Max(g->sequence_min, now.least);

	/* Additions may raise the word's sequence above the bounds (S1). */
	if (SNO_WORD_UNIT(word) == now.unit)
		next = Min(Max(next, (int) SNO_WORD_SEQUENCE(word)), (int) g->sequence_max + 1);
	set_column(row, SEQUENCE_MIN, Int32GetDatum(g->sequence_min));
	set_column(row, SEQUENCE_MAX, Int32GetDatum(g->sequence_max));
	set_column(row, SEQUENCE, Int32GetDatum(next));
	set_column(row, UNIT_ISSUED, Int32GetDatum(next - g->sequence_min));
	set_column(row, UNIT_SPARE, Int32GetDatum(g->sequence_max + 1 - next));
	set_column(row, DRIFTS, Int64GetDatum(g->drifts));
}

/* Set the columns that show times of a generator.  A counter has no times. */
static void
set_times(Row *row, const SnoGenerator *g)
{
	set_time(row, WALL_HI, SNO_WORD_UNIT(sno_generator_word(g)));
	set_time(row, WALL_SAFE, g->wall_safe);
	set_time(row, LEASE_UNTIL, g->ceiling);
}

/*
 * Set the columns that show where a generator issues: in a partition, or in nodes of a layout.
 * `layout` is the layout's name in this database, or NULL if it has none.
 */
static void
set_place(Row *row, const SnoSubject *subject, const char *layout)
{
	uint64		nodes = sno_bits_max(subject->layout.node_bits);

	if (sno_subject_has_partition(subject))
		set_column(row, PARTITION, Int32GetDatum(subject->partition));
	if (layout != NULL)
		set_column(row, LAYOUT, CStringGetTextDatum(layout));
	if (sno_subject_has_partition(subject) || subject->layout.time_bits == 0 || sno_subject_floats(subject))
		return;
	/* In the shard of a counter, the bits above the node are a hash of the counter's name. */
	set_column(row, NODE_FIRST, Int64GetDatum(subject->shard.min & nodes));
	set_column(row, NODE_LAST, Int64GetDatum(subject->shard.max & nodes));
}

static void
set_counts(Row *row, const SnoCounts *c)
{
	Interval   *longest = palloc0(sizeof(Interval));

	longest->time = c->longest_wait;
	set_column(row, ISSUED, Int64GetDatum(c->issued));
	set_column(row, EXHAUSTED, Int64GetDatum(c->exhausted));
	set_column(row, WAITS, Int64GetDatum(c->waits));
	set_column(row, LONGEST_WAIT, IntervalPGetDatum(longest));
}

/* May the caller see the generators of all databases? */
static bool
may_see_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/* Return the current unit, or the nearest unit if no unit contains the clock's time. */
static uint64
current_unit(void)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(GetCurrentTimestamp(), &unit);
	return unit;
}

static void
put_row(ReturnSetInfo *result, Row *row, Oid database)
{
	char	   *name = get_database_name(database);

	/* A state that couldn't be closed may belong to a database that was dropped. */
	if (name == NULL)
		return;
	set_column(row, DATABASE, DirectFunctionCall1(namein, CStringGetDatum(name)));
	tuplestore_putvalues(result->setResult, result->setDesc, row->values, row->nulls);
}

/*
 * Return the time at which a generator would issue its next id.  If the clock is outside of the
 * layout's range, return the nearest time in the range.
 */
static SnoFlakeTime
time_now(const SnoNodes *nodes, uint64 word, uint64 now)
{
	int64		msec = sno_clock_msec();

	if (nodes->size == 0)
		return (SnoFlakeTime) {.unit = now};
	if (nodes->layout.unit == 0)
		return sno_flake_count(word);
	return sno_flake_at(nodes, Min(Max(msec, nodes->begin), nodes->end));
}

/* A copy of a generator that is in use */
typedef struct Used
{
	Oid			database;
	SnoSubject	subject;		/* of kind SNO_OF_SESSION for an open partition */
	bool		floats;			/* were its nodes chosen? */
	SnoNodes	nodes;
	SnoGenerator generator;
	SnoCounts	counts;
	char		name[NAMEDATALEN];
} Used;

/* Return the next sequence of a partition's state word, for the statistics in SnoCounters. */
static uint32
counted_sequence(const SnoGenerator *g)
{
	return Min(SNO_WORD_SEQUENCE(sno_generator_word(g)), SNO_SEQUENCE_MAX + 1);
}

/*
 * If entry `place` of the space's list of open partitions has a partition for ids by the clock,
 * add a copy of the partition to `copies`.
 */
static List *
copy_open(List *copies, SnoSpace *space, int place)
{
	uint32		number = pg_atomic_read_u32(&space->partitions.open[place]);
	const SnoPartition *p = number == 0 ? NULL : sno_partition_in(space, (int) number - 1);
	Used	   *u;

	if (p == NULL || p->purpose != SNO_FOR_CLOCK || !sno_partition_is_open(p))
		return copies;
	u = palloc0(sizeof(Used));
	u->database = space->database;
	u->subject = (SnoSubject) {.kind = SNO_OF_SESSION,.partition = (int) number - 1};
	u->generator = p->generator;
	u->counts = sno_counters_read(&space->partitions.counters[place], counted_sequence(&u->generator));
	return lappend(copies, u);
}

static List *
copy_state(List *copies, const SnoNamedState *s)
{
	Used	   *u = palloc0(sizeof(Used));

	u->database = s->database;
	u->subject = s->subject;
	u->floats = s->floats;
	u->nodes = s->nodes;
	u->generator = sno_state_copy(s);
	u->counts = sno_state_counts(s);
	strlcpy(u->name, s->name, NAMEDATALEN);
	return lappend(copies, u);
}

/* Return copies of the generators in use, of all databases or only of this one. */
static List *
copy_used(bool all)
{
	List	   *copies = NIL;
	SnoSpace   *space = NULL;

	sno_spaces_hold();
	while ((space = sno_space_next(space)) != NULL)
	{
		const SnoNamedState *s = NULL;

		if (!all && space->database != MyDatabaseId)
			continue;
		for (int i = 0; i < SNO_PLACES; i++)
			copies = copy_open(copies, space, i);
		while ((s = sno_state_next_open(space, s)) != NULL)
			copies = copy_state(copies, s);
	}
	sno_spaces_release();
	return copies;
}

static void
put_one_used(ReturnSetInfo *result, const Used *u, uint64 now)
{
	const SnoGenerator *g = &u->generator;
	bool		here = u->database == MyDatabaseId;
	Row			row;

	memset(row.nulls, true, sizeof(row.nulls));
	if (here && sno_subject_is_named(&u->subject))
		set_column(&row, NAME, CStringGetTextDatum(u->name));
	set_place(&row, &u->subject, here && u->nodes.size != 0 ? sno_layout_look_name(&u->subject.layout) : NULL);
	set_generator(&row, g, time_now(&u->nodes, sno_generator_word(g), now));
	if (u->nodes.size == 0 || u->nodes.layout.unit != 0)
		set_times(&row, g);
	set_counts(&row, &u->counts);
	put_row(result, &row, u->database);
}

/* The key of a generator in use: its subject or, if its nodes were chosen, its name */
typedef struct Key
{
	SnoSubject	subject;
	char		name[NAMEDATALEN];
} Key;

static Key
key_of(const SnoSubject *subject, bool floats, const char *name)
{
	Key			key;

	memset(&key, 0, sizeof(Key));
	if (floats)
		strlcpy(key.name, name, NAMEDATALEN);
	else
		key.subject = *subject;
	return key;
}

/* The arguments of put_unused() */
typedef struct Listing
{
	ReturnSetInfo *result;
	HTAB	   *listed;			/* keys of this database's generators in use */
} Listing;

/* Show the generators in use, and add the keys of this database's generators to `listed`. */
static void
put_used(Listing *listing, bool all, uint64 now)
{
	ListCell   *cell;

	foreach(cell, copy_used(all))
	{
		const Used *u = lfirst(cell);

		if (u->database == MyDatabaseId)
		{
			Key			key = key_of(&u->subject, u->floats, u->name);

			(void) hash_search(listing->listed, &key, HASH_ENTER, NULL);
		}
		put_one_used(listing->result, u, now);
	}
}

/* Show a named generator of this database, unless it is in use and thus was shown before. */
static void
put_unused(const char *name, const SnoDefinition *d, void *arg)
{
	Listing    *listing = arg;
	Key			key = key_of(&d->subject, sno_subject_floats(&d->subject), name);
	Row			row;

	/* A generator whose layout isn't known is left out, because it may be in use and thus shown already. */
	if ((sno_is_flake(d) && d->nodes.size == 0) ||
		hash_search(listing->listed, &key, HASH_FIND, NULL) != NULL)
		return;
	memset(row.nulls, true, sizeof(row.nulls));
	set_column(&row, NAME, CStringGetTextDatum(name));
	set_place(&row, &d->subject, sno_is_flake(d) ? d->layout : NULL);
	if (!sno_is_flake(d))
	{
		set_column(&row, SEQUENCE_MIN, Int32GetDatum(d->subject.shard.min));
		set_column(&row, SEQUENCE_MAX, Int32GetDatum(d->subject.shard.max));
	}
	put_row(listing->result, &row, MyDatabaseId);
}

PG_FUNCTION_INFO_V1(sno_generators);
Datum
sno_generators(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	HASHCTL		ctl = {.keysize = sizeof(Key),
		.entrysize = sizeof(Key),.hcxt = CurrentMemoryContext
	};
	Listing		listing = {.result = result};

	InitMaterializedSRF(fcinfo, 0);
	listing.listed = hash_create("sno generators in use", 64, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	sno_shmem_attach();
	put_used(&listing, may_see_all(), current_unit());
	sno_definition_visit(&sno_definitions, NULL, put_unused, &listing);
	sno_definition_visit(&sno_flake_definitions, NULL, put_unused, &listing);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(sno_reset_statistics);
Datum
sno_reset_statistics(PG_FUNCTION_ARGS)
{
	SnoSpace   *space = NULL;

	sno_shmem_attach();
	sno_spaces_hold();
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	while ((space = sno_space_next(space)) != NULL)
		for (int i = 0; i < SNO_PLACES; i++)
		{
			uint32		number = pg_atomic_read_u32(&space->partitions.open[i]);

			if (number != 0)
				sno_counters_reset(&space->partitions.counters[i],
								   counted_sequence(&sno_partition_in(space, (int) number - 1)->generator));
		}
	sno_state_reset_counters();
	sno_journal->clock_steps = 0;
	sno_journal->failures = 0;
	for (int i = 0; i < (int) lengthof(sno_journal->workers); i++)
		sno_journal->workers[i].refusals = 0;
	LWLockRelease(&sno_journal->lock);
	sno_spaces_release();
	PG_RETURN_VOID();
}

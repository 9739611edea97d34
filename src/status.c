/*
 * status.c
 *		The view sno_generators: what each generator is doing.
 *
 * Slots and generators are read without a lock, while their owners change them
 * (activity.c), so the columns of a row may be of different moments, a unit
 * apart.  A session whose partition changed hands meanwhile shows none.
 */
#include "postgres.h"

#include "activity.h"
#include "commands/dbcommands.h"
#include "fields.h"
#include "funcapi.h"
#include "partition.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/* The columns of the view. */
enum
{
	PID, DATABASE, NAME, PARTITION, SEQUENCE_MIN, SEQUENCE_MAX, SEQUENCE,
	UNIT_ISSUED, UNIT_SPARE, WALL_HI, WALL_SAFE, DRIFTS, LEASE_UNTIL,
	ISSUED, EXHAUSTED, WAITS, LONGEST_WAIT,
	COLUMNS
};

typedef struct Row
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
} Row;

static void
set(Row *row, int column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_time(Row *row, int column, uint64 unit)
{
	set(row, column, TimestampTzGetDatum(sno_unit_to_timestamptz(Min(unit, SNO_UNIT_MAX))));
}

/*
 * The state of a generator as of `now`.  The next sequence is the lower bound
 * where the next id would reset it, as in the reference.
 */
static void
set_generator(Row *row, int partition, const SnoGenerator *g, uint64 now)
{
	uint64		word = sno_generator_word(g);
	int			next = g->sequence_min;

	if (SNO_WORD_UNIT(word) == now)
		next = (int) SNO_WORD_SEQUENCE(word);
	set(row, PARTITION, Int32GetDatum(partition));
	set(row, SEQUENCE_MIN, Int32GetDatum(g->sequence_min));
	set(row, SEQUENCE_MAX, Int32GetDatum(g->sequence_max));
	set(row, SEQUENCE, Int32GetDatum(next));
	set(row, UNIT_ISSUED, Int32GetDatum(next - g->sequence_min));
	set(row, UNIT_SPARE, Int32GetDatum(g->sequence_max + 1 - next));
	set_time(row, WALL_HI, SNO_WORD_UNIT(word));
	set_time(row, WALL_SAFE, g->wall_safe);
	set(row, DRIFTS, Int64GetDatum(g->drifts));
	set_time(row, LEASE_UNTIL, g->ceiling);
}

static void
set_counters(Row *row, const SnoCounters *c)
{
	Interval   *longest = palloc0(sizeof(Interval));

	longest->time = c->longest_wait;
	set(row, ISSUED, Int64GetDatum(c->base));
	set(row, EXHAUSTED, Int64GetDatum(c->exhausted));
	set(row, WAITS, Int64GetDatum(c->waits));
	set(row, LONGEST_WAIT, IntervalPGetDatum(longest));
}

/* The partition that a session owns, NULL if it has none or is in between. */
static const SnoPartition *
partition_of(const SnoActivity *a)
{
	int			number = a->partition;
	const SnoPartition *p = number < 0 ? NULL : sno_partition_at(number);

	return p != NULL && p->owner == a->pid ? p : NULL;
}

/* The next sequence of a session, as its counters need it. */
static uint32
sequence_of(const SnoActivity *a)
{
	const SnoPartition *p = partition_of(a);

	return p == NULL ? 0 : SNO_WORD_SEQUENCE(sno_generator_word(&p->generator));
}

/* The current unit, or the nearest one if the clock is out of the epoch. */
static uint64
current_unit(void)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(GetCurrentTimestamp(), &unit);
	return unit;
}

PG_FUNCTION_INFO_V1(sno_generators);
Datum
sno_generators(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		now = current_unit();
	SnoActivity *slots;
	int			count;

	InitMaterializedSRF(fcinfo, 0);
	sno_partition_attach();
	slots = sno_activity_slots(&count);
	for (int i = 0; i < count; i++)
	{
		const SnoActivity *a = &slots[i];
		const SnoPartition *p;
		SnoCounters counters;
		char	   *database;
		Row			row;

		if (a->pid == 0)
			continue;
		memset(row.nulls, true, sizeof(row.nulls));
		set(&row, PID, Int32GetDatum(a->pid));
		database = get_database_name(a->database);
		if (database != NULL)
			set(&row, DATABASE, DirectFunctionCall1(namein, CStringGetDatum(database)));
		p = partition_of(a);
		if (p != NULL)
			set_generator(&row, a->partition, &p->generator, now);
		counters = sno_counters_read(&a->own, sequence_of(a), &a->reset);
		set_counters(&row, &counters);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(sno_generators_reset);
Datum
sno_generators_reset(PG_FUNCTION_ARGS)
{
	SnoActivity *slots;
	int			count;

	sno_partition_attach();
	slots = sno_activity_slots(&count);
	LWLockAcquire(&sno_journal->lock, LW_EXCLUSIVE);
	for (int i = 0; i < count; i++)
	{
		slots[i].reset = sno_counters_read(&slots[i].own, sequence_of(&slots[i]), NULL);
		__atomic_store_n(&slots[i].own.longest_wait, 0, __ATOMIC_RELAXED);
	}
	sno_journal->clock_steps = 0;
	sno_journal->failures = 0;
	sno_journal->refusals = 0;
	LWLockRelease(&sno_journal->lock);
	PG_RETURN_VOID();
}

/*
 * trials.c
 *		The items of sno_check() that report whether ids and watermarks can be generated now.
 *
 * Each of these items is a trial.  A trial runs a part of the code that issues ids.  This code
 * reports why a call would fail now (a SnoObstacle; see generate/wait.h), and the trial raises
 * the error that the call would raise.  So the item has the message that callers get.  A trial
 * issues no ids, takes no lease, sends no request to the registry, and doesn't wait.
 */
#include "postgres.h"

#include "commands/extension.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "flake/nodes.h"
#include "generate/leasing.h"
#include "generate/refuse.h"
#include "monitor/check.h"
#include "named/look.h"
#include "shared/attempt.h"
#include "shared/clock.h"
#include "shared/feed.h"

/* Raise an error if the table of leases couldn't be read. */
static void
require_leases(const SnoCheck *c)
{
	SnoWait		wait = {.refuse = sno_refuse_partition,.obstacle = SNO_TABLE_LOCKED};

	if (c->error != NULL)
		ReThrowError(c->error);
	if (c->locked)
		sno_wait_give_up(&wait);
}

/* Raise the error that sno_generate() would raise now in a new session, if it would fail. */
static void
try_id(void *arg)
{
	const SnoCheck *c = arg;
	SnoWait		wait = {.refuse = sno_refuse_partition};
	uint64		now;

	sno_partition_check_setting();
	sno_grant_check_setting_again();
	now = sno_clock_unit();
	require_leases(c);
	wait.obstacle = sno_leasing_obstacle(SNO_FOR_CLOCK, now, &c->survey);
	if (wait.obstacle != SNO_NO_OBSTACLE)
		sno_wait_give_up(&wait);
}

void
sno_trials_ids(SnoCheck *c)
{
	if (c->standby)
		sno_check_report(c, "ids", true, "This server is a standby, and generates no ids.", NULL);
	else
		sno_check_report_trial(c, "ids", "An id can be had.", "No id can be had", sno_attempt(try_id, c));
}

/* Raise the error that sno_watermark() would raise now, if it would fail. */
static void
try_watermark(void *arg)
{
	const SnoCheck *c = arg;

	(void) sno_clock_unit();
	require_leases(c);
	sno_feed_check(c->promised);
}

void
sno_trials_watermarks(SnoCheck *c)
{
	if (c->standby)
		sno_check_report(c, "watermarks", true, "This server is a standby, and knows no watermarks.", NULL);
	else
		sno_check_report_trial(c, "watermarks", "A watermark can be had.", "No watermark can be had",
					 sno_attempt(try_watermark, c));
}

/* The arguments of try_generator(): a named generator, and the table of its definition */
typedef struct Trial
{
	SnoDefinitions *in;
	const char *name;
} Trial;

/*
 * Raise the error that the generator would raise now, if it can't issue, for example because its
 * key is missing.
 */
static void
try_generator(void *arg)
{
	const Trial *t = arg;
	SnoDefinition d;

	if (sno_look_try(t->in, t->name, &d) && d.key[0] != '\0')
		(void) sno_nodes_ciphers(d.key)->make(d.key, CurrentMemoryContext, NULL);
}

static void
add_name(const char *name, const SnoDefinition *d, void *arg)
{
	List	  **names = arg;

	*names = lappend(*names, pstrdup(name));
}

/* How many named generators were tried, how many failed, and the error of the first failure */
typedef struct Trials
{
	int			count;
	int			failed;
	ErrorData  *error;
} Trials;

static void
try_table(SnoDefinitions *in, Trials *trials)
{
	/* Also try the empty name, which no generator has.  This fails only if the table can't be read. */
	List	   *names = list_make1("");
	ListCell   *cell;

	sno_definition_visit(in, NULL, add_name, &names);
	trials->count += list_length(names) - 1;
	foreach(cell, names)
	{
		Trial		t = {in, lfirst(cell)};
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "sno trial", ALLOCSET_SMALL_SIZES);
		MemoryContext caller = MemoryContextSwitchTo(context);
		ErrorData  *error = sno_attempt(try_generator, &t);

		MemoryContextSwitchTo(caller);
		CHECK_FOR_INTERRUPTS();
		if (error == NULL)
			MemoryContextDelete(context);
		else if (trials->failed++ == 0)
			trials->error = error;
	}
}

void
sno_trials_generators(const SnoCheck *c)
{
	Trials		trials = {0};

	if (c->standby)
	{
		sno_check_report(c, "generators", true, "This server is a standby, and generates no ids.", NULL);
		return;
	}
	try_table(&sno_definitions, &trials);
	if (OidIsValid(get_extension_oid(sno_flake_definitions.table.extension, true)))
		try_table(&sno_flake_definitions, &trials);
	sno_check_report_trial(c, "generators",
				 trials.count == 0 ? "No named generator is defined." :
				 psprintf("All named generators can issue: %d.", trials.count),
				 psprintf("Named generators that cannot issue: %d of %d. The first error", trials.failed, trials.count),
				 trials.error);
}

/* The arguments of try_partition() */
typedef struct Reservation
{
	const SnoCheck *c;
	SnoPurpose	purpose;
} Reservation;

static void
try_partition(void *arg)
{
	const Reservation *r = arg;
	SnoWait		wait = {.refuse = sno_refuse_partition};

	wait.obstacle = sno_leasing_obstacle(r->purpose, r->c->now, &r->c->survey);
	if (wait.obstacle == SNO_NO_PARTITION || wait.obstacle == SNO_NO_BACKFILL)
		sno_wait_give_up(&wait);
}

/*
 * Report how many partitions are open and free.  If the rows of sno_lease can't be read, partitions
 * of other holders count as free.  A lack of partitions for ids of given times is a fault only if
 * partitions were already used for such ids.
 */
void
sno_trials_partitions(const SnoCheck *c)
{
	SnoPartitionTally t = sno_partition_tally(c->now, &c->survey.bounds);
	Reservation r = {c, SNO_FOR_CLOCK};
	ErrorData  *error = c->standby ? NULL : sno_attempt(try_partition, &r);
	char	   *detail = psprintf("Of partitions %d to %d, %d are open; %d cannot be used until the clock has passed their ids, and %d are free.",
								  sno_partition_range.first, sno_partition_range.last,
								  t.open, t.resting, t.free);

	r.purpose = SNO_FOR_BACKFILL;
	if (error == NULL && !c->standby && t.given_times > 0 &&
		(error = sno_attempt(try_partition, &r)) != NULL)
		detail = psprintf("%s No id of a given time can be had: %s.", detail, error->message);
	sno_check_report(c, "partitions", error == NULL, detail, error == NULL ? NULL : error->hint);
}

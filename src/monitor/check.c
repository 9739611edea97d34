/*
 * check.c
 *		sno_check(): reports problems of generators, with advice.
 *
 * sno_check() returns one row for each item that it checks.  Code that may raise an error runs in a
 * subtransaction, so that sno_check() can report the error instead of failing.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/definition.h"
#include "catalog/layout.h"
#include "catalog/leases.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "flake/nodes.h"
#include "monitor/check.h"
#include "shared/attempt.h"
#include "shared/reserve.h"
#include "shared/worker.h"
#include "type/fields.h"

#define UNITS_PER_YEAR	(UINT64CONST(31556952) * SNO_UNITS_PER_SEC)	/* Gregorian, on average */

/* Add the row of an item to the result.  The hint is left out if the item is ok. */
void
sno_check_report(const SnoCheck *c, const char *item, bool ok, const char *detail, const char *hint)
{
	Datum		values[4] = {
		CStringGetTextDatum(item), BoolGetDatum(ok),
		CStringGetTextDatum(detail),
		ok || hint == NULL ? (Datum) 0 : CStringGetTextDatum(hint)
	};
	bool		nulls[4] = {false, false, false, ok || hint == NULL};

	tuplestore_putvalues(c->result->setResult, c->result->setDesc, values, nulls);
}

/*
 * Add the row of an item for which something was tried.  `error` is the error that was raised,
 * or NULL.  Without an error, the item is ok, and its detail is `good`.  Otherwise its detail is
 * `bad`, with the message and the detail of the error, and its hint is the hint of the error.
 */
void
sno_check_report_trial(const SnoCheck *c, const char *item, const char *good, const char *bad, const ErrorData *error)
{
	sno_check_report(c, item, error == NULL,
		   error == NULL ? good :
		   psprintf("%s: %s%s%s", bad, error->message, error->detail == NULL ? "" : ". ",
					error->detail == NULL ? "" : error->detail),
		   error == NULL ? NULL : error->hint);
}

static char *
time_of(uint64 unit)
{
	return pstrdup(timestamptz_to_str(sno_unit_to_timestamptz(unit)));
}

/* Return the version of an extension in this database, or NULL if it isn't installed. */
static char *
catalog_version(const char *extension)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	char	   *version = NULL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(get_extension_oid(extension, true)));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		null;
		Datum		value = heap_getattr(tuple, Anum_pg_extension_extversion,
										 RelationGetDescr(rel), &null);

		version = TextDatumGetCString(value);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

/* Report whether the extensions in this database have the version of the library. */
static void
check_version(const SnoCheck *c)
{
	static const char *const others[] = {"sno_flakes", "sno_seal"};
	const char *extension = "sno";
	char	   *version = catalog_version(extension);

	for (int i = 0; i < lengthof(others); i++)
	{
		char	   *other = catalog_version(others[i]);

		if (other == NULL || strcmp(other, SNO_VERSION) == 0)
			continue;
		extension = others[i];
		version = other;
	}
	sno_check_report(c, "version", version != NULL && strcmp(version, SNO_VERSION) == 0,
		   psprintf("The library is of version %s, extension \"%s\" in this database of version %s.",
					SNO_VERSION, extension, version != NULL ? version : "none"),
		   psprintf("Run ALTER EXTENSION %s UPDATE in this database. If the extension is the newer one, install its library and restart the server. See doc/operations.md#a-new-version-of-the-library.",
					extension));
}

static void
check_clock(const SnoCheck *c)
{
	const SnoJournal *j = &c->journal;

	sno_check_report(c, "clock", j->clock_steps == 0,
		   j->clock_steps == 0 ?
		   "No step of the system clock was seen." :
		   psprintf("The system clock stepped %lld times, last by %+.3f s to %s.",
					(long long) j->clock_steps,
					(double) j->clock_step_usec / USECS_PER_SEC,
					timestamptz_to_str(j->clock_stepped_at)),
		   "Let the time service slew the clock instead of stepping it. No id is endangered. sno_reset_statistics() forgets the steps. See doc/operations.md#monitoring.");
}

static void
check_epoch(const SnoCheck *c)
{
	int			years = (int) ((SNO_UNIT_MAX - c->now) / UNITS_PER_YEAR);

	if (!c->in_epoch)
		sno_check_report(c, "epoch", false,
			   "The system clock is not between 2010-01-01 00:00:00 and 2079-09-07 15:47:35.548 UTC.",
			   "Set the system clock right. See doc/operations.md#trouble.");
	else
		sno_check_report(c, "epoch", years > 0,
			   psprintf("Ids can be made until 2079-09-07 15:47:35.548 UTC, for %d years.", years),
			   "Move to another type of key. See doc/operations.md#monitoring.");
}

/* The number of generators of layouts, and the generator whose layout runs out of time first */
typedef struct Ends
{
	int			count;
	char	   *unknown;		/* a generator whose layout can't be looked up, or NULL */
	char	   *name;			/* NULL if there are only counters */
	char	   *layout;
	int64		end;			/* ms since 2010 */
} Ends;

static void
note_end(const char *name, const SnoDefinition *d, void *arg)
{
	Ends	   *ends = arg;

	ends->count++;
	if (d->nodes.size == 0)
		ends->unknown = pstrdup(name);
	else if (d->subject.layout.unit != 0 && (ends->name == NULL || d->nodes.end < ends->end))
	{
		ends->name = pstrdup(name);
		ends->layout = pstrdup(d->layout);
		ends->end = d->nodes.end;
	}
}

static void
check_layouts(const SnoCheck *c)
{
	Ends		ends = {0};

	sno_definition_visit(&sno_flake_definitions, NULL, note_end, &ends);
	if (ends.unknown != NULL)
		sno_check_report(c, "layouts", false,
			   psprintf("The layout of generator \"%s\" cannot be looked up.", ends.unknown),
			   "Table \"" SNO_LAYOUT_TABLE "\" is locked or altered, or its row was lost. See doc/operations.md#trouble.");
	else if (ends.name == NULL)
		sno_check_report(c, "layouts", true,
			   ends.count == 0 ? "No generator of a layout is defined." :
			   psprintf("Generators of layouts: %d. They count, so no time of theirs ends.", ends.count), NULL);
	else
		sno_check_report(c, "layouts", ends.end / SNO_UNIT_MSEC >= (int64) (c->now + UNITS_PER_YEAR),
			   psprintf("Generators of layouts: %d. The first one to end is \"%s\", of layout \"%s\", at %s.",
						ends.count, ends.name, ends.layout,
						timestamptz_to_str(SNO_EPOCH_TIMESTAMPTZ + ends.end * 1000)),
			   "Move its table to another layout, or to keys of type sno. See doc/operations.md#monitoring.");
}

/*
 * Describe the last failure to write a lease.  The error is left out if it happened in another
 * database.
 */
static char *
last_failure(const SnoJournal *j)
{
	char	   *database = get_database_name(j->failure_database);

	return psprintf("A lease could not be written, last at %s in database \"%s\"%s%s",
					timestamptz_to_str(j->failed_at),
					database == NULL ? "?" : database,
					j->failure_database == MyDatabaseId ? ": " : ".",
					j->failure_database == MyDatabaseId ? j->failure : "");
}

static void
check_leases(const SnoCheck *c)
{
	const SnoJournal *j = &c->journal;

	if (c->error != NULL)
		sno_check_report(c, "leases", false,
			   psprintf("Leases cannot be written: %s", c->error->message), c->error->hint);
	else if (c->locked)
		sno_check_report(c, "leases", false,
			   "Leases cannot be written: table \"" SNO_LEASES_TABLE "\" is locked.",
			   "Look for a session in pg_locks that holds, or waits for, a lock on it that conflicts with ROW SHARE, and end its transaction. See doc/operations.md#trouble.");
	else if (j->failures == 0)
		sno_check_report(c, "leases", true, c->standby ?
			   "This server is a standby, and generates no ids." :
			   "Leases can be written, and no attempt has failed.", NULL);
	else
		sno_check_report(c, "leases",
			   GetCurrentTimestamp() - j->failed_at > sno_lease_duration * USECS_PER_SEC,
			   last_failure(j),
			   "Remove the cause that the message names. A session whose lease cannot be renewed before it is over gets an error. See doc/operations.md#trouble.");
}

static void
check_memory(const SnoCheck *c)
{
	uint64		used = pg_atomic_read_u64(&sno_space->allocated);

	sno_check_report(c, "memory", used < SNO_SPACE_MEMORY / 10 * 9,
		   psprintf("Generators of this database use %d %% of the shared memory that they may use.",
					(int) (used * 100 / SNO_SPACE_MEMORY)),
		   "Use fewer named generators and partitions. A restart of the server frees the memory. See doc/operations.md#trouble.");
}

/*
 * Report leases of other holders.  They are no fault: their rows may have come with a copy or a
 * backup, and the server that wrote the rows may be gone.
 */
static void
check_holders(const SnoCheck *c)
{
	if (c->error != NULL || c->locked)
		sno_check_report(c, "holders", false, "The leases cannot be read.", "See item \"leases\".");
	else
		sno_check_report(c, "holders", true, c->survey.others == 0 ?
			   "No other holder's lease is active." :
			   psprintf("Active leases of other holders: %d. The last one ends at %s. They came with a copy, a restore or a promotion.",
						c->survey.others, time_of(c->survey.others_until)), NULL);
}

/*
 * Report whether background workers can run.  The registry client needs a reserved process,
 * because any role can occupy all other background workers by parallel queries.
 * max_parallel_workers doesn't prevent that, because each session may set it.
 */
static void
check_workers(const SnoCheck *c)
{
	const SnoWorker *w = &c->journal.workers[SNO_NOTIFIER];

	if (sno_is_registered() && !c->standby && c->journal.workers[SNO_REGISTRY_CLIENT].resident == 0)
		sno_check_report(c, "workers", false,
			   "No process is reserved for the registry client. While parallel queries have all background workers, grants end.",
			   "Add \"sno\" to \"shared_preload_libraries\" if it is missing there, and restart the server. See doc/servers.md#set-up.");
	else if (!sno_notify_overflow)
		sno_check_report(c, "workers", true, "Notifications are switched off by \"sno.notify_overflow\".", NULL);
	else
		sno_check_report(c, "workers", w->refusals == 0,
			   w->refusals == 0 ?
			   "No request for the background worker that notifies of overflows was refused." :
			   psprintf("%lld requests for the background worker that notifies of overflows were refused, the last one at %s.",
						(long long) w->refusals, timestamptz_to_str(w->refused_at)),
			   "Increase \"max_worker_processes\". sno_reset_statistics() forgets the refusals. See doc/operations.md#monitoring.");
}

/*
 * Describe the grants and their end.  Sets *over to true if a grant has ended and sessions need
 * more grants, and to false otherwise.
 */
static char *
describe_grants(const SnoCheck *c, const SnoGrants *granted, bool *over)
{
	uint64		until = SNO_UNIT_MAX;
	int			count = 0;

	for (int i = 0; i < granted->count; i++)
	{
		until = Min(until, granted->grant[i].ceiling);
		count += (int) (granted->grant[i].last - granted->grant[i].first + 1);
	}
	*over = granted->count > 0 && until < c->now && sno_grants_lack(&sno_space->grants.partitions);
	return granted->count == 0 ? "It granted nothing to this database yet." :
		psprintf("It granted this database %d partitions until %s.", count, time_of(until));
}

static void
check_registry(const SnoCheck *c)
{
	const SnoRegistryNews *news = &c->journal.registry;
	SnoGrants	granted = sno_grants_copy(&sno_space->grants.partitions);
	bool		over;
	char	   *grants = describe_grants(c, &granted, &over);
	bool		failed = news->failed_at != 0;
	StringInfoData detail;

	if (!sno_is_registered())
	{
		sno_check_report(c, "registry", true, "No registry is set.", NULL);
		return;
	}
	initStringInfo(&detail);
	if (news->answered_at == 0)
		appendStringInfoString(&detail, "The registry did not answer since the server started.");
	else
		appendStringInfo(&detail, "The registry answered last at %s. Its clock was ahead by %.3f s.",
						 timestamptz_to_str(news->answered_at),
						 (double) news->clock_offset / USECS_PER_SEC);
	appendStringInfo(&detail, " %s", grants);
	/* The message may name hosts and users, so not every user may see it. */
	if (failed)
		appendStringInfo(&detail, " The last attempt, at %s, failed%s%s", timestamptz_to_str(news->failed_at),
						 sno_registry_may_see() ? ": " : ".",
						 sno_registry_may_see() ? news->failure : "");
	sno_check_report(c, "registry", !failed && !over, detail.data,
		   "Look for the reason in the server log. Ids can be generated as long as the present grants last. See doc/servers.md#what-happens-when.");
}

/* Read the table of leases into *c.  Raises an error if the table is missing or altered. */
static void
read_table(void *arg)
{
	SnoCheck    *c = arg;
	Relation	rel = sno_leases_open();
	MemoryContext context;

	c->locked = rel == NULL;
	if (c->locked)
		return;
	if (!c->standby)
	{
		context = MemoryContextSwitchTo(c->context);
		sno_record_survey(rel, c->now, &c->survey);
		c->survey.bounds.defined = sno_definition_partitions();
		MemoryContextSwitchTo(context);
		c->promised = sno_record_promised(rel);
	}
	sno_leases_close(rel);
}

static void
enter_space(void *arg)
{
	sno_space_enter();
}

PG_FUNCTION_INFO_V1(sno_check);
Datum
sno_check(PG_FUNCTION_ARGS)
{
	SnoCheck 	c = {.standby = RecoveryInProgress(),.context = CurrentMemoryContext};

	InitMaterializedSRF(fcinfo, 0);
	c.result = (ReturnSetInfo *) fcinfo->resultinfo;
	c.in_epoch = sno_timestamptz_to_unit(GetCurrentTimestamp(), &c.now);
	c.error = sno_attempt(enter_space, NULL);
	if (c.error != NULL)
	{
		check_version(&c);
		sno_check_report_trial(&c, "ids", NULL, "No id can be had", c.error);
		return (Datum) 0;
	}
	LWLockAcquire(&sno_journal->lock, LW_SHARED);
	memcpy(&c.journal, sno_journal, sizeof(SnoJournal));
	LWLockRelease(&sno_journal->lock);
	c.error = sno_attempt(read_table, &c);

	check_version(&c);
	check_clock(&c);
	check_epoch(&c);
	check_layouts(&c);
	sno_trials_ids(&c);
	sno_trials_watermarks(&c);
	sno_trials_generators(&c);
	check_leases(&c);
	sno_trials_partitions(&c);
	check_memory(&c);
	check_holders(&c);
	check_workers(&c);
	check_registry(&c);
	return (Datum) 0;
}

/*
 * feed_wait.c
 *		sno_feed_wait(): wait until a reader of a feed may have rows.
 *
 * The procedure ends the transaction of its caller, and waits without locks and without a
 * snapshot, so that it doesn't keep VACUUM from removing rows.  It looks for rows by the query that
 * sno_feeds.look() returns, each time in a transaction of its own.
 *
 * A commit wakes all sessions that wait for rows of the table (shared/wake.c), but most of them may
 * get none of its rows.  So after a look in vain, a session leaves the list of waiters for a pause,
 * which is longer after each further look in vain.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "shared/activity.h"
#include "shared/clock.h"
#include "shared/feed.h"
#include "shared/primary.h"
#include "shared/wake.h"

/*
 * The longest time without a look.  No commit wakes the session for rows of a prepared transaction
 * and for rows that are given back.  Only a look finds them.
 */
#define LOOK_MSEC		1000

/* The longest pause after a look that found only rows above the watermark: a quarter second */
#define ABOVE_MSEC		256

/*
 * If rows are there whenever a reader calls, calls return at this interval, in µs, so that more rows
 * come together: each batch costs the writers time.  A reader that takes less time for its batches
 * waits for as long as it takes, so that it reads small batches of many rows at half its speed or more.
 */
#define BATCH_USEC		10000

/* The results of a look that isn't a hash of the parts with rows below the watermark */
#define NO_ROWS			INT64_MIN
#define ONLY_ROWS_ABOVE	0

/* The number of successive looks that a commit caused, but that found no rows for this session */
static int	vain;

/* The result of the look with which the last call returned before its timeout */
static int64 found;

/* The time of this return, by a clock that nobody sets, in µs */
static int64 found_at;

/*
 * Set the options of sno_feeds.execute(), until AtEOXact_GUC() is called with the returned level: a
 * query finds operators in pg_catalog only, and its plan, which is kept, uses indexes.
 */
static int
set_options(void)
{
	static const char *const option[][2] = {
		{"search_path", "pg_catalog, pg_temp"},
		{"enable_seqscan", "off"},
		{"enable_bitmapscan", "off"},
		{"jit", "off"},
	};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < lengthof(option); i++)
		(void) set_config_option(option[i][0], option[i][1], PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/*
 * The query that looks for rows of a reader.  Further calls use it again, because a session usually
 * waits for the same reader.  It is prepared anew if one of its tables has changed, because the table
 * or its key may have another name, and after a minute, because the reader may have been dropped and
 * created again with other parts.
 */
static struct
{
	bool		valid;			/* false after an error */
	Oid			named;			/* the table that the caller named */
	Oid			feed;			/* the table that has the rows */
	Oid			role;			/* the role that may read as the reader */
	char	   *reader;
	int64		since;			/* by a clock that nobody sets, in µs */
	SPIPlanPtr	plan;
}			query;

#define KEEP_USEC		INT64CONST(60000000)

/* Prepare the query that looks for rows of the reader. */
static void
prepare_look(Oid named, char *reader)
{
	int			level;
	SPIPlanPtr	plan;
	bool		isnull;

	if (query.valid && SPI_plan_is_valid(query.plan) &&
		query.named == named && query.role == GetUserId() && strcmp(query.reader, reader) == 0 &&
		sno_clock_monotonic() - query.since < KEEP_USEC)
		return;
	query.valid = false;
	if (query.plan != NULL)
		SPI_freeplan(query.plan);
	query.plan = NULL;
	if (query.reader != NULL)
		pfree(query.reader);
	query.reader = MemoryContextStrdup(TopMemoryContext, reader);
	query.named = named;
	query.role = GetUserId();
	query.since = sno_clock_monotonic();
	level = set_options();
	if (SPI_execute_with_args("SELECT * FROM sno_feeds.look($1, $2)", 2, (Oid[]) {REGCLASSOID, TEXTOID},
							  (Datum[]) {ObjectIdGetDatum(named), CStringGetTextDatum(reader)},
							  NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed");
	query.feed = DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	plan = SPI_prepare(SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2), 0, NULL);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_prepare failed");
	AtEOXact_GUC(true, level);
	query.plan = plan;
	query.valid = true;
}

/* Execute the query, and return its result, or NO_ROWS. */
static int64
look(void)
{
	int			level = set_options();
	bool		isnull;
	Datum		result;

	query.valid = false;
	if (SPI_execute_plan(query.plan, NULL, NULL, false, 1) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "SPI_execute_plan failed");
	query.valid = true;
	AtEOXact_GUC(true, level);
	result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	SPI_freetuptable(SPI_tuptable);
	return isnull ? NO_ROWS : DatumGetInt64(result);
}

/* Pause outside of the list of waiters. */
static void
pause_for(int64 msec)
{
	if (msec <= 0)
		return;
	ConditionVariableCancelSleep();
	/* A commit may have set the latch since the session entered the list. */
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, msec,
					 sno_wait_event[SNO_WAITS_FOR_FEED]);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	sno_wake_prepare(query.feed);
}

/* Pause after a look in vain, for `most` ms at most. */
static void
take_pause(int64 most)
{
	int64		msec = 1L << Min(vain, 10);

	vain++;
	pause_for(Min(msec, most));
}

PG_FUNCTION_INFO_V1(sno_feed_wait);
Datum
sno_feed_wait(PG_FUNCTION_ARGS)
{
	TimestampTz now = GetCurrentTimestamp(),
				end;
	int64		until;			/* by a clock that nobody sets, in µs */
	bool		woken = false,
				is_busy = true;

	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("sno_feed_wait() cannot be called in a transaction block"),
				 errdetail("It waits without a transaction, so that it holds no snapshot.")));
	sno_require_primary("sno_feed_wait()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("feed, reader and timeout must not be null")));
	end = DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(now), PG_GETARG_DATUM(2)));
	until = sno_clock_monotonic() + (Max(end, now) - now);
	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	prepare_look(PG_GETARG_OID(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	sno_wake_prepare(query.feed);
	for (;;)
	{
		int64		seen = look();
		int64		left = (until - sno_clock_monotonic()) / 1000;

		SPI_commit();
		if (seen != NO_ROWS && seen != ONLY_ROWS_ABOVE)
		{
			/* If the last call returned for the same rows, other sessions may have locked their parts. */
			if (seen == found)
				take_pause(Min(left, ABOVE_MSEC));
			else
				vain = 0;
			if (is_busy)
			{
				int64		since = sno_clock_monotonic() - found_at;

				pause_for(Min(left, Min(since, BATCH_USEC - since) / 1000));
			}
			found = seen;
			found_at = sno_clock_monotonic();
			break;
		}
		is_busy = is_busy && seen != NO_ROWS;
		if (left <= 0)
			break;
		if (seen == ONLY_ROWS_ABOVE)
		{
			if (!sno_feed_hasten())
				take_pause(Min(left, ABOVE_MSEC));
			continue;
		}
		if (woken)
			vain++;
		woken = sno_wake_sleep(query.feed, Min(left, LOOK_MSEC));
		if (!woken)
			vain = 0;
		else if (vain > 0)
			take_pause(Min(left, LOOK_MSEC));
	}
	ConditionVariableCancelSleep();
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * feed_execute.c
 *		sno_feeds.execute() and execute_now(): execute a statement of a reader.
 *
 * A reader executes the same few statements for each batch, and planning them takes several times
 * longer than executing them.  So a session keeps the plans of the last statements.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef struct Kept
{
	char	   *statement;
	int			count;			/* the number of parameters */
	SPIPlanPtr	plan;			/* NULL if the entry is not used */
} Kept;

static Kept kept[8];

/*
 * Return a plan of the statement, kept or not.  A kept plan is no longer in the list, because the
 * statement may call execute_now() by a trigger, which must not free the plan.
 */
static Kept
take_plan(char *statement, int count)
{
	Oid		   *types;

	for (int i = 0; i < lengthof(kept); i++)
		if (kept[i].plan != NULL && kept[i].count == count && strcmp(kept[i].statement, statement) == 0)
		{
			Kept		taken = kept[i];

			kept[i].plan = NULL;
			return taken;
		}
	types = palloc(sizeof(Oid) * count);
	for (int i = 0; i < count; i++)
		types[i] = TEXTOID;
	return (Kept) {NULL, count, SPI_prepare(statement, count, types)};
}

static void
free_plan(Kept *k)
{
	if (k->plan != NULL && k->statement != NULL)
	{
		SPI_freeplan(k->plan);
		pfree(k->statement);
	}
	k->plan = NULL;
}

/* Keep the plan, if necessary instead of another one, in turn. */
static void
keep_plan(Kept taken, const char *statement)
{
	static int	next = 0;
	int			i = 0;

	if (taken.statement == NULL)
	{
		taken.statement = MemoryContextStrdup(TopMemoryContext, statement);
		if (SPI_keepplan(taken.plan) != 0)
			elog(ERROR, "SPI_keepplan failed");
	}
	while (i < lengthof(kept) && kept[i].plan != NULL)
		i++;
	if (i == lengthof(kept))
	{
		i = next;
		next = (next + 1) % lengthof(kept);
		free_plan(&kept[i]);
	}
	kept[i] = taken;
}

/*
 * sno_feeds.execute(statement text, VARIADIC "values" text[]) returns text[]
 *
 * The values are the statement's parameters.  Returns the array in the first row of the result, or
 * null if there is no row or no result.  As in other languages, the statement has the snapshot of the
 * calling statement if the function is STABLE, and its own snapshot if the function is VOLATILE.
 */
PG_FUNCTION_INFO_V1(sno_feed_execute);
Datum
sno_feed_execute(PG_FUNCTION_ARGS)
{
	bool		is_stable = func_volatile(fcinfo->flinfo->fn_oid) == PROVOLATILE_STABLE;
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum	   *value;
	bool	   *is_null;
	char	   *null;
	int			count;
	Kept		taken;
	Datum		result = (Datum) 0;
	bool		no_result = true;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &value, &is_null, &count);
	null = palloc(count + 1);
	for (int i = 0; i < count; i++)
		null[i] = is_null[i] ? 'n' : ' ';
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	taken = take_plan(statement, count);
	if (taken.plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	PG_TRY();
	{
		int			code = SPI_execute_plan(taken.plan, value, null, is_stable, 0);

		if (code < 0)
			elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(code));
		keep_plan(taken, statement);
	}
	PG_CATCH();
	{
		free_plan(&taken);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (SPI_tuptable != NULL && SPI_gettypeid(SPI_tuptable->tupdesc, 1) != TEXTARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("first column of the result must be of type text[]")));
	if (SPI_tuptable != NULL && SPI_processed > 0)
		result = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &no_result);
	if (!no_result)
		result = SPI_datumTransfer(result, false, -1);
	SPI_finish();
	if (no_result)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}

/*
 * attempt.c
 *		Running a function whose errors don't abort the caller's transaction.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "shared/attempt.h"

/*
 * Call `work` in a subtransaction.  If it raises an error, roll the subtransaction back and
 * return the error.  Otherwise return NULL.  A query cancel is raised again.
 */
ErrorData *
sno_attempt(void (*work) (void *), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		/* Roll back first, so that the subtransaction is over even if copying the error fails. */
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return error;
}

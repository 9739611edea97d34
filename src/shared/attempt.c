/*
 * attempt.c
 *		Work whose failure is not the caller's.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "shared/attempt.h"

/*
 * Do some work in a subtransaction.  If it raises an error, roll the subtransaction back and
 * return the error.  Otherwise return NULL.  A query cancel is re-thrown.
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
		/* Roll back first, so that no subtransaction is left if the copy fails. */
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

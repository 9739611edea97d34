/*
 * owned.c
 *		The partitions that a session has: at most one for each purpose.
 *
 * It owns each, or shares the one for ids by the clock with other sessions.
 *
 * Before a session waits, it leaves a partition that it can't use any more, because others
 * may be waiting for it: those that use a named generator, say.  When the session ends, it
 * parks the partitions that are left.
 */
#include "postgres.h"

#include "storage/ipc.h"

#include "generate/owned.h"
#include "shared/activity.h"

SnoPartition *sno_owned[SNO_PURPOSES];

static void
end_session(int code, Datum arg)
{
	for (int purpose = 0; purpose < SNO_PURPOSES; purpose++)
	{
		if (sno_owned[purpose] != NULL)
			sno_partition_park(sno_owned[purpose]);
		sno_owned[purpose] = NULL;
	}
	sno_activity_end();
}

/* At the first id of a session, at least, of whatever generator. */
void
sno_session_begin(void)
{
	static bool begun = false;

	if (begun)
		return;
	sno_space_enter();
	sno_activity_begin();
	before_shmem_exit(end_session, (Datum) 0);
	begun = true;
}

/*
 * The same, for a session that wants partitions of its own.  Raises an error if it
 * isn't known which ones it may use.
 */
void
sno_session_begin_own(void)
{
	sno_partition_check_setting();
	sno_grant_check_setting();
	sno_session_begin();
	if (sno_my_activity->partition == SNO_NAMED_ONLY)
		sno_my_activity->partition = -1;
}

/*
 * The next sequence of the session generator, which counts its ids.  0 if it has no
 * partition, or shares it, or did when it was revoked: then ids are counted one by one.
 */
uint32
sno_owned_sequence(void)
{
	const SnoPartition *p = sno_owned[SNO_FOR_CLOCK];

	return p == NULL || sno_partition_users(p) > 0 ? 0 :
		SNO_WORD_SEQUENCE(sno_generator_word(&p->generator));
}

/*
 * Go on in another partition, or in none (NULL).  `left` is the sno_owned_sequence() of
 * before: it counts the ids issued there.
 */
void
sno_owned_enter(SnoPurpose purpose, SnoPartition *p, uint32 left)
{
	sno_owned[purpose] = p;
	if (purpose != SNO_FOR_CLOCK)
		return;
	sno_my_activity->partition = p == NULL ? -1 : sno_partition_number(p);
	sno_counters_go_on(&sno_my_activity->own, left, sno_owned_sequence());
}

/* Leave a partition, parked or at rest. */
void
sno_owned_leave(SnoPurpose purpose, SnoStay stay)
{
	uint32		left = sno_owned_sequence();

	if (stay == SNO_PARK)
		sno_partition_park(sno_owned[purpose]);
	else
		sno_partition_abandon(sno_owned[purpose]);
	sno_owned_enter(purpose, NULL, left);
}

/* Leave all partitions that the session can't use any more. */
void
sno_owned_leave_unusable(void)
{
	for (int purpose = 0; purpose < SNO_PURPOSES; purpose++)
		if (sno_owned[purpose] != NULL)
		{
			SnoStay		stay = sno_partition_may_stay(sno_owned[purpose], SNO_ANY_UNIT, NULL);

			if (stay != SNO_STAY)
				sno_owned_leave(purpose, stay);
		}
}

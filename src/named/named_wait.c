/*
 * named_wait.c
 *		Waits for named generators, and the errors that end the waits.
 */
#include "postgres.h"

#include "compat.h"
#include "generate/refuse.h"
#include "named/chosen.h"
#include "named/named_wait.h"

/*
 * Even if sno.max_wait is shorter, a call may wait for two units of the generator's layout, but
 * for this number of ms at most.
 */
#define UNITS_WAIT_MAX	2000

/* Raise an error, because a named generator couldn't issue an id. */
pg_noreturn static void
refuse_issuing(const SnoWait *wait, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("generator \"%s\" could not issue an id within %d ms",
					wait->generator, sno_wait_msec(wait)),
			 errdetail_internal("%s", detail),
			 errhint("%s", hint)));
}

/* Return how many ids a generator can issue in a unit. */
static int
unit_size(const SnoDefinition *d)
{
	return sno_is_flake(d) ? sno_nodes_sequence_max(&d->nodes) + 1 : d->subject.shard.max - d->subject.shard.min + 1;
}

/* Raise the error that reports why a wait for a named generator failed (`wait->obstacle`). */
static void
refuse(const SnoWait *wait)
{
	const SnoDefinition *d = wait->definition;
	const SnoTable *table = &wait->in->table;

	if (wait->in->chooser != NULL)
		wait->in->chooser->refuse(wait);
	switch (wait->obstacle)
	{
		case SNO_DEFINITIONS_LOCKED:
			sno_refuse_lock(wait, table->extension, table->name, "ACCESS SHARE");
		case SNO_LAYOUTS_LOCKED:
			sno_refuse_lock(wait, table->source->extension, table->source->name, "ACCESS SHARE");
		case SNO_REGISTERED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partition %d of generator \"%s\" is one that the registry grants",
							d->subject.partition, wait->generator),
					 errdetail("The registry may grant it to any server."),
					 errhint("Drop the generator, and create it with a partition that the registry leaves out. See doc/servers.md#set-up.")));
			break;
		case SNO_BACKFILLED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("partition %d of generator \"%s\" is used for ids of given times",
							d->subject.partition, wait->generator),
					 errdetail("sno_generate_at() may have issued ids of any time in it."),
					 errhint("Drop the generator, and create it with another partition. See doc/operations.md#trouble.")));
			break;
		case SNO_CLOCK_BEHIND:
			refuse_issuing(wait, "The clock is behind the ids that the generator issued, or may have issued before the server crashed.",
						   sno_is_flake(d) ?
						   "Set the system clock right, wait, or drop the generator and create it with another node. See doc/operations.md#trouble." :
						   "Set the system clock right, wait, or drop the generator and create it with another partition. See doc/operations.md#trouble.");
		case SNO_BUSY:
			refuse_issuing(wait, "Another session is writing its state to disk.",
						   "Raise \"sno.max_wait\". See doc/operations.md#trouble.");
		case SNO_UNIT_EXHAUSTED:
			refuse_issuing(wait, psprintf("It issues at most %d ids per %d ms, to all sessions together.",
										  unit_size(d), sno_state_unit_msec(&d->nodes)),
						   sno_is_flake(d) ?
						   "Raise \"sno.max_wait\", or create a generator with more nodes. See doc/operations.md#trouble." :
						   "Raise \"sno.max_wait\", or widen the bounds of the generator. See doc/operations.md#trouble.");
		case SNO_CLASH:
		case SNO_LEASING:
		case SNO_NO_OBSTACLE:
			refuse_issuing(wait, "Its state changed each time before an id was issued.",
						   "Raise \"sno.max_wait\". See doc/operations.md#trouble.");
		default:
			sno_refuse_partition(wait);
	}
}

/*
 * Return a new wait for a named generator.  `d` is the generator's definition, or NULL while the
 * definition is looked up.
 */
SnoWait
sno_named_wait(const SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	SnoWait		wait = {.refuse = refuse,.generator = name,.in = in,.definition = d};

	if (d != NULL && sno_is_flake(d))
		wait.least_msec = Min(2 * sno_state_unit_msec(&d->nodes), UNITS_WAIT_MAX);
	return wait;
}

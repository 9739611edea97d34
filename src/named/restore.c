/*
 * restore.c
 *		Taking and restoring snapshots of named generators.
 *
 * generate/snapshot.h describes the form of a snapshot.  As in the Go package, a missing key
 * or a null value counts as zero, and unknown keys are ignored.  The bounds `sequenceMin`
 * and `sequenceMax` may be in either order.  If `sequenceMax` is 0, it means 65535, unless
 * `sequenceMin` is 65535.  The value of `sequence` must be 0 or at least the lower bound,
 * and may be above the upper bound.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "generate/snapshot.h"
#include "named/define.h"
#include "named/look.h"
#include "named/open.h"
#include "named/right.h"
#include "named/use.h"
#include "shared/clock.h"
#include "shared/partition.h"
#include "shared/primary.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_snapshot_generator_named);
Datum
sno_snapshot_generator_named(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	SnoDefinition d;
	SnoGenerator g;

	sno_require_primary("sno_snapshot_generator()");
	sno_use_look_up(&sno_definitions, name, &d);
	g = sno_look_read(&sno_definitions, name, &d);
	PG_RETURN_DATUM(sno_snapshot_now(&g, d.subject.partition));
}

pg_noreturn static void
bad_snapshot(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid snapshot of a generator"),
			 errdetail_internal("%s", detail)));
}

/*
 * Return the integer in a JSON value, which must be from 0 to `max`.  Returns 0 if the value is
 * missing (NULL) or null.
 */
static int64
integer(const JsonbValue *value, const char *key, int64 max)
{
	char	   *digits;
	int64		n = 0;

	if (value == NULL || value->type == jbvNull)
		return 0;
	digits = value->type == jbvNumeric ?
		DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric))) : "";
	for (const char *c = digits; *c >= '0' && *c <= '9' && n <= max; c++)
		n = n * 10 + (*c - '0');
	if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0' || n > max)
		bad_snapshot(psprintf("\"%s\" must be an integer from 0 to " INT64_FORMAT ".", key, max));
	return n;
}

static int64
member(Jsonb *snapshot, const char *key, int64 max)
{
	return integer(getKeyJsonValueFromContainer(&snapshot->root, key, strlen(key), NULL), key, max);
}

static int32
partition_in(Jsonb *snapshot)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&snapshot->root, "partition", strlen("partition"), NULL);
	int32		partition = 0;

	if (value == NULL || value->type == jbvNull)
		return 0;
	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data) ||
		JsonContainerSize(value->val.binary.data) != 2)
		bad_snapshot("\"partition\" must be an array of two bytes.");
	for (int i = 0; i < 2; i++)
		partition = partition << 8 |
			integer(getIthJsonbValueFromContainer(value->val.binary.data, i), "partition", 0xFF);
	return partition;
}

/*
 * Read a snapshot.  *d becomes the definition of its generator.  In *issued, all ids that this
 * generator may have issued are marked as used.  The snapshot shows only the ids that were issued
 * before it was taken.  Since then, the generator may have issued ids on either side, so on both
 * sides, all units up to now count as used.
 */
static void
read_snapshot(Jsonb *snapshot, SnoDefinition *d, SnoGenerator *issued)
{
	SnoShard   *shard = &d->subject.shard;
	uint64		clock = sno_clock_unit();
	uint64		until,
				wall_safe;
	int64		sequence;

	if (!JB_ROOT_IS_OBJECT(snapshot))
		bad_snapshot("It must be a JSON object.");
	d->subject.kind = SNO_OF_GENERATOR;
	d->subject.partition = partition_in(snapshot);
	shard->min = member(snapshot, "sequenceMin", SNO_SEQUENCE_MAX);
	shard->max = member(snapshot, "sequenceMax", SNO_SEQUENCE_MAX);
	d->meta = -1;
	d->made_here = true;
	if (shard->max == 0 && shard->min != SNO_SEQUENCE_MAX)
		shard->max = SNO_SEQUENCE_MAX;
	sno_define_check(d);
	sequence = member(snapshot, "sequence", PG_UINT32_MAX);
	if (sequence != 0 && sequence < shard->min)
		bad_snapshot("\"sequence\" is below its bounds.");

	until = Max(member(snapshot, "wallHi", SNO_UNIT_MAX), member(snapshot, "now", SNO_UNIT_MAX));
	wall_safe = member(snapshot, "wallSafe", SNO_UNIT_MAX);
	sno_generator_start(issued, Max(wall_safe, clock), shard->min, shard->max);
	issued->drifts = (uint32) member(snapshot, "drifts", PG_UINT32_MAX);
	issued->word = SNO_WORD(Max(until, clock), issued->drifts & 1, SNO_SEQUENCE_NONE);
}

PG_FUNCTION_INFO_V1(sno_restore_generator);
Datum
sno_restore_generator(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	SnoDefinition d = {0},
				defined;
	SnoGenerator issued;

	sno_owner_check(fcinfo);
	sno_require_primary("sno_restore_generator()");
	read_snapshot(PG_GETARG_JSONB_P(1), &d, &issued);
	if (!sno_use_find(&sno_definitions, name, &defined))
		sno_definition_insert(&sno_definitions, name, &d);
	else
	{
		sno_right_check(&sno_definitions, name, &defined);
		if (!sno_subjects_equal(&defined.subject, &d.subject))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the snapshot is of another generator than \"%s\"", name),
					 errdetail("The snapshot has partition %d and sequences from %lld to %lld; the generator has partition %d and sequences from %lld to %lld.",
							   d.subject.partition, (long long) d.subject.shard.min, (long long) d.subject.shard.max,
							   defined.subject.partition, (long long) defined.subject.shard.min,
							   (long long) defined.subject.shard.max)));
		d.made_here = defined.made_here;
	}
	sno_open_restore(&sno_definitions, name, &d, &issued);
	PG_RETURN_VOID();
}

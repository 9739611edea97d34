/*
 * define.c
 *		The functions sno_create_generator(), sno_restrict_generator() and sno_drop_generator().
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "catalog/definition.h"
#include "catalog/leases.h"
#include "catalog/record.h"
#include "named/define.h"
#include "shared/clock.h"
#include "shared/primary.h"
#include "shared/reserve.h"
#include "type/fields.h"

/*
 * Choose a partition from sno.partitions that no row and no definition of this database names, preferably
 * a partition that no other database of this server uses.  Waits for locks on the tables.
 */
static int
choose_partition(void)
{
	Relation	rel;
	SnoSurvey	survey;
	int			partition;

	sno_partition_check_setting();
	if (sno_is_registered())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no partition can be chosen"),
				 errdetail("Parameter \"sno.registry\" is set, and the registry does not know named generators."),
				 errhint("Pass a partition that the registry leaves out, and that no other server has. See doc/servers.md#set-up.")));
	sno_definition_choose_alone(&sno_definitions);
	sno_space_enter();
	rel = sno_leases_open_patiently(RowShareLock);
	sno_record_survey(rel, sno_clock_unit(), &survey);
	sno_leases_close(rel);
	survey.bounds.defined = sno_definition_partitions();
	partition = sno_partition_choose_unused(&survey.bounds, survey.holder);
	if (partition < 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no unused partition is left"),
				 errdetail("This server may choose partitions from %d to %d. Each of them was leased, or belongs to a named generator.",
						   sno_partition_range.first, sno_partition_range.last),
				 errhint("Pass a partition that no other server has, or widen \"sno.partitions\". See doc/operations.md#trouble.")));
	return partition;
}

/* Put the sequence bounds of a definition in order, and check them. */
static void
check_bounds(SnoDefinition *d)
{
	SnoShard   *shard = &d->subject.shard;
	int32		size;

	sno_fields_check("sequence", shard->min, SNO_SEQUENCE_MAX);
	sno_fields_check("sequence", shard->max, SNO_SEQUENCE_MAX);
	if (shard->min > shard->max)
		*shard = (SnoShard) {shard->max, shard->min};
	size = shard->max - shard->min + 1;
	if (size < SNO_UNIT_SIZE_MIN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sequence bounds %d and %d are too close",
						(int) shard->min, (int) shard->max),
				 errdetail("They leave %d ids per %d ms; a generator needs at least %d.",
						   size, SNO_UNIT_MSEC, SNO_UNIT_SIZE_MIN)));
}

/*
 * Put the sequence bounds of a definition in order, and raise an error unless the definition is
 * valid.  A definition with a partition that the registry grants isn't valid, but the function
 * detects this only if it knows which partitions the registry grants.
 */
void
sno_define_check(SnoDefinition *d)
{
	sno_fields_check("partition", d->subject.partition, SNO_PARTITION_MAX);
	check_bounds(d);
	if (sno_grant_is_for_anybody(d->subject.partition))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("partition %d is one that the registry grants", d->subject.partition),
				 errdetail("The registry may grant it to any server."),
				 errhint("Choose a partition that the registry leaves out. See doc/servers.md#set-up.")));
}

PG_FUNCTION_INFO_V1(sno_create_generator);
Datum
sno_create_generator(PG_FUNCTION_ARGS)
{
	SnoDefinition d = {.subject.kind = SNO_OF_GENERATOR,.meta = -1};
	char	   *name;

	sno_owner_check(fcinfo);
	sno_require_primary("sno_create_generator()");
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name and bounds of a generator cannot be null")));
	name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	sno_definition_check_name(name);
	d.subject.shard = (SnoShard) {PG_GETARG_INT32(2), PG_GETARG_INT32(3)};
	check_bounds(&d);
	if (!PG_ARGISNULL(4))
		d.meta = sno_fields_check("metabyte", PG_GETARG_INT32(4), SNO_META_MAX);
	d.subject.partition = PG_ARGISNULL(1) ? choose_partition() : PG_GETARG_INT32(1);
	sno_define_check(&d);
	sno_definition_insert(&sno_definitions, name, &d);
	PG_RETURN_INT32(d.subject.partition);
}

PG_FUNCTION_INFO_V1(sno_drop_generator);
Datum
sno_drop_generator(PG_FUNCTION_ARGS)
{
	sno_owner_check(fcinfo);
	sno_definition_drop(&sno_definitions, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	PG_RETURN_VOID();
}

/*
 * Restrict a generator to members of the role that the second argument names.  If the argument is
 * null, all users may use the generator.
 */
Datum
sno_define_restrict(FunctionCallInfo fcinfo, SnoDefinitions *in)
{
	const char *role = PG_ARGISNULL(1) ? NULL : NameStr(*PG_GETARG_NAME(1));

	sno_owner_check(fcinfo);
	sno_require_primary(in->restrict_to);
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("name of a generator cannot be null")));
	if (role != NULL)
		(void) get_role_oid(role, false);
	sno_definition_restrict(in, text_to_cstring(PG_GETARG_TEXT_PP(0)), role);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(sno_restrict_generator);
Datum
sno_restrict_generator(PG_FUNCTION_ARGS)
{
	return sno_define_restrict(fcinfo, &sno_definitions);
}

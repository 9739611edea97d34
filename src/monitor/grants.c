/*
 * grants.c
 *		sno_grants(): shows the grants of the registry to this database.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/layout.h"
#include "shared/grant.h"
#include "type/fields.h"

/* Return the name of a layout, or its definition if this database has no such layout. */
static Datum
name_of(const SnoLayout *layout)
{
	const char *name = sno_layout_look_name(layout);
	char		definition[SNO_LAYOUT_TEXT_SIZE];

	sno_layout_print(layout, definition);
	return CStringGetTextDatum(name == NULL ? definition : name);
}

/* Show the grants of a layout's nodes, or of partitions if the layout is all zeros. */
static void
put_grants(ReturnSetInfo *result, const SnoLayout *layout)
{
	SnoGrants	granted = sno_grants_copy(sno_granted_of(layout));
	bool		none = sno_layout_is_none(layout);

	for (int i = 0; i < granted.count; i++)
	{
		const SnoGrant *g = &granted.grant[i];
		Datum		values[] = {
			none ? (Datum) 0 : name_of(layout),
			Int64GetDatum(g->first), Int64GetDatum(g->last),
			TimestampTzGetDatum(sno_unit_to_timestamptz(g->floor)),
			TimestampTzGetDatum(sno_unit_to_timestamptz(g->ceiling))
		};
		bool		nulls[] = {none, false, false, g->floor == 0, false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

PG_FUNCTION_INFO_V1(sno_grants);
Datum
sno_grants(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	sno_space_enter();
	foreach(cell, sno_grants_tasks())
	{
		const SnoGrantTask *task = lfirst(cell);

		if (task->space == sno_space)
			put_grants(result, &task->layout);
	}
	return (Datum) 0;
}

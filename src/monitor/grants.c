/*
 * grants.c
 *		sno_grants(): what the registry granted to this database.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "shared/grant.h"
#include "type/fields.h"

PG_FUNCTION_INFO_V1(sno_grants);
Datum
sno_grants(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	SnoGrants	granted;

	InitMaterializedSRF(fcinfo, 0);
	sno_space_enter();
	granted = sno_grants_copy();
	for (int i = 0; i < granted.count; i++)
	{
		const SnoGrant *g = &granted.grant[i];
		Datum		values[4] = {
			Int32GetDatum((int32) g->first), Int32GetDatum((int32) g->last),
			TimestampTzGetDatum(sno_unit_to_timestamptz(g->floor)),
			TimestampTzGetDatum(sno_unit_to_timestamptz(g->ceiling))
		};
		bool		nulls[4] = {false, false, g->floor == 0, false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*
 * fields.h
 *		Conversions of ids to Datums, and of units to times.
 *
 * Units are 4 ms, counted from 2010-01-01.  A timestamptz counts microseconds from
 * 2000-01-01, so it can represent the start of each unit exactly.
 */
#ifndef SNO_FIELDS_H
#define SNO_FIELDS_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/uuid.h"

#include "id.h"

#define DatumGetSnoP(datum)		((Sno *) DatumGetPointer(datum))
#define SnoPGetDatum(id)		PointerGetDatum(id)
#define PG_GETARG_SNO_P(n)		DatumGetSnoP(PG_GETARG_DATUM(n))
#define PG_RETURN_SNO_P(id)		return SnoPGetDatum(id)

#define SNO_UNIT_USECS			(SNO_UNIT_MSEC * INT64CONST(1000))

/* 2010-01-01 as a timestamptz: 3653 days after 2000-01-01 */
#define SNO_EPOCH_TIMESTAMPTZ \
	((SNO_EPOCH_UNIX - \
	  (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400)) * \
	 USECS_PER_SEC)

/* Return the instant at which a unit starts.  The unit is at most SNO_UNIT_MAX. */
static inline TimestampTz
sno_unit_to_timestamptz(uint64 unit)
{
	return SNO_EPOCH_TIMESTAMPTZ + (TimestampTz) unit * SNO_UNIT_USECS;
}

/*
 * Set *unit to the unit that contains an instant.  Returns false if no unit does:
 * *unit is then 0 if the instant is before the first unit, or SNO_UNIT_MAX if it
 * is after the last one.
 */
static inline bool
sno_timestamptz_to_unit(TimestampTz at, uint64 *unit)
{
	if (at < SNO_EPOCH_TIMESTAMPTZ)
	{
		*unit = 0;
		return false;
	}
	*unit = (uint64) (at - SNO_EPOCH_TIMESTAMPTZ) / SNO_UNIT_USECS;
	if (*unit > SNO_UNIT_MAX)
	{
		*unit = SNO_UNIT_MAX;
		return false;
	}
	return true;
}

extern int	sno_fields_check(const char *name, int32 value, int max);
extern uint64 sno_fields_unit(TimestampTz at);
extern const char *sno_decode_uuidv8(const pg_uuid_t *uuid, Sno *id);

#endif							/* SNO_FIELDS_H */

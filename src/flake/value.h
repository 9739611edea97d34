/*
 * value.h
 *		Ids of other systems as SQL values.
 */
#ifndef SNO_FLAKE_VALUE_H
#define SNO_FLAKE_VALUE_H

#include "postgres.h"

#include "fmgr.h"

#include "catalog/layout.h"

/*
 * SNO_FLAKE_READERS and SNO_FLAKE_MAKERS define three SQL functions each, for ids of type bigint,
 * uuid and bytea.  Each function calls body(fcinfo, type).  Readers take an id, so the three
 * functions have one name in SQL.  Makers return an id, so the three functions have different names.
 */
#define SNO_FLAKE_FUNCTION(function, body, type) \
PG_FUNCTION_INFO_V1(function); \
Datum \
function(PG_FUNCTION_ARGS) \
{ \
	return body(fcinfo, type); \
}

#define SNO_FLAKE_READERS(name, body) \
SNO_FLAKE_FUNCTION(name##_bigint, body, SNO_FLAKE_BIGINT) \
SNO_FLAKE_FUNCTION(name##_uuid, body, SNO_FLAKE_UUID) \
SNO_FLAKE_FUNCTION(name##_bytea, body, SNO_FLAKE_BYTEA)

#define SNO_FLAKE_MAKERS(name, body) \
SNO_FLAKE_FUNCTION(name, body, SNO_FLAKE_BIGINT) \
SNO_FLAKE_FUNCTION(name##_uuid, body, SNO_FLAKE_UUID) \
SNO_FLAKE_FUNCTION(name##_bytea, body, SNO_FLAKE_BYTEA)

extern const SnoNamedLayout *sno_value_layout(FunctionCallInfo fcinfo, int argument,
											  SnoFlakeType type, const char *function);
extern void sno_value_check_type(const SnoNamedLayout *layout, SnoFlakeType type, const char *function);
extern bool sno_value_fits(const SnoNamedLayout *layout, SnoFlake id);
extern SnoFlake sno_value_from_datum(const SnoNamedLayout *layout, Datum datum);
extern Datum sno_value_datum(const SnoNamedLayout *layout, SnoFlake id);

#endif							/* SNO_FLAKE_VALUE_H */

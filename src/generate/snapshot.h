/*
 * snapshot.h
 *		Snapshots of generators, in the JSON form of the Go package muyo/sno.
 *
 *	{"partition": [high byte, low byte], "sequenceMin": n, "sequenceMax": n,
 *	 "sequence": n, "now": n, "wallHi": n, "wallSafe": n, "drifts": n}
 *
 * Times are units.  The generator issued in unit wallHi last, on the side of the lowest
 * bit of drifts, and on the other one up to wallSafe.  sequence is the last one issued,
 * if the snapshot was taken within wallHi, otherwise the lower bound.
 */
#ifndef SNO_SNAPSHOT_H
#define SNO_SNAPSHOT_H

#include "postgres.h"

#include "core/generator.h"

extern Datum sno_snapshot(const SnoGenerator *g, int partition, uint32 sequence, uint64 now);
extern Datum sno_snapshot_now(const SnoGenerator *g, int partition);

#endif							/* SNO_SNAPSHOT_H */

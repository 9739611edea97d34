/*
 * snapshot.h
 *		Snapshots of generators, in the JSON form of the Go package muyo/sno.
 *
 *	{"partition": [high byte, low byte], "sequenceMin": n, "sequenceMax": n,
 *	 "sequence": n, "now": n, "wallHi": n, "wallSafe": n, "drifts": n}
 *
 * All times are units, and now is the unit in which the snapshot was taken.  wallHi is the
 * last unit in which the generator issued on its present side, which is the lowest bit of
 * drifts.  wallSafe is the last unit in which it issued on the other side.  sequence is the
 * last sequence that was issued in unit wallHi.  If wallHi isn't now,
 * sno_snapshot_generator() returns the lower bound instead.
 */
#ifndef SNO_SNAPSHOT_H
#define SNO_SNAPSHOT_H

#include "postgres.h"

#include "core/generator.h"

extern Datum sno_snapshot(const SnoGenerator *g, int partition, uint32 sequence, uint64 now);
extern Datum sno_snapshot_now(const SnoGenerator *g, int partition);

#endif							/* SNO_SNAPSHOT_H */

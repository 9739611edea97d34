/*
 * snapshot.h
 *		Snapshots of generators, in the JSON form of the Go package muyo/sno.
 *
 *	{"partition": [high byte, low byte], "sequenceMin": n, "sequenceMax": n,
 *	 "sequence": n, "now": n, "wallHi": n, "wallSafe": n, "drifts": n}
 *
 * All times are units.  `now` is the unit in which the snapshot was taken.  The lowest bit of
 * `drifts` is the generator's present side.  `wallHi` is the last unit in which the generator
 * issued on this side, and `wallSafe` is the last one on the other side.  `sequence` is the
 * last sequence that was issued in unit `wallHi`.  But if `wallHi` differs from `now`,
 * sno_snapshot_generator() sets `sequence` to `sequenceMin`.
 */
#ifndef SNO_SNAPSHOT_H
#define SNO_SNAPSHOT_H

#include "postgres.h"

#include "core/generator.h"

extern Datum sno_snapshot(const SnoGenerator *g, int partition, uint32 sequence, uint64 now);
extern Datum sno_snapshot_now(const SnoGenerator *g, int partition);

#endif							/* SNO_SNAPSHOT_H */

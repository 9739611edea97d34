/*
 * lease.h
 *		A lease: the units that it covers, and the next task for it.
 *
 * A lease allows ids in units up to the ceiling, which is a field of the
 * generator.  src/README.md describes the life of a lease:
 *
 *		write the row < flush its WAL < publish the ceiling < issue under it
 *
 * The functions here decide by the state, the clock and the file of the table sno_lease alone,
 * and catalog/publish.c acts on their decisions.  A lease is part of a partition
 * (shared/partition.h) or of the state of a named generator (named/state.h), and is locked
 * together with the partition or the state.
 */
#ifndef SNO_LEASE_H
#define SNO_LEASE_H

#include "core/generator.h"

typedef struct SnoLease
{
	uint64_t	pending_ceiling;	/* ceiling of a row that was written, but not
									 * published; 0 if there is no such row */
	uint64_t	pending_lsn;	/* the end of the WAL record of that row */
	uint64_t	attention;		/* the unit from which the lease is renewed early */
	uint32_t	file;			/* the file of sno_lease with the row; 0 if there is no row */
	uint32_t	pending_file;
} SnoLease;

typedef enum SnoLeaseTask
{
	SNO_LEASE_ISSUE,			/* the lease covers the clock's unit */
	SNO_LEASE_RENEW_EARLY,		/* the lease covers this unit, but half of it is over */
	SNO_LEASE_PUBLISH,			/* flush and publish the row that was written */
	SNO_LEASE_WRITE				/* write a row first */
} SnoLeaseTask;

/* Return the last unit of a lease that begins now.  `half` is half of the lease's length. */
static inline uint64_t
sno_lease_end(uint64_t now, uint64_t half)
{
	return now + 2 * half < SNO_UNIT_MAX ? now + 2 * half : SNO_UNIT_MAX;
}

/* Forget the lease. */
static inline void
sno_lease_clear(SnoLease *l)
{
	*l = (SnoLease) {0};
}

/* Note that a row with this ceiling was written to this file of the table. */
static inline void
sno_lease_note_written(SnoLease *l, uint64_t ceiling, uint64_t lsn, uint32_t file)
{
	l->pending_ceiling = ceiling;
	l->pending_lsn = lsn;
	l->pending_file = file;
}

/* Note that the written row was flushed: the lease now reaches up to the row's ceiling. */
static inline void
sno_lease_note_flushed(SnoLease *l, SnoGenerator *g, uint64_t half)
{
	uint64_t	ceiling = l->pending_ceiling;

	__atomic_store_n(&g->ceiling, ceiling, __ATOMIC_RELEASE);
	l->file = l->pending_file;
	l->pending_ceiling = 0;
	/* A lease up to SNO_UNIT_MAX is never renewed. */
	l->attention = ceiling == SNO_UNIT_MAX ? ceiling + 1 : ceiling > half ? ceiling - half : 0;
}

/*
 * Note that an early renewal begins.  If it fails, the next attempt is after half of the
 * remaining time.
 */
static inline void
sno_lease_postpone(SnoLease *l, const SnoGenerator *g, uint64_t now)
{
	l->attention = now + (g->ceiling > now ? g->ceiling - now : 0) / 2 + 1;
}

/*
 * Note that the row of an early renewal was written.  The row is flushed when the clock has
 * passed the present ceiling, at the latest.
 */
static inline void
sno_lease_rest(SnoLease *l, const SnoGenerator *g)
{
	l->attention = g->ceiling + 1;
}

/* Does this file have an unpublished row that covers the unit? */
static inline bool
sno_lease_is_pending(const SnoLease *l, uint64_t unit, uint32_t file)
{
	return l->pending_ceiling != 0 && l->pending_ceiling >= unit && l->pending_file == file;
}

/*
 * Return the task that the lease requires before an id of `unit` is issued.  `file` is the
 * table's present file, or 0 if there is no table.  Without a table, the lease covers all
 * units up to its ceiling.
 */
static inline SnoLeaseTask
sno_lease_task(const SnoLease *l, const SnoGenerator *g, uint64_t unit, uint32_t file)
{
	if (unit > __atomic_load_n(&g->ceiling, __ATOMIC_RELAXED) || l->file == 0 || (file != 0 && l->file != file))
		return sno_lease_is_pending(l, unit, file) ? SNO_LEASE_PUBLISH : SNO_LEASE_WRITE;
	return unit >= l->attention ? SNO_LEASE_RENEW_EARLY : SNO_LEASE_ISSUE;
}

#endif							/* SNO_LEASE_H */

/*
 * slices.c
 *		The partition that a database lends in slices.
 *
 * A slice is some sequences of a partition that is lent as a whole.  So its row, its floor
 * and its end are those of the whole, and a slice needs none.  Sequences are handed out in
 * ascending order, each once.  What is left when another partition is opened is never
 * handed out: the partition rests until the loan of the whole is over.
 *
 * This is in shared memory only.  After a restart, and wherever the data go on, the next
 * slice opens another partition.
 */
#include "postgres.h"

#include "shared/partition.h"
#include "shared/slices.h"

/* May slices of it still be handed out, while sno_lease is in this file? */
static bool
are_in_force(const SnoSlices *s, uint32 file)
{
	return s->life == sno_space->life && s->file == file &&
		s->revocations == pg_atomic_read_u64(&sno_space->revocations) &&
		sno_partition_is_usable(sno_partition_at(s->partition));
}

/*
 * Take a slice with so many sequences, for a number of units from now on, or for fewer if
 * the whole partition is lent for less than it was asked.  False if there is none.
 */
bool
sno_slices_take(uint64 now, uint64 units, uint32 sequences, uint32 file, SnoLoan *slice)
{
	SnoSlices  *s = &sno_space->slices;
	bool		taken;

	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	taken = units <= s->units && now > s->floor && now <= s->last &&
		sequences <= SNO_SEQUENCE_MAX + 1 - s->next && are_in_force(s, file);
	if (taken)
	{
		slice->partition = s->partition;
		sno_generator_start(&slice->generator, s->floor, s->next, s->next + sequences - 1);
		slice->generator.ceiling = Min(now + units, s->until);
		s->next += sequences;
	}
	LWLockRelease(&sno_space->lock);
	return taken;
}

/*
 * Hand out slices of a partition that has just been lent as a whole, for twice the units
 * that a slice lasts, if possible.  The caller has sno_lease open, so nothing was revoked
 * since then.
 */
void
sno_slices_open(const SnoLoan *whole, uint64 now, uint64 units, uint32 file)
{
	LWLockAcquire(&sno_space->lock, LW_EXCLUSIVE);
	sno_space->slices = (SnoSlices) {
		.partition = whole->partition,
		.floor = whole->generator.lease_floor,
		.until = whole->generator.ceiling,
		.last = now + (whole->generator.ceiling - now) / 2,
		.units = units,
		.file = file,
		.life = sno_space->life,
		.revocations = pg_atomic_read_u64(&sno_space->revocations)
	};
	LWLockRelease(&sno_space->lock);
}

/*
 * sharing.c
 *		Whether a session shares a partition with others.
 *
 * Ids are sorted by unit, metabyte, partition and sequence.  If two sessions issue in the
 * same units, each in a partition of its own, then the ids of one of them are inserted
 * before those of the other.  An index splits its pages in the middle there, and has 41
 * bytes a row.  If they share a partition, each id comes after all others, and an index
 * has 31.5.  A session that is alone has its own partition, because that is faster.
 *
 * So each session that enters a unit leaves a note in the space: the unit, and who it is.
 * It finds the note of who came before.  If that is another session, and was in this
 * unit or one beside it, the session wants to share for a second.  This decides only how
 * dense ids are: a note that is lost or wrong does no harm.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "generate/sharing.h"
#include "shared/shmem.h"

/* How long a session shares after it met another one, in units: a second. */
#define UNITS_SHARED		SNO_UNITS_PER_SEC

/* A note: the unit, and the lower bits of the session's pid. */
#define NOTE_PID_BITS		24
#define NOTE(unit, pid)		((unit) << NOTE_PID_BITS | ((pid) & 0xFFFFFF))

int			sno_sharing;

uint64		sno_sharing_unit;

/* The session shares up to this unit; 0 if it met nobody yet. */
static uint64 share_until;

/* Leave a note that this session enters a unit.  Did another one enter it, or one beside it? */
static bool
meets_another(uint64 unit)
{
	uint64		note = NOTE(unit, (uint64) MyProcPid);
	uint64		before = pg_atomic_exchange_u64(&sno_space->entered, note);
	uint64		unit_before = before >> NOTE_PID_BITS;

	return NOTE(unit, before) != note && unit_before <= unit + 1 && unit_before + 1 >= unit;
}

/* Does this session want to share a partition in a unit that it has entered, or enters now? */
bool
sno_sharing_is_wanted(uint64 unit)
{
	if (unit != sno_sharing_unit && meets_another(unit))
		share_until = unit + UNITS_SHARED;
	sno_sharing_unit = unit;
	if (sno_sharing != SNO_SHARING_AUTO)
		return sno_sharing == SNO_SHARING_ALWAYS;
	/* After a step back of the clock, it met nobody yet. */
	return unit <= share_until && unit + UNITS_SHARED >= share_until;
}

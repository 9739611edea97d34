/*
 * numbers.c
 *		The protocol of watermarks of counters; src/README.md states its rule W6.
 */
#include "core/numbers.h"

#include <string.h>

/*
 * Announce a tick.  Call this before the issuer's transaction draws numbers.  Parallel workers
 * share their leader's issuer.  The first of these processes that calls this function stores the
 * tick for all of them.
 */
void
sno_numbers_begin(SnoIssuer *issuer, const SnoAtomic *ticks)
{
	uint64_t	since = 0;
	uint64_t	next = __atomic_load_n(ticks, __ATOMIC_SEQ_CST) + 1;

	SNO_DELAY();
	(void) __atomic_compare_exchange_n(&issuer->since, &since, next, false,
									   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	SNO_DELAY();
}

/*
 * Forget at least one note.  This can only lower the watermarks that are returned later.
 * Notes before the note of the last watermark (`answered`) are needed only for older
 * snapshots, so the oldest of these notes is forgotten first.  If there is no such note, a
 * transaction has been open for a long time.  Then every second note is forgotten, except for
 * the first note, from which watermarks are now returned, and the last note.
 */
static void
make_room(SnoNumbers *numbers)
{
	uint64_t	kept = 1;

	if (numbers->note[0].tick < numbers->answered)
	{
		memmove(numbers->note, numbers->note + 1, --numbers->count * sizeof(SnoNote));
		return;
	}
	for (uint64_t i = 2; i < numbers->count; i++)
		if (i % 2 == 0 || i == numbers->count - 1)
			numbers->note[kept++] = numbers->note[i];
	numbers->count = kept;
}

/*
 * Make a note of the next number of a counter, which the caller has read before the call.
 * Only one caller at a time may access the counter's notes.
 */
void
sno_numbers_note(SnoNumbers *numbers, SnoAtomic *ticks, uint64_t next)
{
	if (numbers->count > 0 && numbers->note[numbers->count - 1].next >= next)
		return;
	if (numbers->count == SNO_NUMBERS_NOTES)
		make_room(numbers);
	SNO_DELAY();
	numbers->note[numbers->count++] = (SnoNote) {
		.tick = __atomic_add_fetch(ticks, 1, __ATOMIC_SEQ_CST),.next = next
	};
}

/*
 * Return a lower bound of the numbers that are drawn by transactions that announced the tick
 * `since` or a later one, or that have not announced a tick yet.  `since` is SNO_NO_UNIT if
 * only transactions without a tick exist.  Returns 0 if no bound is known.
 */
uint64_t
sno_numbers_lowest(SnoNumbers *numbers, uint64_t since)
{
	for (uint64_t i = numbers->count; i > 0; i--)
		if (numbers->note[i - 1].tick < since)
		{
			numbers->answered = numbers->note[i - 1].tick;
			return numbers->note[i - 1].next;
		}
	return 0;
}

/*
 * numbers.h
 *		The protocol of watermarks of counters: W6 of src/README.md.
 *
 * The numbers of a counter contain no time.  The wall clock can't put them in order, because
 * somebody may set that clock back while the counter goes on.  So there is a logical clock, whose
 * first tick is 1.  Each reader, and sometimes a transaction, makes a note: it reads the next
 * number of a counter, advances the logical clock by a tick, and stores both the number and the
 * tick.  Before a transaction draws its first number, it announces the next tick, by storing this
 * tick in its issuer.  So the transaction draws no number below the number of a note with an
 * earlier tick.
 *
 * The watermark is the number of the latest note whose tick is before the ticks of all
 * transactions that the snapshot doesn't show.  If the reader didn't find a transaction's
 * tick in an issuer, the transaction draws its numbers after the reader read the next number, so
 * these numbers aren't below the watermark.
 */
#ifndef SNO_NUMBERS_H
#define SNO_NUMBERS_H

#include "core/issuer.h"

/* The maximum number of notes of a counter */
#ifndef SNO_NUMBERS_NOTES		/* a model has fewer */
#define SNO_NUMBERS_NOTES	32
#endif

/*
 * A note: `next` was read as the counter's next number before the logical clock advanced to
 * `tick`.
 */
typedef struct SnoNote
{
	uint64_t	tick;
	uint64_t	next;
} SnoNote;

typedef struct SnoNumbers
{
	uint64_t	count;
	uint64_t	answered;		/* tick of the note of the last watermark */
	SnoNote		note[SNO_NUMBERS_NOTES];	/* in ascending order of ticks and numbers */
} SnoNumbers;

extern void sno_numbers_begin(SnoIssuer *issuer, const SnoAtomic *ticks);
extern void sno_numbers_note(SnoNumbers *numbers, SnoAtomic *ticks, uint64_t next);
extern uint64_t sno_numbers_lowest(SnoNumbers *numbers, uint64_t since);

#endif							/* SNO_NUMBERS_H */

/*
 * numbers.h
 *		The protocol of watermarks of counters: W6 of src/README.md.
 *
 * Numbers have no time, and the wall clock can't provide one: that clock may be set back
 * while a counter goes on.  So there is a logical clock, whose first tick is 1.  Each reader,
 * and now and then a transaction, makes a note: it reads the next number of a counter,
 * advances the clock by a tick, and notes number and tick.  Before a transaction draws its
 * first number, it stores the next tick in its issuer.  So the transaction draws no number
 * below one that was noted at an earlier tick.
 *
 * The watermark is the number of the latest note whose tick is before the ticks of all
 * transactions that the snapshot doesn't show.  If the reader didn't find a transaction's
 * tick in an issuer, the transaction draws its numbers after the reader read the next number.
 */
#ifndef SNO_NUMBERS_H
#define SNO_NUMBERS_H

#include "core/issuer.h"

/* The most notes of a counter */
#ifndef SNO_NUMBERS_NOTES		/* a model has fewer */
#define SNO_NUMBERS_NOTES	32
#endif

/* At this tick, no transaction had drawn this number or a higher one. */
typedef struct SnoNote
{
	uint64_t	tick;
	uint64_t	next;
} SnoNote;

typedef struct SnoNumbers
{
	uint64_t	count;
	uint64_t	answered;		/* tick of the note that was the last answer */
	SnoNote		note[SNO_NUMBERS_NOTES];	/* in ascending order of ticks and numbers */
} SnoNumbers;

extern void sno_numbers_begin(SnoIssuer *issuer, const SnoAtomic *ticks);
extern void sno_numbers_note(SnoNumbers *numbers, SnoAtomic *ticks, uint64_t next);
extern uint64_t sno_numbers_lowest(SnoNumbers *numbers, uint64_t since);

#endif							/* SNO_NUMBERS_H */

/*
 * numbers.h
 *		The protocol of watermarks of counters: W6 of src/README.md.
 *
 * Numbers have no time, and the clock can't stand in for it: it may be set back while a
 * counter goes on.  So a logical clock ticks.  Its first tick is 1.  Whoever makes a note reads
 * the next number of a counter, and only then lets the clock tick, and notes both: a reader,
 * and now and then a transaction.  A transaction tells its issuer which tick comes next, before
 * it draws its first number.  So it draws no number below one that was noted at an earlier
 * tick.
 *
 * The watermark is the number of the latest note that is earlier than what each transaction
 * told that the snapshot doesn't show.  A transaction that the reader didn't see there draws
 * after the reader read the next number.
 */
#ifndef SNO_NUMBERS_H
#define SNO_NUMBERS_H

#include "core/issuer.h"

/* Notes of a counter.  Those in between are forgotten first. */
#ifndef SNO_NUMBERS_NOTES		/* a model has fewer */
#define SNO_NUMBERS_NOTES	32
#endif

/* At this tick, no transaction had drawn this number yet, or a higher one. */
typedef struct SnoNote
{
	uint64_t	tick;
	uint64_t	next;
} SnoNote;

typedef struct SnoNumbers
{
	uint64_t	count;
	uint64_t	answered;		/* the tick of the note that was the last answer */
	SnoNote		note[SNO_NUMBERS_NOTES];	/* in the order of their ticks, and numbers */
} SnoNumbers;

extern void sno_numbers_begin(SnoIssuer *issuer, const SnoAtomic *ticks);
extern void sno_numbers_note(SnoNumbers *numbers, SnoAtomic *ticks, uint64_t next);
extern uint64_t sno_numbers_lowest(SnoNumbers *numbers, uint64_t since);

#endif							/* SNO_NUMBERS_H */

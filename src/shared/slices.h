/*
 * slices.h
 *		The partition that a database lends in slices.
 */
#ifndef SNO_SLICES_H
#define SNO_SLICES_H

#include "postgres.h"

#include "core/generator.h"

/* A partition, or a slice of one, that is leased for somebody else, up to its ceiling. */
typedef struct SnoLoan
{
	int			partition;
	SnoGenerator generator;		/* at its floor */
} SnoLoan;

extern bool sno_slices_take(uint64 now, uint64 units, uint32 sequences, uint32 file,
							SnoLoan *slice);
extern void sno_slices_open(const SnoLoan *whole, uint64 now, uint64 units, uint32 file);

#endif							/* SNO_SLICES_H */

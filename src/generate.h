/*
 * generate.h
 *		Settings of the generators, and the session's next id.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

#include "partition.h"

extern int	sno_lease_duration; /* s */
extern int	sno_max_wait;		/* ms */

extern SnoPartition *sno_generate_next(Oid function, uint64 *issued);

#endif							/* SNO_GENERATE_H */

/*
 * refuse.h
 *		The errors of waits that took too long, for an id of a partition.
 */
#ifndef SNO_REFUSE_H
#define SNO_REFUSE_H

#include "generate/wait.h"

pg_noreturn extern void sno_refuse_lock(const SnoWait *wait, const char *extension, const char *table,
										const char *mode);
pg_noreturn extern void sno_refuse_grant(const SnoWait *wait, const char *generator);
pg_noreturn extern void sno_refuse_partition(const SnoWait *wait);

#endif							/* SNO_REFUSE_H */

/*
 * refuse.h
 *		The errors that end waits for ids of partitions.
 */
#ifndef SNO_REFUSE_H
#define SNO_REFUSE_H

#include "generate/wait.h"

pg_noreturn extern void sno_refuse_lock(const SnoWait *wait, const char *extension, const char *table,
										const char *mode);
pg_noreturn extern void sno_refuse_grant(const SnoWait *wait, const char *generator);
pg_noreturn extern void sno_refuse_partition(const SnoWait *wait);

#endif							/* SNO_REFUSE_H */

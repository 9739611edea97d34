/*
 * publish.h
 *		Writes, flushes and publishes leases.
 */
#ifndef SNO_PUBLISH_H
#define SNO_PUBLISH_H

#include "postgres.h"

#include "utils/rel.h"

#include "catalog/record.h"
#include "core/lease.h"
#include "id.h"

extern int	sno_lease_duration; /* seconds */

/* Return half of the length of a lease, in units.  A lease is renewed after this time. */
static inline uint64
sno_lease_half(void)
{
	return (uint64) sno_lease_duration * SNO_UNITS_PER_SEC / 2;
}

extern bool sno_lease_write(SnoLease *lease, Relation rel, const SnoSubject *subject,
							SnoGenerator g, uint64 ceiling);
extern void sno_lease_flush_later(SnoLease *lease, const SnoGenerator *g);
extern void sno_lease_publish(SnoLease *lease, SnoGenerator *g, uint64 half);
extern void sno_lease_quietly(void (*renew) (void *), void *arg, const char *generator,
							  int partition);

#endif							/* SNO_PUBLISH_H */

/*
 * grant.h
 *		What the registry granted to a database, as its sessions see it.
 */
#ifndef SNO_GRANT_H
#define SNO_GRANT_H

#include "postgres.h"

#include "core/asker.h"
#include "shared/shmem.h"

/* Where the registry client keeps what was granted, in the data folder. */
#define SNO_GRANTS_FILE		"sno.grants"

/* Settings */
extern char *sno_registry;		/* how to connect to it; empty if there is none */
extern bool sno_registry_refused;	/* a value was given, but not taken */
extern int	sno_grant_duration; /* seconds */
extern char *sno_server;

/* Is there a registry, so that only what it granted may be used? */
static inline bool
sno_is_registered(void)
{
	return sno_registry[0] != '\0';
}

/* May a partition be used that was reserved under this holder? */
static inline bool
sno_grant_is_in_force(uint64 holder)
{
	if (likely(holder == 0))
		return !sno_is_registered();
	return sno_is_registered() && pg_atomic_read_u64(&sno_space->holder) == holder;
}

extern void sno_grant_setting_changed(bool refused);
extern void sno_grant_check_setting(void);
extern void sno_grant_check_setting_again(void);
extern void sno_grant_ask(void);
extern void sno_grant_ask_more(uint64 now);
extern void sno_grant_renew(void);
extern SnoGrants sno_grants_copy(void);
extern bool sno_grant_find(int partition, uint64 holder, SnoGrant *grant);
extern bool sno_grants_lack(uint64 until);
extern void sno_grants_publish(SnoSpace *space, Oid database, const SnoGrants *grants,
							   int64 renew_at, uint64 answered);
extern void sno_grants_revoke_all(void);
extern void sno_grants_are_kept(void);
extern bool sno_grants_were_kept(void);
extern bool sno_grants_know_range(void);
extern bool sno_grant_is_for_anybody(int partition);
extern bool sno_registry_may_see(void);

#endif							/* SNO_GRANT_H */

/*
 * grant.h
 *		The grants of the registry to a database, as its sessions see them.
 */
#ifndef SNO_GRANT_H
#define SNO_GRANT_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "core/asker.h"
#include "shared/space.h"

/* The file of grants, in the data directory */
#define SNO_GRANTS_FILE		"sno.grants"

/* Settings */
extern char *sno_registry;		/* connection string of the registry; empty if there is none */
extern bool sno_registry_refused;	/* a value was given, but the default is in force */
extern int	sno_grant_duration; /* seconds */
extern char *sno_server;		/* name of this server in the registry */

/* Is there a registry, so that only granted partitions and nodes may be used? */
static inline bool
sno_is_registered(void)
{
	return sno_registry[0] != '\0';
}

/*
 * May a partition that was reserved under this holder be used?  The holder is 0 if the partition
 * was reserved without a registry.
 */
static inline bool
sno_grant_is_in_force(uint64 holder)
{
	if (likely(holder == 0))
		return !sno_is_registered();
	return sno_is_registered() && pg_atomic_read_u64(&sno_space->grants.partitions.holder) == holder;
}

/* A task of the registry client: to request partitions for a database, or nodes of a layout */
typedef struct SnoGrantTask
{
	SnoSpace   *space;
	Oid			database;
	SnoLayout	layout;			/* all zeros for partitions */
	SnoNodeRange range;			/* range from which the registry grants, if it is known */
	int			want;			/* number of wanted blocks; with 0, only the range is requested */
	bool		asked;			/* do sessions ask for this task? */
	bool		in_force;		/* are grants in force? */
	bool		again;			/* must the request be repeated, as another holder? */
} SnoGrantTask;

/* Does the layout stand for partitions, because it is all zeros? */
static inline bool
sno_layout_is_none(const SnoLayout *layout)
{
	return layout->time_bits == 0;
}

/* Return the last node of a layout, or the last partition if the layout stands for partitions. */
static inline int64
sno_granted_last(const SnoLayout *layout)
{
	return sno_layout_is_none(layout) ? SNO_PARTITION_MAX : (int64) sno_bits_max(layout->node_bits);
}

extern void sno_grant_setting_changed(bool refused);
extern void sno_grant_check_setting(void);
extern void sno_grant_check_setting_again(void);
extern void sno_granted_init(SnoGranted *granted);
extern SnoGranted *sno_granted_of(const SnoLayout *layout);
extern SnoNodeRange sno_granted_range(SnoGranted *granted);
extern void sno_grant_ask(SnoGranted *granted, int blocks);
extern void sno_grant_ask_more(SnoGranted *granted, uint64 now);
extern void sno_grant_renew(SnoGranted *granted, int blocks);
extern SnoGrants sno_grants_copy(const SnoGranted *granted);
extern bool sno_grant_find(const SnoGranted *granted, int64 number, uint64 holder, SnoGrant *grant);
extern bool sno_grants_lack(SnoGranted *granted);
extern bool sno_grants_are_in_vain(SnoGranted *granted);
extern List *sno_grants_tasks(void);
extern void sno_grants_publish(const SnoGrantTask *task, const SnoGrants *grants,
							   const SnoNodeRange *range, int64 renew_at, uint64 answered);
extern void sno_grants_answered(const SnoGrantTask *task);
extern void sno_grants_revoke_all(void);
extern void sno_grants_are_kept(void);
extern bool sno_grants_were_kept(void);
extern bool sno_grants_know_range(void);
extern bool sno_grant_is_for_anybody(int partition);
extern bool sno_registry_may_see(void);

#endif							/* SNO_GRANT_H */

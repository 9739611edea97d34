/*
 * chosen.c
 *		Nodes that were chosen for a generator: may it issue there, and up to when?
 *
 * With a registry, leases in nodes end with the grant of the nodes (G3).  Without one,
 * sno_reseed() revokes nodes, and a session stays in nodes of its share.  flake/choose.c
 * chooses them.
 */
#include "postgres.h"

#include "named/chosen.h"
#include "shared/partition.h"

/* The first node of this server's share, which begins with that partition. */
static int64
share_of(int first_partition, unsigned node_bits)
{
	if (node_bits >= 16)
		return (int64) first_partition << (node_bits - 16);
	return (((int64) first_partition << node_bits) + SNO_PARTITION_MAX) >> 16;
}

/* The nodes of a layout that are this server's share: none if the last one is before the first one. */
SnoShard
sno_chosen_share(const SnoLayout *layout)
{
	return (SnoShard) {
		share_of(sno_partition_range.first, layout->node_bits),
		share_of(sno_partition_range.last + 1, layout->node_bits) - 1
	};
}

/* Were the nodes chosen, and nothing revoked since then?  Takes no lock. */
bool
sno_chosen_are_in_force(const SnoNamedState *s)
{
	return s->floats && DsaPointerIsValid(s->granted) == sno_is_registered() &&
		pg_atomic_read_u64(sno_chosen_authority(s)) == s->authority;
}

/*
 * May this session go on in the nodes that were chosen for a generator, as its definition is
 * now?  Another session may have another share.
 */
bool
sno_chosen_may_stay(const SnoNamedState *s, const SnoDefinition *d)
{
	SnoShard	share;

	if (!sno_chosen_are_in_force(s) || s->passed || s->floor < d->after)
		return false;
	if (sno_is_registered())
		return true;
	share = sno_chosen_share(&s->subject.layout);
	return s->subject.shard.min >= share.min && s->subject.shard.max <= share.max;
}

/*
 * Set `limit` of a state to the last unit up to which its nodes may be leased.  Set `passed`
 * if they may not be used any more: then sessions choose again.  Fixed nodes have no limit.
 * The caller has the turn of the group.
 */
SnoObstacle
sno_chosen_find_limit(SnoNamedState *s, uint64 now)
{
	SnoGranted *granted;
	SnoGrant	grant;

	s->limit = SNO_UNIT_MAX;
	if (!s->floats)
		return SNO_NO_OBSTACLE;
	if (!sno_chosen_are_in_force(s))
		s->passed = true;
	if (s->passed)
		return SNO_CLASH;
	if (!sno_is_registered())
		return SNO_NO_OBSTACLE;

	granted = dsa_get_address(sno_area, s->granted);
	sno_grant_renew(granted, 1);
	if (!sno_grant_find(granted, s->subject.shard.min, s->authority, &grant) ||
		!sno_grant_has(&grant, s->subject.shard.max) || grant.floor > s->floor)
	{
		s->passed = true;
		return SNO_CLASH;
	}
	s->limit = grant.ceiling;
	if (now <= grant.ceiling)
		return SNO_NO_OBSTACLE;
	sno_grant_ask(granted, 1);
	return SNO_NO_GRANT;
}

/*
 * chosen.c
 *		How long a generator may issue with the nodes that were chosen for it.
 *
 * A generator of a layout may have no fixed nodes.  flake/choose.c then chooses nodes for it when
 * it issues.  With a registry, a lease of chosen nodes ends when the grant of the nodes ends, or
 * earlier (G3).  Without a registry, chosen nodes remain valid until sno_reseed() revokes them, but
 * a session uses only nodes of the server's share, which sno.partitions determines.
 */
#include "postgres.h"

#include "named/chosen.h"
#include "shared/partition.h"

/* Return the first node of a server's share.  `first_partition` is the share's first partition. */
static int64
share_of(int first_partition, unsigned node_bits)
{
	if (node_bits >= 16)
		return (int64) first_partition << (node_bits - 16);
	return (((int64) first_partition << node_bits) + SNO_PARTITION_MAX) >> 16;
}

/* Return this server's share of the nodes of a layout.  The share is empty if `max` is below `min`. */
SnoShard
sno_chosen_share(const SnoLayout *layout)
{
	return (SnoShard) {
		share_of(sno_partition_range.first, layout->node_bits),
		share_of(sno_partition_range.last + 1, layout->node_bits) - 1
	};
}

/* Were the nodes of a state chosen, and not revoked since then?  Takes no lock. */
bool
sno_chosen_are_in_force(const SnoNamedState *s)
{
	return s->floats && DsaPointerIsValid(s->granted) == sno_is_registered() &&
		pg_atomic_read_u64(sno_chosen_authority(s)) == s->authority;
}

/*
 * May this session go on with the nodes that were chosen for a generator, whose present definition
 * is *d?  The function checks the server's share again, because the session that chose the nodes
 * may have had another setting of sno.partitions, and so another share.
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
 * Set the `limit` of a state to the last unit for which its nodes may be leased.  Fixed nodes have
 * no limit.  If chosen nodes may not be used any more, set `passed`, so that sessions choose other
 * nodes.  Returns the obstacle to issuing at `now`.  The caller has the turn of the group.
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

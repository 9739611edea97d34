/*
 * lease.c
 *		Proofs about leases, and about shards.
 *
 * options: --unwind 5 --unsigned-overflow-check --conversion-check
 */
#include "core/lease.h"
#include "core/generator.c"
#include "proof.h"
#include "generator.h"

static SnoLease
any_lease(void)
{
	return (SnoLease) {
		.pending_ceiling = any_unit(),
		.pending_lsn = nondet_uint64(),
		.attention = any_between(0, SNO_UNIT_MAX + 1),
		.file = nondet_uint32(),
		.pending_file = nondet_uint32()
	};
}

/* A lease lasts from now on, up to the end of the epoch at most. */
PROOF(lease_end)
{
	uint64_t	now = any_unit();
	uint64_t	half = any_between(0, UINT32_MAX);
	uint64_t	end = sno_lease_end(now, half);

	PROVE(end >= now && end <= SNO_UNIT_MAX);
	PROVE(end == SNO_UNIT_MAX || end - now == 2 * half);
	MAY_BE(end == SNO_UNIT_MAX && end - now < half);
}

/* What to do follows from lease, unit and file, as src/README.md says. */
PROOF(lease_task)
{
	SnoGenerator g = any_generator();
	SnoLease	l = any_lease();
	uint64_t	unit = any_unit();
	uint32_t	file = nondet_uint32();
	const bool	in_place = l.file != 0 && (file == 0 || l.file == file);
	const bool	covered = in_place && unit <= g.ceiling;
	const bool	written = l.pending_ceiling != 0 && l.pending_ceiling >= unit && l.pending_file == file;
	SnoLeaseTask task = sno_lease_task(&l, &g, unit, file);

	PROVE((task == SNO_LEASE_ISSUE) == (covered && unit < l.attention));
	PROVE((task == SNO_LEASE_RENEW_EARLY) == (covered && unit >= l.attention));
	PROVE((task == SNO_LEASE_PUBLISH) == (!covered && written));
	PROVE((task == SNO_LEASE_WRITE) == (!covered && !written));
	MAY_BE(task == SNO_LEASE_ISSUE);
	MAY_BE(task == SNO_LEASE_RENEW_EARLY);
	MAY_BE(task == SNO_LEASE_PUBLISH);
	MAY_BE(task == SNO_LEASE_WRITE);
}

/*
 * Whatever happens to a lease next: what it lets somebody issue is at or below the ceiling
 * of a row that is flushed.
 */
PROOF(lease_life)
{
	SnoGenerator g = any_generator();
	SnoLease	l = any_lease();
	uint64_t	flushed = any_unit();	/* the highest ceiling of our rows on disk, in `file` */
	uint64_t	written = any_unit();	/* of those that are written there */
	uint32_t	file = nondet_uint32();
	uint64_t	now = any_unit();
	uint64_t	half = any_between(0, UINT32_MAX);
	uint8_t		event = nondet_uint8();
	SnoLeaseTask task;

	ASSUME(file != 0);
	ASSUME(i4(&g));
	ASSUME(l.file != file || g.ceiling <= flushed);
	ASSUME(l.pending_file != file || l.pending_ceiling <= written);
	switch (event)
	{
		case 0:
			written = sno_lease_end(now, half);
			ASSUME(written >= g.ceiling);
			sno_lease_note_written(&l, written, nondet_uint64(), file);
			break;
		case 1:
			ASSUME(l.pending_ceiling >= g.ceiling);
			flushed = written;
			sno_lease_note_flushed(&l, &g, half);
			PROVE(l.attention <= g.ceiling || g.ceiling == SNO_UNIT_MAX);
			break;
		case 2:
			sno_lease_postpone(&l, &g, now);
			/* It is tried again later, but before the lease is over. */
			PROVE(l.attention > now);
			PROVE(l.attention <= g.ceiling || now >= g.ceiling);
			break;
		case 3:
			sno_lease_rest(&l, &g);
			break;
		case 4:
			sno_lease_clear(&l);
			PROVE(sno_lease_task(&l, &g, now, file) == SNO_LEASE_WRITE);
			break;
		case 5:
			/* The table gets another file, which has none of the rows. */
			file = nondet_uint32();
			ASSUME(file != 0 && file != l.file && file != l.pending_file);
			flushed = written = 0;
			break;
	}
	PROVE(i4(&g));
	PROVE(l.file != file || g.ceiling <= flushed);
	PROVE(l.pending_file != file || l.pending_ceiling <= written);
	task = sno_lease_task(&l, &g, now, file);
	PROVE((task != SNO_LEASE_ISSUE && task != SNO_LEASE_RENEW_EARLY) || now <= flushed);
	PROVE(task != SNO_LEASE_PUBLISH || now <= written);
	MAY_BE(event == 0 && task == SNO_LEASE_PUBLISH);
	MAY_BE(event == 1 && task == SNO_LEASE_ISSUE);
	MAY_BE(event == 2 && task == SNO_LEASE_ISSUE);
	MAY_BE(event == 3 && task == SNO_LEASE_ISSUE);
	MAY_BE(event == 5 && task == SNO_LEASE_WRITE);
}

/* Shards overlap if and only if a number is in both. */
PROOF(shards_overlap)
{
	SnoShard	a = {nondet_int64(), nondet_int64()};
	SnoShard	b = {nondet_int64(), nondet_int64()};
	int64_t		number = nondet_int64();
	const int64_t lowest = a.min > b.min ? a.min : b.min;

	ASSUME(a.min <= a.max && b.min <= b.max);
	if (number >= a.min && number <= a.max && number >= b.min && number <= b.max)
		PROVE(sno_shards_overlap(a, b));
	if (sno_shards_overlap(a, b))
		PROVE(lowest <= a.max && lowest <= b.max);
	PROVE(sno_shards_overlap(a, b) == sno_shards_overlap(b, a));
	MAY_BE(sno_shards_overlap(a, b));
	MAY_BE(!sno_shards_overlap(a, b));
}

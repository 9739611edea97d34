/*
 * lease_test.c
 *		What to do with a lease, decided for all small ones.
 */
#include <stdio.h>

#include "core/lease.h"
#include "tap.h"

#define UNITS	6
#define FILES	3				/* 0 is none */

/* What src/README.md says is to be done before an id of a unit is issued. */
static SnoLeaseTask
expected_task(const SnoLease *l, const SnoGenerator *g, unsigned unit, unsigned file)
{
	bool		in_place = l->file != 0 && (file == 0 || l->file == file);

	if (unit <= g->ceiling && in_place)
		return unit < l->attention ? SNO_LEASE_ISSUE : SNO_LEASE_RENEW_EARLY;
	return l->pending_ceiling > 0 && l->pending_ceiling >= unit && l->pending_file == file ?
		SNO_LEASE_PUBLISH : SNO_LEASE_WRITE;
}

/* Every lease, unit and file. */
static void
test_task(void)
{
	unsigned long count = 0;
	bool		ok = true;

	for (unsigned n = 0; n < UNITS * UNITS * UNITS * UNITS * FILES * FILES * FILES; n++)
	{
		unsigned	rest = n;
		SnoGenerator g = {0};
		SnoLease	l = {0};
		unsigned	unit,
					file;

		g.ceiling = rest % UNITS;
		l.pending_ceiling = (rest /= UNITS) % UNITS;
		l.attention = (rest /= UNITS) % UNITS;
		unit = (rest /= UNITS) % UNITS;
		l.file = (rest /= UNITS) % FILES;
		l.pending_file = (rest /= FILES) % FILES;
		file = (rest /= FILES) % FILES;
		ok = ok && sno_lease_task(&l, &g, unit, file) == expected_task(&l, &g, unit, file);
		count++;
	}
	report(ok && count > 0, "what to do follows from lease, unit and file");
}

/* A lease from its first row to its second one. */
static void
test_life(void)
{
	SnoGenerator g = {0};
	SnoLease	l = {0};

	report(sno_lease_task(&l, &g, 3, 1) == SNO_LEASE_WRITE, "without a lease, a row is written");
	sno_lease_note_written(&l, sno_lease_end(3, 5), 77, 1);
	report(g.ceiling == 0 && sno_lease_task(&l, &g, 3, 1) == SNO_LEASE_PUBLISH,
		   "a row that is written raises no ceiling yet");
	report(sno_lease_task(&l, &g, 3, 2) == SNO_LEASE_WRITE,
		   "a row in a former file of the table doesn't count");
	sno_lease_note_flushed(&l, &g, 5);
	report(g.ceiling == 13 && l.attention == 8 && l.pending_ceiling == 0 &&
		   sno_lease_task(&l, &g, 3, 1) == SNO_LEASE_ISSUE,
		   "once it is flushed, ids are issued up to its ceiling");
	report(sno_lease_task(&l, &g, 8, 1) == SNO_LEASE_RENEW_EARLY, "after half of it, it is renewed early");
	sno_lease_postpone(&l, &g, 8);
	report(l.attention == 11 && sno_lease_task(&l, &g, 10, 1) == SNO_LEASE_ISSUE &&
		   sno_lease_task(&l, &g, 11, 1) == SNO_LEASE_RENEW_EARLY,
		   "if that fails, it is tried again after half of what is left");
	sno_lease_note_written(&l, sno_lease_end(11, 5), 99, 1);
	sno_lease_rest(&l, &g);
	report(sno_lease_task(&l, &g, 13, 1) == SNO_LEASE_ISSUE &&
		   sno_lease_task(&l, &g, 14, 1) == SNO_LEASE_PUBLISH,
		   "a row that is written early is published at the ceiling");
	report(sno_lease_task(&l, &g, 5, 2) == SNO_LEASE_WRITE &&
		   sno_lease_task(&l, &g, 5, 0) == SNO_LEASE_ISSUE,
		   "a rewritten table ends the lease, a missing one doesn't");
	sno_lease_clear(&l);
	report(sno_lease_task(&l, &g, 5, 0) == SNO_LEASE_WRITE, "a lease that was cleared is none, even while the table is missing");
	sno_lease_note_written(&l, sno_lease_end(SNO_UNIT_MAX - 3, 5), 1, 1);
	sno_lease_note_flushed(&l, &g, 5);
	report(g.ceiling == SNO_UNIT_MAX && sno_lease_task(&l, &g, SNO_UNIT_MAX, 1) == SNO_LEASE_ISSUE,
		   "a lease to the end of the epoch is never renewed");
}

int
main(void)
{
	test_task();
	test_life();
	return plan();
}

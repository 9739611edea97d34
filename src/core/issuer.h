/*
 * issuer.h
 *		The protocol of watermarks: the units from which transactions issue, and the
 *		promise to readers.
 *
 * A watermark is a unit W that belongs to a snapshot.  If the snapshot doesn't show a row, the
 * row has no id of a unit before W, provided that the transaction that inserts the row issued
 * the id.
 *
 * Each process has an issuer.  Before a transaction issues its first id, it announces the unit
 * from which it will issue, by storing the unit in the issuer.  A reader first raises the
 * promise, which all readers share: from then on, no transaction begins to issue before the
 * promised unit.  Then the reader reads all issuers.  W is the lowest of the promised unit, the
 * units of running transactions, and the units of transactions that have ended but aren't
 * visible to the snapshot.
 *
 * src/README.md has the rules W1 to W5.  The protocol doesn't depend on PostgreSQL, so
 * test/model/feed.c can explore all orders of its steps.
 */
#ifndef SNO_ISSUER_H
#define SNO_ISSUER_H

#include "id.h"

/*
 * The number of ended transactions that an issuer remembers.  Successive transactions with
 * the same unit count as one, so the memory reaches back at least 120 ms.
 */
#ifndef SNO_ISSUER_MEMORY		/* a model has fewer */
#define SNO_ISSUER_MEMORY	31
#endif

/* This value in place of a unit means that no transaction issues, or that nothing was issued. */
#define SNO_NO_UNIT			UINT64_MAX

/* A promise is broken if it is more than this number of units (one hour) ahead of the clock. */
#ifndef SNO_PROMISE_AHEAD
#define SNO_PROMISE_AHEAD	(UINT64_C(3600) * SNO_UNITS_PER_SEC)
#endif

/* The promise to all readers */
typedef struct SnoPromise
{
	SnoAtomic	unit;			/* no transaction begins to issue before it */
	SnoAtomic	broken;			/* 1 if transactions may issue before `unit`, which was too far ahead */
} SnoPromise;

/* An entry of an issuer's memory: successive transactions of one unit that have ended */
typedef struct SnoEnded
{
	SnoAtomic	xid;			/* of the last transaction */
	SnoAtomic	since;			/* unit from which all of them issued */
} SnoEnded;

/* Tests define SNO_DELAY() to delay the protocol's steps, so that rare orders of events occur. */
#ifndef SNO_DELAY
#define SNO_DELAY()	((void) 0)
#endif

typedef struct SnoIssuer
{
	SnoAtomic	since;			/* unit from which the running transaction may issue;
								 * 0 if it doesn't issue */
	SnoAtomic	ended;			/* number of entries written to the memory so far */
	SnoEnded	memory[SNO_ISSUER_MEMORY];	/* a ring of the last entries */
} SnoIssuer;

/* A function that returns the clock's unit */
typedef uint64_t (*SnoClock) (void);

extern uint64_t sno_issuer_begin(SnoIssuer *issuer, SnoPromise *promise, uint64_t now,
								 SnoClock clock);
extern void sno_issuer_end(SnoIssuer *issuer, uint64_t xid);
extern uint64_t sno_issuer_since(const SnoIssuer *issuer);
extern uint64_t sno_issuer_lowest(const SnoIssuer *issuer,
								  bool (*shows) (uint64_t xid, void *arg), void *arg);

extern uint64_t sno_promise_make(SnoPromise *promise, uint64_t now, SnoClock clock);
extern uint64_t sno_promise_now(SnoPromise *promise, uint64_t now, SnoClock clock);
extern void sno_promise_move_on(SnoPromise *promise, uint64_t exhausted);
extern bool sno_promise_is_broken(const SnoPromise *promise);
extern void sno_promise_forget(SnoPromise *promise);

#endif							/* SNO_ISSUER_H */

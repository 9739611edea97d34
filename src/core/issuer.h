/*
 * issuer.h
 *		The protocol of watermarks: who issues from which unit on, and what readers
 *		were promised.
 *
 * A watermark is a unit W, for a snapshot.  No row that the snapshot doesn't show will
 * appear with an id of a unit before W, if the transaction that inserts it made the id.
 *
 * Each process has an issuer.  Before its transaction issues, the issuer says from which
 * unit on it will.  A reader promises a unit to all readers: from then on no transaction
 * begins to issue before it.  Then it looks at all issuers.  W is the lowest unit of the
 * promise, of the transactions that run, and of those that ended and that the snapshot
 * doesn't show.
 *
 * W1 to W5 of src/README.md are the rules.  This is as pure as the generator, so
 * test/model/feed.c explores it in all orders of its steps.
 */
#ifndef SNO_ISSUER_H
#define SNO_ISSUER_H

#include "id.h"

/*
 * Transactions that an issuer remembers after their end.  Those of one unit count once,
 * so they reach back 120 ms at least.
 */
#ifndef SNO_ISSUER_MEMORY		/* a model has fewer */
#define SNO_ISSUER_MEMORY	31
#endif

/* No unit: nobody issues, or nothing was issued. */
#define SNO_NO_UNIT			UINT64_MAX

/* How far ahead of the clock a promise holds ids, in units: an hour. */
#ifndef SNO_PROMISE_AHEAD
#define SNO_PROMISE_AHEAD	(UINT64_C(3600) * SNO_UNITS_PER_SEC)
#endif

/* What readers were promised. */
typedef struct SnoPromise
{
	SnoAtomic	unit;			/* no transaction begins to issue before it */
	SnoAtomic	broken;			/* 1 if one did: the clock is too far behind it */
} SnoPromise;

/* Transactions of an issuer that ended, one after the other. */
typedef struct SnoEnded
{
	SnoAtomic	xid;			/* of the last one */
	SnoAtomic	since;			/* they issued from this unit on */
} SnoEnded;

/* Where a test may let the protocol wait, to meet a rare order of events. */
#ifndef SNO_DELAY
#define SNO_DELAY()	((void) 0)
#endif

typedef struct SnoIssuer
{
	SnoAtomic	since;			/* the transaction that runs may issue from this unit
								 * on; 0 if it doesn't issue */
	SnoAtomic	ended;			/* how many were remembered so far */
	SnoEnded	memory[SNO_ISSUER_MEMORY];	/* the last ones */
} SnoIssuer;

/* Reads the clock, in units. */
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

/*
 * feed.h
 *		The protocol between transactions that issue ids and readers of feeds.
 */
#ifndef SNO_FEED_H
#define SNO_FEED_H

#include "postgres.h"

#include "utils/snapshot.h"

#include "compat.h"
#include "core/issuer.h"
#include "core/subject.h"

/*
 * The lowest unit in which this transaction may issue, or SNO_NO_UNIT before the transaction's
 * first call of sno_feed_unit()
 */
extern uint64 sno_feed_bound;

/* The number of the present transaction in this session */
extern uint64 sno_feed_transaction;

/* A session or prepared transaction that keeps a watermark from rising */
typedef struct SnoBlocker
{
	int32		pid;			/* pid of the session, or 0 for a prepared transaction */
	TransactionId xid;			/* InvalidTransactionId if the session has no xid yet */
	uint64		since;			/* the clock's unit at the transaction's first announcement */
} SnoBlocker;

extern void sno_feed_init(void);
extern void sno_feed_attach(void);
extern uint64 sno_feed_unit(void);
extern void sno_feed_tell_tick(const SnoSubject *counter, uint64 next);
extern bool sno_feed_move_on(uint64 exhausted);
extern bool sno_feed_hasten(void);
extern bool sno_feed_knows_past(void);
extern void sno_feed_recall(uint64 (*read) (void *arg), void *arg);
extern uint64 sno_feed_highest(void);
extern bool sno_feed_is_covered(uint64 unit, RelFileNumber file);
extern void sno_feed_cover(uint64 unit, RelFileNumber file,
						   void (*write) (uint64 until, void *arg), void *arg);
extern void sno_feed_check(uint64 promised);
extern uint64 sno_feed_lowest(Snapshot snapshot);
extern uint64 sno_feed_lowest_number(Snapshot snapshot, const SnoSubject *counter, uint64 next);
extern SnoBlocker *sno_feed_blockers(int *count);
extern void sno_feed_reset(void (*forget) (void *arg), void *arg);

#endif							/* SNO_FEED_H */

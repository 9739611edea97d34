/*
 * prepared.h
 *		Prepared transactions that issued ids, for readers of feeds.
 */
#ifndef SNO_PREPARED_H
#define SNO_PREPARED_H

#include "postgres.h"

#include "utils/dsa.h"
#include "utils/snapshot.h"

/* The kinds of announcements of a transaction.  Each kind has its own issuer. */
typedef enum SnoTold
{
	SNO_TOLD_UNIT,				/* core/issuer.h */
	SNO_TOLD_TICK,				/* core/numbers.h */
	SNO_TOLDS
} SnoTold;

/* A transaction that was prepared, and that some snapshot may not show yet */
typedef struct SnoPrepared
{
	dsa_pointer next;
	uint64		xid;
	SnoTold		what;
	uint64		since;			/* the announced unit or tick; 0 if the tick isn't known any more */
	uint64		unit;			/* the clock's unit at the announcement */
} SnoPrepared;

typedef struct SnoPreparedList
{
	dsa_pointer first;
	uint64		known;			/* the next xid at the time when the list was completed; 0
								 * before that */
} SnoPreparedList;

/* Information about the transactions that a snapshot shows; see sno_view_of() */
typedef struct SnoView
{
	Snapshot	snapshot;
	uint64		next;			/* the next xid at a time after the snapshot was taken */
	TransactionId *ended;		/* transactions that the snapshot doesn't show, that have ended
								 * since, and that may have been prepared before the server
								 * started */
	int			ended_count;
} SnoView;

extern SnoView sno_view_of(Snapshot snapshot, const SnoPreparedList *list);
extern bool sno_view_shows(uint64_t xid, void *view);

extern SnoPrepared *sno_prepared_at(dsa_pointer place);
extern void sno_prepared_lock(uint64 xid, SnoTold what, uint64 unit);
extern void sno_prepared_add(SnoPreparedList *list, SnoPrepared prepared);
extern void sno_prepared_recall(SnoPreparedList *list);
extern uint64 sno_prepared_lowest(const SnoPreparedList *list, SnoTold what, SnoView *view);
extern void sno_prepared_clear(SnoPreparedList *list);

#endif							/* SNO_PREPARED_H */

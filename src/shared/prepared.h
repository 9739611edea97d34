/*
 * prepared.h
 *		Prepared transactions that issued ids, for readers of feeds.
 */
#ifndef SNO_PREPARED_H
#define SNO_PREPARED_H

#include "postgres.h"

#include "utils/dsa.h"
#include "utils/snapshot.h"

/* What a transaction reports, by an issuer for each */
typedef enum SnoTold
{
	SNO_TOLD_UNIT,				/* core/issuer.h */
	SNO_TOLD_TICK,				/* core/numbers.h */
	SNO_TOLDS
} SnoTold;

/* A transaction that is prepared, or that some snapshot may not show yet. */
typedef struct SnoPrepared
{
	dsa_pointer next;
	uint64		xid;
	SnoTold		what;
	uint64		since;			/* its unit or tick; 0 if that isn't known any more */
	uint64		unit;			/* of the clock, then */
} SnoPrepared;

typedef struct SnoPreparedList
{
	dsa_pointer first;
	uint64		known;			/* the next xid when the list was made; 0 before */
} SnoPreparedList;

/* The transactions that a snapshot shows */
typedef struct SnoView
{
	Snapshot	snapshot;
	uint64		next;			/* xid, after the snapshot was taken */
	TransactionId *ended;		/* the snapshot doesn't show them, and they may have been
								 * prepared before the server started */
	int			ended_count;
} SnoView;

extern SnoView sno_view_of(Snapshot snapshot, const SnoPreparedList *list);
extern bool sno_view_shows(uint64 xid, void *view);

extern SnoPrepared *sno_prepared_at(dsa_pointer place);
extern void sno_prepared_lock(uint64 xid, SnoTold what, uint64 unit);
extern void sno_prepared_add(SnoPreparedList *list, SnoPrepared prepared);
extern void sno_prepared_recall(SnoPreparedList *list);
extern uint64 sno_prepared_lowest(const SnoPreparedList *list, SnoTold what, SnoView *view);
extern void sno_prepared_clear(SnoPreparedList *list);

#endif							/* SNO_PREPARED_H */

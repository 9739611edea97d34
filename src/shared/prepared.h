/*
 * prepared.h
 *		Prepared transactions that issued ids, for readers of feeds.
 */
#ifndef SNO_PREPARED_H
#define SNO_PREPARED_H

#include "postgres.h"

#include "utils/dsa.h"
#include "utils/snapshot.h"

/* A transaction that is prepared, or that some snapshot may not show yet. */
typedef struct SnoPrepared
{
	dsa_pointer next;
	uint64		xid;
	uint64		since;			/* it issued from this unit on */
} SnoPrepared;

typedef struct SnoPreparedList
{
	dsa_pointer first;
	uint64		known;			/* the next xid when the list was made; 0 before */
} SnoPreparedList;

/* What a snapshot shows. */
typedef struct SnoView
{
	Snapshot	snapshot;
	uint64		next;			/* xid, after the snapshot was taken */
} SnoView;

extern bool sno_view_shows(uint64 xid, void *view);

extern SnoPrepared *sno_prepared_at(dsa_pointer place);
extern void sno_prepared_lock(uint64 xid, uint64 since);
extern void sno_prepared_add(SnoPreparedList *list, uint64 xid, uint64 since);
extern void sno_prepared_recall(SnoPreparedList *list);
extern uint64 sno_prepared_lowest(const SnoPreparedList *list, SnoView *view);
extern void sno_prepared_clear(SnoPreparedList *list);

#endif							/* SNO_PREPARED_H */

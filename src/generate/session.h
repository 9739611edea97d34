/*
 * session.h
 *		The partitions of a session, from its first id to its end.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "shared/partition.h"

/* The partitions that this session owns, by purpose; NULL if it has none. */
extern SnoPartition *sno_session_partition[2];

/* A partition that is leased for somebody else, up to its ceiling. */
typedef struct SnoLoan
{
	int			partition;
	SnoGenerator generator;		/* at its floor */
} SnoLoan;

extern Relation sno_session_open_table(void);
extern void sno_session_know_past(void);
extern void sno_session_begin(void);
extern void sno_session_begin_own(void);
extern uint64 sno_session_next(SnoPurpose purpose, uint64 unit);
extern SnoLoan sno_session_lend(uint64 units);
extern void sno_session_release_unusable(void);

#endif							/* SNO_SESSION_H */

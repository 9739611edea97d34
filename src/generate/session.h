/*
 * session.h
 *		How a session leases partitions, and issues from them.
 */
#ifndef SNO_SESSION_H
#define SNO_SESSION_H

#include "postgres.h"

#include "utils/relcache.h"

#include "generate/owned.h"
#include "shared/slices.h"

extern Relation sno_session_open_table(void);
extern void sno_session_know_past(void);
extern uint64 sno_session_next(SnoPurpose purpose, uint64 unit);
extern SnoLoan sno_session_lend(uint64 units, uint32 sequences);

#endif							/* SNO_SESSION_H */

/*
 * wake.h
 *		Wakes the readers of feeds when a transaction commits rows.
 */
#ifndef SNO_WAKE_H
#define SNO_WAKE_H

#include "postgres.h"

#include "storage/condition_variable.h"

/* The number of condition variables, which all tables share */
#define SNO_WAKE_CHANNELS	64

extern void sno_wake_init(ConditionVariable *channels);
extern void sno_wake_note(Oid table);
extern void sno_wake_readers(bool committed);
extern void sno_wake_prepare(Oid table);
extern bool sno_wake_sleep(Oid table, long msec);

#endif							/* SNO_WAKE_H */

/*
 * overflow.h
 *		Notifications that callers have to wait for ids.
 */
#ifndef SNO_OVERFLOW_H
#define SNO_OVERFLOW_H

extern bool sno_notify_overflow;

extern void sno_overflow_report(void);

#endif							/* SNO_OVERFLOW_H */

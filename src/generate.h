/*
 * generate.h
 *		Settings of the generators.
 */
#ifndef SNO_GENERATE_H
#define SNO_GENERATE_H

extern int	sno_lease_duration; /* s */
extern int	sno_max_wait;		/* ms */

#endif							/* SNO_GENERATE_H */

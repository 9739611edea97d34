/*
 * sharing.h
 *		Whether a session shares a partition with others.
 */
#ifndef SNO_SHARING_H
#define SNO_SHARING_H

#include "postgres.h"

/* Values of the setting */
typedef enum SnoSharing
{
	SNO_SHARING_AUTO,
	SNO_SHARING_ALWAYS,
	SNO_SHARING_NEVER
} SnoSharing;

extern int	sno_sharing;

/* The unit of ids by the clock that this session entered last; 0 if it entered none. */
extern uint64 sno_sharing_unit;

extern bool sno_sharing_is_wanted(uint64 unit);

#endif							/* SNO_SHARING_H */

/*
 * place.h
 *		The place where this server runs.
 */
#ifndef SNO_PLACE_H
#define SNO_PLACE_H

#include "postgres.h"

#define SNO_PLACE_SIZE		128

/* Distinguishes a file from all other files that have existed since the machine was booted */
typedef struct SnoFileIdentity
{
	uint64		device;
	uint64		inode;
	int64		changed;		/* change time, in ns */
} SnoFileIdentity;

extern bool sno_file_identity(const char *name, SnoFileIdentity *identity);
extern void sno_place(char place[SNO_PLACE_SIZE]);

#endif							/* SNO_PLACE_H */

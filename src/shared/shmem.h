/*
 * shmem.h
 *		The extension's shared memory: its header, and the parts that all databases share.
 */
#ifndef SNO_SHMEM_H
#define SNO_SHMEM_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"

#include "compat.h"
#include "id.h"

#define SNO_PARTITIONS		(SNO_PARTITION_MAX + 1)

typedef struct SnoHeader
{
	uint64		magic;			/* 0 until all other fields are set */
	uint32		layout;
	int			tranche;
	dsa_handle	area;
	dsa_pointer activity;
	dsa_pointer map;			/* the map: MAP_WORDS atomic words */
	dsa_pointer_atomic spaces;
	uint32		lives;			/* number of lives that all spaces have begun so far */
	int64		clock_offset;	/* µs, see clock.c */
	bool		clock_known;
	LWLock		lock;
} SnoHeader;

extern SnoHeader *sno_header;	/* valid once this process is attached */
extern dsa_area *sno_area;
extern void sno_shmem_init(void);
extern void sno_shmem_attach(void);
extern void sno_shmem_init_lock(LWLock *lock);
extern bool sno_shmem_note_clock(int64 offset, int64 tolerance, int64 *before);
extern void sno_shmem_note_use(int partition);
extern bool sno_shmem_is_used(int partition);

#endif							/* SNO_SHMEM_H */

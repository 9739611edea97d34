/*
 * file.h
 *		The file that keeps what the registry granted to this server's databases.
 */
#ifndef SNO_REGISTRY_FILE_H
#define SNO_REGISTRY_FILE_H

#include "postgres.h"

#include "core/asker.h"
#include "registry/place.h"
#include "shared/shmem.h"

/*
 * What tells a database from another one that gets its OID: both of these differ then.
 * ALTER DATABASE changes the first one, and recovery of CREATE DATABASE the second one.
 * ALTER DATABASE SET TABLESPACE changes both.  Nothing tells that from DROP and CREATE
 * with the same content, so the database asks as another holder then.
 */
typedef struct SnoDatabaseIdentity
{
	TransactionId incarnation;	/* see shared/shmem.c */
	SnoFileIdentity folder;		/* of the PG_VERSION in it */
} SnoDatabaseIdentity;

/* What one database has, and how it asks. */
typedef struct SnoGrantsEntry
{
	Oid			database;
	SnoDatabaseIdentity identity;
	SnoLayout	layout;			/* whose nodes; of zeros: partitions */
	SnoNodeRange range;			/* of the layout */
	SnoAsker	asker;
} SnoGrantsEntry;

typedef struct SnoGrantsFile
{
	int32		range_first;	/* partitions that the registry grants */
	int32		range_last;		/* -1 if they aren't known */
	int32		count;
	int32		room;			/* for entries */
	SnoGrantsEntry *entry;
} SnoGrantsFile;

extern void sno_grants_read(SnoGrantsFile *file);
extern void sno_grants_write(const SnoGrantsFile *file);
extern SnoGrantsEntry *sno_grants_find_entry(const SnoGrantsFile *file, Oid database,
											 const SnoLayout *layout);
extern SnoGrantsEntry *sno_grants_make_entry(SnoGrantsFile *file, Oid database,
											 const SnoDatabaseIdentity *identity,
											 const SnoLayout *layout);
extern void sno_grants_forget(SnoGrantsFile *file, int entry);

#endif							/* SNO_REGISTRY_FILE_H */

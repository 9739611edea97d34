/*
 * file.h
 *		The file of the registry's grants to this server's databases.
 */
#ifndef SNO_REGISTRY_FILE_H
#define SNO_REGISTRY_FILE_H

#include "postgres.h"

#include "core/asker.h"
#include "registry/place.h"
#include "shared/space.h"

/*
 * The identity of a database.  Both members differ in another database with the same OID.
 * ALTER DATABASE changes the first member, and recovery of CREATE DATABASE the second.
 * ALTER DATABASE SET TABLESPACE changes both, and can't be distinguished from DROP and
 * CREATE with the same content, so the database asks as a new holder then.
 */
typedef struct SnoDatabaseIdentity
{
	TransactionId incarnation;	/* see shared/space.c */
	SnoFileIdentity folder;		/* of the PG_VERSION in it */
} SnoDatabaseIdentity;

/* The grants and the asker of a database, for partitions or for one layout. */
typedef struct SnoGrantsEntry
{
	Oid			database;
	SnoDatabaseIdentity identity;
	SnoLayout	layout;			/* all zeros for partitions */
	SnoNodeRange range;			/* of the layout */
	SnoAsker	asker;
} SnoGrantsEntry;

typedef struct SnoGrantsFile
{
	int32		range_first;	/* partitions that the registry grants */
	int32		range_last;		/* -1 if the range isn't known */
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

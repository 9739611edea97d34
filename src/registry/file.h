/*
 * file.h
 *		The file in which a server keeps the registry's grants to its databases.
 */
#ifndef SNO_REGISTRY_FILE_H
#define SNO_REGISTRY_FILE_H

#include "postgres.h"

#include "core/asker.h"
#include "registry/place.h"
#include "shared/space.h"

/*
 * The identity of a database.  Another database with the same OID has other values of both
 * members.  ALTER DATABASE changes the first member, and replay of CREATE DATABASE in recovery
 * changes the second.  So a database counts as the same if one member is unchanged.  ALTER
 * DATABASE SET TABLESPACE changes both members, as if the database were dropped and created again.
 * After this command, the database asks for grants as a new holder.
 */
typedef struct SnoDatabaseIdentity
{
	TransactionId incarnation;	/* see shared/space.c */
	SnoFileIdentity folder;		/* of the file PG_VERSION in the database's folder */
} SnoDatabaseIdentity;

/* The asker of a database, with its grants, for partitions or for one layout */
typedef struct SnoGrantsEntry
{
	Oid			database;
	SnoDatabaseIdentity identity;
	SnoLayout	layout;			/* all zeros for partitions */
	SnoNodeRange range;			/* the nodes that the registry may grant */
	SnoAsker	asker;
} SnoGrantsEntry;

typedef struct SnoGrantsFile
{
	int32		range_first;	/* the partitions that the registry may grant */
	int32		range_last;		/* -1 if the range isn't known */
	int32		count;
	int32		room;			/* number of entries for which there is memory */
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

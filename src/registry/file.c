/*
 * file.c
 *		The file in which a server keeps the registry's grants to its databases.
 *
 * The file is in the data folder, outside of the folders that CREATE DATABASE copies.  The
 * file isn't logged in WAL.  It is replaced as a whole, by a durable rename.  The file names
 * the place and the WAL timeline in which it was written.  A copy of the server is in another
 * place, and a promoted server is on another timeline.  Such a server doesn't use the grants in
 * the file, but only the ranges from which the registry grants.
 *
 * Only the registry client reads and writes the file.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "registry/file.h"
#include "registry/place.h"
#include "shared/grant.h"

#define NEW_FILE			SNO_GRANTS_FILE ".new"
#define MAGIC				UINT64CONST(0x736E6F206772616E) /* "sno gran" */

/* Increase this when a struct in the file changes. */
#define FORMAT				2

/* The header of the file.  The entries follow it. */
typedef struct Header
{
	uint64		magic;
	uint32		format;
	uint32		checksum;		/* CRC-32C of the rest of the file */
	uint64		system_identifier;
	char		place[SNO_PLACE_SIZE];
	uint32		timeline;
	int32		range_first;
	int32		range_last;
	int32		count;
} Header;

static uint32
checksum(const Header *header, const SnoGrantsEntry *entry, size_t size)
{
	const char *first = (const char *) &header->checksum + sizeof(header->checksum);
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, first, sizeof(Header) - (first - (const char *) header));
	COMP_CRC32C(crc, entry, size);
	FIN_CRC32C(crc);
	return crc;
}

static void
set_header(Header *header, const SnoGrantsFile *file)
{
	memset(header, 0, sizeof(Header));
	header->magic = MAGIC;
	header->format = FORMAT;
	header->system_identifier = GetSystemIdentifier();
	header->timeline = GetWALInsertionTimeLine();
	sno_place(header->place);
	header->range_first = file->range_first;
	header->range_last = file->range_last;
	header->count = file->count;
	header->checksum = checksum(header, file->entry, file->count * sizeof(SnoGrantsEntry));
}

/* Was the file written by this server, on this timeline, in this place? */
static bool
is_of_here(const Header *header)
{
	SnoGrantsFile none = {0};
	Header		here;

	set_header(&here, &none);
	return header->system_identifier == here.system_identifier &&
		header->timeline == here.timeline &&
		memcmp(header->place, here.place, SNO_PLACE_SIZE) == 0;
}

/* Is the entry valid? */
static bool
is_valid(const SnoGrantsEntry *entry)
{
	const SnoGrants *granted = &entry->asker.granted;

	return entry->layout.node_bits <= SNO_NODE_BITS_MAX &&
		granted->count >= 0 && granted->count <= SNO_GRANTS &&
		(granted->count == 0 || granted->holder != 0) &&
		sno_grants_are_valid(granted, sno_granted_last(&entry->layout));
}

/*
 * Read the file into *header and *file.  Returns false if the file is damaged, or has another
 * format.
 */
static bool
read_file(int fd, Header *header, SnoGrantsFile *file)
{
	struct stat st;
	size_t		size;

	if (read(fd, header, sizeof(Header)) != sizeof(Header) ||
		header->magic != MAGIC || header->format != FORMAT ||
		header->count < 0 || header->count > MaxAllocSize / sizeof(SnoGrantsEntry))
		return false;
	size = header->count * sizeof(SnoGrantsEntry);
	if (fstat(fd, &st) != 0 || st.st_size != sizeof(Header) + size)
		return false;
	file->count = file->room = header->count;
	file->entry = palloc(size);
	if (read(fd, file->entry, size) != size ||
		header->checksum != checksum(header, file->entry, size) ||
		header->range_last < -1 || header->range_last > SNO_PARTITION_MAX)
		return false;
	for (int i = 0; i < file->count; i++)
		if (!is_valid(&file->entry[i]))
			return false;
	return true;
}

/*
 * Read the file.  If it was written in another place, or on another timeline, its entries get no
 * grants.  If there is no file, or if it is damaged, *file has no entries.
 */
void
sno_grants_read(SnoGrantsFile *file)
{
	int			fd = OpenTransientFile(SNO_GRANTS_FILE, O_RDONLY | PG_BINARY);
	Header		header;

	*file = (SnoGrantsFile) {.range_last = -1};
	if (fd < 0)
	{
		if (errno != ENOENT)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", SNO_GRANTS_FILE)));
		return;
	}
	if (!read_file(fd, &header, file))
	{
		ereport(LOG,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is damaged, or was written by another version of extension \"sno\"",
						SNO_GRANTS_FILE),
				 errdetail("New grants are requested from the registry.")));
		*file = (SnoGrantsFile) {.range_last = -1};
	}
	else
	{
		file->range_first = header.range_first;
		file->range_last = header.range_last;
		if (!is_of_here(&header))
			for (int i = 0; i < file->count; i++)
				file->entry[i].asker = (SnoAsker) {0};
	}
	CloseTransientFile(fd);
}

static void
write_all(int fd, const void *data, size_t size)
{
	errno = 0;
	if (write(fd, data, size) == (ssize_t) size)
		return;
	/* If write() didn't set errno, assume that the disk is full. */
	if (errno == 0)
		errno = ENOSPC;
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", NEW_FILE)));
}

/* Replace the file.  The new file is on disk when this function returns. */
void
sno_grants_write(const SnoGrantsFile *file)
{
	Header		header;
	int			fd = OpenTransientFile(NEW_FILE, O_WRONLY | O_CREAT | O_TRUNC | PG_BINARY);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m", NEW_FILE)));
	set_header(&header, file);
	write_all(fd, &header, sizeof(Header));
	write_all(fd, file->entry, file->count * sizeof(SnoGrantsEntry));
	if (CloseTransientFile(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m", NEW_FILE)));
	(void) durable_rename(NEW_FILE, SNO_GRANTS_FILE, ERROR);
}

/* Return the entry of a database and a layout, or NULL if there is none. */
SnoGrantsEntry *
sno_grants_find_entry(const SnoGrantsFile *file, Oid database, const SnoLayout *layout)
{
	for (int i = 0; i < file->count; i++)
		if (file->entry[i].database == database &&
			sno_layouts_equal(&file->entry[i].layout, layout))
			return &file->entry[i];
	return NULL;
}

SnoGrantsEntry *
sno_grants_make_entry(SnoGrantsFile *file, Oid database,
					  const SnoDatabaseIdentity *identity, const SnoLayout *layout)
{
	if (file->count == file->room)
	{
		file->room = file->room * 2 + 8;
		file->entry = file->entry == NULL ? palloc(file->room * sizeof(SnoGrantsEntry)) :
			repalloc(file->entry, file->room * sizeof(SnoGrantsEntry));
	}
	/* Clear the padding, because it is written to disk, too. */
	memset(&file->entry[file->count], 0, sizeof(SnoGrantsEntry));
	file->entry[file->count].database = database;
	file->entry[file->count].identity = *identity;
	file->entry[file->count].layout = *layout;
	return &file->entry[file->count++];
}

void
sno_grants_forget(SnoGrantsFile *file, int entry)
{
	file->entry[entry] = file->entry[--file->count];
}

/*
 * place.c
 *		The place where this server runs.
 *
 * A copy of a server must not use the server's grants (G2).  The copy has all the data, but it
 * is in another place.  Two things identify a place:
 *
 *	- the boot of the machine, by the kernel's random boot id;
 *	- the data folder on this machine, by the device, inode and change time of PG_VERSION.
 *
 * A server that restarts after a crash is in the same place.  A copied folder, a base backup
 * and a restored volume are in other places.  When the machine has booted again, the server is
 * in another place, too.  Because of the lock file in the data folder, only one server at a
 * time runs in a place.  If a running virtual machine is copied with its memory, the original
 * and the copy are in the same place.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"

#include "registry/place.h"

#define BOOT_ID_FILE		"/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LENGTH		36

/* The current folder of the process is the data folder. */
#define DATA_FILE			"PG_VERSION"

/* Get the identity of a file.  Returns false if there is no such file. */
bool
sno_file_identity(const char *name, SnoFileIdentity *identity)
{
	struct stat file;

	if (stat(name, &file) != 0)
		return false;
	*identity = (SnoFileIdentity) {
		file.st_dev, file.st_ino,
		(int64) file.st_ctim.tv_sec * INT64CONST(1000000000) + file.st_ctim.tv_nsec
	};
	return true;
}

/* Get the place of this server.  Raises an error if it can't be determined. */
void
sno_place(char place[SNO_PLACE_SIZE])
{
	char		boot[BOOT_ID_LENGTH + 1] = "";
	int			fd = OpenTransientFile(BOOT_ID_FILE, O_RDONLY | PG_BINARY);
	int			length = fd < 0 ? -1 : (int) read(fd, boot, BOOT_ID_LENGTH);
	SnoFileIdentity file;

	if (length < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", BOOT_ID_FILE)));
	if (length != BOOT_ID_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read %d of %d", BOOT_ID_FILE, length, BOOT_ID_LENGTH)));
	CloseTransientFile(fd);
	if (!sno_file_identity(DATA_FILE, &file))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", DATA_FILE)));
	memset(place, 0, SNO_PLACE_SIZE);
	snprintf(place, SNO_PLACE_SIZE, "%s " UINT64_FORMAT " " UINT64_FORMAT " " INT64_FORMAT,
			 boot, file.device, file.inode, file.changed);
}

/*
 * place.c
 *		The place where this server runs.
 *
 * A copy of a server must not use the server's grants (G2).  The copy has all the data, but it
 * is in another place.  Two things identify a place:
 *
 *	- the boot of the machine, by the random boot id of its kernel;
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
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <sys/sysctl.h>
#endif

#include "storage/fd.h"
#include "utils/builtins.h"

#include "registry/place.h"

/* The length of the longest form of a boot id, which is a uuid */
#define BOOT_ID_LENGTH		36

/* The current folder of the process is the data folder. */
#define DATA_FILE			"PG_VERSION"

/* Return the change time of a file, in ns.  Windows has only the time of creation, in seconds. */
static int64
changed_at(const struct stat *file)
{
#if defined(WIN32)
	return (int64) file->st_ctime * INT64CONST(1000000000);
#elif defined(__APPLE__)
	return (int64) file->st_ctimespec.tv_sec * INT64CONST(1000000000) + file->st_ctimespec.tv_nsec;
#else
	return (int64) file->st_ctim.tv_sec * INT64CONST(1000000000) + file->st_ctim.tv_nsec;
#endif
}

/* Get the identity of a file.  Returns false if there is no such file. */
bool
sno_file_identity(const char *name, SnoFileIdentity *identity)
{
	struct stat file;

	if (stat(name, &file) != 0)
		return false;
	*identity = (SnoFileIdentity) {file.st_dev, file.st_ino, changed_at(&file)};
	return true;
}

#if defined(__linux__)

#define BOOT_ID_FILE		"/proc/sys/kernel/random/boot_id"

/* Get the boot id.  Raises an error if it can't be read. */
static void
get_boot_id(char boot[BOOT_ID_LENGTH + 1])
{
	int			fd = OpenTransientFile(BOOT_ID_FILE, O_RDONLY | PG_BINARY);
	int			length = fd < 0 ? -1 : (int) read(fd, boot, BOOT_ID_LENGTH);

	if (length < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", BOOT_ID_FILE)));
	if (length != BOOT_ID_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read file \"%s\": read %d of %d", BOOT_ID_FILE, length, BOOT_ID_LENGTH)));
	CloseTransientFile(fd);
}

#elif defined(__APPLE__) || defined(__FreeBSD__)

/* macOS has the text of a uuid, and FreeBSD has 16 bytes. */
#if defined(__APPLE__)
#define BOOT_ID_VARIABLE	"kern.bootsessionuuid"
#define BOOT_ID_BYTES		(BOOT_ID_LENGTH + 1)
#else
#define BOOT_ID_VARIABLE	"kern.boot_id"
#define BOOT_ID_BYTES		16
#endif

static void
get_boot_id(char boot[BOOT_ID_LENGTH + 1])
{
	char		bytes[BOOT_ID_BYTES];
	size_t		size = BOOT_ID_BYTES;

	if (sysctlbyname(BOOT_ID_VARIABLE, bytes, &size, NULL, 0) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_SYSTEM_ERROR),
				 errmsg("could not read kernel variable \"%s\": %m", BOOT_ID_VARIABLE)));
	if (size != BOOT_ID_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read kernel variable \"%s\": read %d of %d", BOOT_ID_VARIABLE, (int) size, BOOT_ID_BYTES)));
#if defined(__APPLE__)
	memcpy(boot, bytes, BOOT_ID_LENGTH);
#else
	(void) hex_encode(bytes, BOOT_ID_BYTES, boot);
#endif
}

#else

static void
get_boot_id(char boot[BOOT_ID_LENGTH + 1])
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a registry is not supported on this system"),
			 errdetail("The system has no boot id, so a copy of the server would not be detected.")));
}

#endif

/* Get the place of this server.  Raises an error if it can't be determined. */
void
sno_place(char place[SNO_PLACE_SIZE])
{
	char		boot[BOOT_ID_LENGTH + 1] = "";
	SnoFileIdentity file;

	get_boot_id(boot);
	if (!sno_file_identity(DATA_FILE, &file))
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", DATA_FILE)));
	memset(place, 0, SNO_PLACE_SIZE);
	snprintf(place, SNO_PLACE_SIZE, "%s " UINT64_FORMAT " " UINT64_FORMAT " " INT64_FORMAT,
			 boot, file.device, file.inode, file.changed);
}

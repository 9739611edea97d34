/*
 * home.h
 *		What catalog/home.c needs of PostgreSQL to tell the home of a database.  The folder
 *		never changes.
 */
#include "registry/place.h"

char	   *DatabasePath = "";

bool
sno_file_identity(const char *name, SnoFileIdentity *identity)
{
	*identity = (SnoFileIdentity) {1, 1, 1};
	return true;
}

uint32		hash_bytes(const unsigned char *key, int length) { return 1; }
int			pg_snprintf(char *to, size_t size, const char *format,...) { return 0; }
int			errcode_for_file_access(void) { return 0; }

/*
 * home.h
 *		The identity of this server and database.
 */
#ifndef SNO_HOME_H
#define SNO_HOME_H

#include "postgres.h"

extern int64 sno_home(void);
extern bool sno_home_is_ours(int64 system_identifier, int32 timeline, Oid database, int64 home);

#endif							/* SNO_HOME_H */

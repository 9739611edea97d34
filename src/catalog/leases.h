/*
 * leases.h
 *		Opens and checks the table of leases, sno_lease, and looks up its file.
 */
#ifndef SNO_LEASES_H
#define SNO_LEASES_H

#include "postgres.h"

#include "common/relpath.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "compat.h"

#define SNO_LEASES_TABLE	"sno_lease"
#define SNO_LEASES_COLUMNS	16

extern RelFileNumber sno_leases_file(void);
extern Relation sno_leases_open(void);
extern Relation sno_leases_open_patiently(LOCKMODE mode);
extern bool sno_leases_are_new(Relation rel);
extern void sno_leases_check_shared(Relation rel);
extern void sno_leases_close(Relation rel);
extern Relation sno_leases_open_at_exit(void);
extern void sno_leases_close_at_exit(Relation rel);

#endif							/* SNO_LEASES_H */

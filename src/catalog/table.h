/*
 * table.h
 *		The extension's tables, found; the table of leases, sno_lease, checked and opened.
 */
#ifndef SNO_TABLE_H
#define SNO_TABLE_H

#include "postgres.h"

#include "common/relpath.h"
#include "fmgr.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "compat.h"

#define SNO_CATALOG_SCHEMA	"sno_catalog"
#define SNO_TABLE_NAME		"sno_lease"
#define SNO_TABLE_COLUMNS	15

extern Oid	sno_table_find(const char *name);
extern Oid	sno_table_require(const char *name);
extern void sno_table_watch(const Oid *oid, void (*changed) (void));
extern bool sno_table_is_as_created(Relation rel, const Oid *types, int count);
extern void sno_table_check(Relation rel, const char *name, const Oid *types, int count);
extern Datum sno_table_row_changed(FunctionCallInfo fcinfo, const char *name);
extern RelFileNumber sno_table_file(void);
extern Relation sno_table_try_open(Oid relid, LOCKMODE mode);
extern Relation sno_table_open(void);
extern Relation sno_table_open_patiently(LOCKMODE mode);
extern void sno_table_close(Relation rel);
extern Relation sno_table_open_at_exit(void);
extern void sno_table_close_at_exit(Relation rel);

#endif							/* SNO_TABLE_H */

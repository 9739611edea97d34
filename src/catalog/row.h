/*
 * row.h
 *		Visits the rows of table sno_lease on their pages, and changes them in place.
 */
#ifndef SNO_ROW_H
#define SNO_ROW_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "core/flake.h"

/* A row as it is stored on a page.  sql/sno--0.9.sql describes the columns. */
typedef struct SnoRow
{
	int64		holder;
	int64		system_identifier;
	int32		timeline;
	Oid			database;
	char		kind;			/* a SnoKind */
	int32		partition;
	uint8		layout[SNO_LAYOUT_SIZE];
	int64		shard_min;
	int64		shard_max;
	int32		sequence;
	TimestampTz wall_hi;
	int64		drifts;
	TimestampTz until[2];		/* tick_until and tock_until, by the tick-tock bit */
	TimestampTz taken_at;
	int64		home;			/* of the database, see record.c */
} SnoRow;

#define SNO_ROW_SIZE	(offsetof(SnoRow, home) + sizeof(int64))

/*
 * The position and the origin of a row.  by_sql is true if SQL has inserted or changed the row,
 * for example in a restore, or in the COPY of a subscription.  is_clean is true if SQL hasn't
 * inserted, changed or deleted the row, so that the row may be overwritten.
 */
typedef struct SnoRowPlace
{
	ItemPointerData tid;
	bool		is_clean;
	bool		by_sql;
} SnoRowPlace;

/* A function that is called for each row, while the row's page is locked */
typedef void (*SnoRowVisitor) (const SnoRow *row, const SnoRowPlace *place, void *arg);

/*
 * A function that changes a row, or returns false if it leaves the row unchanged.  `row` is in a
 * copy of the page, which is logged afterwards.
 */
typedef bool (*SnoRowChange) (SnoRow *row, const void *arg);

extern BlockNumber sno_row_visit(Relation rel, SnoRowVisitor visitor, void *arg);
extern bool sno_row_change(Relation rel, const ItemPointerData *tid, SnoRowChange change,
						   const void *arg, XLogRecPtr *lsn);
extern XLogRecPtr sno_row_change_all(Relation rel, SnoRowChange change);
extern XLogRecPtr sno_row_insert(Relation rel, BlockNumber block, const SnoRow *row);

#endif							/* SNO_ROW_H */

/*
 * row.h
 *		The rows of table sno_lease, read and written in place.
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

/* A row as it is on its page; sql/sno--1.0.sql describes the columns. */
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
	TimestampTz until[2];		/* by tick-tock: tick_until, tock_until */
	TimestampTz taken_at;
	int64		home;			/* of the database, see record.c */
} SnoRow;

#define SNO_ROW_SIZE	(offsetof(SnoRow, home) + sizeof(int64))

/*
 * The place of a row, and whether SQL has inserted or changed it (by_sql), for example a
 * restore, or the COPY of a subscription.  A row may be overwritten if SQL hasn't inserted,
 * changed or deleted it (is_clean).
 */
typedef struct SnoRowPlace
{
	ItemPointerData tid;
	bool		is_clean;
	bool		by_sql;
} SnoRowPlace;

/* Visits a row, while its page is locked. */
typedef void (*SnoRowVisitor) (const SnoRow *row, const SnoRowPlace *place, void *arg);

/*
 * Changes the copy of a row that will be logged.  Returns false if it changes nothing;
 * then nothing is logged.
 */
typedef bool (*SnoRowChange) (SnoRow *row, const void *arg);

extern BlockNumber sno_row_visit(Relation rel, SnoRowVisitor visitor, void *arg);
extern bool sno_row_change(Relation rel, const ItemPointerData *tid, SnoRowChange change,
						   const void *arg, XLogRecPtr *lsn);
extern XLogRecPtr sno_row_change_all(Relation rel, SnoRowChange change);
extern XLogRecPtr sno_row_insert(Relation rel, BlockNumber block, const SnoRow *row);

#endif							/* SNO_ROW_H */

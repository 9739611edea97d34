/*
 * record.c
 *		What the rows of sno_lease say, and the row of one lease.
 *
 * A row has a bound for each tick-tock side: tick_until for the bit 0, tock_until
 * for 1.  Nothing was issued after its bound on either side.  A session's generator
 * changes sides without telling, so it has the ceiling as both.
 *
 * Whose row is it?  The holder is a random number.  Beside it are the system
 * identifier, WAL timeline and database that it was drawn under, and the database's
 * home.  A row where these aren't the server's own is another holder's: it comes from a
 * backup, from the primary that this server was a standby of, from a template database,
 * from a dump of another database or by logical replication.  Partitions of other
 * holders are the last to be chosen, and one that another holder leases as well is given
 * up.
 *
 * Sessions that find no row of their own at the same time may each draw a holder.
 * All of these are the server's own, and the first row's is used from then on.  A
 * copy of a server has the same three.  sno_reseed() makes it another holder: it
 * sets the system identifier of the rows to 0, which no server has.
 *
 * A row that SQL has inserted or changed is another holder's, whatever it says: it may come
 * from a dump that was restored into the same database, or from a subscription to a server
 * of which this one is a copy.  Who restores the past would else have it taken for all that
 * was issued.  A row that SQL has deleted still counts, until it is pruned, but it isn't
 * overwritten: a new one is written from memory.
 *
 * A named generator can't move to another partition.  So its row says where it can
 * go on: on the side of the lowest bit of drifts, or on the other one, each after
 * its bound.  If the bound of the former is wall_hi, the generator was closed, and
 * `sequence` is the next one of that unit.  Else all of the bound's unit counts.
 *
 * That is true of rows of our own.  Another holder may have opened the generator, or
 * renewed its lease, in WAL that never came here, or after the dump was taken.  So its row is never exact.
 * When we open the generator first, we assume that it is open there, with a lease
 * from now on: we enter the other side (sno_record_recall()).  That is right unless
 * the lost WAL has another change of the side.
 *
 * A database that is read as a feed has one more row, with no partition.  Its bounds
 * tell up to which unit watermarks may have been told.  They hold in each copy of the
 * database, because its readers go on there.
 *
 * Locking: a session writes a partition's row only while it has the partition's turn
 * (shared/turn.c), a named generator's only while it has the turn of its group, and the feed's
 * only while it has the turn for that.  So no two
 * sessions write one row.  All this holds for as long as the table is open: sno_reseed()
 * waits for that before it closes anything.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog/home.h"
#include "catalog/record.h"
#include "catalog/row.h"
#include "type/fields.h"

/* The system identifier of rows that were disowned: no server has it. */
#define DISOWNED		0

/* How often a row is overwritten that changes meanwhile. */
#define OVERWRITE_TRIES	10

/* The holder drawn when no row of our own was found, until a row has it. */
static uint64 drawn_holder;

static bool
is_written_here(const SnoRow *row)
{
	return sno_home_is_ours(row->system_identifier, row->timeline, row->database, row->home);
}

static bool
is_own(const SnoRow *row, const SnoRowPlace *place)
{
	return !place->by_sql && is_written_here(row);
}

static SnoSubject
subject_of(const SnoRow *row)
{
	return (SnoSubject) {
		.kind = row->kind,
		.partition = row->partition,
		.layout = sno_layout_read(row->layout),
		.shard = {row->shard_min, row->shard_max}
	};
}

/* Times outside the epoch, which only a forged row has, count as its ends. */
static uint64
unit_of(TimestampTz at)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(at, &unit);
	return unit;
}

/* Nothing was issued after this under the row's lease, on either side. */
static uint64
ceiling_of(const SnoRow *row)
{
	return unit_of(Max(row->until[0], row->until[1]));
}

/* The holder of our own leases.  sno_reseed() leaves the row of the feed as it is. */
typedef struct Holder
{
	bool		found;
	uint64		number;			/* of the first one's row */
} Holder;

static void
note_holder(Holder *holder, const SnoRow *row, const SnoRowPlace *place)
{
	if (holder->found || row->kind == SNO_OF_FEED || !is_own(row, place))
		return;
	holder->found = true;
	holder->number = (uint64) row->holder;
}

/* The holder of our own rows, or a new one. */
static uint64
holder_number(const Holder *holder)
{
	if (holder->found)
		return holder->number;
	if (drawn_holder == 0 &&
		!pg_strong_random(&drawn_holder, sizeof(drawn_holder)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));
	return drawn_holder;
}

typedef struct Visit
{
	SnoRecordVisitor visitor;
	void	   *arg;
	Holder		holder;
} Visit;

static void
visit_row(const SnoRow *row, const SnoRowPlace *place, void *arg)
{
	Visit	   *visit = arg;
	SnoSubject	subject = subject_of(row);

	note_holder(&visit->holder, row, place);
	visit->visitor(&subject, ceiling_of(row), is_own(row, place), visit->arg);
}

/*
 * Visit all rows; returns the holder of our own ones, or a new one.  A page is locked while
 * the visitor looks at a row of it.
 */
uint64
sno_record_visit(Relation rel, SnoRecordVisitor visitor, void *arg)
{
	Visit		visit = {.visitor = visitor,.arg = arg};

	(void) sno_home();
	(void) sno_row_visit(rel, visit_row, &visit);
	return holder_number(&visit.holder);
}

typedef struct SurveyPass
{
	SnoSurvey  *survey;
	uint64		now;
} SurveyPass;

/* Note in *bound, of a partition, that a row has this ceiling, and if it is our own. */
static void
raise_bound(uint64 *bound, uint64 ceiling, bool own)
{
	if (*bound != 0)
	{
		ceiling = Max(ceiling, SNO_BOUND_CEILING(*bound));
		own = own || SNO_BOUND_OWN(*bound);
	}
	*bound = SNO_BOUND(ceiling, own);
}

static void
survey_row(const SnoSubject *subject, uint64 ceiling, bool own, void *arg)
{
	SurveyPass *pass = arg;
	SnoSurvey  *survey = pass->survey;
	uint64	  **block;

	/* Without the constraint of the table, a row may have any number. */
	if (!sno_subject_has_partition(subject) ||
		subject->partition < 0 || subject->partition > SNO_PARTITION_MAX)
		return;
	/* A partition of ids of given times is used up, and no lease of it lasts. */
	if (!own && ceiling >= pass->now && ceiling < SNO_UNIT_MAX)
	{
		survey->others++;
		survey->others_until = Max(survey->others_until, ceiling);
	}
	block = &survey->bounds.block[subject->partition / SNO_BOUNDS_BLOCK];
	if (*block == NULL)
		*block = palloc0(SNO_BOUNDS_BLOCK * sizeof(uint64));
	raise_bound(&(*block)[subject->partition % SNO_BOUNDS_BLOCK], ceiling, own);
}

/* What the rows say at the unit `now`; in the current memory context. */
void
sno_record_survey(Relation rel, uint64 now, SnoSurvey *survey)
{
	SurveyPass	pass = {.survey = survey,.now = now};

	memset(survey, 0, sizeof(SnoSurvey));
	survey->holder = sno_record_visit(rel, survey_row, &pass);
}

typedef struct Recall
{
	SnoSubject	subject;
	SnoRecordKnown known;
	const void *arg;
	SnoGenerator *own;			/* what our own rows say, except known ones */
	SnoGenerator foreign;		/* what rows of other holders say */
	bool		own_found;		/* is there a row of our own of just this subject? */
	bool		others;			/* is there any row of another holder? */
} Recall;

/* A state word for nodes of a layout has all sequences from 0 up. */
static int32
lowest_sequence(const SnoRow *row)
{
	return row->kind == SNO_OF_NODES ? 0 : (int32) row->shard_min;
}

/* What may have been issued under a row. */
static SnoGenerator
issued_under(const SnoRow *row, bool exact)
{
	bool		tick_tock = row->drifts & 1;

	exact = exact && row->until[tick_tock] == row->wall_hi &&
		row->sequence >= lowest_sequence(row);
	return (SnoGenerator) {
		.drifts = (uint32) row->drifts,
		.wall_safe = unit_of(row->until[!tick_tock]),
		.word = SNO_WORD(unit_of(row->until[tick_tock]), tick_tock,
						 exact ? row->sequence : SNO_SEQUENCE_NONE)
	};
}

static void
recall_row(const SnoRow *row, const SnoRowPlace *place, void *arg)
{
	Recall	   *recall = arg;
	SnoSubject	subject = subject_of(row);
	bool		own = is_own(row, place);
	bool		same = sno_subjects_equal(&subject, &recall->subject);
	SnoGenerator issued = issued_under(row, own && same);

	if (!own)
		recall->others = true;
	if (!sno_subjects_overlap(&subject, &recall->subject))
		return;
	if (own)
	{
		recall->own_found = recall->own_found || same;
		if (!recall->known(recall->arg, &subject))
			sno_generator_merge(recall->own, &issued);
	}
	else
	{
		sno_generator_merge(&recall->foreign, &issued);
		recall->foreign.lease_floor = Max(recall->foreign.lease_floor, ceiling_of(row));
	}
}

/*
 * Merge into the generator of a named generator all that the rows say was issued in
 * its part of the partition, except for those rows of our own that are known.  Its
 * floor becomes the highest bound of another holder's rows.
 *
 * Another holder, of another server or database, may have issued more than its rows say,
 * or have rows that never came here.  So we assume that it left its side for the other
 * one, and used that as far as `unseen` tells: up to the end of a lease that begins now,
 * say.  That isn't so once there is a row of our own, or if this database has no past in
 * another one: it has no row of one, and it defined the generator itself (`made_here`).  A
 * copy that sno_reseed() told of its original has such rows, too.
 */
void
sno_record_recall(Relation rel, const SnoSubject *subject, SnoGenerator *g,
				  SnoUnseen unseen, bool made_here, SnoRecordKnown known, const void *arg)
{
	Recall		recall = {
		.subject = *subject,
		.known = known,
		.arg = arg,
		.own = g
	};

	(void) sno_home();
	(void) sno_row_visit(rel, recall_row, &recall);
	if (!recall.own_found && (recall.others || !made_here))
		sno_generator_switch(&recall.foreign, unseen.more == 0 ? unseen.until :
							 Min(recall.foreign.lease_floor + unseen.more, SNO_UNIT_MAX));
	sno_generator_merge(g, &recall.foreign);
	g->lease_floor = Max(g->lease_floor, recall.foreign.lease_floor);
}

typedef struct Search
{
	SnoSubject	subject;
	uint64		floor;			/* what others leased up to it doesn't matter */
	Holder		holder;
	bool		clash;			/* does another holder lease beyond the floor? */
	ItemPointerData tid;		/* of our own row that may be overwritten */
} Search;

/* Is this row, if it is clean, that of the subject, and our own? */
static bool
is_row_of(const SnoRow *row, const SnoSubject *subject)
{
	SnoSubject	it = subject_of(row);

	return sno_subjects_equal(&it, subject) && is_written_here(row);
}

static void
search_row(const SnoRow *row, const SnoRowPlace *place, void *arg)
{
	Search	   *search = arg;
	SnoSubject	subject = subject_of(row);

	note_holder(&search->holder, row, place);
	if (!sno_subjects_overlap(&subject, &search->subject))
		return;
	if (!is_own(row, place) && ceiling_of(row) > search->floor)
		search->clash = true;
	if (place->is_clean && !ItemPointerIsValid(&search->tid) &&
		is_row_of(row, &search->subject))
		search->tid = place->tid;
}

/* Write a row over the one that is there.  Its bounds never fall, except a named generator's. */
static bool
overwrite(SnoRow *row, const void *arg)
{
	SnoRow		new = *(const SnoRow *) arg;
	SnoSubject	subject = subject_of(&new);

	if (!is_row_of(row, &subject))
		return false;
	for (int side = 0; side < 2 && !sno_subject_is_named(&subject); side++)
		new.until[side] = Max(new.until[side], row->until[side]);
	memcpy(row, &new, SNO_ROW_SIZE);
	return true;
}

/*
 * Write the row of what the caller owns: its generator, which isn't shared here,
 * with the ceiling that it is to have.  The caller flushes *lsn before it publishes
 * the ceiling.  False, and nothing is written, if another holder's row shows a lease
 * of the same that reaches beyond our floor.
 */
bool
sno_record_write(Relation rel, const SnoSubject *subject, const SnoGenerator *g, XLogRecPtr *lsn)
{
	SnoRow		row = {
		.system_identifier = (int64) GetSystemIdentifier(),
		.timeline = (int32) GetWALInsertionTimeLine(),
		.database = MyDatabaseId,
		.kind = (char) subject->kind,
		.partition = subject->partition,
		.shard_min = subject->shard.min,
		.shard_max = subject->shard.max,
		.sequence = (int32) Min(SNO_WORD_SEQUENCE(g->word), g->sequence_max + 1),
		.wall_hi = sno_unit_to_timestamptz(SNO_WORD_UNIT(g->word)),
		.drifts = g->drifts,
		.taken_at = GetCurrentTimestamp(),
		.home = sno_home()
	};
	bool		tick_tock = g->drifts & 1;

	sno_layout_write(&subject->layout, row.layout);
	row.until[tick_tock] = sno_unit_to_timestamptz(g->ceiling);
	row.until[!tick_tock] = sno_unit_to_timestamptz(sno_subject_is_named(subject) ? g->wall_safe : g->ceiling);
	for (int tries = 0;; tries++)
	{
		Search		search = {.subject = *subject,.floor = g->lease_floor};
		BlockNumber room;

		ItemPointerSetInvalid(&search.tid);
		room = sno_row_visit(rel, search_row, &search);
		if (search.clash)
			return false;
		row.holder = (int64) holder_number(&search.holder);
		/* If somebody changes the row again and again, it stays, as one more bound. */
		if (!ItemPointerIsValid(&search.tid) || tries == OVERWRITE_TRIES)
			*lsn = sno_row_insert(rel, room, &row);
		else if (!sno_row_change(rel, &search.tid, overwrite, &row, lsn))
			continue;
		drawn_holder = 0;
		return true;
	}
}

static bool
disown_row(SnoRow *row, const void *arg)
{
	if (!is_written_here(row) || row->kind == SNO_OF_FEED)
		return false;
	row->system_identifier = DISOWNED;
	return true;
}

/*
 * Become another holder: all rows of our own are nobody's from now on, flushed, and
 * no session issues in their partitions any more.  Nobody else has the table open:
 * so nobody writes a row, or reserves a partition after a look at the rows, between
 * the two.
 */
void
sno_record_disown(Relation rel)
{
	(void) sno_home();
	sno_partition_close_all();
	XLogFlush(sno_row_change_all(rel, disown_row));
}

static void
note_promise(const SnoRow *row, const SnoRowPlace *place, void *arg)
{
	uint64	   *until = arg;

	if (row->kind == SNO_OF_FEED)
		*until = Max(*until, ceiling_of(row));
}

/*
 * No watermark of this database, or of one that it is a copy of, was above this unit before
 * the server started (W4).
 */
uint64
sno_record_promised(Relation rel)
{
	uint64		until = 0;

	(void) sno_row_visit(rel, note_promise, &until);
	return until;
}

/* Write the row of the feed, and flush it. */
void
sno_record_promise(Relation rel, uint64 until)
{
	SnoSubject	subject = {.kind = SNO_OF_FEED};
	SnoGenerator g = {.word = SNO_WORD(until, false, 0),.ceiling = until,.lease_floor = SNO_UNIT_MAX};
	XLogRecPtr	lsn;

	(void) sno_record_write(rel, &subject, &g, &lsn);
	XLogFlush(lsn);
}

static bool
forget_promise(SnoRow *row, const void *arg)
{
	if (row->kind != SNO_OF_FEED)
		return false;
	row->until[0] = row->until[1] = sno_unit_to_timestamptz(0);
	return true;
}

/* Forget what the rows of the feed say, flushed. */
void
sno_record_forget_promise(Relation rel)
{
	XLogFlush(sno_row_change_all(rel, forget_promise));
}

/*
 * record.c
 *		The content of the rows of sno_lease, and the row of one lease.
 *
 * A row has a bound for each tick-tock side: tick_until for the bit 0, tock_until
 * for 1.  No id of a side is after the side's bound.  A partition that sessions share changes
 * sides without a new row, so both of its bounds are the ceiling.
 *
 * The holder of a row is a random number.  The row also has the system identifier, WAL
 * timeline and database under which the number was drawn, and the database's home.  If any of
 * these differs from the server's, the row belongs to another holder: it comes from a backup,
 * from the former primary of this server, from a template database, from a dump of another
 * database, or from logical replication.  Partitions of other holders are chosen last, and a
 * partition that another holder leases, too, is given up.
 *
 * Sessions that find no row of our own at the same time may each draw a holder.  All of
 * these are the server's own, and the holder of the first row is used from then on.  A copy
 * of a server has the same identifiers.  sno_reseed() makes the copy another holder: it sets
 * the system identifier of the rows to 0, which no server has.
 *
 * A row that SQL has inserted or changed is another holder's, regardless of its columns: it
 * may come from a dump that was restored into the same database, or from a subscription to a
 * server of which this one is a copy.  Such a row may be older than the last ids, so it must
 * not be taken for their bound.  A row that SQL has deleted still counts, until it is pruned,
 * but it isn't overwritten: a new row is written from memory.
 *
 * A named generator can't move to another partition.  So its row contains the state from
 * which it can go on: on the side of the lowest bit of drifts, or on the other side, each
 * after its bound.  If the bound of the former side is wall_hi, the generator was closed, and
 * `sequence` is the next sequence of that unit.  Otherwise, the bound's whole unit counts as
 * used.
 *
 * Only our own rows can be exact.  Another holder may have opened the generator, or renewed
 * its lease, in WAL that was never received here, or after the dump was taken.  When we first
 * open the generator, we assume that the other holder has it open, with a lease from now on,
 * and enter the other side (sno_record_recall()).  That is right unless the lost WAL has
 * another change of the side.
 *
 * A database that is read as a feed has one more row, without a partition.  No watermark was
 * above the bounds of this row.  They hold in each copy of the database, because readers go
 * on with the copy.
 *
 * Locking: a session writes a partition's row only while it has the partition's turn
 * (shared/turn.c), a named generator's row only while it has the turn of its group, and the
 * feed's row only while it has the feed's turn.  So no two sessions write the same row.  This
 * applies while the table is open: sno_reseed() waits until no other session has the table
 * open, before it closes anything.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog/home.h"
#include "catalog/record.h"
#include "catalog/row.h"
#include "type/fields.h"

/* The system identifier of disowned rows, which no server has */
#define DISOWNED		0

/* Attempts to overwrite a row that is changed meanwhile */
#define OVERWRITE_TRIES	10

/* A holder drawn because no row of our own was found, kept until a row with it is written */
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

/*
 * Convert a time to a unit.  Times outside the epoch, which only forged rows have, become
 * the ends of the epoch.
 */
static uint64
unit_of(TimestampTz at)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(at, &unit);
	return unit;
}

/* Return the last unit that may have been used under the row's lease, on either side */
static uint64
ceiling_of(const SnoRow *row)
{
	return unit_of(Max(row->until[0], row->until[1]));
}

/* The holder of our own leases.  The feed's row doesn't count, because sno_reseed() doesn't change it. */
typedef struct Holder
{
	bool		found;
	uint64		number;			/* of the first row of our own */
} Holder;

static void
note_holder(Holder *holder, const SnoRow *row, const SnoRowPlace *place)
{
	if (holder->found || row->kind == SNO_OF_FEED || !is_own(row, place))
		return;
	holder->found = true;
	holder->number = (uint64) row->holder;
}

/* Return the holder of our own rows, or a new holder. */
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
 * Visit all rows.  Returns the holder of our own rows, or a new holder.  The row's page is
 * locked while the visitor is called.
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

/* Merge a row's ceiling, and whether the row is our own, into *bound, the bound of its partition. */
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

	/* If the table's constraint was dropped, a row may have any partition number. */
	if (!sno_subject_has_partition(subject) ||
		subject->partition < 0 || subject->partition > SNO_PARTITION_MAX)
		return;
	/*
	 * A lease up to the end of the epoch belongs to a partition of sno_generate_at(),
	 * which counts as used up.
	 */
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

/* Summarize the rows at the unit `now`, in the current memory context. */
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
	SnoGenerator *own;			/* merged from our own rows, except known ones */
	SnoGenerator foreign;		/* merged from rows of other holders */
	bool		own_found;		/* is there a row of our own of exactly this subject? */
	bool		others;			/* is there any row of another holder? */
} Recall;

/* Return the lowest sequence of the state words: 0 for nodes of a layout, whose shard has no sequences. */
static int32
lowest_sequence(const SnoRow *row)
{
	return row->kind == SNO_OF_NODES ? 0 : (int32) row->shard_min;
}

/* Return a generator in which all ids that may have been issued under a row are marked as used. */
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
 * Merge into a named generator the bounds of all rows that overlap its subject, except for
 * our own rows of known subjects.  The generator's floor becomes the highest bound of other
 * holders' rows.
 *
 * Another holder, of another server or database, may have issued ids beyond the bounds of its
 * rows, or under rows that were never received here.  So we assume that it changed to its
 * other side, and used that side up to `unseen`, for example the end of a lease that begins
 * now.  This is not necessary if there is a row of our own, or if this database has no past
 * in another one: no row is of another holder, and the generator was defined here
 * (`made_here`).  A copy that called sno_reseed() has rows of another holder, its original.
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
	uint64		floor;			/* leases of other holders up to this unit don't matter */
	Holder		holder;
	bool		clash;			/* does another holder have a lease above the floor? */
	ItemPointerData tid;		/* our own row, which may be overwritten */
} Search;

/* Is the row our own row of the subject?  The caller checks that it is clean. */
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

/* Overwrite a row.  Only the bounds of a named generator are ever lowered. */
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
 * Write the row of a generator with its future ceiling.  The caller must own the generator,
 * which must not be shared at the moment.  The caller must flush *lsn before it publishes the
 * ceiling.  Returns false, and writes nothing, if another holder's lease of an overlapping
 * subject reaches beyond our floor.
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
		/* If the row keeps being changed, leave it, as an additional bound. */
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
 * Become another holder: close all partitions, disown all rows of our own, and flush them.  No
 * other session may have the table open, so that no session writes a row, or reserves a
 * partition after reading the rows, between these steps.
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
 * Return the highest unit that watermarks of this database, or of its original, may have had
 * before the server started (W4).
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

/* Lower the bounds in the rows of the feed, and flush them. */
void
sno_record_forget_promise(Relation rel)
{
	XLogFlush(sno_row_change_all(rel, forget_promise));
}

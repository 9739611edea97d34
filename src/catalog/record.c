/*
 * record.c
 *		Reads leases from the rows of sno_lease, and writes the row of a lease.
 *
 * A row has a limit for each side: tick_until for the tick-tock bit 0, and tock_until for the
 * bit 1.  No id of a side is in a unit after the side's limit.  The ceiling of a row is the
 * later limit.  A partition may change sides without a new row, so both limits of its row are
 * the ceiling.
 *
 * The holder in a row is a random number.  The row also identifies the database in which the
 * number was drawn, by the system identifier, WAL timeline, database OID and home.  If one of
 * these values differs from ours, the row belongs to another holder.  Such a row comes from a
 * backup, from the former primary of this server, from a template database, from a dump of
 * another database, or from logical replication.  A session that looks for a partition chooses
 * partitions of other holders last.  If a session finds that another holder has a lease of a
 * partition that is open here, the session closes the partition.
 *
 * If several sessions at once find no row of our own, each of them may draw a number.  All of
 * their rows are our own, because they identify the same database.  From then on, sessions take
 * the holder from the first of these rows.  A copy of a server has the same identifiers as the
 * original.  sno_reseed() makes the copy another holder: it sets the system identifier in the
 * rows to 0, which no server has.
 *
 * A row that SQL has inserted or changed counts as another holder's, whatever its columns say.
 * It may come from a dump that was restored into the same database or, in a copy of a server,
 * from a subscription to the original server.  Such a row may be older than the last ids that
 * were issued here, so its limits don't bound these ids.  A row that SQL has deleted counts
 * until it is pruned, but isn't overwritten: the next lease is written to a new row.
 *
 * A named generator can't move to another partition.  So its row contains the state from which
 * the generator can go on.  The lowest bit of `drifts` is the present side.  On each side, the
 * generator can go on after the limit of that side.  If the limit of the present side is
 * `wall_hi`, the row was written when the generator was closed, and `sequence` is the next
 * sequence in that unit.  Such a row is exact.  Otherwise, all sequences in the unit of the
 * limit count as used.
 *
 * Only our own rows count as exact.  Another holder may have opened the generator, or renewed
 * the lease, after it wrote the row that we have: the dump or the received WAL may lack its later
 * rows.  So when we first open the generator, we assume that the other holder has just renewed
 * the lease on the side that its row shows, and continue on the other side (sno_record_recall()).
 * The assumption is wrong only if the other holder has also changed the side since then.
 *
 * A database in which watermarks are requested has one more row, of kind `f`, without a
 * partition.  Both limits in this row are the same unit, and no watermark was ever above this unit.
 * In a copy of the database, the unit is promised again (W4), because readers of the original may
 * go on with the copy.
 *
 * Locking: a session writes a partition's row only while it has the partition's turn
 * (shared/turn.c), a named generator's row only while it has the turn of the generator's group,
 * and the feed's row only while it has the feed's turn.  So no two sessions write the same row
 * at the same time.  sno_reseed() changes rows without turns.  Before that, it waits until no
 * other session has the table open.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog/home.h"
#include "catalog/record.h"
#include "catalog/row.h"
#include "type/fields.h"

/* The system identifier in disowned rows; no server has this one */
#define DISOWNED		0

/* Number of attempts to overwrite a row, if SQL changes it meanwhile */
#define OVERWRITE_TRIES	10

/*
 * The holder that this session drew because it found no row of our own.  It is kept until this
 * session has written a row.
 */
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
 * Convert a time to a unit.  A time before the first unit, or after the last one, becomes the
 * first or the last unit.  Only a forged row can have such a time.
 */
static uint64
unit_of(TimestampTz at)
{
	uint64		unit;

	(void) sno_timestamptz_to_unit(at, &unit);
	return unit;
}

/* Return the last unit that may have been used under the row's lease, on either side. */
static uint64
ceiling_of(const SnoRow *row)
{
	return unit_of(Max(row->until[0], row->until[1]));
}

/*
 * The holder in our own rows.  The row of the feed doesn't count, because it remains our own when
 * sno_reseed() disowns all other rows.
 */
typedef struct Holder
{
	bool		found;
	uint64		number;			/* the holder in the first row of our own */
} Holder;

static void
note_holder(Holder *holder, const SnoRow *row, const SnoRowPlace *place)
{
	if (holder->found || row->kind == SNO_OF_FEED || !is_own(row, place))
		return;
	holder->found = true;
	holder->number = (uint64) row->holder;
}

/* Return the holder in our own rows, or a new one if there are none. */
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
 * Visit all rows.  Returns the holder in our own rows, or a new one if there are none.  The page
 * of a row is locked while `visitor` is called for the row.
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

/* Raise the bound of a partition to a row's ceiling, and mark the bound as own if the row is our own. */
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

	/* If the table's constraint was dropped, a row may have any number as its partition. */
	if (!sno_subject_has_partition(subject) ||
		subject->partition < 0 || subject->partition > SNO_PARTITION_MAX)
		return;
	/*
	 * Don't count leases whose ceiling is the last unit of all.  They belong to partitions of
	 * sno_generate_at(), which are never leased again.
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

/*
 * Summarize the rows.  `now` is the present unit.  The bounds are allocated in the current memory
 * context.
 */
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
	SnoGenerator *own;			/* our own rows for which known() is false are merged into this */
	SnoGenerator foreign;		/* rows of other holders are merged into this */
	bool		own_found;		/* is there a row of our own with exactly this subject? */
	bool		others;			/* is there any row of another holder? */
} Recall;

/*
 * Return the lowest sequence in state words of the row's generator.  It is 0 for a generator with
 * nodes of a layout, because the shard of such a generator consists of nodes, not of sequences.
 */
static int32
lowest_sequence(const SnoRow *row)
{
	return row->kind == SNO_OF_NODES ? 0 : (int32) row->shard_min;
}

/*
 * Return a generator in which all ids that may have been issued under a row are marked as used.
 * If `exact` is false, the row doesn't count as exact, whatever its columns are.
 */
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
 * Merge all rows that overlap `subject` into a named generator, except for our own rows of
 * subjects for which `known` returns true.  The generator's floor is raised to the highest
 * ceiling in the merged rows of other holders.
 *
 * Another holder may have issued ids that no row here shows.  So we assume that it has used the
 * side in its rows up to `unseen`, for example up to the end of a lease that begins now, and we
 * change to the other side.  This isn't necessary if there is a row of our own with this subject,
 * because that row was written after such a change.  It isn't necessary either if the generator
 * was defined in this database (`made_here`), and no row is of another holder.
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

/* Is this our own row of the subject?  The caller checks that SQL hasn't changed the row. */
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

/*
 * Overwrite a row with *arg, if it is still our own row of the same subject.  Only in the row of
 * a named generator may a limit become lower.
 */
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
 * Write the row of a lease.  *g is a copy of the generator, with the ceiling that the lease will
 * have.  The caller must flush WAL up to *lsn before it publishes this ceiling.  Returns false,
 * and writes nothing, if another holder has a lease of an overlapping subject that ends after
 * the generator's floor.
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
		/* If all attempts to overwrite our row fail, insert another one.  The old row still counts. */
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
 * Become another holder: close all partitions, disown all rows of our own, and flush these rows.
 * The caller has a lock that keeps other sessions from opening the table.  Otherwise, another
 * session could write a row between these steps, or reserve a partition by the rows that it had
 * read before.
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
 * Return the highest unit in the feed's rows of all holders.  No watermark that this database, or
 * the database of which it is a copy, returned before the server started is above this unit (W4).
 */
uint64
sno_record_promised(Relation rel)
{
	uint64		until = 0;

	(void) sno_row_visit(rel, note_promise, &until);
	return until;
}

/* Write the row of the feed with the limit `until`, and flush it. */
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

/* Set the limits in all rows of the feed to unit 0, and flush these rows. */
void
sno_record_forget_promise(Relation rel)
{
	XLogFlush(sno_row_change_all(rel, forget_promise));
}

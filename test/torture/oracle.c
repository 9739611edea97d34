/*
 * oracle.c
 *		The oracle: checks all notes of all clients.
 *
 * oracle [-t MASK] [-b BOUNDS] [-h HEARD] [-r ROWS] ... NOTES ...
 *
 * A side is one of the two halves of the ids of a unit, by the tick-tock bit.  Over
 * all notes, whether their transactions were committed or not, the oracle counts
 *
 *	twice		ids that were issued before, with any metabyte
 *	overlaps	partitions that two lives of servers used at overlapping times,
 *				on any side
 *	turns		sides of a unit in a partition where sessions took turns.  Faults
 *				in MASK are left out: their clocks come back to a unit
 *	descents	sequences of a session that don't ascend on a side of a unit
 *	beyond		ids after the last unit that the server had leased, on disk, on
 *				their side of the partition.  Only lives in BOUNDS are checked
 *
 * A promoted standby, the successor, may not have received the end of the WAL of the
 * server before it.  HEARD tells which leases of that server it knows.  Ids beyond
 * these leases are unheard.  What the successor does in the time of unheard ids is
 * not counted above, but here:
 *
 *	unheard		ids that the successor does not know of
 *	behind		ids that it issued in the units of those: its clock was behind
 *	again_session	unheard ids of sessions that it issued again
 *	by_chance	how many of these to expect, because sessions choose their
 *				partitions at random
 *	again_named	unheard ids of named generators that it issued again.  Partitions
 *				with unheard ids on both sides are left out, and printed
 *
 * ROWS are tables with a column of ids, in COPY's binary format.  If there are any,
 * the oracle also counts
 *
 *	lost		ids whose rows were committed, and are in no table
 *	risen		ids whose rows were rolled back, and are in a table
 *	doubled		rows of a table that have the same id as another row
 *
 * It prints a name and a count in each line; then, for each fault, the number of ids
 * received under it, and the number of those that were issued before.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "notes.h"

#define PARTITIONS	65536.0

/* An array that grows, of items of one size. */
typedef struct Array
{
	char	   *items;
	size_t		size;			/* of an item */
	size_t		count;
	size_t		room;
} Array;

/* An id in a row. */
typedef struct Row
{
	uint64_t	time;
	uint32_t	number;			/* partition and sequence */
} Row;

/* When a life used a partition. */
typedef struct Span
{
	const Run  *run;			/* the first one */
	bool		unheard;
	uint64_t	first;
	uint64_t	last;
} Span;

static Array runs = {.size = sizeof(Run)};
static Array bounds = {.size = sizeof(Bound)};
static Array heard = {.size = sizeof(Bound)};
static Array unheard_runs = {.size = sizeof(Run)};	/* by time */
static Array rows = {.size = sizeof(Row)};	/* of all tables */

static uint64_t turns_allowed;
static uint64_t twice, overlaps, turns, descents, beyond, lost, risen, doubled;
static uint64_t unheard, behind, again_session, again_named;
static double by_chance;
static uint64_t ids[MAX_FAULTS], ids_twice[MAX_FAULTS];

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static void *
extend(Array *array, size_t count)
{
	array->count += count;
	if (array->count > array->room)
	{
		array->room = array->count + array->count / 2;
		array->items = realloc(array->items, array->room * array->size);
		if (array->items == NULL)
			die("realloc");
	}
	return array->items + (array->count - count) * array->size;
}

static void
load(Array *array, const char *path)
{
	struct stat s;
	int			file = open(path, O_RDONLY);
	char	   *to;
	size_t		left;

	if (file < 0 || fstat(file, &s) != 0)
		die(path);
	to = extend(array, s.st_size / array->size);
	for (left = s.st_size / array->size * array->size; left > 0;)
	{
		ssize_t		got = read(file, to, left);

		if (got <= 0)
			die(path);
		to += got;
		left -= got;
	}
	close(file);
}

#define COMPARE(a, b)	if ((a) != (b)) return (a) < (b) ? -1 : 1

static int
compare_runs(const void *x, const void *y)
{
	const Run  *a = x,
			   *b = y;

	COMPARE(a->partition, b->partition);
	COMPARE(a->time, b->time);
	COMPARE(a->first, b->first);
	return 0;
}

static int
compare_bounds(const void *x, const void *y)
{
	const Bound *a = x,
			   *b = y;

	COMPARE(a->life, b->life);
	COMPARE(a->partition, b->partition);
	return 0;
}

static int
compare_rows(const void *x, const void *y)
{
	const Row  *a = x,
			   *b = y;

	COMPARE(a->time, b->time);
	COMPARE(a->number, b->number);
	return 0;
}

static int
compare_times(const void *x, const void *y)
{
	const Run  *a = x,
			   *b = y;

	COMPARE(a->time, b->time);
	return 0;
}

/* Keep only the highest bound of each partition of a life. */
static void
merge_bounds(Array *noted)
{
	Bound	   *bound = (Bound *) noted->items;
	size_t		kept = 0;

	qsort(bound, noted->count, sizeof(Bound), compare_bounds);
	for (size_t i = 0; i < noted->count; i++)
		if (kept > 0 && compare_bounds(&bound[kept - 1], &bound[i]) == 0)
		{
			for (int t = 0; t < 2; t++)
				if (bound[i].until[t] > bound[kept - 1].until[t])
					bound[kept - 1].until[t] = bound[i].until[t];
		}
		else
			bound[kept++] = bound[i];
	noted->count = kept;
}

static const Bound *
bound_of(const Array *noted, uint64_t life, uint64_t partition)
{
	Bound		key = {.life = life, .partition = partition};

	return bsearch(&key, noted->items, noted->count, sizeof(Bound), compare_bounds);
}

/* Are the bounds of its life noted, and is the run beyond them? */
static bool
is_beyond(const Array *noted, const Run *run)
{
	const Bound *bound;

	if (bound_of(noted, run->life, NO_PARTITION) == NULL)
		return false;
	bound = bound_of(noted, run->life, run->partition);
	return bound == NULL || run->time >> 1 > bound->until[run->time & 1];
}

static bool
is_unheard(const Run *run)
{
	return is_beyond(&heard, run);
}

/* Did the server that issued one of them not know of the other one? */
static bool
one_is_unheard(const Run *a, const Run *b)
{
	return a->promotions < b->promotions ? is_unheard(a) :
		a->promotions > b->promotions && is_unheard(b);
}

/* Check the notes of one client, which are in the order in which it received ids. */
static void
check_descents(const Run *run, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (run[i].session == run[i - 1].session && run[i].time == run[i - 1].time &&
			run[i].partition == run[i - 1].partition &&
			run[i].first < run[i - 1].first + run[i - 1].count)
			descents++;
}

/* Has a life unheard ids on both sides of a partition? */
static bool
both_unheard(uint64_t life, uint16_t partition)
{
	static uint64_t last_life;
	static int	last_partition = -1;
	static int	sides;

	if (life == last_life && partition == last_partition)
		return sides == 3;
	last_life = life;
	last_partition = partition;
	sides = 0;
	for (size_t i = 0; i < unheard_runs.count; i++)
	{
		const Run  *run = (Run *) unheard_runs.items + i;

		if (run->life == life && run->partition == partition)
			sides |= 1 << (run->time & 1);
	}
	if (sides == 3)
		printf("# partition %d is left out: both sides have ids that a successor does not know of\n",
			   partition);
	return sides == 3;
}

/*
 * `common` ids of run[last] are in runs before it, too.  If a successor issued them
 * that did not know of them, counts them and returns 0; else returns their number.
 */
static uint32_t
count_again(const Run *run, size_t last, uint32_t common)
{
	const Run  *old = NULL;

	for (size_t i = last; i-- > 0;)
	{
		if (run[i].first + run[i].count <= run[last].first)
			continue;
		if (!one_is_unheard(&run[i], &run[last]))
			return common;
		old = run[i].promotions < run[last].promotions ? &run[i] : &run[last];
	}
	if (!old->named)
		again_session += common;
	else if (!both_unheard(old->life, old->partition))
	{
		if (again_named == 0)
			printf("# again: unit %" PRIu64 ", tick-tock %d, partition %d, sequences %u to %u\n",
				   old->time >> 1, (int) (old->time & 1), old->partition,
				   run[last].first, run[last].first + common - 1);
		again_named += common;
	}
	return 0;
}

/* Check the runs on one side of one unit in one partition, ordered by sequence. */
static void
check_side(const Run *run, size_t count)
{
	uint32_t	end = 0;
	uint32_t	over[MAX_SESSIONS];	/* sessions whose turn is over */
	int			over_count = 0;
	bool		in_turns = false;

	for (size_t i = 0; i < count; i++)
	{
		uint32_t	this_end = run[i].first + run[i].count;

		if (i > 0 && run[i].first < end)
		{
			uint32_t	common = (this_end < end ? this_end : end) - run[i].first;

			common = count_again(run, i, common);
			if (twice == 0 && common > 0)
				printf("# twice: unit %" PRIu64 ", tick-tock %d, partition %d, sequences %u to %u, under faults %d and %d\n",
					   run[i].time >> 1, (int) (run[i].time & 1), run[i].partition,
					   run[i].first, run[i].first + common - 1, run[i - 1].fault, run[i].fault);
			twice += common;
			ids_twice[run[i].fault] += common;
		}
		if (this_end > end)
			end = this_end;

		if (i > 0 && run[i].session != run[i - 1].session)
		{
			if (over_count < MAX_SESSIONS)
				over[over_count++] = run[i - 1].session;
			for (int k = 0; k < over_count; k++)
				in_turns |= over[k] == run[i].session;
		}
	}
	for (size_t i = 0; i < count; i++)
		in_turns &= !(turns_allowed >> run[i].fault & 1) &&
			!one_is_unheard(&run[0], &run[i]);
	turns += in_turns;
}

/* Check the runs of one partition, ordered by time. */
static void
check_lives(const Run *run, size_t count)
{
	Array		spans = {.size = sizeof(Span)};
	Span	   *span;
	bool		overlap = false;

	for (size_t i = 0; i < count; i++)
	{
		bool		is = is_unheard(&run[i]);
		size_t		k;

		span = (Span *) spans.items;
		for (k = spans.count;
			 k > 0 && (span[k - 1].run->life != run[i].life || span[k - 1].unheard != is);
			 k--)
			;
		if (k > 0)
			span[k - 1].last = run[i].time >> 1;
		else
			*(Span *) extend(&spans, 1) = (Span) {&run[i], is, run[i].time >> 1, run[i].time >> 1};
	}

	span = (Span *) spans.items;
	for (size_t i = 1; i < spans.count; i++)
		for (size_t k = 0; k < i; k++)
			if (span[i].run->life != span[k].run->life && span[i].first <= span[k].last &&
				!one_is_unheard(span[i].run, span[k].run))
			{
				if (overlaps == 0 && !overlap)
					printf("# two lives overlap: partition %d, units %" PRIu64 " and %" PRIu64 "\n",
						   run[0].partition, span[i].first, span[k].last);
				overlap = true;
			}
	overlaps += overlap;
	free(spans.items);
}

static void
check_bounds(const Run *run)
{
	if (!is_beyond(&bounds, run))
		return;
	if (beyond == 0)
		printf("# beyond the lease: unit %" PRIu64 ", tick-tock %d, partition %d, under fault %d\n",
			   run->time >> 1, (int) (run->time & 1), run->partition, run->fault);
	beyond += run->count;
}

/* Compare a run with the unheard runs of its unit, in all partitions. */
static void
check_behind(const Run *run)
{
	const Run  *old = (Run *) unheard_runs.items;
	size_t		low = 0;
	size_t		high = unheard_runs.count;
	bool		met = false;

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (old[middle].time >> 1 < run->time >> 1)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < unheard_runs.count && old[low].time >> 1 == run->time >> 1; low++)
	{
		uint32_t	first = old[low].first > run->first ? old[low].first : run->first;
		uint32_t	old_end = old[low].first + old[low].count;
		uint32_t	end = run->first + run->count;

		if (old[low].promotions >= run->promotions)
			continue;
		met = true;
		if (old_end < end)
			end = old_end;
		if (!old[low].named && !run->named && old[low].time == run->time && first < end)
			by_chance += (end - first) / PARTITIONS;
	}
	if (met)
		behind += run->count;
}

static void
check_rows(const Run *run)
{
	if (run->fate == UNKNOWN)
		return;
	for (uint32_t i = 0; i < run->count; i++)
	{
		Row			key = {run->time, (uint32_t) run->partition << 16 | (run->first + i)};
		bool		found = bsearch(&key, rows.items, rows.count, sizeof(Row), compare_rows) != NULL;

		lost += run->fate == COMMITTED && !found;
		risen += run->fate == ROLLED_BACK && found;
	}
}

/* Load the ids of a table, and count those that are there more than once. */
static void
load_rows(const char *path)
{
	Array		file = {.size = 1};
	size_t		before = rows.count;
	Row		   *row;

	load(&file, path);
	for (size_t at = 19; at + 6 + ID_SIZE <= file.count; at += 6 + ID_SIZE)
	{
		const unsigned char *id = (unsigned char *) file.items + at + 6;

		*(Row *) extend(&rows, 1) = (Row) {
			id_time(id), (uint32_t) id_partition(id) << 16 | id_sequence(id)
		};
	}
	free(file.items);

	row = (Row *) rows.items + before;
	qsort(row, rows.count - before, sizeof(Row), compare_rows);
	for (size_t i = before + 1; i < rows.count; i++, row++)
		doubled += compare_rows(row, row + 1) == 0;
}

/* Call `check` for each group of runs of one partition, or of one time in it. */
static void
check_groups(void (*check) (const Run *, size_t), bool by_time)
{
	const Run  *run = (Run *) runs.items;
	size_t		start = 0;

	for (size_t i = 1; i <= runs.count; i++)
		if (i == runs.count || run[i].partition != run[start].partition ||
			(by_time && run[i].time != run[start].time))
		{
			check(run + start, i - start);
			start = i;
		}
}

static void
print_count(const char *name, uint64_t count)
{
	printf("%s %" PRIu64 "\n", name, count);
}

int
main(int argc, char **argv)
{
	int			option;
	uint64_t	all = 0;

	while ((option = getopt(argc, argv, "t:b:h:r:")) != -1)
		switch (option)
		{
			case 't':
				turns_allowed = strtoull(optarg, NULL, 0);
				break;
			case 'b':
				load(&bounds, optarg);
				break;
			case 'h':
				load(&heard, optarg);
				break;
			case 'r':
				load_rows(optarg);
				break;
			default:
				return 2;
		}
	for (; optind < argc; optind++)
	{
		size_t		before = runs.count;

		load(&runs, argv[optind]);
		check_descents((Run *) runs.items + before, runs.count - before);
	}

	qsort(runs.items, runs.count, sizeof(Run), compare_runs);
	qsort(rows.items, rows.count, sizeof(Row), compare_rows);
	merge_bounds(&bounds);
	merge_bounds(&heard);
	for (size_t i = 0; i < runs.count; i++)
	{
		const Run  *run = (Run *) runs.items + i;

		if (is_unheard(run))
		{
			*(Run *) extend(&unheard_runs, 1) = *run;
			unheard += run->count;
		}
	}
	qsort(unheard_runs.items, unheard_runs.count, sizeof(Run), compare_times);
	check_groups(check_side, true);
	check_groups(check_lives, false);
	for (size_t i = 0; i < runs.count; i++)
	{
		const Run  *run = (Run *) runs.items + i;

		all += run->count;
		ids[run->fault] += run->count;
		check_bounds(run);
		check_behind(run);
		if (rows.count > 0)
			check_rows(run);
	}

	print_count("ids", all);
	print_count("rows", rows.count);
	print_count("twice", twice);
	print_count("overlaps", overlaps);
	print_count("turns", turns);
	print_count("descents", descents);
	print_count("beyond", beyond);
	print_count("unheard", unheard);
	print_count("behind", behind);
	print_count("again_session", again_session);
	printf("by_chance %.3f\n", by_chance);
	print_count("again_named", again_named);
	print_count("lost", lost);
	print_count("risen", risen);
	print_count("doubled", doubled);
	for (int i = 0; i < MAX_FAULTS; i++)
		if (ids[i] > 0)
			printf("fault %d %" PRIu64 " %" PRIu64 "\n", i, ids[i], ids_twice[i]);
	return 0;
}

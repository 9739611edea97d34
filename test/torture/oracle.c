/*
 * oracle.c
 *		The oracle over all that clients noted.
 *
 * oracle [-t MASK] [-b BOUNDS] [-r ROWS] ... NOTES ...
 *
 * Over all notes, whether their transactions were committed or not, counts
 *
 *	twice		ids that were issued before, whatever their metabyte
 *	overlaps	partitions that two lives of servers used at overlapping times,
 *				whatever the timeline
 *	turns		timelines in a unit where sessions took turns, but under the
 *				faults in MASK, whose clocks come back to a unit
 *	descents	sequences of a session that don't ascend in a timeline
 *	beyond		ids after the unit up to which the server had leased their
 *				partition on disk, for lives that BOUNDS tells of
 *
 * and, if there are tables in ROWS, as COPY's binary format has a column of ids,
 *
 *	lost		ids whose rows were committed, and are in none of them
 *	risen		ids whose rows were rolled back, and are in one
 *	doubled		rows of a table that have another one's id
 *
 * Prints a name and a count a line; then, for each fault, the ids received
 * under it and those of them that were issued before.
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

/* A growing array of things of one size. */
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
	uint64_t	life;
	uint64_t	first;
	uint64_t	last;
} Span;

static Array runs = {.size = sizeof(Run)};
static Array bounds = {.size = sizeof(Bound)};
static Array rows = {.size = sizeof(Row)};	/* of all tables */

static uint64_t turns_allowed;
static uint64_t twice, overlaps, turns, descents, beyond, lost, risen, doubled;
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
compare_spans(const void *x, const void *y)
{
	const Span *a = x,
			   *b = y;

	COMPARE(a->first, b->first);
	return 0;
}

/* Notes of one client, in the order in which it received them. */
static void
check_descents(const Run *run, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (run[i].session == run[i - 1].session && run[i].time == run[i - 1].time &&
			run[i].partition == run[i - 1].partition &&
			run[i].first < run[i - 1].first + run[i - 1].count)
			descents++;
}

/* Runs of one unit's timeline in one partition, by sequence. */
static void
check_timeline(const Run *run, size_t count)
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

			if (twice == 0)
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
		in_turns &= !(turns_allowed >> run[i].fault & 1);
	turns += in_turns;
}

/* Runs of one partition, by time. */
static void
check_lives(const Run *run, size_t count)
{
	Array		spans = {.size = sizeof(Span)};
	Span	   *span;

	for (size_t i = 0; i < count; i++)
	{
		size_t		k;

		span = (Span *) spans.items;
		for (k = spans.count; k > 0 && span[k - 1].life != run[i].life; k--)
			;
		if (k > 0)
			span[k - 1].last = run[i].time >> 1;
		else
			*(Span *) extend(&spans, 1) = (Span) {run[i].life, run[i].time >> 1, run[i].time >> 1};
	}

	span = (Span *) spans.items;
	qsort(span, spans.count, sizeof(Span), compare_spans);
	for (size_t i = 1; i < spans.count; i++)
		if (span[i].first <= span[i - 1].last)
		{
			if (overlaps++ == 0)
				printf("# two lives overlap: partition %d, units %" PRIu64 " and %" PRIu64 "\n",
					   run[0].partition, span[i].first, span[i - 1].last);
			break;
		}
	free(spans.items);
}

/* Of the bounds noted for a partition, in order, keep the highest. */
static void
merge_bounds(void)
{
	Bound	   *bound = (Bound *) bounds.items;
	size_t		kept = 0;

	for (size_t i = 0; i < bounds.count; i++)
		if (kept > 0 && compare_bounds(&bound[kept - 1], &bound[i]) == 0)
		{
			if (bound[i].unit > bound[kept - 1].unit)
				bound[kept - 1].unit = bound[i].unit;
		}
		else
			bound[kept++] = bound[i];
	bounds.count = kept;
}

static const Bound *
bound_of(uint64_t life, uint64_t partition)
{
	Bound		key = {.life = life, .partition = partition};

	return bsearch(&key, bounds.items, bounds.count, sizeof(Bound), compare_bounds);
}

static void
check_bounds(const Run *run)
{
	const Bound *known = bound_of(run->life, NO_PARTITION);
	const Bound *bound = bound_of(run->life, run->partition);

	if (known == NULL || (bound != NULL && run->time >> 1 <= bound->unit))
		return;
	if (beyond == 0)
		printf("# beyond the lease until unit %" PRIu64 ": unit %" PRIu64 ", partition %d, under fault %d\n",
			   bound == NULL ? 0 : bound->unit, run->time >> 1, run->partition, run->fault);
	beyond += run->count;
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

/* Load a table's ids; count those that are there more than once. */
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

/* Call `check` for each stretch of runs that are the same in what it compares. */
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

	while ((option = getopt(argc, argv, "t:b:r:")) != -1)
		switch (option)
		{
			case 't':
				turns_allowed = strtoull(optarg, NULL, 0);
				break;
			case 'b':
				load(&bounds, optarg);
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
	qsort(bounds.items, bounds.count, sizeof(Bound), compare_bounds);
	merge_bounds();
	qsort(rows.items, rows.count, sizeof(Row), compare_rows);
	check_groups(check_timeline, true);
	check_groups(check_lives, false);
	for (size_t i = 0; i < runs.count; i++)
	{
		const Run  *run = (Run *) runs.items + i;

		all += run->count;
		ids[run->fault] += run->count;
		check_bounds(run);
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
	print_count("lost", lost);
	print_count("risen", risen);
	print_count("doubled", doubled);
	for (int i = 0; i < MAX_FAULTS; i++)
		if (ids[i] > 0)
			printf("fault %d %" PRIu64 " %" PRIu64 "\n", i, ids[i], ids_twice[i]);
	return 0;
}

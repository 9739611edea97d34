/*
 * flakes.c
 *		The oracle for ids of other systems: checks what all clients noted of one
 *		generator.
 *
 * flakes EPOCH UNIT TIME_BITS NODE_BITS SEQUENCE_BITS NODE_LAST FIRST LAST NOTES ...
 *
 * The first arguments are the layout as in table sno_flake_layout, with EPOCH in ms since
 * 1970; then the generator's first and last node.  It takes ids apart by itself, and
 * counts
 *
 *	ids			all that were noted
 *	twice		those that were there before
 *	early		those whose time is before the clock was as they were asked for
 *	late		those whose time is after the clock was as they were received, by more
 *				than what is left of 4 ms
 *	outside		those with another node, or with more bits than the layout has
 *	upper		those in the upper half of the sequence, which is the other side
 *	descents	numbers that don't ascend in a query, of a layout that counts
 *
 * It prints a name and a count in each line.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "notes.h"

typedef unsigned __int128 Id;

typedef struct Layout
{
	int64_t		epoch;
	int64_t		unit;			/* ms, 0 if it counts */
	int			time_bits;
	int			node_bits;
	int			sequence_bits;
	bool		node_last;
	uint64_t	first;
	uint64_t	last;
} Layout;

static Layout layout;
static Id  *ids;
static uint64_t count, twice, early, late, outside, upper, descents;

static void
die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t
field(Id id, int shift, int bits)
{
	return (uint64_t) (id >> shift) & (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
}

static void
check_id(Id id, const FlakeBatch *batch)
{
	int			low = layout.node_last ? layout.node_bits : layout.sequence_bits;
	int			both = layout.node_bits + layout.sequence_bits;
	uint64_t	node = field(id, layout.node_last ? 0 : low, layout.node_bits);
	uint64_t	sequence = field(id, layout.node_last ? low : 0, layout.sequence_bits);
	uint64_t	time = field(id, both, layout.time_bits);
	int64_t		msec = (int64_t) time * layout.unit + layout.epoch;

	if (node < layout.first || node > layout.last ||
		(both + layout.time_bits < 128 && id >> (both + layout.time_bits) != 0))
		outside++;
	if (layout.unit == 0)
		return;
	early += msec + layout.unit <= batch->from;
	late += msec > batch->until + (layout.unit < 4 ? 3 : 0);
	upper += sequence >> (layout.sequence_bits - 1);
}

static void
load(const char *path)
{
	struct stat s;
	int			file = open(path, O_RDONLY);
	char	   *notes;
	off_t		at = 0;

	if (file < 0 || fstat(file, &s) != 0)
		die(path);
	if (s.st_size == 0)
		return;
	notes = mmap(NULL, s.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	ids = realloc(ids, (count + s.st_size / sizeof(Flake)) * sizeof(Id));
	if (notes == MAP_FAILED || ids == NULL)
		die(path);
	while (at < s.st_size)
	{
		const FlakeBatch *batch = (const FlakeBatch *) (notes + at);
		const Flake *flake = (const Flake *) (batch + 1);

		for (uint64_t i = 0; i < batch->count; i++)
		{
			Id			id = (Id) flake[i].high << 64 | flake[i].low;

			check_id(id, batch);
			if (layout.unit == 0 && i > 0 && id <= ids[count - 1])
				descents++;
			ids[count++] = id;
		}
		at += sizeof(FlakeBatch) + batch->count * sizeof(Flake);
	}
	munmap(notes, s.st_size);
	close(file);
}

static int
compare(const void *x, const void *y)
{
	Id			a = *(const Id *) x,
				b = *(const Id *) y;

	return (a > b) - (a < b);
}

int
main(int argc, char **argv)
{
	if (argc < 10)
	{
		fprintf(stderr, "usage: flakes EPOCH UNIT TIME_BITS NODE_BITS SEQUENCE_BITS NODE_LAST FIRST LAST NOTES ...\n");
		return 2;
	}
	layout = (Layout) {
		atoll(argv[1]), atoll(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]),
		atoi(argv[6]) != 0, strtoull(argv[7], NULL, 10), strtoull(argv[8], NULL, 10)
	};
	for (int i = 9; i < argc; i++)
		load(argv[i]);
	qsort(ids, count, sizeof(Id), compare);
	for (uint64_t i = 1; i < count; i++)
		twice += ids[i] == ids[i - 1];
	printf("ids %" PRIu64 "\ntwice %" PRIu64 "\nearly %" PRIu64 "\nlate %" PRIu64
		   "\noutside %" PRIu64 "\nupper %" PRIu64 "\ndescents %" PRIu64 "\n",
		   count, twice, early, late, outside, upper, descents);
	return 0;
}

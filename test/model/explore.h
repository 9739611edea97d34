/*
 * explore.h
 *		Breadth-first search of all that can happen to a small world.
 *
 * A model has a world in variables of its own, and three functions: one that
 * transfers the world to a key or back, part by part; one that tries each event
 * in the world, and visits what comes of it; and one that tells what an event in
 * the world was.  A key has the numbers of the world's parts.  The search keeps
 * the keys themselves, so two worlds are never taken for one, and where each came
 * from, so that it can tell how something wrong came about, in as few steps as
 * possible.  Prints TAP.
 */
#ifndef SNO_EXPLORE_H
#define SNO_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_OF_WORLD	16		/* at most */

typedef unsigned __int128 Key;

/* An event: what happens, to whom, and its arguments. */
typedef struct Step
{
	uint32_t	from;			/* the world it happened in */
	uint8_t		event,
				who,
				a,
				b;
} Step;

typedef struct Model
{
	void		(*transfer) (void);
	void		(*expand) (Step step);
	void		(*describe) (Step step);
} Model;

/* What is wrong, if something is: that ends the search. */
static const char *violation;

/* The key, and which part of the world is the next. */
static Key	key;
static unsigned part_at;
static unsigned parts_of_world;
static bool key_wanted;

/* The worlds seen, in the order in which they were. */
typedef struct Seen
{
	Key			key;
	Step		step;
} Seen;

static Seen *seen;
static uint32_t *slot;			/* number in seen + 1, by a hash of the key */
static uint32_t seen_count,
			seen_size;			/* a power of two; there are twice as many slots */

static int	tests;
static int	failures;

static void
bail_out(const char *why)
{
	printf("Bail out! %s\n", why);
	exit(1);
}

static void
wrong(const char *what)
{
	if (violation == NULL)
		violation = what;
}

static void
report(bool ok)
{
	printf("%sok %d - ", ok ? "" : "not ", ++tests);
	failures += !ok;
}

/*
 * Parts of worlds, each kept once: what is known by its number.
 */
typedef struct Part
{
	size_t		size;
	char	   *bytes;
} Part;

static Part *part;
static uint32_t *part_slot;		/* number, by a hash of the bytes */
static uint32_t part_count,
			part_size;

static uint32_t *
find_part(const void *bytes, size_t size)
{
	uint64_t		h = size;
	uint64_t		x;
	uint32_t		i;

	for (size_t at = 0; at + sizeof(x) <= size; at += sizeof(x))
	{
		memcpy(&x, (const char *) bytes + at, sizeof(x));
		h = (h ^ x) * UINT64_C(0x9E3779B97F4A7C15);
		h ^= h >> 29;
	}
	for (i = (uint32_t) (h >> 32); part_slot[i &= 2 * part_size - 1] != 0; i++)
	{
		const Part *p = &part[part_slot[i] - 1];

		if (p->size == size && memcmp(p->bytes, bytes, size) == 0)
			break;
	}
	return &part_slot[i];
}

/* The number of a part, which is made if there is none yet; sizes are multiples of 8. */
static uint32_t
number_of(const void *bytes, size_t size)
{
	uint32_t	   *found;

	if (part_count == part_size)
	{
		part_size = part_size == 0 ? 1024 : 2 * part_size;
		free(part_slot);
		part = realloc(part, part_size * sizeof(Part));
		part_slot = calloc(2 * (size_t) part_size, sizeof(uint32_t));
		if (part == NULL || part_slot == NULL)
			bail_out("out of memory");
		for (uint32_t i = 0; i < part_count; i++)
			*find_part(part[i].bytes, part[i].size) = i + 1;
	}
	found = find_part(bytes, size);
	if (*found == 0)
	{
		Part	   *p = &part[part_count++];

		p->size = size;
		p->bytes = malloc(size);
		if (p->bytes == NULL)
			bail_out("out of memory");
		memcpy(p->bytes, bytes, size);
		*found = part_count;
	}
	return *found;
}

static void
forget_parts(void)
{
	while (part_count > 0)
		free(part[--part_count].bytes);
	part_size = 0;
}

/*
 * Put a part of the world into the key, or take it from there.  Most are as they
 * were in the world before.  The first time of all just counts them.
 */
static void
transfer_part(void *bytes, size_t size)
{
	static uint32_t before[PARTS_OF_WORLD];
	uint32_t   *n = &before[part_at];
	unsigned	width = parts_of_world == 0 ? 0 : 128 / parts_of_world;
	unsigned	shift = part_at++ * width;

	if (part_at > PARTS_OF_WORLD)
		bail_out("a world has too many parts");
	if (width == 0)
		return;
	width = width < 32 ? width : 31;
	if (!key_wanted)
	{
		*n = (uint32_t) (key >> shift) & ((UINT32_C(1) << width) - 1);
		memcpy(bytes, part[*n - 1].bytes, size);
		return;
	}
	if (*n == 0 || *n > part_count || part[*n - 1].size != size ||
		memcmp(part[*n - 1].bytes, bytes, size) != 0)
		*n = number_of(bytes, size);
	if (*n >> width != 0)
		bail_out("a world does not fit its key");
	key |= (Key) *n << shift;
}

static uint32_t *
find_slot(Key k)
{
	uint64_t	h = ((uint64_t) k ^ (uint64_t) (k >> 64) * UINT64_C(0xD6E8FEB86659FD93)) *
		UINT64_C(0x9E3779B97F4A7C15);
	uint32_t	i;

	h = (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	for (i = (uint32_t) (h >> 32); slot[i &= 2 * seen_size - 1] != 0; i++)
		if (seen[slot[i] - 1].key == k)
			break;
	return &slot[i];
}

static void
grow(void)
{
	seen_size = seen_size == 0 ? 1024 : 2 * seen_size;
	free(slot);
	seen = realloc(seen, seen_size * sizeof(Seen));
	slot = calloc(2 * (size_t) seen_size, sizeof(uint32_t));
	if (seen == NULL || slot == NULL)
		bail_out("out of memory");
	for (uint32_t i = 0; i < seen_count; i++)
		*find_slot(seen[i].key) = i + 1;
}

/* The world as it is now came of `step`.  The first wrong one is kept as last. */
static void
visit(const Model *model, Step step)
{
	uint32_t   *found;

	key = 0;
	part_at = 0;
	key_wanted = true;
	model->transfer();
	if (seen_count == seen_size)
		grow();
	found = find_slot(key);
	if (*found != 0 && violation == NULL)
		return;
	seen[seen_count++] = (Seen) {key, step};
	if (*found == 0)
		*found = seen_count;
}

/* Make the world the one that was seen with this number. */
static void
go_to(const Model *model, uint32_t number)
{
	key = seen[number].key;
	part_at = 0;
	key_wanted = false;
	model->transfer();
}

/* Search on from the world as it is now: is nothing wrong? */
static bool
explore(const Model *model)
{
	violation = NULL;
	seen_count = seen_size = 0;
	forget_parts();
	part_at = parts_of_world = 0;
	key_wanted = true;
	model->transfer();
	parts_of_world = part_at;
	visit(model, (Step) {0});
	for (uint32_t i = 0; i < seen_count && violation == NULL; i++)
	{
		go_to(model, i);
		model->expand((Step) {.from = i});
	}
	return violation == NULL;
}

static void
print_trace(const Model *model, uint32_t number)
{
	if (number == 0)
		return;
	print_trace(model, seen[number].step.from);
	printf("#   ");
	go_to(model, seen[number].step.from);
	model->describe(seen[number].step);
	printf("\n");
}

static unsigned
steps_to(uint32_t number)
{
	return number == 0 ? 0 : 1 + steps_to(seen[number].step.from);
}

/* What the search of a scope came to, in which so many things happened, such as "ids issued". */
static void
report_scope(const Model *model, bool ok, const char *scope_name, uint64_t count, const char *what)
{
	report(ok && count > 0);
	printf("%s: %u worlds, %llu %s\n", scope_name, seen_count, (unsigned long long) count, what);
	if (!ok)
	{
		printf("# %s:\n", violation);
		print_trace(model, seen_count - 1);
	}
	fflush(stdout);
}

/* And that of a mutant's scope. */
static void
report_mutant(bool caught, const char *name, const char *scope_name)
{
	report(caught);
	printf("mutant: %s: %s\n", name, caught ? violation : "not caught");
	printf("# after %u steps, in %u worlds of %s\n", steps_to(seen_count - 1),
		   seen_count, scope_name);
	fflush(stdout);
}

#endif							/* SNO_EXPLORE_H */

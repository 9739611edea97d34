/*
 * explore.h
 *		Breadth-first search of all that can happen to a small world.
 *
 * A model has a world in variables of its own, and three functions: one that
 * takes the world to a key or back, field by field; one that tries each event
 * in the world of a key, and visits what comes of it; and one that tells what
 * an event was.  The search keeps the keys themselves, so two worlds are never
 * taken for one, and where each came from, so that it can tell how something
 * wrong came about, in as few steps as possible.  Prints TAP.
 */
#ifndef SNO_EXPLORE_H
#define SNO_EXPLORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static Key	key;
static unsigned key_at;
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

/* Put a field into the key, or take it from there: the value that it then has. */
static inline uint64_t
field(uint64_t value, unsigned width)
{
	unsigned	at = key_at;

	key_at += width;
	if (!key_wanted)
		return (uint64_t) (key >> at) & ((UINT64_C(1) << width) - 1);
	if (key_at > 128 || value >> width != 0)
		bail_out("a world does not fit its key");
	key |= (Key) value << at;
	return value;
}

#define FIELD(x, width)	((x) = field((x), (width)))

/* Bits that a field from 0 to `highest` takes. */
static inline unsigned
width_of(unsigned highest)
{
	return highest == 0 ? 0 : 32 - (unsigned) __builtin_clz(highest);
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
	key_at = 0;
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

/* Search on from the world as it is now: is nothing wrong? */
static bool
explore(const Model *model)
{
	violation = NULL;
	seen_count = seen_size = 0;
	visit(model, (Step) {0});
	for (uint32_t i = 0; i < seen_count && violation == NULL; i++)
	{
		key = seen[i].key;
		key_at = 0;
		key_wanted = false;
		model->transfer();
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
	model->describe(seen[number].step);
	printf("\n");
}

static unsigned
steps_to(uint32_t number)
{
	return number == 0 ? 0 : 1 + steps_to(seen[number].step.from);
}

/* What the search of a scope came to, in which so many ids were issued. */
static void
report_scope(const Model *model, bool ok, const char *scope_name, uint64_t issued)
{
	report(ok && issued > 0);
	printf("%s: %u worlds, %llu ids issued\n", scope_name, seen_count,
		   (unsigned long long) issued);
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

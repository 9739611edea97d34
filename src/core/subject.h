/*
 * subject.h
 *		What a lease is about: a part of a partition, nodes of a layout, or a feed.
 */
#ifndef SNO_SUBJECT_H
#define SNO_SUBJECT_H

#include "core/flake.h"

/* What the ids are, and whose.  Rows of sno_lease have these letters. */
typedef enum SnoKind
{
	SNO_OF_SESSION = 's',		/* a whole partition, that one session owns */
	SNO_OF_GENERATOR = 'g',		/* sequences of a partition, that a named generator has */
	SNO_OF_NODES = 'n',			/* nodes of a layout, that a generator of flakes has */
	SNO_OF_FEED = 'f'			/* no ids, but watermarks */
} SnoKind;

typedef struct SnoSubject
{
	int32_t		kind;			/* a SnoKind */
	int32_t		partition;		/* 0 if it has none */
	SnoLayout	layout;			/* of zeros if it has none */
	SnoShard	shard;			/* sequences, or nodes */
} SnoSubject;

static inline bool
sno_subject_has_partition(const SnoSubject *s)
{
	return s->kind == SNO_OF_SESSION || s->kind == SNO_OF_GENERATOR;
}

/* Is it what a named generator has? */
static inline bool
sno_subject_is_named(const SnoSubject *s)
{
	return s->kind == SNO_OF_GENERATOR || s->kind == SNO_OF_NODES;
}

/*
 * Does a definition leave open which nodes its generator has?  Then the shard is from -n to
 * -1, for n nodes.
 */
static inline bool
sno_subject_floats(const SnoSubject *s)
{
	return s->kind == SNO_OF_NODES && s->shard.min < 0;
}

/* Are they in one partition, or in one layout?  All feeds are in the same one. */
static inline bool
sno_subjects_meet(const SnoSubject *a, const SnoSubject *b)
{
	return sno_subject_has_partition(a) == sno_subject_has_partition(b) &&
		a->partition == b->partition && sno_layouts_equal(&a->layout, &b->layout);
}

/* Do they share ids? */
static inline bool
sno_subjects_overlap(const SnoSubject *a, const SnoSubject *b)
{
	return sno_subjects_meet(a, b) && sno_shards_overlap(a->shard, b->shard);
}

static inline bool
sno_subjects_equal(const SnoSubject *a, const SnoSubject *b)
{
	return a->kind == b->kind && sno_subjects_meet(a, b) && sno_shards_equal(a->shard, b->shard);
}

#endif							/* SNO_SUBJECT_H */

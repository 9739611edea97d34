/*
 * subject.h
 *		The subject of a lease: a partition or part of one, nodes of a layout, or a feed.
 */
#ifndef SNO_SUBJECT_H
#define SNO_SUBJECT_H

#include "core/flake.h"

/* The kinds of subjects, with their letters in rows of sno_lease */
typedef enum SnoKind
{
	SNO_OF_SESSION = 's',		/* a whole partition */
	SNO_OF_GENERATOR = 'g',		/* sequences of a partition, for a named generator */
	SNO_OF_NODES = 'n',			/* nodes of a layout, for a generator of flakes */
	SNO_OF_FEED = 'f'			/* watermarks, not ids */
} SnoKind;

typedef struct SnoSubject
{
	int32_t		kind;			/* a SnoKind */
	int32_t		partition;		/* 0 if there is none */
	SnoLayout	layout;			/* all zeros if there is none */
	SnoShard	shard;			/* sequences, or nodes */
} SnoSubject;

static inline bool
sno_subject_has_partition(const SnoSubject *s)
{
	return s->kind == SNO_OF_SESSION || s->kind == SNO_OF_GENERATOR;
}

/* Does the subject belong to a named generator? */
static inline bool
sno_subject_is_named(const SnoSubject *s)
{
	return s->kind == SNO_OF_GENERATOR || s->kind == SNO_OF_NODES;
}

/*
 * Are the nodes of the generator chosen only when it issues?  If so, the shard in the
 * generator's definition is from -n to -1, where n is the number of nodes.
 */
static inline bool
sno_subject_floats(const SnoSubject *s)
{
	return s->kind == SNO_OF_NODES && s->shard.min < 0;
}

/* Are both subjects in one partition, or in one layout?  All feeds count as being in one layout. */
static inline bool
sno_subjects_meet(const SnoSubject *a, const SnoSubject *b)
{
	return sno_subject_has_partition(a) == sno_subject_has_partition(b) &&
		a->partition == b->partition && sno_layouts_equal(&a->layout, &b->layout);
}

/* Do the subjects have ids in common? */
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

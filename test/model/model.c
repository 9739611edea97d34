/*
 * model.c
 *		All generators on models small enough to be explored whole: every order of
 *		their steps in every session, of clock readings, errors, crashes and
 *		promotions, and of what else happens to rows and definitions.  Prints TAP.
 *
 * The code that decides runs as it is: the core, partitions, leases, sessions and
 * named generators.  What is replaced is what only reads and writes: rows are an
 * array, a clock reads what the search tells it, a wait ends the call.  What is
 * needed of PostgreSQL has the same form in all versions.
 *
 * A world has one or two lines: databases of one server, or servers.  A line has
 * partitions, rows as they are written and as they are on disk, and sessions.  One
 * line has a group of named generators, with up to two states.  A session is in a
 * call, or between two.  Calls run on a stack of their own, which is a part of the
 * world: it is put away wherever something else may come in between, and brought
 * back to go on in any order.  A call ends where it would wait, and where it would
 * begin anew: a session's after one round of tries, and at a named generator's second look at
 * the word.
 *
 * A session's call ends with its look at the rows, too.  The next one
 * reserves by what was seen then.  It also stops before it flushes, and before it publishes.
 *
 * Sessions have partitions in common.  Where a line has two sessions, a call stops before each
 * addition to the word of a partition, each swap, and before a word is closed.  A call may make
 * many ids: it remembers its partition, and between two ids the session may do all that it does
 * otherwise.  In some scopes a call also stops before it takes the turn of a partition, and before
 * it looks at it again.  In each world where one session is stopped, anywhere, the other one is
 * made to issue, with a clock that moves on: it must succeed.
 *
 * Ids of given times come from calls like a session generator's.  Each round is a call,
 * of any unit, because there might have been an error between two.  The random bits that
 * such a partition begins with may be any, in one scope.
 *
 * A named generator stops before each addition to a word, swap and exchange, and
 * where a lock is asked for that makes a difference.  Whoever holds a group's lock
 * is alone with the rows, and what others do meanwhile to a word that isn't closed
 * touches neither rows nor anything that the holder relies on.  So a change under
 * the lock is one step here, except for exchanges, and for errors: before a row is
 * written, before it is flushed, after it is.  Two scopes are explored without this
 * argument.  There it stops also at the lock, and before and after each load, store,
 * write and flush.
 *
 * Clocks aren't part of the world: each reading may be any unit.  So clocks run,
 * stand, and step either way, each session's by itself.  When a session generator's
 * lease is renewed early is left open too: anywhere within the lease.  Tickets
 * aren't part of the world: no rule depends on them.
 *
 * Which ids were issued isn't recorded either.  Instead, a world remembers at most
 * one of its ids, and at each id issued the search goes on both ways: with a world
 * that remembers it, if it remembers none yet, and one that doesn't.  An id is
 * issued twice in some run if and only if it is in one that remembers it from its
 * first time on.  Of named generators, it is checked whether rows on disk bound
 * that id (N2 of src/README.md), and whether a state that is open is alone (N1).  Of given
 * times, it is checked whether B1 and B2 hold, whether nothing else issues in the id's
 * partition, nor anybody at all after a crash, whether its row is to the end of the epoch,
 * and whether at most half of the range is used in this way.
 *
 * A named generator may be one of a layout of another system (core/flake.h).  Then a
 * clock reads ms, or a count reads none, and what is remembered and compared is the id
 * of the layout.  Each id must have the unit of the layout that the clock read, or in
 * short units, a later one of the same 4 ms.  So it is where one session issues: where
 * two do, the clock may step back between a reading and an id.  Numbers ascend, from
 * one server to its successors too.  None is left out, unless there was an error, a
 * crash or a promotion, or the count was advanced.
 *
 * A server's successors continue its world: a crash loses its memory, a promotion
 * makes it another holder as well.  As either may happen at any moment, they stand
 * for backups too.  Rows get to disk in any order, as long as they do when they are
 * flushed.  The kill of a session is an error, followed by the session's end.
 *
 * A standby that never received the end of the WAL goes on from what was on disk
 * before.  Ids that were issued since may come again if its clock is behind: the
 * scope of session generators shows that they don't otherwise.  Ids of given times may
 * come again, and may be ids that were issued since.  Ids of a named
 * generator come again only if both sides were used in the WAL that is lost, or the
 * successor itself steps back below what it took to be leased.  What was issued
 * before the table was truncated may come again if a crash follows before its row
 * is written anew.
 *
 * A database may also be dropped, and made again of another one with the same OID
 * and the same files, while the server runs: its space begins another life.
 *
 * Nodes of a layout may be chosen (flake/choose.c).  A call ends where it has chosen.  With
 * a registry, one block of nodes is granted at a time, for a unit, and what is granted
 * changes at any moment.  Each id must be of a node and a unit that were granted when its
 * call began, or later.  Without a registry, sno_reseed() revokes nodes.  Then no call that
 * begins later issues in the nodes that were chosen before.  Those that rows named are
 * chosen again only if no other is free.
 *
 * Where nodes are chosen, or nobody else is in partitions than sessions, in each world without a call
 * sessions are made to issue, with clocks that move on: each one alone, and all in turn.  All must
 * succeed.
 *
 * Not modelled: sno_reseed() of partitions, tables that are locked, rows that are forged, and the
 * order of WAL: a flush here brings just its own row to disk, not the earlier ones.
 *
 * Each rule has its mutants, decisions made wrong.  All are to be caught, and
 * nothing is to be found without one.
 */
#include "calls.h"

#include "postgres.h"

#include <string.h>

/* Where a call may be. */
typedef enum Place
{
	AT_LOAD = NOWHERE + 1,
	AT_CEILING,
	AT_STORE,
	AT_EXCHANGE,
	AT_ADD,
	AT_SWAP,
	AT_LOCK,
	AT_WRITE,
	AT_FLUSH,
	FLUSHED,
	AT_CLOCK,
	AT_OWNER,
	SURVEYED,					/* all rows; the next call goes on there */
	WAITING,					/* or beginning anew; that is the end of the call */
	BROKEN						/* by an error, likewise */
} Place;

/* Each atomic access to a word or a ceiling is a step of its own. */
static void at_word(Place place, const volatile void *address);
static uint64 slack(const volatile void *address);
static uint64 judge(const volatile void *address, uint64 word);

#define __atomic_load_n(p, order) \
	(at_word(AT_LOAD, p), __atomic_load_n(p, order) + slack(p))
#define __atomic_store_n(p, value, order) \
	(at_word(AT_STORE, p), __atomic_store_n(p, value, order))
#define __atomic_exchange_n(p, value, order) \
	(at_word(AT_EXCHANGE, p), __atomic_exchange_n(p, value, order))
#define __atomic_fetch_add(p, value, order) \
	(at_word(AT_ADD, p), judge(p, __atomic_fetch_add(p, value, order)))
#define __atomic_fetch_or(p, value, order) \
	(at_word(AT_EXCHANGE, p), __atomic_fetch_or(p, value, order))
#define __atomic_compare_exchange_n(p, expected, value, weak, order, other) \
	(at_word(AT_SWAP, p), __atomic_compare_exchange_n(p, expected, value, weak, order, other))

/* One block of partitions is enough. */
#include "id.h"
#undef SNO_PARTITION_MAX
#define SNO_PARTITION_MAX 1023

/* Two numbers of a generator that counts are a unit. */
#define SNO_COUNTER_BLOCK 2

/* Two partitions are open at most. */
#define SNO_PLACES 2

/* One block is granted at a time. */
#define SNO_GRANTS 1

#include "core/flake.h"
#include "catalog/publish.h"
#include "catalog/record.h"
#include "catalog/row.h"
#include "catalog/leases.h"
#include "catalog/table.h"
#include "shared/attempt.h"
#include "shared/clock.h"

/*
 * What may have a mutant or a pause is interposed: where a macro has its name, the
 * files that are included call the function below instead, which calls the real one.
 */
static int64 read_msec(void);
static SnoFlakeTime flake_at(const SnoNodes *nodes, int64 msec);
static SnoFlakeTime flake_count(uint64 word);

#define sno_clock_msec read_msec
#define sno_flake_at flake_at
#define sno_flake_count flake_count
#include "generate/wait.h"
#include "named/group.h"
#undef sno_flake_at
#undef sno_flake_count
#include "shared/feed.h"

static uint64 read_clock(void);
static uint64 feed_unit(void);
static uint64 lease_end(uint64 now);
static uint64 half(void);
static void start_few(SnoGenerator *g, uint64 floor, uint32 min, uint32 max);
static void start_given(SnoGenerator *g, SnoBackfill *b, uint16_t max, uint32_t random);
static SnoStep step_given(SnoGenerator *g, SnoBackfill *b, uint64_t unit, uint64_t *got);
static void start_backfilled(SnoGenerator *g, uint64 floor, uint32 min, uint32 max);
static SnoLeaseTask lease_task(const SnoLease *l, const SnoGenerator *g, uint64 unit,
							   uint32 file);
static void merge_row(SnoGenerator *g, const SnoGenerator *other);
static void merge_memory(SnoGenerator *g, const SnoGenerator *other);
static void switch_side(SnoGenerator *g, uint64 until);
static void drift(SnoGenerator *g, uint64 now);
static void join_sides(SnoGenerator *g);
static uint64 close_word(SnoGenerator *g);
static SnoStep share_word(SnoGenerator *g, uint64 word, uint64 now, uint32 least, uint64 *got);
static SnoPartition *next_open(SnoPurpose purpose, const SnoPartition *p);
static bool is_usable(const SnoPartition *p);
static bool change_side_of(SnoGenerator *g, uint64 word, uint64 now);
static void end_word(SnoGenerator *g);
static bool ready_at(const SnoGenerator *g, uint64 now);
static SnoPartition *reserve_anew(uint64 now, const SnoBounds *bounds, uint64 holder, SnoPurpose purpose);
static SnoPartition copy_partition(int number);
static void survey_earlier(Relation rel, uint64 now, SnoSurvey *survey);
static bool write_row(Relation rel, const SnoSubject *subject, const SnoGenerator *g,
					  XLogRecPtr *lsn);
static bool write_own(SnoLease *lease, Relation rel, const SnoSubject *subject,
					  SnoGenerator g, uint64 ceiling);
static bool lock_group(SnoGroup *group);
static int	states_kept(void);
static void copy_name(char *to, const char *from);
static int	users_of(const pg_atomic_uint32 *users);
static uint64 choose_unit(void);
static uint64 choose_start(Relation rel, SnoRecordVisitor visitor, void *arg);
static uint64 authority_of(pg_atomic_uint64 *authority, uint64 granted);
static void merge_other(SnoGenerator *g, SnoGenerator other);
static SnoObstacle choose_nodes(Relation rel, SnoGroup *group, const char *name,
								const SnoDefinition *d, List *known, SnoNamedState **state);
static SnoObstacle limit_nodes(SnoNamedState *s, uint64 now);
static bool are_in_force(const SnoNamedState *s);
static bool may_stay_in(const SnoNamedState *s, const SnoDefinition *d);
static bool shards_overlap(const SnoShard *a, const SnoShard *b);
extern SnoStep real_share_unit(SnoGenerator *g, uint64_t word, uint64_t now, uint32_t least,
							   uint64_t *issued);

#define sno_generator_share_unit real_share_unit
#include "../../src/core/generator.c"
#undef sno_generator_share_unit
#include "../../src/core/backfill.c"
#include "../../src/core/flake.c"
#include "../unit/flake_word.h"

/* Taking the turn of a partition is a step of its own, where a scope says so. */
static void at_owner(void);
static SnoPartition copy_claimed(int number);

#define sno_generator_start start_few
#define sno_backfill_start start_given
#define sno_backfill_step step_given
#define sno_generator_end end_word
#define sno_generator_ready ready_at
#include "../../src/shared/partition.c"
#undef sno_generator_ready
#define sno_partition_copy copy_claimed
#undef pg_memory_barrier
#define pg_memory_barrier() at_owner()
#include "../../src/shared/reserve.c"
#undef sno_partition_copy
#undef pg_memory_barrier
#define pg_memory_barrier() pg_memory_barrier_impl()
#undef sno_generator_start
#undef sno_backfill_start
#undef sno_backfill_step

#define sno_generator_merge merge_row
#define sno_generator_switch switch_side
#include "../../src/catalog/home.c"
#include "../../src/catalog/record.c"
#undef sno_generator_merge
#undef sno_generator_switch

#define sno_lease_half half
#define sno_record_write write_row
#include "../../src/catalog/publish.c"

#define sno_clock_unit read_clock
void sno_grant_check_setting(void) {}
void sno_grant_check_setting_again(void) {}
void sno_grant_ask(SnoGranted *granted, int blocks) {}
void sno_grant_ask_more(SnoGranted *granted, uint64 now) {}
void sno_grant_renew(SnoGranted *granted, int blocks) {}
bool sno_grants_know_range(void) { return false; }
bool sno_grant_is_for_anybody(int partition) { return false; }
SnoGrants sno_grants_copy(const SnoGranted *granted) { return granted->grants; }
SnoNodeRange sno_granted_range(SnoGranted *granted) { return granted->range; }

#define sno_feed_unit feed_unit
#define sno_feed_move_on(exhausted) false
#define sno_feed_knows_past() true
#define sno_feed_tell_tick(counter, next) ((void) (counter), (void) (next))
#define sno_lease_end(now, half) lease_end(now)
#define sno_lease_task lease_task
#define sno_backfill_step step_given
#define sno_generator_share share_word
#define sno_generator_turn change_side_of
#define sno_generator_ready ready_at
#define sno_partition_next_open next_open
#define sno_partition_is_usable is_usable
#define sno_partition_reserve reserve_anew
#define sno_record_survey survey_earlier
#define sno_lease_write write_own
#include "generate/generate.h"
#include "../../src/generate/leasing.c"
#include "../../src/generate/session.c"
#include "../../src/generate/many.c"
#undef sno_backfill_step
#undef sno_generator_share
#undef sno_generator_turn
#undef sno_generator_ready
#undef sno_partition_next_open
#undef sno_partition_is_usable
#undef sno_generator_end
#undef sno_partition_reserve
#undef sno_record_survey
#undef sno_lease_write

/* A scope says how soon states are forgotten.  That is safe whatever they issued. */
#undef SNO_STATES_KEPT
#define SNO_STATES_KEPT states_kept()
#define sno_state_unit(nodes) UINT64_MAX
/* There is one list of groups. */
#define hash_bytes(layout, size) 0
#include "../../src/named/group.c"
#undef sno_state_unit
#undef hash_bytes

#define strlcpy(to, from, size) copy_name(to, from)
#define sno_generator_merge merge_memory
#define sno_generator_drift drift
#define sno_generator_join_sides join_sides
#define sno_generator_close close_word
#define sno_partition_copy copy_partition
#define sno_group_lock lock_group
#define sno_shards_overlap(a, b) shards_overlap(&(a), &(b))
#include "../../src/named/state.c"
#include "../../src/named/chosen.c"
#define sno_state_unit(nodes) choose_unit()
#define pg_atomic_read_u32(users) users_of(users)
#define sno_record_visit choose_start
/* reserve.c has other ones. */
#define Choice NodeChoice
#define OWN OWN_NODES
#define rank_of rank_of_nodes
#include "../../src/flake/choose.c"
#undef Choice
#undef OWN
#undef rank_of
#undef sno_state_unit
#undef pg_atomic_read_u32
#undef sno_record_visit
#define sno_state_merge_other merge_other
#define sno_generator_start start_backfilled
#include "../../src/named/past.c"
#undef sno_generator_start
#undef sno_state_merge_other
#define sno_chosen_find_limit limit_nodes
#define sno_chosen_are_in_force are_in_force
#include "../../src/named/open.c"
#undef sno_chosen_find_limit
#undef sno_chosen_are_in_force
#define pg_atomic_read_u64(authority) authority_of(authority, use->granted)
#include "named/next.h"
#undef pg_atomic_read_u64
/* How long it would wait doesn't matter. */
#undef sno_clock_msec
#define sno_clock_msec() 0
#include "../../src/named/queue.c"
#define sno_chosen_may_stay may_stay_in
#include "../../src/named/use.c"
#undef sno_chosen_may_stay
#include "../../src/named/next.c"
#undef sno_clock_msec
#undef strlcpy
#undef sno_generator_merge
#undef sno_generator_drift
#undef sno_generator_join_sides
#undef sno_generator_close
#undef sno_partition_copy
#undef sno_group_lock
#undef sno_shards_overlap
#undef sno_record_write
#undef sno_lease_task

/* The libc's, not the server's. */
#undef printf
#undef snprintf
#undef qsort

#include "explore.h"
#include "home.h"

#define LINES		2			/* the most there can be of each */
#define SESSIONS	2
#define PARTITIONS	4
#define STATES		4
#define ROWS		6
#define BLOCKS		2			/* of nodes that a registry grants */
#define FILE_NOW	2			/* the file of a table, and what it was before */
#define FILE_BEFORE 1

/* A line of descent: a database, whose past is to be met by none of its ids. */
typedef enum Lines
{
	ONE,
	TWO_DATABASES,				/* of one server, the second made of the first */
	TWO_SERVERS					/* the second copied from the first; both live */
} Lines;

typedef struct Scope
{
	const char *name;
	unsigned	units,			/* that a clock may read: from 0 on, or if there are */
								/* named generators, from 1 on; or that may be counted */
				lease;			/* units that it reaches beyond now */
	unsigned	sessions[LINES];
	Lines		lines;
	unsigned	partitions,
				sequences,		/* of a session generator, 0 if there is none */
				draws;			/* of random bits, for ids of given times; 0 if there are none */
	bool		named;			/* is there a named generator? */
	int			first,			/* bounds of its sequence, or its nodes, */
				last,
				longer;			/* and of another one from 0 to this; 0 if there is none */
	SnoLayout	layout;			/* of 0 bits if there is none */
	unsigned	msec,			/* that the clock reads first, instead of a unit, */
				step;			/* and how far the next readings are from each other */
	bool		fine,			/* pauses wherever there could be one */
				promotions,		/* the server becomes another holder, once */
				lags,			/* and lacks the end of the WAL */
				restores,		/* rows and ids, or snapshots, of others come in */
				again,			/* a database is dropped, and made again */
				rewrites,		/* the table is given a new file, or truncated */
				forgets,		/* no closed state is kept */
				disjoint,		/* the servers' partitions are */
				apart,			/* the other generator has just the node `longer` */
				steps,			/* pauses before the turn of a partition is taken */
				runs,			/* sessions make many ids in one call, with others in between */
				plain,			/* no errors, no early renewals of session generators; */
								/* closed rows get lost in a crash */
				reseeds,		/* sno_reseed() is called, once */
				steady,			/* there is no crash */
				stands;			/* a session that stands still stops no other one */
	int			floats,			/* nodes among which those of generators are chosen; 0 if they */
								/* are fixed.  Another generator has fixed ones all the same, */
				names,			/* if this isn't 2: then that floats, too */
				blocks,			/* of those nodes, which a registry grants; 0 without one, */
				changes;		/* and how often what it grants changes */
	bool		slow,			/* explored by the suite worlds */
				large;			/* too much so to be explored whole: for mutants only */
} Scope;

#define OWN(sequence_count, partition_count) \
	.sequences = sequence_count, .partitions = partition_count
#define NAMED(sequence_first, sequence_last) \
	.named = true, .partitions = 1, .first = sequence_first, .last = sequence_last

/*
 * A layout of units of 1 ms; one of 6 ms, which begin 1, 7, 13 ... ms after 2010; and one
 * that counts.  The first clock reads some ms only, which leave sequences out.
 */
#define SHORT_UNITS(first_msec, msec_step) \
	.layout = {SNO_EPOCH_MSEC, 1, 41, 2, 1}, .msec = first_msec, .step = msec_step
#define LONG_UNITS(bits) \
	.layout = {SNO_EPOCH_MSEC + 1, 6, 41, 2, bits}, .msec = 7, .step = 3
#define FLOATING(node_count, bits) \
	NAMED(-1, -1), .floats = node_count, .layout = {SNO_EPOCH_MSEC, 4, 41, 2, bits}, .msec = 4, .step = 4
#define NUMBERS \
	NAMED(3, 3), .layout = {0, 0, 61, 2, 0, true}

typedef enum ScopeNumber
{
	ONE_PARTITION, TWO_SESSIONS, TWO_LONGER, TWO_RESTORED, ROWS_RESTORED, TWO_PARTITIONS, THREE_PARTITIONS, PROMOTION, PROMOTION_LAGS,
	DATABASES, DATABASE_AGAIN, SERVERS, SERVERS_APART, DATABASES_LONGER,
	MANY, STEPS,
	GIVEN, GIVEN_TWO, GIVEN_STEPS, GIVEN_FOUR, GIVEN_REWRITTEN, GIVEN_RESTORED, GIVEN_PROMOTION,
	GIVEN_PROMOTION_LAGS, GIVEN_SERVERS, GIVEN_NAMED_ONE, GIVEN_NAMED,
	NAMED_ONE, NAMED_LONGER, NAMED_TWO, NAMED_FINE, NAMED_TWO_FINE, OVERLAP, OVERLAP_TWO,
	NAMED_PROMOTION_LAGS, BOTH, BOTH_TWO, BOTH_LONGER, NAMED_PROMOTION, SNAPSHOTS, SNAPSHOTS_TWO, NAMED_REWRITTEN,
	LAST_SEQUENCE, NAMED_AGAIN, FORGOTTEN,
	SHORT, SHORT_TWO, SHORT_OVERLAP, SHORT_APART, LONG, LONG_TWO,
	COUNT, COUNT_TWO, COUNT_PROMOTION_LAGS, COUNT_ADVANCED,
	FLOATS, FLOATS_TWO, FLOATS_NAMES, RESEEDED, RESEEDED_TWO, FLOATS_FIXED, FLOATS_SAME
} ScopeNumber;

static const Scope scopes[] = {
	[ONE_PARTITION] = {"one partition", 6, 2, {1}, OWN(1, 1), .rewrites = true},
	[TWO_SESSIONS] = {"one partition, two sessions", 3, 1, {2}, OWN(2, 1)},
	[TWO_LONGER] = {"one partition, two sessions, more units", 5, 4, {2}, OWN(2, 1),.plain = true,.steady = true,
	.large = true},
	[TWO_RESTORED] = {"rows restored, two sessions", 3, 1, {2}, OWN(1, 1), .restores = true},
	[ROWS_RESTORED] = {"rows restored", 6, 2, {1}, OWN(1, 1), .restores = true},
	[TWO_PARTITIONS] = {"two partitions, two sessions", 3, 1, {2}, OWN(1, 2),.plain = true,.steady = true,.stands = true},
	[THREE_PARTITIONS] = {"three partitions, two sessions", 3, 2, {2}, OWN(1, 3),.plain = true,.steady = true,
	.large = true},
	[PROMOTION] = {"a promotion", 4, 2, {1}, OWN(1, 2), .promotions = true},
	[PROMOTION_LAGS] = {"a promotion without the end of the WAL", 4, 2, {1}, OWN(1, 2),
	.promotions = true,.lags = true,.plain = true},
	[DATABASES] = {"two databases", 2, 1, {1, 1}, TWO_DATABASES, OWN(1, 2),.plain = true},
	[DATABASE_AGAIN] = {"a database made again", 3, 1, {1, 1}, TWO_DATABASES, OWN(1, 1),
	.again = true,.plain = true},
	[SERVERS] = {"two servers", 4, 2, {1, 1}, TWO_SERVERS, OWN(1, 1),.plain = true},
	[SERVERS_APART] = {"two servers kept apart", 3, 1, {1, 1}, TWO_SERVERS, OWN(1, 2),
	.disjoint = true,.plain = true},
	[DATABASES_LONGER] = {"two databases, more units", 3, 1, {1, 1}, TWO_DATABASES, OWN(1, 2),
	.plain = true,.large = true},

	[MANY] = {"many ids of one call", 2, 1, {2}, OWN(2, 1),.runs = true,.plain = true,.steady = true},

	[STEPS] = {"partitions reserved, step by step", 2, 1, {2}, OWN(1, 2),.steps = true,
	.plain = true,.steady = true,.stands = true},

	[GIVEN] = {"given times", 3, 1, {1}, OWN(2, 2),.draws = 4},
	[GIVEN_TWO] = {"given times, two sessions", 2, 1, {2}, OWN(2, 2),.draws = 1},
	[GIVEN_STEPS] = {"given times, step by step", 1, 0, {2}, OWN(1, 2),.draws = 1,.steps = true,
	.plain = true,.steady = true},
	[GIVEN_FOUR] = {"given times, four partitions", 2, 1, {1}, OWN(1, 4),.draws = 1,
	.plain = true},
	[GIVEN_REWRITTEN] = {"given times: a table rewritten", 2, 1, {1}, OWN(1, 2),.draws = 1,
	.rewrites = true},
	[GIVEN_RESTORED] = {"given times: rows restored", 2, 1, {1}, OWN(1, 2),.draws = 1,
	.restores = true},
	[GIVEN_PROMOTION] = {"given times: a promotion", 3, 1, {1}, OWN(1, 2),.draws = 1,
	.promotions = true},
	[GIVEN_PROMOTION_LAGS] = {"given times: a promotion without the end of the WAL", 3, 1, {1},
	OWN(1, 2),.draws = 1,.promotions = true,.lags = true,.plain = true},
	[GIVEN_SERVERS] = {"given times: two servers", 2, 1, {1, 1}, TWO_SERVERS, OWN(1, 2),
	.draws = 1,.plain = true,.large = true},
	[GIVEN_NAMED_ONE] = {"given times and a named generator, one unit", 1, 0, {1},.sequences = 1,
	.partitions = 2,.named = true,.draws = 1},
	[GIVEN_NAMED] = {"given times and a named generator", 2, 0, {1},.sequences = 1,
	.partitions = 2,.named = true,.draws = 1,.plain = true,.large = true},

	[NAMED_ONE] = {"named: one session", 3, 0, {1}, NAMED(0, 1)},
	[NAMED_LONGER] = {"named: one session, longer leases", 4, 2, {1}, NAMED(0, 0),.slow = true},
	[NAMED_TWO] = {"named: two sessions", 2, 2, {2}, NAMED(0, 1)},
	[NAMED_FINE] = {"named: one session, each step", 2, 0, {1}, NAMED(0, 0),.fine = true},
	[NAMED_TWO_FINE] = {"named: two sessions, each step", 1, 0, {2}, NAMED(0, 1),.fine = true},
	[OVERLAP] = {"states that overlap", 2, 0, {1}, NAMED(0, 0),.longer = 1,.plain = true},
	[OVERLAP_TWO] = {"states that overlap, two sessions", 1, 0, {2}, NAMED(0, 0),.longer = 1,
	.plain = true},
	[NAMED_PROMOTION_LAGS] = {"named: a promotion without the end of the WAL", 3, 0, {1},
	NAMED(0, 0),.promotions = true,.lags = true,.plain = true},
	[BOTH] = {"a named generator, and ids by the clock", 2, 0, {1}, NAMED(0, 0),.sequences = 2},
	[BOTH_TWO] = {"a named generator, and ids by the clock, two sessions", 1, 0, {2}, NAMED(0, 0),.sequences = 2,
	.plain = true},
	[BOTH_LONGER] = {"a named generator, and ids by the clock, two sessions, more units", 2, 1, {2}, NAMED(0, 0),
	.sequences = 2,.steps = true,.plain = true,.steady = true,.large = true},
	[NAMED_PROMOTION] = {"named: a promotion", 3, 0, {1}, NAMED(0, 0),.promotions = true,.slow = true},
	[SNAPSHOTS] = {"snapshots restored", 2, 0, {1}, NAMED(0, 0),.restores = true},
	[SNAPSHOTS_TWO] = {"snapshots restored, two sessions", 2, 0, {2}, NAMED(0, 0),
	.restores = true,.plain = true},
	[NAMED_REWRITTEN] = {"named: a table rewritten", 2, 0, {2}, NAMED(0, 0),.rewrites = true},
	[LAST_SEQUENCE] = {"named: the last sequence", 4, 0, {2}, NAMED(65535, 65535),.plain = true},
	[NAMED_AGAIN] = {"named: a database made again", 2, 2, {0, 1}, TWO_DATABASES, NAMED(0, 0),
	.again = true},
	[FORGOTTEN] = {"states that overlap, and are forgotten", 2, 0, {1}, NAMED(0, 0),.slow = true,.longer = 1,
	.forgets = true,.rewrites = true,.plain = true},

	[SHORT] = {"short units: one session", 4, 0, {1}, NAMED(1, 1), SHORT_UNITS(5, 2)},
	[SHORT_TWO] = {"short units: two sessions", 3, 0, {2}, NAMED(0, 0), SHORT_UNITS(5, 2),
	.plain = true},
	[SHORT_OVERLAP] = {"short units: nodes that overlap", 2, 0, {1}, NAMED(0, 0), SHORT_UNITS(7, 4),
	.longer = 1,.plain = true},
	[SHORT_APART] = {"short units: two nodes, two sessions", 1, 0, {2}, NAMED(0, 0), SHORT_UNITS(7, 4),
	.longer = 1,.apart = true,.plain = true},
	[LONG] = {"long units: one session", 4, 0, {1}, NAMED(1, 1), LONG_UNITS(2)},
	[LONG_TWO] = {"long units: two sessions", 3, 0, {2}, NAMED(0, 0), LONG_UNITS(2),.slow = true},
	[COUNT] = {"numbers: one session", 8, 2, {1}, NUMBERS},
	[COUNT_TWO] = {"numbers: two sessions", 5, 2, {2}, NUMBERS},
	[COUNT_PROMOTION_LAGS] = {"numbers: a promotion without the end of the WAL", 5, 2, {1}, NUMBERS,
	.promotions = true,.lags = true},
	[COUNT_ADVANCED] = {"numbers: advanced", 5, 2, {1}, NUMBERS,.restores = true},

	[FLOATS] = {"granted nodes: one session", 3, 2, {1}, FLOATING(2, 1),.blocks = 2,.changes = 2,
	.plain = true},
	[FLOATS_TWO] = {"granted nodes: two sessions", 2, 2, {2}, FLOATING(2, 1),.blocks = 2,.changes = 2,
	.plain = true},
	[FLOATS_NAMES] = {"granted nodes: two generators", 1, 0, {2}, FLOATING(2, 1),.names = 2,.blocks = 1,
	.changes = 2,.plain = true},
	[RESEEDED] = {"chosen nodes: sno_reseed()", 2, 0, {1}, FLOATING(2, 1),.reseeds = true,.plain = true,
	.steady = true},
	[RESEEDED_TWO] = {"chosen nodes: sno_reseed(), two sessions", 1, 0, {2}, FLOATING(2, 2),
	.reseeds = true,.plain = true},
	[FLOATS_FIXED] = {"chosen nodes: fixed ones overlap", 1, 0, {2}, FLOATING(3, 1),.longer = 1,
	.plain = true,.steady = true},
	[FLOATS_SAME] = {"chosen nodes: fixed ones are the same", 1, 0, {2}, FLOATING(2, 1),.longer = 1,
	.apart = true,.plain = true}
};

/*
 * Each mutant, what it is, the scope that is to catch it, and whether an id issued
 * twice is to do so, or any rule.  A mutant of session generators is caught by a
 * rule only if one more rule stands between, or what isn't modelled: a race within
 * the core's step, or a server never heard of.  What a step back writes as
 * wall_safe, the ceiling, isn't here: the unit left would do, as its word was taken
 * before.
 */
#define MUTANTS(M) \
	M(PUBLISHED_BEFORE_FLUSHED, "a ceiling is published before it is flushed", ONE_PARTITION, true) \
	M(CEILING_LOWERED, "a renewal lowers the ceiling", ONE_PARTITION, true) \
	M(GOES_ON_BELOW_CEILING, "after a crash it goes on where the lease began", ONE_PARTITION, true) \
	M(FLOOR_IGNORES_OTHERS, "the floor ignores other holders' rows", PROMOTION, false) \
	M(FLOOR_OFF_BY_ONE, "the floor's unit counts as free", ONE_PARTITION, true) \
	M(FLOOR_OF_ONE_SIDE, "only one side begins above the floor", ONE_PARTITION, true) \
	M(FLOOR_IGNORES_MEMORY, "the floor comes from the rows alone, not from memory", THREE_PARTITIONS, true) \
	M(OTHERS_NOT_AVOIDED, "another database's partition is taken while one is free", DATABASES, false) \
	M(CLASH_IGNORED, "another holder's lease of the partition is ignored", ROWS_RESTORED, true) \
	M(CEILING_OFF_BY_ONE, "the ceiling's next unit counts as leased", ONE_PARTITION, true) \
	M(ROWS_BAR, "a row that lapsed bars its partition for good", ONE_PARTITION, false) \
	M(FORMER_LIFE_TRUSTED, "a partition of a former life stays open", DATABASE_AGAIN, true) \
	M(TICK_TOCK_NOT_TOGGLED, "a step back stays on its side", ONE_PARTITION, true) \
	M(WALL_SAFE_OFF_BY_ONE, "a step back may go to wall_safe", ONE_PARTITION, true) \
	M(WALL_SAFE_SET_LATE, "a step back sets wall_safe after it swaps the word", TWO_SESSIONS, true) \
	M(TURN_BY_STORE, "a step back stores the word, instead of swapping it", TWO_LONGER, true) \
	M(TURN_REACHED, "a step back makes a word that additions reach", TWO_LONGER, true) \
	M(TURN_IGNORED, "two sessions have one turn", TWO_SESSIONS, false) \
	M(TURN_AWAITED, "a session waits for the turn of another one", TWO_PARTITIONS, false) \
	M(CLOSED_BY_STORE, "a partition is closed by a store of the word that was seen", BOTH_LONGER, false) \
	M(STORED, "a session changes the word by a store", TWO_SESSIONS, true) \
	M(BOUND_NOT_CHECKED, "an id of a unit before the transaction's bound is issued", TWO_SESSIONS, false) \
	M(RESERVED_TWICE, "two sessions reserve one partition", STEPS, false) \
	M(CLAIM_NOT_CHECKED, "a session reserves a partition that was opened since it was chosen", GIVEN_STEPS, false) \
	M(HOLDER_WITHOUT_TIMELINE, "a promoted server remains the same holder", PROMOTION, false) \
	M(HOLDER_WITHOUT_DATABASE, "all databases are one holder", DATABASES_LONGER, false) \
	M(GIVEN_ROW_ENDS, "the row of given times ends with the first of them", GIVEN, true) \
	M(OTHERS_GIVEN_IGNORED, "a successor doesn't look at rows of given times", GIVEN_PROMOTION, true) \
	M(LEASED_GIVEN, "a partition that was leased is taken for given times", GIVEN, true) \
	M(HALF_IGNORED, "given times may take more than half of the range", GIVEN, false) \
	M(HALF_BY_ROWS, "a partition for given times whose row isn't written yet isn't counted", GIVEN_TWO, false) \
	M(SPARE_NOT_RAISED, "a later unit doesn't raise the spare count", GIVEN, true) \
	M(SPARE_PER_UNIT, "an earlier unit begins with the first sequence", GIVEN, true) \
	M(SPARE_RAISED_LATE, "the spare count is raised after the word is swapped", GIVEN_TWO, true) \
	M(GIVEN_GOES_BACK, "an earlier unit is entered as a later one is", GIVEN, true) \
	M(GIVEN_ANYWHERE_FORGOTTEN, "a named generator forgets that given times are in any unit", GIVEN_NAMED, false) \
	M(OPENED_BEFORE_FLUSHED, "a state is opened before its row is flushed", NAMED_ONE, false) \
	M(PENDING_BEFORE_WRITTEN, "a renewal that fails counts as written", NAMED_ONE, false) \
	M(DRIFT_NOT_WRITTEN, "a step back's row says nothing of the side that is left", NAMED_ONE, false) \
	M(DRIFT_WITHOUT_CLOSING, "a step back doesn't close the word first", NAMED_TWO, false) \
	M(DRIFT_STAYS_ON_SIDE, "named: a step back stays on its side", NAMED_ONE, false) \
	M(OPEN_LOOKS_EXACT, "an open state's row says that it is exact", NAMED_ONE, false) \
	M(SEQUENCE_NOT_WRITTEN, "an exact row has the first sequence, not the next one", NAMED_ONE, true) \
	M(CRASH_STAYS_ON_SIDE, "a crash doesn't change the side", NAMED_ONE, false) \
	M(WALL_SAFE_FORGOTTEN, "a second crash forgets the other side", NAMED_ONE, false) \
	M(LATE_ADDITION_COUNTS, "what is added to a closed word is issued", NAMED_TWO, false) \
	M(ADDITION_UNBOUNDED, "what is added to an exhausted unit is issued, in the bits of a sequence", NAMED_TWO, true) \
	M(ENTERED_BY_STORE, "a unit is entered by a plain store, not by an atomic step", NAMED_TWO, true) \
	M(SWAP_GOES_BACK, "a step back swaps the word", NAMED_ONE, false) \
	M(LOCK_IGNORED, "two sessions change a group at the same time", NAMED_TWO_FINE, false) \
	M(HELD_IGNORED, "a state is opened while a session leases the partition", BOTH_TWO, false) \
	M(SIDE_OF_NAMED, "a session changes the side of a partition that became a named generator's", BOTH_LONGER, true) \
	M(OPEN_IGNORED, "a state is opened while the partition is open", BOTH, false) \
	M(OVERLAP_NOT_CLOSED, "a state that overlaps isn't closed", OVERLAP, false) \
	M(STATES_IGNORED, "what overlapping states issued is ignored", OVERLAP, false) \
	M(SESSIONS_IGNORED, "what session generators issued is ignored", BOTH, false) \
	M(RESTORED_AS_IS, "a restored snapshot replaces what is known", SNAPSHOTS, false) \
	M(CEILING_FALLS, "a word comes back with a lower ceiling", SNAPSHOTS_TWO, false) \
	M(FILE_IGNORED, "a table's new file isn't noticed", NAMED_REWRITTEN, false) \
	M(OTHERS_ROW_TRUSTED, "another holder's row is trusted as one's own", NAMED_PROMOTION_LAGS, false) \
	M(OTHERS_DEFINITION_TRUSTED, "a holder without a row counts as one that issued nothing", NAMED_PROMOTION_LAGS, false) \
	M(DRIFT_AS_EXHAUSTED, "a step back makes the word that an exhausted unit has", LAST_SEQUENCE, false) \
	M(FORMER_STATE_TRUSTED, "a state of a former life stays open", NAMED_AGAIN, false) \
	M(FORGOTTEN_IGNORED, "what forgotten states issued is ignored", FORGOTTEN, false) \
	M(LEAST_IGNORED, "the least sequence of a short unit is ignored", SHORT, false) \
	M(LEAST_STORED, "the sequence is raised by a plain store, not by an atomic step", SHORT_TWO, true) \
	M(NONE_TOO_LOW, "the mark of a used unit is a sequence that can be issued", SHORT, true) \
	M(SEQUENCE_CLAMPED, "a row can't hold a high sequence", SHORT, true) \
	M(SHARDS_NOT_COMPARED, "generators whose nodes overlap are both open", SHORT_OVERLAP, true) \
	M(FIRST_NODE_LEFT_OUT, "all generators begin with node 0", SHORT_APART, true) \
	M(TICK_TOCK_LEFT_OUT, "the sequence is without the tick-tock bit", SHORT, true) \
	M(CLOCK_NOT_ROUNDED, "a long unit is issued in each of its state units", LONG, true) \
	M(CLOCK_ROUNDED_UP, "a long unit is issued in the state unit after its beginning", LONG, false) \
	M(UNITS_TOGETHER, "two long units have one state unit", LONG, false) \
	M(SIDES_NOT_JOINED, "a counter has two sides", COUNT_PROMOTION_LAGS, true) \
	M(CEILING_COUNTED_AGAIN, "after a crash a counter goes on at its ceiling, not after it", COUNT, true) \
	M(UNSEEN_IGNORED, "a successor's counter goes on after what the successor has seen", COUNT_PROMOTION_LAGS, true) \
	M(COUNT_CLOSED_INEXACT, "the row of a counter that is closed isn't exact", COUNT, false) \
	M(LOWEST_BY_NODE, "a row is exact only from its first node on", COUNT, false) \
	M(LIMIT_IGNORED, "a lease of chosen nodes goes beyond the grant", FLOATS, false) \
	M(FLOOR_NOT_MERGED, "chosen nodes issue below the floor of their grant", FLOATS, false) \
	M(FLOOR_NOT_COMPARED, "nodes that were granted anew go on as before", FLOATS, false) \
	M(AUTHORITY_IGNORED, "a session goes on in nodes that were revoked", FLOATS, false) \
	M(AUTHORITY_NOT_COMPARED, "a quick call doesn't see that its nodes were revoked", RESEEDED_TWO, false) \
	M(REVOKED_CLOSED_EXACT, "nodes that were revoked are closed with a row", RESEEDED, false) \
	M(TAKEN_IGNORED, "nodes are chosen that another generator has", FLOATS_NAMES, false) \
	M(STALE_TAKEN, "a generator's idle sessions keep it from nodes that were granted anew", FLOATS_TWO, false) \
	M(PASSED_NOT_SET, "a session goes on in nodes that a fixed generator took", FLOATS_FIXED, false)

#define NAME_OF(name, ...)	name,
#define ROW_OF(name, text, scope, by_id)	{name, text, scope, by_id},

typedef enum Mutant
{
	NONE,
	MUTANTS(NAME_OF)
} Mutant;

static const struct
{
	Mutant		mutant;
	const char *name;
	ScopeNumber scope;
	bool		by_id;
}			mutants[] = {
	MUTANTS(ROW_OF)
	/* These two are of both kinds of generators. */
	{PUBLISHED_BEFORE_FLUSHED, "named: a ceiling is published before it is flushed", NAMED_ONE},
	{CEILING_OFF_BY_ONE, "named: the ceiling's next unit counts as leased", NAMED_ONE},
	/* These of sessions, too. */
	{SWAP_GOES_BACK, "sessions: a step back swaps the word", TWO_SESSIONS, true},
	{ENTERED_BY_STORE, "sessions: a unit is entered by a plain store, not by an atomic step", TWO_SESSIONS, true},
	{ADDITION_UNBOUNDED, "sessions: what is added to an exhausted unit is issued", TWO_SESSIONS, true},
	/* These of given times, too. */
	{PUBLISHED_BEFORE_FLUSHED, "given times: a ceiling is published before it is flushed", GIVEN, true},
	{OTHERS_GIVEN_IGNORED, "a copy doesn't look at rows of given times", GIVEN_SERVERS, true},
	{CLASH_IGNORED, "given times: another holder's lease of the partition is ignored", GIVEN_RESTORED, true},
	/* These of layouts, too. */
	{CRASH_STAYS_ON_SIDE, "short units: a crash doesn't change the side", SHORT, true},
	{SWAP_GOES_BACK, "long units: a step back swaps the word", LONG, true},
	{OPENED_BEFORE_FLUSHED, "numbers: a state is opened before its row is flushed", COUNT, false},
	{PUBLISHED_BEFORE_FLUSHED, "numbers: a ceiling is published before it is flushed", COUNT, false},
	{OTHERS_ROW_TRUSTED, "numbers: another holder's row is trusted as one's own", COUNT_PROMOTION_LAGS, true},
	{OTHERS_DEFINITION_TRUSTED, "numbers: a holder without a row counts as one that issued nothing",
	COUNT_PROMOTION_LAGS, true},
	{RESTORED_AS_IS, "numbers: an advance goes back", COUNT_ADVANCED, true}
};

/* The rows of a line, each in a place of its own; one that isn't there has no system. */
typedef struct Row
{
	SnoRow		written,
				durable;
} Row;

typedef struct Session
{
	uint32		at;				/* where its call is: a part, or 0 if in none */
	uint8		place,
				call,
				definition;		/* what its generator's name means */
	uint8		may[BLOCKS];	/* units that were granted to it when its call began, or later */
	bool		reseeded;		/* did its call begin after sno_reseed(), on the same run of the server? */
	bool		locked,			/* does it hold the group's lock, */
				reading,		/* and the table? */
				late;			/* was the table truncated since its call began? */
	uint8		clock;			/* what it read, where times are checked */
	SnoPartition *own,			/* where it issued last, */
			   *turn,			/* whose turn it has */
			   *run;			/* of a call that makes many ids, */
	uint64		own_unit;		/* in which it issued last, */
	uint64		run_time;		/* and of which unit and side */
	uint64		bound[PARTITIONS];	/* what it saw of them, if SURVEYED */
	SnoUse		use;
} Session;

typedef struct Line
{
	uint32		open[SNO_PLACES],	/* of the space */
				places,
				named;
	dsa_pointer group;
	SnoPartition partition[PARTITIONS];
} Line;

/* The id that is remembered. */
typedef struct Id
{
	bool		is_set,
				everywhere,		/* other lines are to keep off as well, for now */
				restored,		/* it came from another holder */
				excused,		/* the row that bounded it is gone */
				lost,			/* the row that bounded it was in WAL that is lost; */
				unheard,		/* and it is of a session generator */
				given;			/* it is of a given time */
	uint8		lines,			/* a bit for each that has it in its past, */
				over,			/* and for each whose memory doesn't go back to it */
				partition;
	uint32		drifts;			/* if lost, what the row that there was said */
	uint64		word,
				flake;			/* the id of a layout; else the word */
} Id;

typedef struct Rest
{
	uint8		turned,			/* promotions and copies that have taken place */
				earliest,		/* that a clock may read now, and */
				latest,			/* what one has read, where that matters */
				states;
	Id			id;
	uint64		next;			/* what a count issues next; 0 if that isn't known */
	SnoGroup	group;
} Rest;

/* What is known of nodes that generators choose. */
typedef struct Registry
{
	SnoGranted	granted;		/* if there is a registry */
	uint64		revocations;	/* of the space, if there is none */
	uint8		granting,		/* the block that is granted, or was until all was revoked */
				changes,		/* of grants, so far */
				named;			/* nodes that rows named when sno_reseed() was called: a bit for each */
	uint8		last[BLOCKS],	/* unit that was ever granted to anybody, in each block */
				ours[BLOCKS];	/* units granted to the present holder: a bit for each */
} Registry;

typedef struct World
{
	Rest		rest;
	Registry	registry;
	Line		line[LINES];
	Row			row[LINES][ROWS];
	SnoRow		standby[ROWS];	/* the rows that it has received */
	SnoNamedState state[STATES];
	Session		session[LINES][SESSIONS];
} World;

/* What may happen to a world: to a session, to a line, or to all. */
typedef enum Event
{
	ISSUE,
	ISSUE_SLOWLY,
	ISSUE_RENEWING,
	ISSUE_RUN,
	ISSUE_GIVEN,				/* the last one that concerns only what a session owns */
	ISSUE_NAMED,
	ISSUE_NAMED_SLOWLY,
	RESTORE,
	END,						/* the last one that is a call */
	GO_ON,						/* the last one that runs one */
	BREAK_OFF,
	REDEFINE,					/* the last one that is a session's */
	SETTLE,
	CRASH,
	RECEIVE,
	TURN,
	REWRITE,
	TRUNCATE,
	RESTORE_ROW,
	GRANT,
	RESEED,
	EVENTS,
	DRAIN = EVENTS				/* to see if sessions can issue */
} Event;

/* How a grant may change. */
enum
{
	RENEWED,					/* up to a later unit, */
	SAME_BLOCK,					/* the block after another server had it, */
	OTHER_BLOCK,
	SAME_BLOCK_ANEW,			/* to another holder, */
	OTHER_BLOCK_ANEW,
	REVOKED,					/* or all is revoked, or comes back */
	GRANT_CHANGES
};

static const char *const events[] = {
	"generate", "generate, slowly", "generate, renew early", "generate many",
	"generate of a time", "generate named", "generate named, slowly", "restore", "end", "go on", "error",
	"another definition", "a row gets to disk", "crash", "the standby receives the rows",
	"promotion or copy", "table rewritten", "table truncated", "another holder's row restored",
	"grant", "sno_reseed()", "no more ids"
};

static const Scope *scope;
static Mutant mutant;
static bool only_ids;			/* are ids issued twice all that the search is for? */
static World w;

/* Whose turn it is: a line and a session of it; and what it is outside of the world. */
static int	line;
static Session *session;
static SnoSpace space[LINES];
static SnoPartition *given;
static SnoUse	use;
static Run	run_of_ids;

/* Of the call that runs. */
static Event call;
static unsigned clock_readings[2];
static int	read_count;
static unsigned holder_choice;
static unsigned random_choice;
static bool chose_holder;
static int	error_in;			/* places where an error may be, to pass before one is */
static bool looked;				/* has it loaded the word? */
static bool beginning;			/* has it just begun, and seen nothing? */
static bool renewing_early;
static bool surveying;			/* what it reads the rows for */
static bool hiding_others;
static uint64 bounds_block[SNO_BOUNDS_BLOCK];
static bool choosing;			/* does it choose nodes? */
static unsigned draining;		/* if not 0, nothing comes in between, and the clock reads this */

/* The id that the last event issued, if it did; or somebody else, as a snapshot says. */
static bool issued;
static bool was_late;			/* the call that just ended, */
static bool was_reseeded;
static uint8 may_have[BLOCKS];
static unsigned was_at;			/* and what it read the clock at */
static bool issued_elsewhere;
static uint64 issued_word;
static uint64 issued_flake;		/* the id of a layout that it stands for; else the same */
static uint64 issue_count;

static void
amiss(const char *what)
{
	if (!only_ids)
		wrong(what);
}

/* A place where a call may stop, unless it was just begun. */
static void
pause_at(Place place)
{
	if (!beginning && draining == 0)
		stop(place);
	beginning = false;
}

/* Is it for a partition that the session owns? */
static bool
is_own_call(void)
{
	return call <= ISSUE_GIVEN;
}

/* A place where there may be an error. */
static void
risk(Place place)
{
	if (is_own_call())
		return;
	if (scope->fine)
		pause_at(place);
	else if (error_in-- == 0)
		stop(BROKEN);
}

/* A named generator's state, by its generator; NULL if it isn't one that others know. */
static SnoNamedState *
state_of(const volatile void *address)
{
	for (int i = 0; i < w.rest.states; i++)
		if ((address == &w.state[i].shared || address == &w.state[i].shared.ceiling) &&
			w.state[i].group != 0)
			return &w.state[i];
	return NULL;
}

/* The turn of a partition is about to be taken, or what was seen before that to be looked at again. */
static void
at_owner(void)
{
	if (!scope->steps)
		return;
	/* It was chosen before, by what others may change now. */
	beginning = false;
	pause_at(AT_OWNER);
}

/* What a session looks at again once it has claimed a partition */
static SnoPartition
copy_claimed(int number)
{
	at_owner();
	return mutant == CLAIM_NOT_CHECKED ? (SnoPartition) {.number = number,.generator.word = SNO_WORD_CLOSED} :
		sno_partition_copy(number);
}

/* Is it the word of a partition, or its spare count, where there is somebody who may come in between? */
static bool
is_shared_word(const volatile void *address)
{
	for (int i = 0; i < PARTITIONS && scope->sessions[line] > 1; i++)
		if (address == &w.line[line].partition[i].generator.word ||
			address == &w.line[line].partition[i].backfill.spare)
			return true;
	return false;
}

static void
at_word(Place place, const volatile void *address)
{
	SnoNamedState *s = state_of(address);

	/* That is a look at the rows and a change of what nobody uses. */
	if (choosing)
		return;
	if (s == NULL)
	{
		if (is_shared_word(address) && (is_own_call() || place == AT_EXCHANGE))
		{
			if (place == AT_ADD || place == AT_SWAP || place == AT_EXCHANGE)
			{
				/* The word was loaded before. */
				beginning = false;
				pause_at(place);
			}
			beginning = false;
		}
		return;
	}
	if (place == AT_LOAD && address == &s->shared.ceiling)
		place = AT_CEILING;
	if (place == AT_LOAD && !session->locked)
	{
		if (looked)
			stop(WAITING);
		looked = true;
	}
	if (scope->fine || place == AT_ADD || place == AT_SWAP || place == AT_EXCHANGE)
		pause_at(place);
	beginning = false;
}

static uint64
read_clock(void)
{
	if (draining > 0)
		return draining;
	/* In one go, a session may read it for each partition. */
	if (is_own_call() && read_count > 0)
		return clock_readings[0];
	/* Nodes that are chosen don't depend on a third reading. */
	if (read_count == lengthof(clock_readings) && scope->floats > 0)
		return clock_readings[1];
	if (read_count == lengthof(clock_readings))
		stop(AT_CLOCK);
	if (is_own_call())
		session->clock = (uint8) clock_readings[read_count];
	if (scope->lags && is_own_call() && call != ISSUE_GIVEN)
		w.rest.latest = Max(w.rest.latest, (uint8) clock_readings[0]);
	return clock_readings[read_count++];
}

/* Is the generator of a layout; does that count? */
static bool
is_flake(void)
{
	return sno_layout_bits(&scope->layout) > 0;
}

static bool
is_count(void)
{
	return is_flake() && scope->layout.unit == 0;
}

/* Nothing is promised here.  Flakes read the clock in ms, right after this. */
static uint64
feed_unit(void)
{
	uint64		unit = is_flake() ? 0 : read_clock();

	if (is_own_call() && mutant != BOUND_NOT_CHECKED)
		sno_feed_bound = unit;
	return unit;
}

/* A reading of the clock, as ms since 2010 */
static int64
msec_at(unsigned reading)
{
	return scope->msec + (int64) (reading - 1) * scope->step;
}

static int64
read_msec(void)
{
	unsigned	reading = (unsigned) read_clock();

	/* Another session may set the clock back in between. */
	if (scope->sessions[0] == 1)
		session->clock = (uint8) reading;
	return msec_at(reading);
}

static uint64
lease_end(uint64 now)
{
	return scope->named || draining > 0 ? now + scope->lease : Min(now + scope->lease, scope->units - 1);
}

static uint64
half(void)
{
	return scope->lease / 2;
}

/* What PostgreSQL is here. */

int			MyProcPid;
Oid			MyDatabaseId;
pg_prng_state pg_global_prng_state;
volatile sig_atomic_t InterruptPending;
volatile uint32 InterruptHoldoffCount;
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;
MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;
LWLockPadded *MainLWLockArray;

/* Nothing is pending, see InterruptPending. */
void		ProcessInterrupts(void) { }

/* The partition whose turn it is; NULL if it is that of the group. */
static SnoPartition *
partition_of(const SnoTurn *turn)
{
	for (int i = 0; i < PARTITIONS; i++)
		if (turn == &w.line[line].partition[i].turn)
			return &w.line[line].partition[i];
	return NULL;
}

bool
sno_turn_try(SnoTurn *turn)
{
	SnoPartition *p = partition_of(turn);

	if (p != NULL)
	{
		if (session->turn != NULL)
			bail_out("a session has two turns");
		at_owner();
		if (sno_partition_is_held(p) && mutant != TURN_IGNORED && mutant != RESERVED_TWICE)
		{
			if (mutant == TURN_AWAITED)
				stop(WAITING);
			return false;
		}
		session->turn = p;
		pg_atomic_write_u32(&p->turn.owner, MyProcPid);
		return true;
	}
	if (scope->fine || renewing_early || call == END)
		pause_at(AT_LOCK);
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[line][i].locked && mutant != LOCK_IGNORED)
			return false;
	return session->locked = true;
}

/* Nothing stops a call that waits for a lock. */
bool		LWLockAcquire(LWLock *lock, LWLockMode mode) { return true; }

void		LWLockRelease(LWLock *lock) {}

static void
give_turn_back(void)
{
	if (session->turn != NULL)
		pg_atomic_write_u32(&session->turn->turn.owner, 0);
	session->turn = NULL;
}

void
sno_turn_release(SnoTurn *turn)
{
	if (partition_of(turn) != NULL)
		give_turn_back();
	else
		session->locked = false;
}

dsa_pointer
dsa_allocate_extended(dsa_area *a, size_t size, int flags)
{
	if (size == sizeof(SnoGroup))
		return offsetof(World, rest.group);
	if (w.rest.states == STATES)
		bail_out("too many states");
	return offsetof(World, state) + w.rest.states++ * sizeof(SnoNamedState);
}

void *
palloc0(Size size)
{
	if (size != sizeof(bounds_block))
		bail_out("memory is asked for");
	return memset(bounds_block, 0, sizeof(bounds_block));
}

/* What is known of nodes while some are chosen. */
static char memory[4096] __attribute__((aligned(8)));
static size_t memory_used;

void *
palloc(Size size)
{
	void	   *place = memory + memory_used;

	memory_used += (size + 7) & ~(size_t) 7;
	if (memory_used > sizeof(memory))
		bail_out("too much memory is asked for");
	return place;
}

List *
lappend(List *list, void *datum)
{
	const int	most = 16;

	if (list == NIL)
	{
		list = palloc(sizeof(List));
		*list = (List) {.type = T_List,.max_length = most,.elements = palloc(most * sizeof(ListCell))};
	}
	if (list->length == most)
		bail_out("a list is too long");
	list->elements[list->length++].ptr_value = datum;
	return list;
}

bool
pg_strong_random(void *buffer, size_t size)
{
	memset(buffer, 1, size);
	return true;
}

/* Errors come from nowhere else than risk(). */
bool		errstart_cold(int elevel, const char *domain) { bail_out("an error is raised"); return false; }
bool		errstart(int elevel, const char *domain) { return errstart_cold(elevel, domain); }
int			errcode(int code) { return 0; }
int			errmsg(const char *format,...) { return 0; }
int			errmsg_internal(const char *format,...) { return 0; }
int			errdetail(const char *format,...) { return 0; }
int			errdetail_internal(const char *format,...) { return 0; }
int			errhint(const char *format,...) { return 0; }
void		errfinish(const char *file, int number, const char *function) { abort(); }
void		FreeErrorData(ErrorData *error) {}
ErrorData  *CopyErrorData(void) { static ErrorData error; return &error; }
char	   *psprintf(const char *format,...) { return ""; }
void		pg_re_throw(void) { siglongjmp(*PG_exception_stack, 1); }
bool		RecoveryInProgress(void) { return false; }

bool		IsInParallelMode(void) { return false; }

void	   *dsa_get_address(dsa_area *a, dsa_pointer place) { return (char *) &w + place; }
bool		bms_is_member(int x, const Bitmapset *a) { return false; }
void		before_shmem_exit(pg_on_exit_callback function, Datum arg) {}
void		CacheRegisterSyscacheCallback(SysCacheIdentifier cache, SyscacheCallbackFunction function, Datum arg) {}
Oid			GetUserId(void) { return 10; }
uint32		pg_prng_uint32(pg_prng_state *state) { return random_choice; }
TimestampTz GetCurrentTimestamp(void) { return 0; }
const char *timestamptz_to_str(TimestampTz at) { return ""; }
char	   *pstrdup(const char *text) { abort(); }
void		XLogSetAsyncXactLSN(XLogRecPtr lsn) {}
uint64		GetSystemIdentifier(void) { return 1; }

MemoryContext AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min,
											Size initial, Size max) { memory_used = 0; return NULL; }
void		MemoryContextDelete(MemoryContext context) {}
void		hash_seq_init(HASH_SEQ_STATUS *status, HTAB *table) { status->curBucket = 0; }
void	   *hash_seq_search(HASH_SEQ_STATUS *status) { return status->curBucket++ == 0 ? &use : NULL; }

/* A server that is promoted, or the copy of one, has another WAL timeline. */
TimeLineID
GetWALInsertionTimeLine(void)
{
	if (mutant == HOLDER_WITHOUT_TIMELINE)
		return 1;
	return 1 + (scope->promotions ? w.rest.turned : scope->lines == TWO_SERVERS ? line : 0);
}

/* What the rest of the extension is here. */

SnoSpace   *sno_space;
dsa_area   *sno_area;
SnoActivity *sno_my_activity;
uint64		sno_feed_bound;
uint64		sno_feed_transaction;
int			sno_max_wait;

void		sno_turn_create(SnoTurn *turn) {}
void		sno_shmem_note_use(int number) {}
bool		sno_space_has_room(size_t size) { return true; }
void		sno_space_require_room(size_t size) {}
void		sno_space_free(dsa_pointer place, size_t size) {}
void		pg_usleep(long usec) {}
dsa_pointer sno_space_allocate(size_t size) { return dsa_allocate0(sno_area, size); }
void		sno_space_enter(void) {}
void		sno_activity_begin(void) {}
void		sno_activity_end(void) {}
SnoSpace   *sno_space_next(const SnoSpace *before) { return NULL; }
void		sno_spaces_hold(void) {}
void		sno_spaces_release(void) {}
void		sno_counters_go_on(SnoCounters *c, uint32 from, uint32 to) {}
void		sno_counters_init(SnoCounters *c, uint32 sequence) {}
void		sno_counters_exhausted(SnoCounters *c) {}
void		sno_journal_failure(const char *of, const char *message) {}
void		sno_clock_watch(void) {}
int64		sno_clock_monotonic(void) { return 0; }
Bitmapset  *sno_definition_partitions(void) { return NULL; }
void		sno_definition_missing(const SnoDefinitions *in, const char *name) { abort(); }
void		sno_definition_without_layout(const char *name, const SnoDefinition *d) { abort(); }

/* Which partitions are used is seen by the partitions themselves. */
bool
sno_shmem_is_used(int number)
{
	if (mutant == OTHERS_NOT_AVOIDED || scope->lines != TWO_DATABASES)
		return false;
	return w.line[0].partition[number].life != 0 || w.line[1].partition[number].life != 0;
}

ErrorData *
sno_attempt(void (*work) (void *), void *arg)
{
	renewing_early = true;
	work(arg);
	/* The call goes on. */
	looked = looked && draining == 0;
	return NULL;
}

void		sno_refuse_partition(const SnoWait *wait) { abort(); }
void		sno_right_check(SnoDefinitions *in, const char *name, const SnoDefinition *d) {}

SnoWait
sno_named_wait(const SnoDefinitions *in, const char *name, const SnoDefinition *d)
{
	return (SnoWait) {0};
}

void
sno_wait(SnoWait *wait, SnoObstacle obstacle, int msec)
{
	if (!is_own_call() && (obstacle == SNO_NO_OBSTACLE || obstacle == SNO_CLASH))
		return;
	stop(WAITING);
}

/* Of either definition */
static SnoNodes nodes_of[2];

static SnoShard
shard_of(int definition)
{
	if (definition == 0 || scope->names == 2)
		return (SnoShard) {scope->first, scope->last};
	return (SnoShard) {scope->apart ? scope->longer : 0, scope->longer};
}

static const SnoChooser chooser = {.find_defined = sno_choose_find_defined,.choose = choose_nodes};

SnoDefinitions sno_definitions = {.table = {.version = 1},.chooser = &chooser};

/* A name means either definition. */
SnoDefinitionLook
sno_definition_find(SnoDefinitions *in, const char *name, SnoDefinition *d)
{
	*d = (SnoDefinition) {.meta = -1,.made_here = !scope->promotions || w.rest.turned == 0};
	d->subject.kind = is_flake() ? SNO_OF_NODES : SNO_OF_GENERATOR;
	d->subject.shard = shard_of(session->definition);
	if (is_flake())
	{
		d->subject.layout = scope->layout;
		d->nodes = nodes_of[session->definition];
	}
	return SNO_DEFINITION_FOUND;
}


/* Are the nodes of the other definition fixed, and is it there? */
void
sno_definition_visit(SnoDefinitions *in, Snapshot snapshot, SnoDefinitionVisit visit, void *arg)
{
	SnoDefinition d = {.subject.kind = SNO_OF_NODES,.subject.layout = scope->layout,.subject.shard = shard_of(1)};

	for (unsigned i = 0; i < scope->sessions[0]; i++)
		if (w.session[0][i].definition == 1)
			visit("", &d, arg);
}

/* The registry, if there is one. */

char	   *sno_registry;

SnoGranted *
sno_granted_of(const SnoLayout *layout)
{
	return scope->blocks > 0 ? &w.registry.granted : NULL;
}

bool
sno_grant_find(const SnoGranted *granted, int64 number, uint64 holder, SnoGrant *grant)
{
	const SnoGrant *found = sno_grants_find(&granted->grants, number);

	if (found == NULL || granted->grants.holder != holder)
		return false;
	*grant = *found;
	if (mutant == FLOOR_NOT_COMPARED)
		grant->floor = 0;
	return true;
}

static FormData_pg_class table_form = {.relfilenode = FILE_NOW};
static RelationData table = {.rd_rel = &table_form};

Relation
sno_leases_open(void)
{
	session->reading = true;
	return &table;
}

void		sno_leases_close(Relation rel) { session->reading = false; }

/* Its transaction has committed. */
void		sno_leases_check_shared(Relation rel) {}
bool		sno_leases_are_new(Relation rel) { return false; }

Relation	sno_leases_open_at_exit(void) { return sno_leases_open(); }
void		sno_leases_close_at_exit(Relation rel) { sno_leases_close(rel); }

RelFileNumber
sno_leases_file(void)
{
	if (scope->rewrites && is_own_call())
		beginning = false;
	return mutant == FILE_IGNORED ? InvalidOid : FILE_NOW;
}

/* How many named generators may have states: a node that may be chosen has its own. */
static int
states_of_scope(void)
{
	if (scope->floats > 0)
		return scope->floats + (scope->longer > 0 && !scope->apart);
	return scope->named ? 1 + (scope->longer > 0) : 0;
}

/* How many rows a holder may have. */
static int
rows_of_holder(void)
{
	return (scope->sequences > 0 ? (int) scope->partitions : 0) + states_of_scope();
}

static int
count_rows(void)
{
	bool		others = scope->lines != ONE || scope->promotions || scope->reseeds ||
		(scope->restores && !scope->named);

	return rows_of_holder() * (others ? 2 : 1);
}

/* The holder that this line is now. */
static int
holder(void)
{
	return scope->promotions || scope->reseeds ? w.rest.turned : scope->lines == ONE ? 0 : line;
}

static bool
is_there(const SnoRow *row)
{
	return row->kind != 0;
}

/* Is it a row of a partition for given times? */
static bool
is_given(const SnoRow *row)
{
	return is_there(row) && row->kind == SNO_OF_SESSION && ceiling_of(row) == SNO_UNIT_MAX;
}

BlockNumber
sno_row_visit(Relation rel, SnoRowVisitor visitor, void *arg)
{
	for (int i = 0; i < count_rows(); i++)
	{
		SnoRow		row = w.row[line][i].written;
		SnoRowPlace place = {.is_clean = true};

		if (!is_there(&row) || (hiding_others && !is_written_here(&row)) ||
			(mutant == FLOOR_IGNORES_OTHERS && surveying && !is_written_here(&row)) ||
			(mutant == OTHERS_GIVEN_IGNORED && is_given(&row) && !is_written_here(&row)))
			continue;
		if (mutant == LOWEST_BY_NODE && row.sequence < row.shard_min)
			row.wall_hi--;
		if (mutant == GOES_ON_BELOW_CEILING && surveying)
			row.until[0] = row.until[1] -= scope->lease * SNO_UNIT_USECS;
		ItemPointerSet(&place.tid, 0, (OffsetNumber) (i + 1));
		visitor(&row, &place, arg);
	}
	return 0;
}

/* The place of a row is what tells its record of WAL from others. */
bool
sno_row_change(Relation rel, const ItemPointerData *tid, SnoRowChange change,
			   const void *arg, XLogRecPtr *lsn)
{
	*lsn = ItemPointerGetOffsetNumberNoCheck(tid);
	return change(&w.row[line][*lsn - 1].written, arg);
}

/* Each row that there may be has a place of its own. */
XLogRecPtr
sno_row_insert(Relation rel, BlockNumber block, const SnoRow *row)
{
	int			number = row->partition;

	if (scope->floats > 0)
		number = row->shard_min == row->shard_max ? (int) row->shard_min : scope->floats;
	else if (row->kind != SNO_OF_SESSION)
		number = rows_of_holder() - 1 - (scope->longer > 0 && row->shard_max == scope->last);
	number += holder() * rows_of_holder();
	/* Without what lies behind its last column. */
	memcpy(&w.row[line][number].written, row, offsetof(SnoRow, home));
	return (XLogRecPtr) number + 1;
}

/* Nothing comes between this change and the flush. */
XLogRecPtr
sno_row_change_all(Relation rel, SnoRowChange change)
{
	for (int i = 0; i < count_rows(); i++)
	{
		change(&w.row[line][i].written, NULL);
		w.row[line][i].durable = w.row[line][i].written;
	}
	return 0;
}

/* A row gets to disk. */
static bool
settle(int l, int number)
{
	Row		   *row = &w.row[l][number];

	if (memcmp(&row->durable, &row->written, sizeof(SnoRow)) == 0)
		return false;
	row->durable = row->written;
	return true;
}

/* What is interposed, and its mutants. */

void
XLogFlush(XLogRecPtr lsn)
{
	bool		opening = use.state != NULL && sno_word_is_closed(use.state->shared.word);

	if (is_own_call())
		pause_at(AT_FLUSH);
	risk(AT_FLUSH);
	if (lsn > 0 && mutant != (opening ? OPENED_BEFORE_FLUSHED : PUBLISHED_BEFORE_FLUSHED))
		settle(line, (int) lsn - 1);
	if (is_own_call() && draining == 0)
		stop(FLUSHED);
	risk(FLUSHED);
}

static void
start_few(SnoGenerator *g, uint64 floor, uint32 min, uint32 max)
{
	sno_generator_start(g, mutant == FLOOR_OFF_BY_ONE && floor > 0 ? floor - 1 : floor,
						min, scope->sequences - 1);
	if (mutant == FLOOR_OF_ONE_SIDE)
		g->wall_safe = 0;
}

/* A session's step in a partition. */
static SnoStep
share_word(SnoGenerator *g, uint64 word, uint64 now, uint32 least, uint64 *got)
{
	if (mutant != STORED || now != SNO_WORD_UNIT(word) || SNO_WORD_SEQUENCE(word) > g->sequence_max)
		return sno_generator_share(g, word, now, least, got);
	at_word(AT_ADD, &g->word);
	g->word = word + 1;
	*got = word;
	return SNO_ISSUED;
}

static bool
ready_at(const SnoGenerator *g, uint64 now)
{
	return sno_generator_ready(g, now) || (mutant == WALL_SAFE_OFF_BY_ONE && now > 0 && now == g->wall_safe);
}

/* A step back, in a partition */
static bool
change_side_of(SnoGenerator *g, uint64 word, uint64 now)
{
	SnoGenerator before = *g;
	uint64		turned = SNO_WORD(now - 1, !SNO_WORD_TICK_TOCK(word), SNO_SEQUENCE_DRIFT(g->drifts + 1));
	bool		done;

	if (mutant == WALL_SAFE_OFF_BY_ONE && now == g->wall_safe && now > 0)
		g->wall_safe--;
	if (mutant == TURN_BY_STORE && now > g->wall_safe && !sno_word_is_closed(word))
	{
		at_word(AT_SWAP, &g->word);
		g->wall_safe = SNO_WORD_UNIT(word);
		g->word = turned;
		g->drifts++;
		return true;
	}
	if (mutant == WALL_SAFE_SET_LATE && now > g->wall_safe && !sno_word_is_closed(word))
	{
		at_word(AT_SWAP, &g->word);
		if (g->word != word)
			return false;
		g->word = turned;
		at_word(AT_SWAP, &g->word);
		g->wall_safe = SNO_WORD_UNIT(word);
		g->drifts++;
		return true;
	}
	done = sno_generator_turn(g, word, now);
	if (!done)
	{
		if (mutant == WALL_SAFE_OFF_BY_ONE)
			g->wall_safe = before.wall_safe;
		return false;
	}
	if (scope->named)
	{
		/* It is swapped, and not counted yet. */
		g->drifts--;
		pause_at(AT_STORE);
		g->drifts++;
	}
	if (mutant == TURN_REACHED)
		g->word = SNO_WORD(now - 1, SNO_WORD_TICK_TOCK(g->word), g->sequence_min);
	if (mutant == TICK_TOCK_NOT_TOGGLED)
	{
		g->drifts = before.drifts;
		g->word ^= UINT64_C(1) << 24;
	}
	return true;
}

static void
end_word(SnoGenerator *g)
{
	uint64		word = g->word;

	if (mutant != CLOSED_BY_STORE)
	{
		sno_generator_end(g);
		return;
	}
	at_word(AT_EXCHANGE, &g->word);
	g->word = word | SNO_WORD_CLOSED;
}

/* A partition for given times: its random bits are the search's choice. */
static void
start_given(SnoGenerator *g, SnoBackfill *b, uint16_t max, uint32_t random)
{
	sno_backfill_start(g, b, scope->sequences - 1, random);
}

static SnoStep
step_given(SnoGenerator *g, SnoBackfill *b, uint64_t unit, uint64_t *got)
{
	SnoBackfill before = *b;
	uint64		word = g->word;
	SnoStep		result;

	if (mutant == SPARE_PER_UNIT && unit < SNO_WORD_UNIT(word))
		b->spare = 0;
	result = sno_backfill_step(g, b, unit, got);
	if (mutant == SPARE_NOT_RAISED && unit >= SNO_WORD_UNIT(word))
		*b = before;
	if (mutant == SPARE_RAISED_LATE && result == SNO_ISSUED && unit >= SNO_WORD_UNIT(word))
	{
		uint32		raised = b->spare;

		b->spare = before.spare;
		at_word(AT_SWAP, &b->spare);
		b->spare = Max(b->spare, raised);
	}
	if (mutant == GIVEN_GOES_BACK && result == SNO_ISSUED && unit < SNO_WORD_UNIT(word))
		g->word = SNO_WORD(unit, g->drifts & 1, b->spare);
	return result;
}

/* What a partition of given times was used for, to a named generator. */
static void
start_backfilled(SnoGenerator *g, uint64 floor, uint32 min, uint32 max)
{
	if (mutant != GIVEN_ANYWHERE_FORGOTTEN)
		sno_generator_start(g, floor, min, max);
}

/* The kernel's clock doesn't tick: a call that makes many ids goes on as long as it may. */
#define TICK	1

static void
issue_of_run(void)
{
	if (!go_on_run(&run_of_ids, TICK))
		begin_run(&run_of_ids, TICK, 0);
	issued_word = run_of_ids.time << 24 | sno_unpack(&run_of_ids.id).sequence;
	issued = true;
}

static SnoLeaseTask
lease_task(const SnoLease *l, const SnoGenerator *g, uint64 unit, uint32 file)
{
	SnoGenerator seen;

	at_word(AT_CEILING, &g->ceiling);
	seen = *g;
	if (mutant == CEILING_OFF_BY_ONE)
		seen.ceiling++;
	return sno_lease_task(l, &seen, unit, file);
}

static bool
write_own(SnoLease *lease, Relation rel, const SnoSubject *subject, SnoGenerator g, uint64 ceiling)
{
	bool		written;

	if (mutant == CEILING_LOWERED)
	{
		ceiling = lease_end(clock_readings[0]);
		w.row[line][subject->partition].written.until[0] = 0;
		w.row[line][subject->partition].written.until[1] = 0;
	}
	hiding_others = mutant == CLASH_IGNORED;
	written = sno_lease_write(lease, rel, subject, g, ceiling);
	hiding_others = false;
	return written;
}

/* Did sno_reseed() revoke these nodes since they were chosen? */
static bool
revoked_nodes(const SnoSubject *subject)
{
	for (int i = 0; i < w.rest.states; i++)
		if (w.state[i].floats && sno_subjects_equal(&w.state[i].subject, subject))
			return !sno_chosen_are_in_force(&w.state[i]);
	return false;
}

static bool
write_row(Relation rel, const SnoSubject *subject, const SnoGenerator *g, XLogRecPtr *lsn)
{
	SnoGenerator row = *g;
	SnoNamedState *s = sno_subject_is_named(subject) ? use.state : NULL;

	if (scope->reseeds && revoked_nodes(subject))
		amiss("a row is written of nodes that were revoked");
	/* It is flushed in the same call. */
	if (call == ISSUE_GIVEN)
		beginning = false;
	if (mutant == GIVEN_ROW_ENDS && call == ISSUE_GIVEN)
		row.ceiling = clock_readings[0];
	if (mutant == PENDING_BEFORE_WRITTEN && s->open)
		sno_lease_note_written(&s->lease, g->ceiling, 0, FILE_NOW);
	risk(AT_WRITE);
	if (mutant == DRIFT_NOT_WRITTEN && g->drifts != s->shared.drifts)
		row.wall_safe = s->shared.wall_safe;
	if (mutant == OPEN_LOOKS_EXACT)
		row.ceiling = SNO_WORD_UNIT(row.word);
	if (mutant == SEQUENCE_NOT_WRITTEN && row.ceiling == SNO_WORD_UNIT(row.word))
		row.word = SNO_WORD(SNO_WORD_UNIT(row.word), row.drifts & 1, row.sequence_min);
	if (mutant == SEQUENCE_CLAMPED && SNO_WORD_SEQUENCE(row.word) > 1)
		row.word = SNO_WORD(SNO_WORD_UNIT(row.word), row.drifts & 1, 1);
	if (mutant == COUNT_CLOSED_INEXACT && row.ceiling == SNO_WORD_UNIT(row.word))
		row.ceiling++;
	return sno_record_write(rel, subject, &row, lsn);
}

/*
 * Others may do anything between a look at the rows and what follows from it.  So a
 * call ends with that look.  The next one that comes here takes what was seen then.
 * It reserves by any clock reading and any holder's number.
 */
static void
survey_earlier(Relation rel, uint64 now, SnoSurvey *survey)
{
	if (session->place != SURVEYED || draining > 0)
	{
		memset(bounds_block, 0, sizeof(bounds_block));
		surveying = true;
		sno_record_survey(rel, now, survey);
		surveying = false;
		if (draining > 0)
		{
			survey->bounds.block[0] = bounds_block;
			return;
		}
		memcpy(session->bound, bounds_block, sizeof(session->bound));
		stop(SURVEYED);
	}
	memcpy(bounds_block, session->bound, sizeof(session->bound));
	if (!scope->steps)
		memset(session->bound, 0, sizeof(session->bound));
	memset(survey, 0, sizeof(SnoSurvey));
	survey->bounds.block[0] = bounds_block;
	survey->holder = holder_choice;
	chose_holder = true;
	session->place = NOWHERE;
}

/* Who changes the side doesn't have the table open. */
static bool
is_usable(const SnoPartition *p)
{
	return sno_partition_is_usable(p) || (mutant == SIDE_OF_NAMED && !session->reading);
}

/* A session that has looked at the rows goes on there. */
static SnoPartition *
next_open(SnoPurpose purpose, const SnoPartition *p)
{
	return session->place == SURVEYED ? NULL : sno_partition_next_open(purpose, p);
}

/* Is a row of a partition, and of this one? */
static bool
is_of(const SnoRow *row, int number)
{
	return row->kind != SNO_OF_NODES && row->partition == number;
}

/* Is a row of a partition there of the holder that this line is, or else of another one? */
static bool
has_row(int number, bool own)
{
	for (int i = 0; i < count_rows(); i++)
	{
		const SnoRow *row = &w.row[line][i].written;

		if (is_there(row) && is_of(row, number) && (i / rows_of_holder() == holder()) == own)
			return true;
	}
	return false;
}

/* Was `number` free for all, when the caller took one that others leased? */
static bool
is_untouched(int number)
{
	return !has_row(number, true) && !has_row(number, false) && blocks[0][number].life == 0;
}

/* Does another database of the server use it? */
static bool
is_other_ones(int number)
{
	return scope->lines == TWO_DATABASES && w.line[!line].partition[number].life != 0;
}

static SnoPartition *
reserve_anew(uint64 now, const SnoBounds *bounds, uint64 holder, SnoPurpose purpose)
{
	SnoPartition before[PARTITIONS];
	SnoPartition *p;
	bool		choice = false,
				free_choice = false;
	int			number;

	memcpy(before, blocks[0], sizeof(before));
	for (int i = 0; i < (int) scope->partitions; i++)
	{
		SnoPartition *it = &blocks[0][i];

		choice = choice || is_untouched(i);
		free_choice = free_choice || (is_untouched(i) && !is_other_ones(i));
		if (mutant == FLOOR_IGNORES_MEMORY)
			it->generator.ceiling = 0;
		if (mutant == ROWS_BAR && bounds_block[i] != 0)
			bounds_block[i] = SNO_BOUND(SNO_UNIT_MAX - 1, true);
		if (mutant == LEASED_GIVEN && purpose == SNO_FOR_BACKFILL && is_at_rest(it))
		{
			*it = (SnoPartition) {.number = i,.generator.word = SNO_WORD_CLOSED};
			bounds_block[i] = 0;
		}
		if (mutant == HALF_IGNORED && bounds_block[i] == SNO_BOUND(SNO_UNIT_MAX, true))
			bounds_block[i] = SNO_BOUND(SNO_UNIT_MAX - 1, true);
		if (mutant == HALF_IGNORED || mutant == HALF_BY_ROWS)
		{
			it->generator.ceiling = Min(it->generator.ceiling, SNO_UNIT_MAX - 1);
			it->purpose = SNO_FOR_CLOCK;
		}
	}
	p = sno_partition_reserve(now, bounds, holder, purpose);
	for (int i = 0; i < (int) scope->partitions; i++)
		if (&blocks[0][i] != p && !scope->steps)
		{
			blocks[0][i].generator.ceiling = before[i].generator.ceiling;
			blocks[0][i].purpose = before[i].purpose;
		}
	if (p == NULL)
		return NULL;

	number = sno_partition_number(p);
	if (free_choice && is_other_ones(number) && sno_bound(bounds, number) == 0)
		amiss("another database's partition was taken while one was free");
	if (choice && !scope->restores && !has_row(number, true) && has_row(number, false))
		amiss("another holder's partition was taken while one was free");
	return p;
}

static SnoPartition
copy_partition(int number)
{
	SnoPartition copy = sno_partition_copy(number);

	if (mutant == HELD_IGNORED)
		pg_atomic_write_u32(&copy.turn.owner, 0);
	if (mutant == OPEN_IGNORED)
		blocks[0][number].generator.word &= ~SNO_WORD_CLOSED;
	return copy;
}

static int
states_kept(void)
{
	return scope->forgets ? 0 : 8;
}

static void
copy_name(char *to, const char *from)
{
	to[0] = from[0];
}

static int
users_of(const pg_atomic_uint32 *users)
{
	return mutant == TAKEN_IGNORED ? 0 : (int) users->value;
}

/* The clock, when nodes are chosen */
static uint64
choose_unit(void)
{
	read_count = Max(read_count, 1);
	return draining > 0 ? draining : clock_readings[0];
}

/* The holder is a random number, so nodes are chosen from any start. */
static uint64
choose_start(Relation rel, SnoRecordVisitor visitor, void *arg)
{
	sno_record_visit(rel, visitor, arg);
	chose_holder = true;
	return clock_readings[1];
}

/* May sessions issue in some nodes already? */
static bool
are_chosen(const SnoDefinition *d)
{
	for (int i = 0; i < w.rest.states; i++)
		if (sno_chosen_may_stay(&w.state[i], d))
			return true;
	return false;
}

/* Nodes were chosen.  The original of a copy may issue in those that rows named before. */
static void
check_choice(const SnoNamedState *s)
{
	if (s == NULL || (w.registry.named >> s->subject.shard.min & 1) == 0)
		return;
	for (int i = 0; i < scope->floats; i++)
	{
		SnoNamedState *o = sno_group_find_state(&w.rest.group, (SnoShard) {i, i});

		if ((w.registry.named >> i & 1) == 0 &&
			(o == NULL || SNO_WORD_UNIT(sno_state_copy(o).word) <= choose_unit() ||
			 o->shared.wall_safe < choose_unit()))
			amiss("a node that was revoked is chosen while one is free");
	}
}

/* A call ends where nodes were chosen.  The next one finds them. */
static SnoObstacle
choose_nodes(Relation rel, SnoGroup *group, const char *name, const SnoDefinition *d,
			 List *known, SnoNamedState **state)
{
	bool		are = are_chosen(d);
	SnoObstacle obstacle;

	for (int i = 0; i < w.rest.states && mutant == STALE_TAKEN; i++)
		if (!sno_chosen_may_stay(&w.state[i], d))
			w.state[i].name[0] = '?';
	choosing = true;
	obstacle = sno_choose_nodes(rel, group, name, d, known, state);
	if (scope->reseeds && !are)
		check_choice(*state);
	choosing = false;
	looked = true;
	return obstacle;
}

static SnoObstacle
limit_nodes(SnoNamedState *s, uint64 now)
{
	SnoObstacle obstacle = sno_chosen_find_limit(s, now);

	if (mutant == LIMIT_IGNORED)
		s->limit = SNO_UNIT_MAX;
	return obstacle;
}

static bool
are_in_force(const SnoNamedState *s)
{
	return mutant == REVOKED_CLOSED_EXACT || sno_chosen_are_in_force(s);
}

static bool
may_stay_in(const SnoNamedState *s, const SnoDefinition *d)
{
	return mutant == AUTHORITY_IGNORED || sno_chosen_may_stay(s, d);
}

static uint64
authority_of(pg_atomic_uint64 *authority, uint64 granted)
{
	return mutant == AUTHORITY_NOT_COMPARED ? granted : pg_atomic_read_u64(authority);
}

/* What another state issued, or all up to a floor. */
static void
merge_other(SnoGenerator *g, SnoGenerator other)
{
	/* Only what a grant's floor tells has no sequences. */
	if (mutant == FLOOR_NOT_MERGED && other.sequence_max == 0 &&
		other.word == all_up_to(other.wall_safe).word)
		return;
	for (int i = 0; i < w.rest.states && mutant == PASSED_NOT_SET; i++)
		w.state[i].passed = false;
	sno_state_merge_other(g, other);
}

static bool
shards_overlap(const SnoShard *a, const SnoShard *b)
{
	return mutant != SHARDS_NOT_COMPARED && sno_shards_overlap(*a, *b) &&
		!(mutant == FORGOTTEN_IGNORED && a == &w.rest.group.forgotten_shard);
}

static bool
lock_group(SnoGroup *group)
{
	for (int i = 0; i < w.rest.states && mutant == FORMER_STATE_TRUSTED; i++)
		w.state[i].life = sno_space->life;
	return sno_group_lock(group);
}

static void
merge_row(SnoGenerator *g, const SnoGenerator *other)
{
	SnoGenerator o = *other;

	if (mutant == CRASH_STAYS_ON_SIDE && SNO_WORD_SEQUENCE(o.word) == SNO_SEQUENCE_NONE)
		o.word = SNO_WORD(0, o.drifts & 1, SNO_SEQUENCE_NONE);
	if (mutant == NONE_TOO_LOW && SNO_WORD_SEQUENCE(o.word) == SNO_SEQUENCE_NONE)
		o.word = SNO_WORD(SNO_WORD_UNIT(o.word), o.drifts & 1, 1);
	if (mutant == CEILING_COUNTED_AGAIN && SNO_WORD_SEQUENCE(o.word) == SNO_SEQUENCE_NONE)
		o.word = SNO_WORD(SNO_WORD_UNIT(o.word), o.drifts & 1, 0);
	if (mutant == WALL_SAFE_FORGOTTEN)
		o.wall_safe = 0;
	sno_generator_merge(g, &o);
}

/* A successor has another holder's row, or just the definition. */
static void
switch_side(SnoGenerator *g, uint64 until)
{
	if (mutant == OTHERS_ROW_TRUSTED && g->lease_floor > 0)
		return;
	if (mutant == OTHERS_DEFINITION_TRUSTED && g->lease_floor == 0)
		return;
	sno_generator_switch(g, mutant == UNSEEN_IGNORED ? g->lease_floor : until);
}

static void
merge_memory(SnoGenerator *g, const SnoGenerator *other)
{
	bool		of_session = scope->sequences > 0 && other->sequence_max == scope->sequences - 1;

	if ((mutant == STATES_IGNORED && !of_session && call != RESTORE) ||
		(mutant == SESSIONS_IGNORED && of_session))
		return;
	if (mutant == RESTORED_AS_IS && call == RESTORE)
		*g = *other;
	sno_generator_merge(g, other);
}

static void
drift(SnoGenerator *g, uint64 now)
{
	sno_generator_drift(g, now);
	if (mutant == DRIFT_AS_EXHAUSTED)
		g->word = SNO_WORD(now - 1, g->drifts & 1, SNO_SEQUENCE_NONE);
	if (mutant == DRIFT_STAYS_ON_SIDE)
		g->word = SNO_WORD(now - 1, --g->drifts & 1, SNO_SEQUENCE_NONE);
}

static void
join_sides(SnoGenerator *g)
{
	if (mutant != SIDES_NOT_JOINED)
		sno_generator_join_sides(g);
}

static SnoFlakeTime
flake_at(const SnoNodes *nodes, int64 msec)
{
	SnoFlakeTime at = sno_flake_at(nodes, msec);

	if (mutant == LEAST_IGNORED)
		at.least = 0;
	if (mutant == CLOCK_NOT_ROUNDED)
		at.unit = (uint64) msec / SNO_UNIT_MSEC;
	if (mutant == CLOCK_ROUNDED_UP)
		at.unit++;
	if (mutant == UNITS_TOGETHER)
		at.unit &= ~UINT64_C(2);
	return at;
}

/* No server counts beyond the scope's units; what a successor leaves out is no matter. */
static SnoFlakeTime
flake_count(uint64 word)
{
	SnoFlakeTime now = sno_flake_count(word);

	if (now.unit % sno_count_unseen(&scope->layout) > scope->units)
		stop(BROKEN);
	return now;
}

static uint64
close_word(SnoGenerator *g)
{
	SnoNamedState *s = state_of(g);

	if ((mutant == OVERLAP_NOT_CLOSED && s != use.state) ||
		(mutant == DRIFT_WITHOUT_CLOSING && s != NULL && s == use.state && s->open))
		return g->word;
	if (mutant == CEILING_FALLS && call == RESTORE)
		g->ceiling = 0;
	return sno_generator_close(g);
}

static uint64
slack(const volatile void *address)
{
	if (mutant != CEILING_OFF_BY_ONE)
		return 0;
	for (int i = 0; i < PARTITIONS; i++)
		if (address == &w.line[line].partition[i].generator.ceiling)
			return 1;
	return use.state != NULL && address == &use.state->shared.ceiling;
}

/* What an addition returned. */
static uint64
judge(const volatile void *address, uint64 word)
{
	const SnoNamedState *s = use.state;
	const SnoGenerator *g = s != NULL && address == &s->shared.word ? &s->shared : NULL;

	for (int i = 0; i < PARTITIONS && is_own_call(); i++)
		if (address == &w.line[line].partition[i].generator.word)
			g = &w.line[line].partition[i].generator;
	if (g == NULL)
		return word;
	if (mutant == LATE_ADDITION_COUNTS && sno_word_is_closed(word) && !is_own_call())
		return s->word;
	if (mutant == ADDITION_UNBOUNDED && !sno_word_is_closed(word) && SNO_WORD_SEQUENCE(word) > g->sequence_max)
		return word - (g->sequence_max - g->sequence_min + 1);
	return word;
}

SnoStep
sno_generator_share_unit(SnoGenerator *g, uint64 word, uint64 now, uint32 least, uint64 *got)
{
	uint64		first = SNO_WORD(now, SNO_WORD_TICK_TOCK(word), Max(least, g->sequence_min));

	if ((mutant == LEAST_STORED && now == SNO_WORD_UNIT(word) && SNO_WORD_SEQUENCE(word) < least) ||
		(mutant == ENTERED_BY_STORE && now > SNO_WORD_UNIT(word) && !sno_word_is_closed(word) && now <= g->ceiling))
	{
		at_word(AT_SWAP, g);
		g->word = first + 1;
		*got = first;
		return SNO_ENTERED;
	}
	if (mutant == SWAP_GOES_BACK && now < SNO_WORD_UNIT(word) && !sno_word_is_closed(word) &&
		__atomic_compare_exchange_n(&g->word, &word, first + 1, false,
									__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
	{
		*got = first;
		return SNO_ENTERED;
	}
	return real_share_unit(g, word, now, least, got);
}

/* Whose turn it is, and calls */

/* A space begins another life when its database was dropped and made again. */
static uint32
life_of(int l)
{
	return 1 + (l == 1 && w.rest.turned == 2 && mutant != FORMER_LIFE_TRUSTED);
}

static void
enter(int l, int s)
{
	line = l;
	session = &w.session[l][s];
	sno_space = &space[l];
	for (int i = 0; i < SNO_PLACES; i++)
		pg_atomic_write_u32(&sno_space->partitions.open[i], w.line[l].open[i]);
	pg_atomic_write_u32(&sno_space->partitions.places, w.line[l].places);
	sno_space->life = life_of(l);
	dsa_pointer_atomic_write(&sno_space->named.groups[0], w.line[l].group);
	pg_atomic_write_u32(&sno_space->partitions.named[0], w.line[l].named);
	blocks[0] = w.line[l].partition;
	MyProcPid = l * SESSIONS + s + 1;
	MyDatabaseId = 1 + (scope->lines == TWO_DATABASES && l == 1 &&
						mutant != HOLDER_WITHOUT_DATABASE);
	sno_partition_range.first = scope->disjoint ? l : 0;
	sno_partition_range.last = scope->disjoint ? l : (int) scope->partitions - 1;
	/* Of a layout with four nodes, each has a quarter of the partitions. */
	if (scope->floats > 0)
		sno_partition_range.last = scope->floats * 0x4000 - 1;
	pg_atomic_write_u64(&sno_space->revocations, w.registry.revocations);
	sno_session_place = (SnoSessionPlace) {session->own, session->own_unit};
	sno_feed_bound = mutant == BOUND_NOT_CHECKED ? 0 : session->clock;
	drawn_holder = 0;
	/* A call may stop while it chooses by these. */
	if (scope->steps)
		memcpy(bounds_block, session->bound, sizeof(session->bound));
	run_of_ids = (Run) {.p = session->run,.time = session->run_time,
	.tick = session->run == NULL ? NO_TICK : TICK};
	use = session->use;
	use.in = &sno_definitions;
	use.name[0] = (char) (scope->names == 2 ? 'a' + session->definition : 0);
	queue = NULL;
	leases_left = LEASE_BURST;
	dsa_pointer_atomic_write(&sno_space->named.states, InvalidDsaPointer);
}

static void
leave(void)
{
	for (int i = 0; i < SNO_PLACES; i++)
		w.line[line].open[i] = pg_atomic_read_u32(&sno_space->partitions.open[i]);
	w.line[line].places = pg_atomic_read_u32(&sno_space->partitions.places);
	w.line[line].group = dsa_pointer_atomic_read(&sno_space->named.groups[0]);
	w.line[line].named = pg_atomic_read_u32(&sno_space->partitions.named[0]);
	session->own = sno_session_place.p;
	session->own_unit = sno_session_place.unit;
	session->run = run_of_ids.p;
	session->run_time = run_of_ids.time;
	session->use = use;
}

/* The id that a state word stands for; of a layout if these are nodes of one. */
static uint64
id_of(SnoNodes nodes, uint64 word)
{
	if (nodes.size == 0)
		return word;
	if (mutant == FIRST_NODE_LEFT_OUT)
		nodes.first = 0;
	if (mutant == TICK_TOCK_LEFT_OUT)
		word &= ~SNO_WORD(0, 1, 0);
	return sno_flake_pack(&nodes.layout, sno_flake_parts(&nodes, word)).low;
}

static SnoFlakeParts
parts_of(uint64 flake)
{
	return sno_flake_unpack(&scope->layout, (SnoFlake) {.low = flake});
}

/* A count goes on after a number that another generator issued. */
static void
advance(void)
{
	SnoDefinition d;
	SnoFlakeParts parts = {.node = (uint64) scope->first,.time = read_clock()};
	SnoGenerator g = {0};

	sno_definition_find(&sno_definitions, NULL, &d);
	(void) sno_flake_after(&d.nodes, sno_flake_pack(&d.nodes.layout, parts), &g.word);
	issued_word = g.word - 1;
	issued_elsewhere = set_after(&d, &g) == SNO_NO_OBSTACLE;
}

/* A snapshot of another generator, which issued one id of a unit. */
static void
restore(void)
{
	SnoDefinition d;
	SnoGenerator g;
	uint64		unit = read_clock();
	bool		tick_tock = read_clock() & 1;

	sno_definition_find(&sno_definitions, NULL, &d);
	sno_generator_start(&g, 0, d.subject.shard.min, d.subject.shard.max);
	g.drifts = tick_tock;
	g.word = SNO_WORD(unit, tick_tock, d.subject.shard.min) + 1;
	issued_elsewhere = set_after(&d, &g) == SNO_NO_OBSTACLE;
	issued_word = g.word - 1;
}

/* What runs on the stack. */
static void
serve(void)
{
	SnoPartition *in;

	for (;;)
	{
		stop(NOWHERE);
		switch (call)
		{
			case ISSUE:
				issued_word = sno_generate_next(&in);
				issued = true;
				break;
			case ISSUE_RENEWING:
				for (int i = 0; i < PARTITIONS; i++)
					blocks[0][i].lease.attention = 0;
				/* FALLTHROUGH */
			case ISSUE_SLOWLY:
				issued_word = sno_session_next(SNO_FOR_CLOCK, 0, &in);
				issued = true;
				break;
			case ISSUE_RUN:
				issue_of_run();
				break;
			case ISSUE_GIVEN:
				issued_word = sno_session_next(SNO_FOR_BACKFILL, read_clock(), &in);
				given = in;
				issued = true;
				break;
			case ISSUE_NAMED:
				issued_word = is_flake() ? sno_next_flake(&use) : sno_next(&use);
				issued = true;
				break;
			case ISSUE_NAMED_SLOWLY:
				issued_word = sno_next_slowly(&use);
				issued = true;
				break;
			case RESTORE:
				if (is_count())
					advance();
				else
					restore();
				break;
			default:
				if (use.state != NULL)
					end_uses(0, (Datum) 0);
				end_session(0, (Datum) 0);
				break;
		}
	}
}

/* An error ends all that a call holds; after the last call, another session comes. */
static void
end_call(void)
{
	bool		over = session->call == END;

	was_late = session->late;
	was_at = session->clock;
	was_reseeded = session->reseeded;
	memcpy(may_have, session->may, sizeof(may_have));
	memset(session->may, 0, sizeof(session->may));
	session->reseeded = false;
	session->at = session->clock = 0;
	session->place = session->call = 0;
	session->locked = session->reading = session->late = false;
	give_turn_back();
	memset(session->bound, 0, sizeof(session->bound));
	if (over)
		memset(session, 0, sizeof(*session));
}

/* What is granted now may be used by a call of the session. */
static void
note_grants(Session *it)
{
	for (int i = 0; i < scope->blocks && w.registry.granted.grants.holder != 0; i++)
		it->may[i] |= w.registry.ours[i];
}

/* Let the session's call go on, or begin; false if the arguments make no difference. */
static bool
run(unsigned a, unsigned b, unsigned error)
{
	static Continuation c;
	bool		surveyed = session->place == SURVEYED;

	clock_readings[0] = a + scope->named;
	clock_readings[1] = b + scope->named;
	holder_choice = b % scope->partitions;
	random_choice = b / scope->partitions;
	error_in = (int) error - 1;
	read_count = 0;
	chose_holder = false;
	beginning = session->at == 0;
	looked = !beginning;
	renewing_early = false;
	PG_exception_stack = NULL;
	if (beginning)
	{
		note_grants(session);
		session->reseeded = w.registry.revocations > 0;
		bring_back(&idle, idle_depth);
	}
	else
	{
		const Part *p = &part[session->at - 1];

		call = session->call;
		memcpy(&c, p->bytes, p->size);
		bring_back(&c, p->size - offsetof(Continuation, stack));
	}
	leave();
	session->call = (uint8) (call <= ISSUE_RENEWING ? ISSUE_SLOWLY : call);
	if (stopped_at == BROKEN)
		w.rest.next = 0;
	if (stopped_at == NOWHERE || stopped_at == WAITING || stopped_at == BROKEN)
		end_call();
	else if (stopped_at == SURVEYED)
	{
		session->at = 0;
		session->place = SURVEYED;
		session->call = call == ISSUE_GIVEN ? ISSUE_GIVEN : 0;
	}
	else
	{
		put_away(&c);
		session->at = number_of(&c, offsetof(Continuation, stack) + depth);
		session->place = (uint8) stopped_at;
	}
	return !(surveyed && !chose_holder && stopped_at != AT_OWNER) && (error == 0 || stopped_at == BROKEN) &&
		(read_count > 0 || a == 0) && (read_count > 1 || chose_holder || b == 0);
}

/* How far this line has leased a partition. */
static uint64
own_ceiling(int number, bool durable)
{
	uint64		ceiling = 0;

	for (int i = 0; i < count_rows(); i++)
	{
		const SnoRow *row = durable ? &w.row[line][i].durable : &w.row[line][i].written;

		if (is_there(row) && is_written_here(row) && is_of(row, number))
			ceiling = Max(ceiling, ceiling_of(row));
	}
	return ceiling;
}

/* The partition in which a session issued an id. */
static const SnoPartition *
issued_in(void)
{
	return call == ISSUE_GIVEN ? given : call == ISSUE_RUN ? session->run : session->own;
}

/* A session issued an id in a partition that it owns: may it? */
static void
check_own_id(void)
{
	const SnoPartition *p = issued_in();
	uint64		now = SNO_WORD_UNIT(issued_word);

	if (now < was_at)
		amiss("an id isn't of its time");
	if (call == ISSUE_GIVEN)
	{
		if (own_ceiling(sno_partition_number(p), true) != SNO_UNIT_MAX)
			amiss("a row of given times isn't to the end of the epoch");
		return;
	}
	if (now > own_ceiling(sno_partition_number(p), true))
		amiss("an id is beyond the ceiling on disk");
	if (now <= p->generator.lease_floor)
		amiss("an id is at or below the floor");
}

/* Events */

static bool is_quick(void);

/* May the session begin such a call? */
static bool
may_begin(void)
{
	Event		surveyed = session->call == ISSUE_GIVEN ? ISSUE_GIVEN : ISSUE_SLOWLY;

	if (session->place != NOWHERE && !(session->place == SURVEYED && call == surveyed))
		return false;
	switch (call)
	{
		case ISSUE:
			/* It looks up less than the slow one. */
			return session->own != NULL && is_quick();
		case ISSUE_SLOWLY:
			return scope->sequences > 0;
		case ISSUE_RENEWING:
			return scope->sequences > 0 && !scope->plain;
		case ISSUE_RUN:
			return scope->runs && session->own != NULL;
		case ISSUE_GIVEN:
			return scope->draws > 0;
		case ISSUE_NAMED:
			return scope->named && (scope->fine || scope->rewrites || is_flake()) &&
				session->use.version != 0;
		case ISSUE_NAMED_SLOWLY:
			return scope->named;
		case RESTORE:
			return scope->named && scope->restores;
		case END:
			return session->use.state != NULL || session->own != NULL;
		default:
			return true;
	}
}

/* Has the server been stopped in order? */
static bool
is_stopped(int l)
{
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[l][i].at != 0 || w.session[l][i].use.state != NULL)
			return false;
	for (int i = 0; i < w.rest.states; i++)
		if (w.state[i].open)
			return false;
	for (int i = 0; i < ROWS; i++)
		if (memcmp(&w.row[l][i].written, &w.row[l][i].durable, sizeof(SnoRow)) != 0)
			return false;
	return true;
}

/* A crash, of the server or one session, which makes the server start over. */
static bool
crash(int l)
{
	Rest	   *r = &w.rest;

	if (!is_stopped(l))
		r->next = 0;
	for (int i = 0; i < LINES; i++)
		if (scope->lines != TWO_SERVERS || i == l)
		{
			memset(&w.line[i], 0, sizeof(Line));
			if (r->id.given)
				r->id.over |= r->id.lines & (uint8) (1 << i);
			for (int p = 0; p < PARTITIONS; p++)
				w.line[i].partition[p] = (SnoPartition) {.number = p,.generator.word = SNO_WORD_CLOSED};
			memset(w.session[i], 0, sizeof(w.session[i]));
			for (int row = 0; row < ROWS; row++)
				w.row[i][row].written = w.row[i][row].durable;
		}
	memset(&r->group, 0, sizeof(r->group));
	memset(w.state, 0, sizeof(w.state));
	w.registry.revocations = 0;
	r->states = 0;
	r->id.everywhere = r->id.everywhere && scope->disjoint;
	if (r->id.excused)
		memset(&r->id, 0, sizeof(Id));
	return true;
}

/* Does memory know what was issued before the rows go? */
static bool
is_known(void)
{
	bool		known = w.rest.group.forgotten_shard.min <= w.rest.group.forgotten_shard.max;

	for (int i = 0; i < w.rest.states; i++)
		known = known || w.state[i].known;
	return known && w.rest.states > 0;
}

/* The table gets a new file, on disk, with its rows or without, while nobody uses it. */
static bool
rewrite(int l, bool truncate)
{
	if (!scope->rewrites || (truncate && !scope->named))
		return false;
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[l][i].reading)
			return false;
	if (truncate)
	{
		memset(w.row[l], 0, sizeof(w.row[l]));
		w.rest.id.excused = w.rest.id.is_set;
		if (!is_known())
			memset(&w.rest.id, 0, sizeof(Id));
		for (int i = 0; i < SESSIONS; i++)
			w.session[l][i].late = w.session[l][i].at != 0;
	}
	for (int i = 0; i < ROWS; i++)
		settle(l, i);
	for (int i = 0; i < PARTITIONS + STATES; i++)
	{
		SnoLease   *lease = i < PARTITIONS ? &w.line[l].partition[i].lease :
			&w.state[i - PARTITIONS].lease;

		lease->file = Min(lease->file, FILE_BEFORE);
		lease->pending_file = Min(lease->pending_file, FILE_BEFORE);
	}
	return true;
}

/* The sequence of the state word that the id has in a shard; -1 if it isn't one of that. */
static int
sequence_in(SnoShard shard, const Id *id)
{
	uint64		word = id->word;
	int			sequence;

	if (is_flake())
	{
		SnoNodes	nodes = sno_nodes(&scope->layout, shard, false);

		return word_of(&nodes, parts_of(id->flake), &word) ? (int) SNO_WORD_SEQUENCE(word) : -1;
	}
	sequence = (int) SNO_WORD_SEQUENCE(word);
	return sequence >= shard.min && sequence <= shard.max ? sequence : -1;
}

/* Is it as N2 says?  If so, is it on a side that was `left`? */
static bool
is_bounded(const Id *id, bool left)
{
	uint64		unit = SNO_WORD_UNIT(id->word);
	bool		tick_tock = SNO_WORD_TICK_TOCK(id->word);

	for (int i = 0; i < count_rows(); i++)
	{
		const SnoRow *row = &w.row[scope->again][i].durable;
		uint64		until = unit_of(row->until[tick_tock]);
		int			sequence;

		if (!is_there(row) || (left && tick_tock == (row->drifts & 1)) ||
			(!is_flake() && row->partition != id->partition))
			continue;
		sequence = sequence_in((SnoShard) {row->shard_min, row->shard_max}, id);
		if (sequence < 0)
			continue;
		if (row->kind != SNO_OF_SESSION && tick_tock == (row->drifts & 1) &&
			row->wall_hi == row->until[tick_tock] && sequence >= row->sequence)
			until = Max(until, 1) - 1;
		if (unit <= until)
			return true;
	}
	return false;
}

/* Of a named generator: was the row that bounds the id in WAL that is lost? */
static void
note_lost(void)
{
	Id		   *id = &w.rest.id;

	if (!id->is_set || is_bounded(id, false))
		return;
	id->lost = true;
	id->drifts = 0;
	if (is_count())
		return;
	for (int i = 0; i < count_rows(); i++)
		if (is_there(&w.row[0][i].durable))
			id->drifts = Max(id->drifts, (uint32) w.row[0][i].durable.drifts);
	/* The side that the successor enters was used, too. */
	if (SNO_WORD_TICK_TOCK(id->word) != (id->drifts & 1))
		memset(id, 0, sizeof(*id));
}

/*
 * Of a session: did the row that bounds the id never get here?  Then an id of a given time
 * may come again, or be that id.
 */
static void
note_unheard(void)
{
	Id		   *id = &w.rest.id;

	if (!id->is_set || is_bounded(id, false))
		return;
	if (id->given)
		memset(id, 0, sizeof(*id));
	else
		id->unheard = true;
}

/* A standby is promoted.  If it lags, it lacks rows; its clock isn't behind. */
static void
promote(void)
{
	if (scope->lags)
	{
		for (int i = 0; i < ROWS; i++)
			w.row[0][i].durable = w.standby[i];
		memset(w.standby, 0, sizeof(w.standby));
		w.rest.earliest = w.rest.latest + 1;
		if (scope->named)
			note_lost();
		else if (scope->draws > 0)
			note_unheard();
	}
	crash(0);
	w.rest.next = 0;
}

/* The standby receives what is on the disk, or as much of it as it will. */
static bool
receive(void)
{
	bool		more = false;

	if (!scope->lags || w.rest.turned > 0)
		return false;
	for (int i = 0; i < ROWS; i++)
	{
		more = more || memcmp(&w.standby[i], &w.row[0][i].durable, sizeof(SnoRow)) != 0;
		w.standby[i] = w.row[0][i].durable;
	}
	return more;
}

/* A server is copied, or a database made of another; it may have been dropped. */
static void
copy(void)
{
	for (int i = 0; i < ROWS; i++)
	{
		/* CREATE DATABASE sees to it that what it copies is on disk. */
		if (scope->lines == TWO_DATABASES)
			settle(0, i);
		w.row[1][i].written = w.row[1][i].durable = w.row[0][i].durable;
	}
	if (w.rest.id.lines & 1)
	{
		w.rest.id.lines = 3;
		if (w.rest.id.given)
			w.rest.id.over |= 2;
	}
	else
		memset(&w.rest.id, 0, sizeof(Id));
}

static bool
has_sessions(int l)
{
	for (int s = 0; s < SESSIONS; s++)
		if (w.session[l][s].place != NOWHERE || w.session[l][s].own != NULL ||
			w.session[l][s].use.state != NULL)
			return true;
	return false;
}

static bool
turn(void)
{
	if (w.rest.turned == 1 + scope->again ||
		(scope->lines == ONE && !scope->promotions) ||
		(w.rest.turned == 1 && has_sessions(1)))
		return false;
	w.rest.turned++;
	if (scope->lines != ONE)
		copy();
	else
		promote();
	return true;
}

/*
 * A row of another holder is restored from a dump, with the ids that go with it.
 * What was leased by then can't keep off them, but what is leased from then on does.
 */
static bool
restore_row(unsigned ceiling)
{
	TimestampTz until = sno_unit_to_timestamptz(ceiling);
	Row		   *row = &w.row[line][rows_of_holder()];

	if (!scope->restores || scope->named || ceiling <= ceiling_of(&row->written))
		return false;
	row->written.system_identifier = 2;
	row->written.kind = SNO_OF_SESSION;
	row->written.until[0] = row->written.until[1] = until;
	row->durable = row->written;
	return true;
}

/* Nodes of a block. */
static int
block_size(void)
{
	return scope->floats / scope->blocks;
}

/* The registry grants a block to a holder: after all units that it granted, and `others`. */
static bool
grant_block(uint64 to, int block, unsigned others)
{
	Registry   *r = &w.registry;
	unsigned	floor = r->last[block] + others;
	unsigned	last = Min(floor + 1, scope->units);

	if (floor >= last || block >= scope->blocks || to > 2)
		return false;
	if (to != r->granted.grants.holder)
		memset(r->ours, 0, sizeof(r->ours));
	r->granting = (uint8) block;
	r->last[block] = (uint8) last;
	r->ours[block] |= (uint8) ((2U << last) - (2U << floor));
	r->granted.grants = (SnoGrants) {
		.holder = to,
		.count = 1,
		.grant[0] = {floor, last, block * block_size(), (block + 1) * block_size() - 1}
	};
	return true;
}

/* All grants are revoked, or come back. */
static bool
revoke_grants(void)
{
	SnoGranted *g = &w.registry.granted;

	if (g->grants.count == 0)
	{
		g->grants.count = 1;
		g->grants.holder = g->renew_at;
		g->renew_at = 0;
	}
	else
	{
		g->renew_at = g->grants.holder;
		g->grants.holder = 0;
		g->grants.count = 0;
	}
	return true;
}

/* A grant is renewed. */
static bool
renew_grant(void)
{
	Registry   *r = &w.registry;
	SnoGrant   *g = &r->granted.grants.grant[0];

	if (g->ceiling >= scope->units)
		return false;
	r->last[r->granting] = (uint8) ++g->ceiling;
	r->ours[r->granting] |= (uint8) (1U << g->ceiling);
	return true;
}

/* What is granted changes. */
static bool
change_grant(unsigned how)
{
	Registry   *r = &w.registry;
	uint64		present = r->granted.grants.holder;

	if (r->changes == scope->changes || (present == 0 && how != REVOKED))
		return false;
	switch (how)
	{
		case RENEWED:
			if (!renew_grant())
				return false;
			break;
		case SAME_BLOCK:
			if (!grant_block(present, r->granting, 1))
				return false;
			break;
		case OTHER_BLOCK:
			if (!grant_block(present, !r->granting, 0))
				return false;
			break;
		case SAME_BLOCK_ANEW:
			if (!grant_block(present + 1, r->granting, 0))
				return false;
			break;
		case OTHER_BLOCK_ANEW:
			if (!grant_block(present + 1, !r->granting, 0))
				return false;
			break;
		default:
			if (!revoke_grants())
				return false;
	}
	pg_atomic_write_u64(&r->granted.holder, r->granted.grants.holder);
	r->changes++;
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[0][i].at != 0)
			note_grants(&w.session[0][i]);
	return true;
}

/* All that was chosen is revoked, and the rows are another holder's. */
static bool
reseed(void)
{
	if (!scope->reseeds || w.rest.turned > 0)
		return false;
	for (int i = 0; i < SESSIONS; i++)
		if (w.session[line][i].reading)
			return false;
	for (int i = 0; i < count_rows(); i++)
		if (is_there(&w.row[line][i].written))
			w.registry.named |= (uint8) (1U << w.row[line][i].written.shard_min);
	call = RESTORE;
	error_in = -1;
	/* No partition is used. */
	blocks[0] = NULL;
	sno_record_disown(&table);
	w.registry.revocations = pg_atomic_read_u64(&sno_space->revocations);
	w.rest.turned++;
	return true;
}

static bool
apply(Event event, unsigned a, unsigned b, unsigned error)
{
	switch (event)
	{
		case GO_ON:
			return session->at != 0 && run(a, b, error);
		case BREAK_OFF:
			if (session->place == NOWHERE || scope->plain)
				return false;
			end_call();
			w.rest.next = 0;
			return true;
		case REDEFINE:
			if ((scope->longer == 0 && scope->names == 0) || session->place != NOWHERE ||
				(scope->names == 2 && session->use.state != NULL) ||
				(scope->floats > 0 && session->definition == 1) ||
				(session->use.version == 0 && session->use.state != NULL))
				return false;
			session->definition = !session->definition;
			session->use.version = 0;
			return true;
		case SETTLE:
			return !(scope->named && scope->plain) && settle(line, (int) a);
		case CRASH:
			return !scope->steady && crash(line);
		case RECEIVE:
			return receive();
		case TURN:
			return turn();
		case REWRITE:
		case TRUNCATE:
			return rewrite(line, event == TRUNCATE);
		case RESTORE_ROW:
			return restore_row(a);
		case GRANT:
			return change_grant(a);
		case RESEED:
			return reseed();
		default:
			call = event;
			return may_begin() && run(a, b, error);
	}
}

/* B1 and B2, of a partition for given times that is open. */
static void
check_given(const SnoPartition *p, const Id *id)
{
	uint64		word = p->generator.word;
	uint32		n = p->generator.sequence_max + 1;
	uint32		count = (SNO_WORD_SEQUENCE(id->word) + n - p->backfill.start % n) % n;

	if (SNO_WORD_UNIT(id->word) > SNO_WORD_UNIT(word) ||
		(SNO_WORD_UNIT(id->word) == SNO_WORD_UNIT(word) && count >= SNO_WORD_SEQUENCE(word)))
		amiss("B1 does not hold");
	if (count >= p->backfill.spare)
		amiss("B2 does not hold");
}

static bool
is_open(const SnoPartition *p)
{
	return !sno_word_is_closed(p->generator.word);
}

/* I1 to I4, or B1 and B2, of a partition that is open. */
static void
check_invariants(int l, int number)
{
	const SnoGenerator *g = &w.line[l].partition[number].generator;
	const Id   *id = &w.rest.id;
	uint64		word = g->word;
	bool		same_side = SNO_WORD_TICK_TOCK(id->word) == SNO_WORD_TICK_TOCK(word);
	bool		here = id->is_set && !id->restored && id->partition == number &&
		(id->everywhere || id->lines & 1 << l);

	if (w.line[l].partition[number].purpose == SNO_FOR_BACKFILL)
	{
		if (here)
			check_given(&w.line[l].partition[number], id);
		return;
	}
	if (g->lease_floor > g->wall_safe || g->lease_floor > SNO_WORD_UNIT(word))
		amiss("I3 does not hold");
	if (SNO_WORD_UNIT(word) > g->ceiling)
		amiss("I4 does not hold");
	if (!here)
		return;
	if (same_side && id->word >= word)
		amiss("I1 does not hold");
	if (!same_side && SNO_WORD_UNIT(id->word) > g->wall_safe)
		amiss("I2 does not hold");
}

/* Does it come from a database that was dropped, without a lease of this one yet? */
static bool
is_of_former_life(int l, const SnoPartition *p)
{
	return life_of(l) > 1 && (p->life != life_of(l) || p->lease.file == InvalidOid);
}

/* At most half of the range is for given times. */
static void
check_half(int l)
{
	int			given = 0;

	for (int i = 0; i < (int) scope->partitions; i++)
	{
		const SnoPartition *p = &w.line[l].partition[i];
		bool		is = p->purpose == SNO_FOR_BACKFILL && (is_open(p) || sno_partition_is_held(p));

		for (int row = 0; row < count_rows(); row++)
			is = is || (w.row[l][row].written.partition == i && is_given(&w.row[l][row].written));
		given += is;
	}
	if (given > (int) scope->partitions / 2)
		amiss("more than half of the range is for given times");
}

/* Is a session about to take a turn? */
static bool
is_changing(int l)
{
	for (int s = 0; s < SESSIONS; s++)
		if (w.session[l][s].place == AT_OWNER)
			return true;
	return false;
}

static void
check_partitions(int l)
{
	if (is_changing(l))
		return;
	if (scope->draws > 0)
		check_half(l);
	if (w.line[l].open[0] != 0 && w.line[l].open[0] == w.line[l].open[1])
		amiss("a partition is listed twice");
	for (int i = 0; i < (int) scope->partitions; i++)
	{
		const SnoPartition *p = &w.line[l].partition[i];
		int			turns = 0;

		for (int s = 0; s < SESSIONS; s++)
			turns += w.session[l][s].turn == p;
		if (turns > 1)
			amiss("two sessions have the turn of one partition");
		if (!scope->named && is_open(p) && (!scope->lags || w.rest.turned == 0) && !is_of_former_life(l, p))
			check_invariants(l, i);
	}
}

/* Of the line that has the named generators. */
static void
check_states(void)
{
	Id		   *id = &w.rest.id;
	int			shared = 0;

	for (int i = 0; i < w.rest.states; i++)
	{
		if (sno_word_is_closed(w.state[i].shared.word))
			continue;
		shared++;
		for (int o = 0; o < i; o++)
			if (!sno_word_is_closed(w.state[o].shared.word) &&
				sno_shards_overlap(w.state[i].subject.shard, w.state[o].subject.shard))
				amiss("two states that overlap are open");
	}
	if (scope->names == 2 && w.session[0][0].use.state != NULL &&
		w.session[0][0].use.state == w.session[0][1].use.state &&
		w.session[0][0].definition != w.session[0][1].definition)
		amiss("two generators have one node");
	if (shared > 0 && is_open(&w.line[scope->again].partition[0]))
		amiss("a state is open in a partition that is, too");
	if (id->is_set && is_bounded(id, true))
		id->lost = false;
	if (id->is_set && is_bounded(id, false))
		id->excused = false;
	else if (id->is_set && !id->excused && !id->lost)
		amiss("an id is not bounded by the rows on disk");
}

/*
 * An id was issued in the partition of the one that is remembered.  If either is of a given
 * time, both are, and no memory was lost in between.
 */
static void
check_alone(void)
{
	const Id   *id = &w.rest.id;
	bool		given = call == ISSUE_GIVEN;

	if (!(id->everywhere || id->lines & 1 << line) || (id->unheard && given))
		return;
	if (id->given != given)
		amiss("a partition of given times is used for others");
	if (id->over & 1 << line)
		amiss("a partition of given times is used again");
}

/* An id was issued in a partition: is it the one that is remembered? */
static void
compare(int number)
{
	Id		   *id = &w.rest.id;

	if (!id->is_set || id->partition != number)
		return;
	check_alone();
	if (is_count() && id->flake > issued_flake)
		amiss("a count goes back");
	if (id->flake != issued_flake ||
	/* A second step back may lead to what was lost. */
		(id->lost && !is_count() && session->use.state->shared.drifts > id->drifts) ||
		(id->unheard && call == ISSUE_GIVEN))
		return;
	if (id->everywhere || id->lines & 1 << line)
		wrong("an id is issued twice");
	id->lines |= (uint8) (1 << line);
	id->everywhere = scope->disjoint;
}

/* An id of a layout was issued: is it right? */
static void
check_flake(void)
{
	const SnoNodes *nodes = &session->use.definition.nodes;
	const SnoLayout *layout = &scope->layout;
	SnoFlakeParts parts = parts_of(issued_flake);
	int64		msec = msec_at(was_at);
	uint64		word;

	if (is_count())
	{
		if (w.rest.next != 0 && parts.time != w.rest.next)
			amiss("a count leaves a number out");
		w.rest.next = parts.time + 1;
	}
	else if (was_at > 0)
	{
		uint64		time = sno_layout_time(layout, msec);
		uint64		last = layout->unit >= SNO_UNIT_MSEC ? time :
			sno_layout_time(layout, msec | (SNO_UNIT_MSEC - 1));

		if (parts.time < time || parts.time > last)
			amiss("an id isn't of its time");
	}
	if (!word_of(nodes, parts, &word) || word != issued_word)
		amiss("an id stands for another word");
}

/* May the call that issued this id of chosen nodes use the node at that time? */
static void
check_chosen(void)
{
	uint64		block;

	if (scope->blocks > 0)
	{
		block = parts_of(issued_flake).node / block_size();
		if ((may_have[block] >> SNO_WORD_UNIT(issued_word) & 1) == 0)
			amiss("an id is of a node and unit that weren't granted");
	}
	else if (was_reseeded && session->use.state->authority == 0)
		amiss("an id is of a node that was revoked");
}

static void
remember(int number, uint64 word)
{
	const SnoNamedState *s = session->use.state;

	w.rest.id = (Id) {
		.is_set = true,
		.partition = (uint8) number,
		.word = word,
		.flake = is_flake() ? issued_flake : word,
		.lines = (uint8) (1 << line),
		.everywhere = scope->disjoint,
		.given = issued && call == ISSUE_GIVEN,
		/* The table's file is looked up before, and not within a unit. */
		.excused = issued && !is_own_call() && s->lease.file != FILE_NOW &&
			(was_late || SNO_WORD_SEQUENCE(word) > s->shared.sequence_min)
	};
}

/* Worlds as keys. */

static int
compare_sessions(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(Session));
}

/* What nobody will look at any more, of a lease */
static void
forget_lease(SnoLease *lease)
{
	if (lease->pending_ceiling == 0)
	{
		lease->pending_lsn = 0;
		lease->pending_file = 0;
	}
}

/* and of a partition.  Its lease is renewed early when the search says so. */
static void
forget_partition(SnoPartition *p)
{
	if (!scope->steps)
		pg_atomic_write_u32(&p->turn.owner, sno_partition_is_held(p));
	forget_lease(&p->lease);
	p->lease.attention = p->lease.file != 0 ? UINT64_MAX : 0;
	if (p->named && !sno_partition_is_held(p))
		sno_lease_clear(&p->lease);
	if (scope->named)
		return;
	/* A session may be about to claim one that was closed. */
	if (is_at_rest(p) && !scope->steps && p->purpose == SNO_FOR_CLOCK)
		*p = (SnoPartition) {.generator.word = SNO_WORD_CLOSED,.generator.ceiling = p->generator.ceiling,
		.life = p->life != 0,.number = p->number};
	p->generator.drifts &= 1;
}

static void
forget_queue(SnoNamedState *s)
{
	pg_atomic_write_u32(&s->tickets, 0);
	pg_atomic_write_u32(&s->tickets_done, 0);
}

static void
forget_named(SnoNamedState *s)
{
	forget_queue(s);
	s->opened = 0;
	forget_lease(&s->lease);
	if (!s->open && !scope->fine)
		s->lease.file = s->lease.pending_file = 0;
	if (!sno_word_is_closed(s->shared.word))
		s->word = 0;
	else
	{
		s->shared.word = SNO_WORD_CLOSED;
		s->lease.attention = 0;
	}
}

static void
forget_row(SnoRow *row)
{
	if (row->kind == SNO_OF_SESSION || row->wall_hi != row->until[row->drifts & 1])
	{
		row->wall_hi = is_there(row) ? row->until[row->drifts & 1] - 1 : 0;
		row->sequence = 0;
	}
	if (!scope->named)
		row->drifts = 0;
	row->holder = 0;
}

/* Are there calls that go on where the session issued last, without a look at anything else? */
static bool
is_quick(void)
{
	return scope->rewrites || scope->runs;
}

static void
forget(void)
{
	for (int l = 0; l < LINES; l++)
	{
		for (int i = 0; i < SESSIONS && !is_quick(); i++)
		{
			w.session[l][i].own = NULL;
			w.session[l][i].own_unit = 0;
		}
		for (int i = 0; i < (int) scope->partitions; i++)
			forget_partition(&w.line[l].partition[i]);
		for (int i = 0; i < count_rows(); i++)
		{
			forget_row(&w.row[l][i].written);
			forget_row(&w.row[l][i].durable);
		}
		/* A call that stops there may know itself by its number. */
		if (!scope->steps)
			qsort(w.session[l], scope->sessions[l], sizeof(Session), compare_sessions);
	}
	for (int i = 0; i < w.rest.states; i++)
		forget_named(&w.state[i]);
}

/* Sessions of a line are interchangeable, so they are sorted. */
static void
transfer(void)
{
	if (key_wanted)
		forget();
	else
		memset(&w, 0, sizeof(w));
	/* Few parts have room for more numbers. */
	transfer_part(&w.rest, scope->floats > 0 ? offsetof(World, line) : sizeof(w.rest));
	for (int l = 0; l <= (scope->lines != ONE); l++)
	{
		transfer_part(&w.line[l], offsetof(Line, partition) +
					  scope->partitions * sizeof(SnoPartition));
		transfer_part(w.row[l], (size_t) count_rows() * sizeof(Row));
		for (unsigned s = 0; s < scope->sessions[l]; s++)
		{
			Session    *it = &w.session[l][s];

			transfer_part(it, sizeof(Session));
			if (!key_wanted && it->turn != NULL)
				pg_atomic_write_u32(&it->turn->turn.owner, l * SESSIONS + (int) s + 1);
		}
	}
	if (scope->lags)
		transfer_part(w.standby, (size_t) count_rows() * sizeof(SnoRow));
	if (scope->floats > 0)
		transfer_part(w.state, (size_t) states_of_scope() * sizeof(SnoNamedState));
	else
		for (int i = 0; i < states_of_scope(); i++)
			transfer_part(&w.state[i], sizeof(SnoNamedState));
}

static const Model model;

static void
visit_checked(Step step)
{
	for (int l = 0; l < LINES; l++)
		check_partitions(l);
	if (scope->named)
		check_states();
	visit(&model, step);
}

/* The world goes on without a memory, and with each one that there may be. */
static void
visit_all(Step step)
{
	World		after;
	int			number = 0;

	if (issued)
	{
		issue_count++;
		if (is_own_call())
		{
			number = sno_partition_number(issued_in());
			check_own_id();
		}
		issued_flake = id_of(session->use.definition.nodes, issued_word);
		compare(number);
		if (is_flake())
			check_flake();
		if (scope->floats > 0)
			check_chosen();
	}
	else if (issued_elsewhere)
	{
		issued_flake = id_of(nodes_of[session->definition], issued_word);
		w.rest.next = 0;
	}
	if (!w.rest.id.is_set && (issued || issued_elsewhere || step.event == RESTORE_ROW))
	{
		after = w;
		if (step.event == RESTORE_ROW)
		{
			uint64		leased = own_ceiling(0, false);

			for (uint64 time = 2 * (leased + 1); time < 2 * (step.a + 1U); time++)
			{
				remember(0, SNO_WORD(time / 2, time % 2, 0));
				w.rest.id.restored = true;
				visit_checked(step);
				w = after;
			}
		}
		else
		{
			remember(number, issued_word);
			visit_checked(step);
			w = after;
		}
	}
	visit_checked(step);
}

/* How many values an event's arguments take. */
static void
count_values(Event event, const Session *s, unsigned *a, unsigned *b, unsigned *errors)
{
	bool		own = (event == GO_ON ? s->call : event) <= ISSUE_GIVEN;

	*a = *b = *errors = 1;
	if (event <= GO_ON || event == RESTORE_ROW)
		*a = scope->units;
	if (event == SETTLE)
		*a = (unsigned) count_rows();
	if (event == GRANT)
		*a = GRANT_CHANGES;
	if (event > GO_ON)
		return;
	*b = !own ? scope->units : scope->partitions > 1 && !scope->disjoint ? 2 : 1;
	if (event == ISSUE_GIVEN)
		*b = scope->partitions * scope->draws;
	if (!own && !scope->fine && !scope->plain)
		*errors = 4;
}

/* Let sessions from `first` to `last` make calls in turn, some in each unit.  Do all issue? */
static bool
drain(const World *before, int first, int last)
{
	const int	units = 3,
				turns = 4;
	unsigned	served = 0;

	w = *before;
	/* A grant is renewed as time goes on. */
	w.registry.granted.grants.grant[0].ceiling = SNO_UNIT_MAX;
	for (int i = 0; i < units * turns; i++)
		for (int s = first; s <= last; s++)
		{
			/* The ids of a unit are few. */
			if (served >> s & 1)
				continue;
			draining = scope->units + 1 + i / turns;
			issued = false;
			enter(0, s);
			call = scope->named ? ISSUE_NAMED_SLOWLY : ISSUE_SLOWLY;
			run(0, 0, 0);
			served |= (unsigned) issued << s;
			for (int n = 0; n < w.rest.states; n++)
				forget_queue(&w.state[n]);
		}
	draining = 0;
	return served == (2U << last) - (1U << first);
}

/* While no call is made, each session could issue, and so could all in turn. */
static void
check_progress(const World *before)
{
	int			last = (int) scope->sessions[0] - 1;

	if (scope->blocks > 0 && before->registry.granted.grants.holder == 0)
		return;
	for (int s = 0; s <= last; s++)
		if (before->session[0][s].at != 0)
			return;
	for (int s = 0; s <= last; s++)
		if (!drain(before, s, s))
			amiss("a session can't issue");
	if (last > 0 && !drain(before, 0, last))
		amiss("sessions keep each other from issuing");
}

/* While one session stands still in a call, the other one can issue. */
static void
check_independence(const World *before)
{
	const int	calls = 8;

	for (int s = 0; s < SESSIONS; s++)
	{
		if (before->session[0][!s].at == 0 || before->session[0][s].place != NOWHERE)
			continue;
		w = *before;
		issued = false;
		for (int i = 0; i < calls && !issued; i++)
		{
			draining = scope->units + 1;
			enter(0, s);
			call = ISSUE_SLOWLY;
			run(0, 0, 0);
		}
		draining = 0;
		if (!issued)
			amiss("a session that stands still stops another one");
	}
}

/* Whatever of an event's arguments makes a difference. */
static void
try_event(const World *before, Event event, int l, int s, Step step)
{
	unsigned	count_a,
				count_b,
				count_error;

	count_values(event, &before->session[l][s], &count_a, &count_b, &count_error);
	for (unsigned a = event <= ISSUE_RENEWING ? before->rest.earliest : 0; a < count_a; a++)
		for (unsigned b = 0; b < count_b; b++)
			for (unsigned error = 0; error < count_error; error++)
			{
				w = *before;
				issued = issued_elsewhere = false;
				enter(l, s);
				step.event = (uint8_t) event;
				step.who = (uint8_t) (l * SESSIONS + s);
				step.a = (uint8_t) a;
				step.b = (uint8_t) (b * 4 + error);
				if (apply(event, a, b, error))
					visit_all(step);
				else if (error > 0)
					break;
				else if (b > 0)
					b = count_b;
				/* A given time may not need the rows that were seen, and another one may. */
				else if (event <= GO_ON && event != ISSUE_GIVEN)
					return;
				if (violation != NULL)
					return;
			}
}

static void
expand(Step step)
{
	static World before;

	before = w;
	if (scope->floats > 0 || (!scope->named && scope->draws == 0))
		check_progress(&before);
	if (scope->stands)
		check_independence(&before);
	if (violation != NULL)
	{
		step.event = DRAIN;
		visit(&model, step);
	}
	for (int l = 0; l <= (scope->lines != ONE && before.rest.turned > 0); l++)
		for (int e = 0; e < EVENTS; e++)
			for (unsigned s = 0; s < (e <= REDEFINE ? scope->sessions[l] : 1); s++)
			{
				try_event(&before, (Event) e, l, (int) s, step);
				if (violation != NULL)
					return;
			}
}

static void
describe(Step step)
{
	static const char *const places[] = {
		"", "looks at the word", "looks at the ceiling", "stores", "exchanges the word",
		"adds to the word", "swaps the word", "locks", "writes", "flushes",
		"has flushed", "reads the clock", "takes a turn", "has looked at the rows"
	};
	static const char *const errors[] = {
		"", ", error before it writes", ", error before it flushes", ", error after that"
	};

	printf("%s %u, ", scope->lines == TWO_SERVERS ? "server" : "database", step.who / SESSIONS);
	if (step.event <= REDEFINE)
		printf("session %u: ", step.who % SESSIONS);
	printf("%s", events[step.event]);
	if (step.event == GO_ON || step.event == BREAK_OFF)
		printf(", where it %s", places[w.session[step.who / SESSIONS][step.who % SESSIONS].place]);
	if (step.event <= GO_ON || step.event == RESTORE_ROW)
		printf(", at %u and %u%s", step.a + scope->named, step.b / 4 + scope->named,
			   errors[step.b % 4]);
	if (step.event == SETTLE || step.event == GRANT)
		printf(", number %u", step.a);
}

static const Model model = {transfer, expand, describe};

static bool
explore_scope(ScopeNumber number, Mutant with, bool ids)
{
	scope = &scopes[number];
	mutant = with;
	only_ids = ids;
	issue_count = 0;
	memset(&w, 0, sizeof(w));
	memset(nodes_of, 0, sizeof(nodes_of));
	for (int i = 0; is_flake() && i < 1 + (scope->longer > 0 || scope->names == 2); i++)
		nodes_of[i] = sno_nodes(&scope->layout, shard_of(i), false);
	for (int l = 0; l < LINES; l++)
		crash(l);
	sno_registry = scope->blocks > 0 ? "registry" : "";
	if (scope->blocks > 0)
	{
		w.registry.granted.place = offsetof(World, registry.granted);
		w.registry.granted.range = (SnoNodeRange) {true, 0, scope->floats - 1};
		grant_block(1, 0, 0);
		pg_atomic_write_u64(&w.registry.granted.holder, 1);
	}
	w.rest.next = is_count();
	return explore(&model);
}

static void
explore_all(bool slow)
{
	for (size_t i = 0; i < lengthof(scopes); i++)
		if (!scopes[i].large && scopes[i].slow == slow)
		{
			bool		ok = explore_scope((ScopeNumber) i, NONE, false);

			report_scope(&model, ok, scope->name, issue_count, "ids issued");
		}
}

static void
catch_mutants(void)
{
	for (size_t i = 0; i < lengthof(mutants); i++)
	{
		bool		caught = !explore_scope(mutants[i].scope, mutants[i].mutant, mutants[i].by_id);

		report_mutant(caught, mutants[i].name, scope->name);
	}
}

/* Explores the scopes, or with "large" the slow ones, or with any other argument the mutants. */
int
main(int argc, char **argv)
{
	static SnoActivity activity;

	sno_my_activity = &activity;
	sno_area = (dsa_area *) &w;
	prepare_stack();
	if (argc == 1 || strcmp(argv[1], "large") == 0)
		explore_all(argc > 1);
	else
		catch_mutants();
	printf("1..%d\n", tests);
	return failures != 0;
}

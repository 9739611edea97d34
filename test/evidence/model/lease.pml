/*
 * lease.pml
 *		Leases in SPIN's language: no id twice, and none that the row on disk doesn't bound.
 *
 * One server issues at a time.  Its sessions own partitions (proctype session), or share a
 * named generator (proctype caller).  The fate moves the clock, back too, crashes the server
 * and promotes a standby.  src/README.md has the rules that are named here.
 * worlds.txt has the constants of each world, and the mutants: each leaves out a rule, and must
 * have an error.
 */
mtype = { none, publish_before_flush, issue_above_ceiling, row_ignored, floor_forgotten, side_kept, wall_ignored,
	parked_anew, never_over, clock_behind, add_unbounded, swap_blindly, word_left_open,
	opened_before_row, same_side, sequence_forgotten, exact_trusted };


/*
 * The constants of a world: SESSIONS and CALLERS, and the IDS that each of them wants; UNITS of the
 * clock, from 1 on; sequences up to LAST; how often the clock steps BACK, the server CRASHES, STOPS and
 * is promoted; LAG: the standby may lack the last rows; BEHIND: its clock may show units that were issued
 * already; PATIENT: the clock goes on only if nobody else can, and all must get their ids.
 */
#define IS_BEHIND	(BEHIND || MUTANT == clock_behind)
#if PATIENT
#define TICK		timeout
#define WAITS		waits
#define WAITS_TOO	waits_too
#else
#define TICK		true
#define WAITS		end			/* to SPIN, "end" begins a label where a process may wait for good */
#define WAITS_TOO	end_too
#endif

#define PARTITIONS	2
#define LEASE		2			/* units; half of that is 1 */
#define NOTHING		(LAST + 1)	/* the next sequence of a unit that is used up */
#define DRIFT(n)	(NOTHING + CALLERS + (n) * (CALLERS + 1))	/* of a word that a step back makes */
#define CLOSED		32			/* of a word that issues nothing */
#define FREE		0			/* owners: nobody since the server started; nobody now; else a session */
#define PARKED		255

typedef Row { byte limit[2]; bit side; bit exact; byte next; byte holder };
typedef Generator { byte owner; byte unit; bit side; byte next; byte wall_safe; byte ceiling; byte pending; bit flushed; byte drifts };

byte now = 1, earliest = 1, highest, timeline, life;
Row written[PARTITIONS], disk[PARTITIONS], standby[PARTITIONS];
Generator g[PARTITIONS];		/* the server's memory, as are written[] and locked */
bit locked;						/* the lock of the named generator, which is that of partition 0 */
int issued[2 * PARTITIONS];		/* by partition and side, a bit for each unit and sequence */
hidden byte i;

inline copy(to, from)
{
	to.limit[0] = from.limit[0]; to.limit[1] = from.limit[1]; to.side = from.side;
	to.exact = from.exact; to.next = from.next; to.holder = from.holder
}

inline lose_memory()
{
	for (i : 0 .. PARTITIONS - 1) {
		copy(written[i], disk[i]);
		g[i].owner = FREE; g[i].unit = 0; g[i].side = 0; g[i].next = CLOSED; g[i].wall_safe = 0;
		g[i].ceiling = 0; g[i].pending = 0; g[i].flushed = 0; g[i].drifts = 0
	}
	i = 0; locked = 0; life++
}

/* What must hold. */
#define BIT(unit, seq)	(1 << ((unit) * (LAST + 1) + (seq)))
#define SEEN(p, side)	issued[2 * (p) + (side)]

inline issue(where, when, which, seq)
{
	assert(seq <= LAST);
	assert(when <= disk[where].limit[which]);				/* the row on disk bounds it */
	assert(!(SEEN(where, which) & BIT(when, seq)));			/* never twice */
	SEEN(where, which) = SEEN(where, which) | BIT(when, seq);
	if :: when > highest -> highest = when :: else fi;
	left--
}

/* Sessions that own a partition */

#define MINE		(g[p].owner == _pid + 1)
#define IN_UNIT		(now == g[p].unit && g[p].next <= LAST)
#define BACK		(now < g[p].unit && (now > g[p].wall_safe || MUTANT == wall_ignored))
#define READY(q)	(now > g[q].unit || now == g[q].unit && g[q].next <= LAST || now < g[q].unit && now > g[q].wall_safe)
#define LEASED(q)	(now <= written[q].limit[0] && MUTANT != row_ignored || MUTANT == never_over && written[q].limit[0] > 0)
#define RESERVABLE(q) (g[q].owner == FREE && !LEASED(q))
#define PARKED_FOR(q) (g[q].owner == PARKED && READY(q))
#define FLOOR		(MUTANT == floor_forgotten || MUTANT == row_ignored -> 0 : written[p].limit[0])

active [SESSIONS] proctype session()
{
	byte p, left = IDS;

WAITS:
	do
	/* Take what another session parked, as it is (I1, I2). */
	:: atomic { left > 0 && !MINE && (PARKED_FOR(0) || PARKED_FOR(1)) ->
		if :: PARKED_FOR(0) -> p = 0 :: PARKED_FOR(1) -> p = 1 fi;
		g[p].owner = _pid + 1;
		if :: MUTANT == parked_anew -> g[p].next = 0 :: else fi }
	/* Reserve one that no row bars.  Its floor is what earlier leases may have used (I3). */
	:: atomic { left > 0 && !MINE && (RESERVABLE(0) || RESERVABLE(1)) ->
		if :: RESERVABLE(0) -> p = 0 :: RESERVABLE(1) -> p = 1 fi;
		g[p].owner = _pid + 1; g[p].unit = FLOOR; g[p].wall_safe = FLOOR; g[p].ceiling = FLOOR;
		g[p].next = NOTHING; g[p].pending = 0 }
	/* Write the row, early if half of the lease is over. */
	:: d_step { left > 0 && MINE && READY(p) && g[p].pending < now && now + 1 >= g[p].ceiling ->
		written[p].limit[0] = now + LEASE; written[p].limit[1] = now + LEASE;
		g[p].pending = now + LEASE; g[p].flushed = 0 }
	/* Flush it. */
	:: d_step { MINE && g[p].pending > 0 && !g[p].flushed -> copy(disk[p], written[p]); g[p].flushed = 1 }
	/* Publish its ceiling. */
	:: d_step { MINE && g[p].pending > 0 && (g[p].flushed || MUTANT == publish_before_flush) ->
		g[p].ceiling = g[p].pending; g[p].pending = 0; g[p].flushed = 0 }
	/* Issue in the same unit (I1) ... */
	:: d_step { left > 0 && MINE && IN_UNIT && now <= g[p].ceiling -> issue(p, now, g[p].side, g[p].next); g[p].next++ }
	/* ... or in a later one (I1, I4) ... */
	:: d_step { left > 0 && MINE && now > g[p].unit && (now <= g[p].ceiling || MUTANT == issue_above_ceiling) ->
		g[p].unit = now; g[p].next = 1; issue(p, now, g[p].side, 0) }
	/* ... or, if the clock stepped back, on the other side (I2). */
	:: d_step { left > 0 && MINE && BACK && now <= g[p].ceiling ->
		g[p].wall_safe = g[p].unit; g[p].side = (MUTANT == side_kept -> g[p].side : 1 - g[p].side);
		g[p].unit = now; g[p].next = 1; issue(p, now, g[p].side, 0) }
	/* Park it at the end, and if both sides are used here. */
	:: d_step { MINE && (left == 0 || !READY(p) && !(BACK)) -> g[p].owner = PARKED }
	:: left == 0 && !MINE -> break
	od
}

/* Callers of a named generator */

#define SAME_WORD	(g[0].unit == unit && g[0].side == side && g[0].next == next)

inline load()		{ unit = g[0].unit; side = g[0].side; next = g[0].next }
inline store()		{ g[0].unit = unit; g[0].side = side; g[0].next = next }

/* Change sides: the one that is left counts as used up to the word's unit (I2). */
inline step_back(to)
{
	wall = unit; side = 1 - side; g[0].drifts++; unit = to - 1; next = DRIFT(g[0].drifts)
}

active [CALLERS] proctype caller()
{
	byte my, left = IDS, t, unit, next, wall;
	bit side, was_closed;

restart:
	my = life;
	{	do
	:: left == 0 -> goto done
	:: left > 0 ->
		d_step { load() };									/* S4: first the word, then the clock */
		t = now;
		if
		:: t == unit && next <= LAST -> d_step {			/* S1: one addition */
			if :: g[0].next <= LAST || MUTANT == add_unbounded -> issue(0, g[0].unit, g[0].side, g[0].next) :: else fi;
			g[0].next++ }
		:: t == unit && next > LAST && next < CLOSED ->		/* the unit is used up */
WAITS:		now != t || !SAME_WORD
		:: t > unit && next < CLOSED && t <= g[0].ceiling -> d_step {	/* S2: one swap */
			if :: SAME_WORD || MUTANT == swap_blindly -> g[0].unit = t; g[0].next = 1; issue(0, t, g[0].side, 0)
			   :: else fi }
		:: else -> goto with_lock
		fi;
		goto next_id;

with_lock:
		atomic { !locked -> locked = 1; load(); wall = g[0].wall_safe; was_closed = (next >= CLOSED) };
		t = now;
		if
		:: was_closed -> d_step {							/* since the server started */
			side = written[0].side;
			if
			:: written[0].exact && (written[0].holder == timeline || MUTANT == exact_trusted) ->	/* N5 */
				unit = written[0].limit[side]; next = written[0].next; wall = written[0].limit[1 - side]
			:: else ->										/* N4: that side is used up to its limit */
				wall = (MUTANT == same_side -> 0 : written[0].limit[side]);
				side = (MUTANT == same_side -> side : 1 - side);
				unit = (MUTANT == same_side -> 0 : written[0].limit[side]); next = NOTHING
			fi }
		:: !was_closed && t < unit -> d_step {				/* S3: exchange the word for a closed one */
			load(); g[0].unit = (MUTANT == word_left_open -> unit : 0);
			g[0].next = (MUTANT == word_left_open -> next : CLOSED) }
			t = now
		:: !was_closed && t > g[0].ceiling -> goto renew	/* others go on meanwhile */
		:: else -> locked = 0; goto next_id
		fi;
		if
		:: t < unit && t > wall -> d_step { step_back(t) }	/* N3 */
		:: was_closed && (t > unit || t == unit && next <= LAST) -> skip
		:: else -> d_step {									/* both sides are used here, or the clock is right again */
			if :: !was_closed -> store() :: else fi;
			locked = 0 };
WAITS_TOO:	now != t || was_closed && g[0].next < CLOSED || !was_closed && t >= unit;
			goto next_id
		fi;
renew:	/* N2: the row limits both sides before anybody issues */
		if
		:: MUTANT == opened_before_row -> skip
		:: else -> d_step { written[0].side = side; written[0].limit[side] = t + LEASE; written[0].exact = 0;
				written[0].holder = timeline };
			d_step { copy(disk[0], written[0]) }
		fi;
		g[0].ceiling = t + LEASE;							/* publish */
		d_step {
			if :: g[0].next >= CLOSED || MUTANT == word_left_open -> g[0].wall_safe = wall; store() :: else fi;
			locked = 0 };
next_id:
		skip
	od } unless { life != my }
	goto restart;
done:
	skip
}

/* The clock, the server and its standby */

active proctype fate()
{
	byte backs = BACKS, crashes = CRASHES, stops = STOPS, promotions = PROMOTIONS;

end:
	do
	:: now < UNITS && TICK -> now++
	:: atomic { backs > 0 && now > earliest -> backs--; now--; do :: now > earliest -> now-- :: break od }
	/* A crash: what is not on disk is lost. */
	:: d_step { crashes > 0 -> crashes--; lose_memory() }
	/* A clean stop: the exact row of a named generator is written (N5). */
	:: d_step { stops > 0 && !locked && g[0].next < CLOSED -> stops--;
		written[0].limit[g[0].side] = g[0].unit; written[0].limit[1 - g[0].side] = g[0].wall_safe;
		written[0].side = g[0].side; written[0].exact = 1; written[0].holder = timeline;
		written[0].next = (MUTANT == sequence_forgotten -> 0 : g[0].next);
		copy(disk[0], written[0]); lose_memory() }
	/* The standby has received all that is on disk.  Later it is promoted. */
	:: d_step { promotions > 0 && LAG -> for (i : 0 .. PARTITIONS - 1) { copy(standby[i], disk[i]) } i = 0 }
	:: d_step { promotions > 0 && (IS_BEHIND || highest < UNITS || !LAG) -> promotions--; timeline++;
		if
		:: LAG -> for (i : 0 .. PARTITIONS - 1) { copy(disk[i], standby[i]) }
		:: else
		fi;
		if
		:: LAG && !IS_BEHIND -> earliest = highest + 1; now = (now < earliest -> earliest : now)
		:: IS_BEHIND -> now = 1
		:: else
		fi;
		lose_memory() }
	od
}

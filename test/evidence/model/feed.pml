/*
 * feed.pml
 *		Watermarks in SPIN's language: none of them misses a row.
 *
 * Writers run transactions, which issue ids and commit, or are prepared first.  A reader takes
 * snapshots and asks for watermarks.  The fate moves the clock, back too, crashes the server and
 * commits what is prepared.  src/README.md has the rules that are named here.
 *
 * worlds.txt has the constants of each world, and the mutants: each leaves out a rule, and must
 * have an error.
 */
mtype = { none, look_first, not_told_again, promise_ignored, promise_last, gone_before_remembered, memory_seen_first,
	listed_late, forgotten_early, not_covered, not_promised_again, prepared_unknown, overwritten_trusted, doubt_ignored,
	break_unseen };

/*
 * The constants of a world: WRITERS, the TRANSACTIONS of each, and the IDS of each transaction; ANSWERS
 * to the reader, for each of its SNAPSHOTS; UNITS of the clock, from 1 on; how often the clock steps
 * BACK and the server CRASHES; PREPARES: transactions may be prepared; a promise that is more than AHEAD
 * units ahead of the clock is broken.
 */
#define ALL			(WRITERS * TRANSACTIONS)
#define MEMORY		2			/* transactions that an issuer remembers: the last one counts, the other may be overwritten */

#define NEW			0			/* what PostgreSQL knows of a transaction */
#define RUNNING		1
#define PREPARED	2			/* on disk */
#define ENDED		3			/* a snapshot that is taken now shows it */

typedef Issuer { byte since; byte ended; byte who[MEMORY]; byte unit[MEMORY] };
typedef Transaction { byte status; byte lowest; byte watermark; byte told; byte listed };

byte now = 1, life, row;		/* the row of the feed is on disk */
Transaction x[ALL];				/* the lowest id, the highest watermark that must not be above it, what it told */
Issuer issuer[WRITERS];			/* the server's memory, as are these, and listed */
byte promise;
bool broken, known;
byte shown;						/* by the snapshot: a bit for each transaction */
bool has_snapshot;
hidden byte i;

#define SHOWN(n)	(shown & (1 << (n)))
#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

/* The first id, and the first watermark, of a server.  W4: it promises again what the row says. */
inline recall()
{
	d_step {
		if
		:: !known ->
			promise = (MUTANT == not_promised_again -> promise : MAX(promise, row));
			for (i : 0 .. ALL - 1) {
				x[i].listed = (x[i].status == PREPARED && MUTANT != prepared_unknown -> x[i].told : 0)
			}
			i = 0; known = true
		:: else
		fi }
}

inline issue(id)
{
	assert(id >= x[me].watermark || broken);
	x[me].lowest = (x[me].lowest == 0 -> id : MIN(x[me].lowest, id));
	ids++
}

/* W1: tell the unit of the clock, if none was told or a later one. */
inline tell()
{
	if
	:: issuer[w].since == 0 || issuer[w].since > t && MUTANT != not_told_again -> issuer[w].since = t
	:: else
	fi
}

active [WRITERS] proctype writer()
{
	byte w = _pid, number, me, ids, t, bound, promised;
	byte my;

restart:
	my = life;
	{	do
	:: number == TRANSACTIONS -> goto done
	:: number < TRANSACTIONS ->
		d_step { me = w * TRANSACTIONS + number; number++; ids = 0; bound = 0; x[me].status = RUNNING };
		recall();
		do
		:: ids < IDS ->
			t = now;
			if
			:: bound > 0 && t >= bound -> d_step { issue(t) }		/* not before what it told, nor what was promised then */
			:: else ->
				if
				:: MUTANT == look_first -> promised = promise; tell()
				:: else -> tell(); promised = promise				/* W1: first tell, then look */
				fi;
				if
				:: promised > t && promised - t > AHEAD -> t = now
				:: else
				fi;
				if
				:: promised > t && promised - t > AHEAD -> broken = true; bound = t		/* W5: first note it */
				:: else -> bound = (MUTANT == promise_ignored -> t : MAX(promised, t))
				fi;
				d_step { issue(bound) }
			fi
		:: ids == IDS -> break
		od;
		if
		:: PREPARES ->
			/* W3: first listed, then prepared, and then told no more. */
			if :: MUTANT != listed_late -> x[me].listed = issuer[w].since :: else fi;
			d_step { x[me].told = issuer[w].since; x[me].status = PREPARED };
			issuer[w].since = 0;
			if :: MUTANT == listed_late -> x[me].listed = x[me].told :: else fi
		:: true ->
			x[me].status = ENDED;
			if :: MUTANT == gone_before_remembered -> t = issuer[w].since; issuer[w].since = 0 :: else -> t = issuer[w].since fi;
			/* W3: first remembered, then told no more. */
			d_step { issuer[w].who[issuer[w].ended % MEMORY] = me; issuer[w].unit[issuer[w].ended % MEMORY] = t };
			issuer[w].ended++;
			issuer[w].since = 0
		fi
	od } unless { life != my };
	goto restart;
done:
	skip
}

/* The lowest unit of an issuer that the snapshot doesn't show.  W3: first what runs, then what is remembered. */
#define LOOK_AT_RUNNING	lowest = (issuer[k].since > 0 -> MIN(lowest, issuer[k].since) : lowest)

inline look_at_memory()
{
	n = issuer[k].ended;
	do
	:: n == 0 -> break
	:: n > 0 ->
		d_step { who = issuer[k].who[(n - 1) % MEMORY]; unit = issuer[k].unit[(n - 1) % MEMORY] };
		if
		:: issuer[k].ended - (n - 1) >= MEMORY ->			/* W5: it may be overwritten */
			lowest = (MUTANT == overwritten_trusted -> lowest : 0); break
		:: else ->
			if
			:: SHOWN(who) -> break
			:: else -> lowest = MIN(lowest, unit); n--
			fi
		fi
	od
}

active proctype reader()
{
	byte snapshots, answers, t, lowest, k, n, who, unit, my;
	bool doubt, quiet;

restart:
	my = life;
	{	do
	:: snapshots == SNAPSHOTS -> goto done
	:: snapshots < SNAPSHOTS ->
		d_step {											/* take a snapshot */
			snapshots++; answers = 0; shown = 0; has_snapshot = true; doubt = false; quiet = true;
			for (i : 0 .. ALL - 1) {
				if
				:: x[i].status == ENDED -> shown = shown | (1 << i)
				:: else -> quiet = false; doubt = doubt || x[i].status != NEW && !known && MUTANT != doubt_ignored
				fi
			}
			for (i : 0 .. WRITERS - 1) { quiet = quiet && issuer[i].since == 0 }
			i = 0 };
		recall();
		do
		:: answers == ANSWERS -> break
		:: answers < ANSWERS ->
			answers++;
			t = now;
			lowest = t;
			/* W2: first promise, then look at the issuers. */
			if :: MUTANT != promise_last -> d_step { promise = MAX(promise, t); lowest = promise } :: else fi;
			if :: lowest > t && lowest - t > AHEAD -> broken = true :: else fi;
			k = 0;
			do
			:: k == WRITERS -> break
			:: k < WRITERS ->
				if :: MUTANT != memory_seen_first -> LOOK_AT_RUNNING :: else fi;
				look_at_memory();
				if :: MUTANT == memory_seen_first -> LOOK_AT_RUNNING :: else fi;
				k++
			od;
			if :: MUTANT == promise_last -> promise = MAX(promise, t) :: else fi;
			/* W3: then at what is prepared. */
			d_step {
				lowest = (doubt -> 0 : lowest);				/* W5 */
				for (i : 0 .. ALL - 1) {
					if :: x[i].listed > 0 && !SHOWN(i) -> lowest = MIN(lowest, x[i].listed) :: else fi
				}
				i = 0 };
			/* W4: the row on disk covers it. */
			if :: lowest > row && MUTANT != not_covered -> row = lowest :: else fi;
			/* W5: at last, was a promise broken?  Then there is no answer. */
			d_step {
				if
				:: !broken || MUTANT == break_unseen ->
					for (i : 0 .. ALL - 1) {
						if
						:: !SHOWN(i) -> assert(x[i].lowest >= lowest || x[i].lowest == 0);
							x[i].watermark = MAX(x[i].watermark, lowest)
						:: else
						fi
					}
					i = 0;
					assert(!quiet || lowest >= t)			/* if nobody issues, it follows the clock */
				:: else
				fi }
		od;
		has_snapshot = false
	od } unless { life != my };
	goto restart;
done:
	skip
}

active proctype fate()
{
	byte backs = BACKS, crashes = CRASHES, n;

end:
	do
	:: now < UNITS -> now++
	:: atomic { backs > 0 && now > 1 -> backs--; now--; do :: now > 1 -> now-- :: break od }
	/* COMMIT PREPARED.  The list keeps it until all snapshots show it. */
	:: PREPARES -> d_step {
		n = 0;
		do :: n < ALL && x[n].status != PREPARED -> n++ :: else -> break od;
		if
		:: n < ALL -> x[n].status = ENDED; x[n].listed = (MUTANT == forgotten_early -> 0 : x[n].listed)
		:: else
		fi;
		n = 0 }
	:: d_step { PREPARES && !has_snapshot ->
		for (i : 0 .. ALL - 1) { x[i].listed = (x[i].status == ENDED -> 0 : x[i].listed) }
		i = 0 }
	/* A crash ends what runs, and loses memory. */
	:: d_step { crashes > 0 -> crashes--; life++; promise = 0; broken = false; known = false; has_snapshot = false;
		for (i : 0 .. ALL - 1) { x[i].listed = 0; x[i].status = (x[i].status == RUNNING -> ENDED : x[i].status) }
		for (i : 0 .. WRITERS - 1) { issuer[i].since = 0; issuer[i].ended = 0 }
		i = 0 }
	od
}

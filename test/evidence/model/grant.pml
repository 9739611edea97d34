/*
 * grant.pml
 *		A registry's grants in SPIN's language: no two servers issue in one block and unit.
 *
 * Servers ask a registry for a block, keep the answer in a file, and issue ids.  They crash, and are
 * copied.  The registry is restored to an earlier state, which forgot its last grants.  src/README.md
 * has the rules that are named here.  What a server does with its own rows is in lease.pml.
 *
 * worlds.txt has the constants of each world, and the mutants: each leaves out a rule, and must
 * have an error.
 */
mtype = { none, floor_forgotten, floor_by_clock, copy_goes_on, ceiling_ignored, floor_ignored, tokens_ignored,
	sent_before_file, used_before_file, revoked_in_memory_first, restored_unnoticed };
mtype = { granted, forgotten, superseded };

/*
 * The constants of a world: SERVERS, how often each ASKS, and the IDS that each issues; BLOCKS; how often
 * servers CRASH; COPIES of the first server to the place of the last one, by its files, or with its memory if
 * RUNNING; how often the registry is RESTORED.  Any clock may show any of the UNITS, from 1 on, at any
 * time.  Only the registry's doesn't step back by more than the LONGEST grant.
 */
#define LONGEST		1			/* a grant reaches so far after the registry's clock */
#define PARTS		(RESTORES > 0 -> 2 : 1)
#define HOLDERS		(SERVERS * ASKS + 1)
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define MIN(a, b)	((a) < (b) -> (a) : (b))

typedef Block { byte holder; byte floor; byte ceiling };
typedef Holder { byte token; byte era };
typedef Asker { byte place; byte holder; byte token; byte next; byte block; byte floor; byte ceiling };
typedef Units { byte by[UNITS + 1] };

Block block[BLOCKS], old_block[BLOCKS];				/* the registry, and a backup of it */
Holder holder[HOLDERS], old_holder[HOLDERS];
byte era, part, closed[2], registry_now = 1, registry_highest = 1;
Asker file[SERVERS], memory[SERVERS];				/* what a server asks with, and what is granted to it */
byte life[SERVERS], gave_up[SERVERS];
bool asks_now[SERVERS], started[SERVERS];
byte holders, tokens;								/* drawn so far: random, so never the same */
Units issued[BLOCKS];								/* by whom */
byte copied_block, copied_until;					/* what a running machine had when it was copied */
hidden byte i;

inline copy(to, from)
{
	to.place = from.place; to.holder = from.holder; to.token = from.token; to.next = from.next;
	to.block = from.block; to.floor = from.floor; to.ceiling = from.ceiling
}

inline clear(a)
{
	a.holder = 0; a.token = 0; a.next = 0; a.block = 0; a.floor = 0; a.ceiling = 0
}

/* What must hold: no two servers issue in one block and unit. */
active [SERVERS] proctype sessions()
{
	byte s = _pid, t, ids;

end:
	do
	:: atomic { ids < IDS && memory[s].ceiling > 0 ->
		t = 1;
		do :: t < UNITS -> t++ :: break od;								/* the clock */
		if
		:: (t > memory[s].floor || MUTANT == floor_ignored) &&			/* G3: within the grant */
		   (t <= memory[s].ceiling || MUTANT == ceiling_ignored) ->
			assert(issued[memory[s].block].by[t] == 0 || issued[memory[s].block].by[t] == s + 1 ||
				memory[s].block == copied_block && t <= copied_until);
			assert(memory[s].holder != gave_up[s] || gave_up[s] == 0);	/* G4: what was given up doesn't come back */
			assert(memory[s].token <= file[s].token || file[s].token == 0);	/* G4: on disk before it is in force */
			issued[memory[s].block].by[t] = s + 1; ids++
		:: else
		fi; t = 0 }
	od
}

/* The registry's answer to an asker, one transaction. */
inline answer_to(a)
{
	if
	:: holder[a.holder].token == 0 && a.token != 0 || holder[a.holder].token != 0 && holder[a.holder].era != era ->
		answer = forgotten
	:: else ->
		if
		:: holder[a.holder].token != 0 && a.token != holder[a.holder].token && a.next != holder[a.holder].token &&
		   MUTANT != tokens_ignored -> answer = superseded				/* G4: the tokens are swapped */
		:: else ->
			answer = granted; got = BLOCKS;
			reach = MIN(UNITS, registry_now + LONGEST);
			past = MIN(t, registry_now);
			for (i : 0 .. BLOCKS - 1) {
				if
				:: block[i].holder == a.holder ->
					block[i].ceiling = MAX(block[i].ceiling, reach);
					if :: block[i].floor < t -> got = i :: else fi
				:: else
				fi
			}
			holder[a.holder].token = a.next; holder[a.holder].era = era;
			for (i : 0 .. BLOCKS - 1) {
				if
				:: got == BLOCKS && i % PARTS == part && (block[i].ceiling < past || MUTANT == floor_by_clock) && closed[part] < past ->
					got = i; block[i].holder = a.holder;
					/* G1: the floor is the highest ceiling that there was; or G5: what was lost. */
					block[i].floor = MAX(block[i].ceiling, closed[part]);
					block[i].floor = (MUTANT == floor_forgotten -> 0 : (MUTANT == floor_by_clock -> past - 1 : block[i].floor));
					block[i].ceiling = reach
				:: else
				fi
			}
			i = 0;
			if :: got < BLOCKS -> floor = block[got].floor; ceiling = block[got].ceiling :: else fi
		fi
	fi
}

/* What the asker makes of it. */
inline take(a)
{
	if
	:: answer == granted ->
		a.token = a.next; a.next = 0;
		if :: got < BLOCKS -> a.block = got; a.floor = floor; a.ceiling = ceiling :: else fi
	:: answer == forgotten -> a.holder = 0; a.token = 0; a.next = 0		/* what it has lasts until it gets more */
	:: answer == superseded -> clear(a)
	fi
}

active [SERVERS] proctype worker()
{
	byte s = _pid - SERVERS, asks, my, t, got, reach, past, floor, ceiling;
	mtype answer;
	Asker a;

end_not_started:
	started[s];
restart:
	my = life[s];
	d_step { asks_now[s] = false; clear(a); a.place = s + 1;
		if
		:: file[s].place == s + 1 || MUTANT == copy_goes_on -> copy(a, file[s])		/* G2: in its place only */
		:: else
		fi;
		copy(memory[s], a) };
	{	do
	:: asks == ASKS -> goto done
	:: asks < ASKS ->
		d_step { asks++; asks_now[s] = true;
			if :: a.holder == 0 -> holders++; a.holder = holders :: else fi;
			if :: a.next == 0 -> tokens++; a.next = tokens :: else fi };
		if :: MUTANT != sent_before_file -> copy(file[s], a) :: else fi;		/* G4: on disk before it is sent */
		atomic {
			t = 1; do :: t < UNITS -> t++ :: break od;
			registry_now = MAX(1, registry_highest - LONGEST);
			do :: registry_now < UNITS -> registry_now++ :: break od;
			registry_highest = MAX(registry_highest, registry_now);
			answer_to(a); t = 0; reach = 0; past = 0 };
		assert(answer != superseded || RUNNING);					/* G4: a repeated request has the same answer */
		if
		:: skip														/* the answer is lost */
		:: answer == superseded ->
			if :: MUTANT == revoked_in_memory_first -> d_step { gave_up[s] = memory[s].holder; clear(memory[s]) } :: else fi;
			d_step { take(a); copy(file[s], a) };					/* G4: what is revoked leaves the file first */
			d_step { gave_up[s] = MAX(gave_up[s], memory[s].holder); clear(memory[s]) }
		:: answer != superseded ->
			d_step { take(a); got = 0; floor = 0; ceiling = 0 };
			if :: MUTANT == used_before_file -> d_step { copy(memory[s], a) } :: else fi;
			d_step { copy(file[s], a) };							/* G4: on disk before it is in force */
			d_step { copy(memory[s], a) }
		fi;
		asks_now[s] = false
	od } unless { life[s] != my };
	goto restart;
done:
	asks_now[s] = false
}

active proctype fate()
{
	byte crashes = CRASHES, copies = COPIES, restores = RESTORES, s;

	d_step {
		for (s : 0 .. SERVERS - 1) { file[s].place = s + 1; started[s] = COPIES == 0 || s < SERVERS - 1 }
		s = 0 };
end:
	do
	:: atomic { crashes > 0 -> crashes--; s = 0; do :: s < SERVERS - 1 -> s++ :: break od;
		clear(memory[s]); life[s]++; s = 0 }
	:: d_step { copies > 0 && !asks_now[0] && file[0].next == 0 && memory[0].place > 0 -> copies--; started[SERVERS - 1] = true;
		copy(file[SERVERS - 1], file[0]);
		if
		:: RUNNING -> file[SERVERS - 1].place = SERVERS; copied_block = file[0].block; copied_until = file[0].ceiling
		:: else
		fi }
	/* The registry's backup has what was granted until now.  Later it is restored. */
	:: d_step { restores > 0 ->
		for (i : 0 .. BLOCKS - 1) { old_block[i].holder = block[i].holder; old_block[i].floor = block[i].floor;
			old_block[i].ceiling = block[i].ceiling }
		for (i : 0 .. HOLDERS - 1) { old_holder[i].token = holder[i].token; old_holder[i].era = holder[i].era }
		i = 0 }
	:: d_step { restores > 0 -> restores--;
		for (i : 0 .. BLOCKS - 1) { block[i].holder = old_block[i].holder; block[i].floor = old_block[i].floor;
			block[i].ceiling = old_block[i].ceiling }
		for (i : 0 .. HOLDERS - 1) { holder[i].token = old_holder[i].token; holder[i].era = old_holder[i].era }
		if
		:: MUTANT == restored_unnoticed -> skip
		:: else ->													/* G5: close what may be lost, use another part */
			for (i : 0 .. BLOCKS - 1) {
				if
				:: i % PARTS == part || block[i].holder > 0 ->
					closed[i % PARTS] = MAX(closed[i % PARTS], registry_now + 2 * LONGEST)
				:: else
				fi
			}
			era++; part = (part + 1) % PARTS
		fi;
		i = 0 }
	od
}

/*
 * watermark.c
 *		Proofs about what transactions tell and readers promise: W1, W2, W5 and W6 of
 *		src/README.md, for one caller at a time.  test/model/feed.c has all their orders.
 *
 * options: --unwind 7 -DSNO_ISSUER_MEMORY=4 -DSNO_NUMBERS_NOTES=5
 */
#include "core/issuer.c"
#include "core/numbers.c"
#include "proof.h"

static uint64_t
any_clock(void)
{
	return any_between(0, SNO_UNIT_MAX);
}

static SnoIssuer
any_issuer(void)
{
	SnoIssuer	issuer;

	ASSUME(issuer.since <= SNO_UNIT_MAX && issuer.ended < UINT32_MAX);
	return issuer;
}

static SnoPromise
any_promise(void)
{
	return (SnoPromise) {any_between(0, SNO_UNIT_MAX), any_between(0, 1)};
}

/* W1 */
PROOF(issuer_begin)
{
	SnoIssuer	issuer = any_issuer();
	SnoPromise	promise = any_promise();
	const uint64_t since = issuer.since;
	uint64_t	now = any_clock();
	uint64_t	from = sno_issuer_begin(&issuer, &promise, now, any_clock);

	PROVE(issuer.since != 0 && (issuer.since <= now || (now == 0 && issuer.since == 1)));
	PROVE(since == 0 || issuer.since <= since);
	PROVE(from >= promise.unit || promise.broken == 1);
	PROVE(from <= SNO_UNIT_MAX);
	MAY_BE(from > now && promise.broken == 0);
	MAY_BE(from < promise.unit);
}

/* A promise only rises.  It is broken only if the clock, read again, is an hour behind it. */
PROOF(promise)
{
	SnoPromise	promise = any_promise();
	const SnoPromise before = promise;
	uint64_t	now = any_clock();
	uint64_t	promised = sno_promise_make(&promise, now, any_clock);

	PROVE(promised >= now && promise.unit == promised && promise.unit >= before.unit);
	PROVE(promise.unit == now || promise.unit == before.unit);
	PROVE(promise.broken == before.broken || before.unit - now > SNO_PROMISE_AHEAD);
	PROVE(sno_promise_is_broken(&promise) || !sno_promise_is_broken(&before));
	sno_promise_move_on(&promise, now);
	PROVE(promise.unit >= promised && promise.unit <= SNO_UNIT_MAX);
	PROVE(promise.unit > now || now == SNO_UNIT_MAX);
	MAY_BE(promise.broken > before.broken);
	MAY_BE(promise.unit == now + 1);
}

/* A snapshot shows the transactions of an issuer up to one of them. */
static bool
is_shown(uint64_t xid, void *last)
{
	return xid <= *(uint64_t *) last;
}

/* What an issuer must remember of an ended transaction, unless others took its place */
static bool
remembers(const SnoIssuer *issuer, uint64_t place, uint64_t xid, uint64_t since)
{
	const SnoEnded *one = &issuer->memory[place % SNO_ISSUER_MEMORY];

	return issuer->ended - place > SNO_ISSUER_MEMORY || (one->xid >= xid && one->since <= since);
}

/* W3: at its end, a transaction is remembered, and others are, unless their place is needed. */
PROOF(issuer_end)
{
	SnoIssuer	issuer = any_issuer();
	const SnoIssuer before = issuer;
	uint64_t	place = nondet_uint64();
	uint64_t	was_xid = nondet_uint64();
	uint64_t	was_since = nondet_uint64();
	uint64_t	xid = nondet_uint64();

	ASSUME(place < issuer.ended && remembers(&issuer, place, was_xid, was_since));
	/* xids of an issuer ascend. */
	for (int i = 0; i < SNO_ISSUER_MEMORY; i++)
		ASSUME(xid == 0 || issuer.memory[i].xid < xid);
	sno_issuer_end(&issuer, xid);
	PROVE(issuer.since == 0);
	PROVE(remembers(&issuer, place, was_xid, was_since));
	if (xid != 0 && before.since != 0)
		PROVE(issuer.ended > 0 && remembers(&issuer, issuer.ended - 1, xid, before.since));
	MAY_BE(issuer.ended == before.ended + 1);
	MAY_BE(xid != 0 && before.since != 0 && issuer.ended == before.ended);
}

/* W3, W5: the lowest unit isn't above that of a transaction that isn't shown. */
PROOF(issuer_lowest)
{
	SnoIssuer	issuer = any_issuer();
	uint64_t	place = nondet_uint64();
	uint64_t	xid = nondet_uint64();
	uint64_t	since = nondet_uint64();
	uint64_t	shown = nondet_uint64();
	uint64_t	lowest;

	ASSUME(place < issuer.ended && issuer.ended < 6 && remembers(&issuer, place, xid, since));
	ASSUME(!is_shown(xid, &shown));
	/* Those that ended later have higher xids. */
	for (uint64_t i = place + 1; i < issuer.ended; i++)
		ASSUME(issuer.memory[i % SNO_ISSUER_MEMORY].xid > xid);
	lowest = sno_issuer_lowest(&issuer, is_shown, &shown);
	PROVE(lowest <= since);
	PROVE(issuer.since == 0 || lowest <= issuer.since);
	MAY_BE(lowest == since && since > 0);
	MAY_BE(lowest == 0 && issuer.ended == 5);
}

/* W6 */

static SnoNumbers
any_numbers(uint64_t ticks)
{
	SnoNumbers	numbers;

	ASSUME(numbers.count <= SNO_NUMBERS_NOTES);
	for (uint64_t i = 0; i < numbers.count; i++)
		ASSUME(numbers.note[i].tick <= ticks &&
			   (i == 0 || (numbers.note[i].tick > numbers.note[i - 1].tick &&
						   numbers.note[i].next > numbers.note[i - 1].next)));
	return numbers;
}

/* Notes ascend, and none that is earlier than `since` is above the number. */
static bool
are_below(const SnoNumbers *numbers, uint64_t since, uint64_t number)
{
	for (uint64_t i = 0; i < numbers->count; i++)
		if ((numbers->note[i].tick < since && numbers->note[i].next > number) ||
			(i > 0 && (numbers->note[i].tick <= numbers->note[i - 1].tick ||
					   numbers->note[i].next <= numbers->note[i - 1].next)))
			return false;
	return true;
}

/*
 * A transaction told a tick, and drew a number, or will draw it.  No watermark that is asked
 * with that tick is above the number.
 */
PROOF(numbers)
{
	SnoAtomic	ticks = any_between(0, UINT32_MAX);
	SnoNumbers	numbers = any_numbers(ticks);
	uint64_t	since = any_between(1, ticks + 1);
	uint64_t	number = nondet_uint64();
	uint64_t	next = nondet_uint64();
	uint64_t	lowest;

	ASSUME(are_below(&numbers, since, number));
	sno_numbers_note(&numbers, &ticks, next);
	PROVE(numbers.count <= SNO_NUMBERS_NOTES && numbers.note[numbers.count - 1].next >= next);
	PROVE(are_below(&numbers, since, number));
	lowest = sno_numbers_lowest(&numbers, since);
	PROVE(lowest <= number);
	MAY_BE(lowest == number && lowest > 0);
	MAY_BE(lowest == 0);
}

/* A transaction tells the tick that comes next, once. */
PROOF(numbers_begin)
{
	SnoIssuer	issuer = any_issuer();
	const uint64_t before = issuer.since;
	SnoAtomic	ticks = any_between(0, UINT32_MAX);
	SnoNumbers	numbers = any_numbers(ticks);
	uint64_t	next = nondet_uint64();
	uint64_t	number = nondet_uint64();

	ASSUME(numbers.count == 0 || numbers.note[numbers.count - 1].next <= number);
	sno_numbers_begin(&issuer, &ticks);
	PROVE(issuer.since == (before == 0 ? ticks + 1 : before));
	/* All notes of that time are earlier; later ones are not. */
	PROVE(before != 0 || are_below(&numbers, issuer.since, number));
	sno_numbers_note(&numbers, &ticks, next);
	PROVE(before != 0 || are_below(&numbers, issuer.since, number));
	MAY_BE(before == 0 && next > number);
}

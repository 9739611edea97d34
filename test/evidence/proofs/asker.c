/*
 * asker.c
 *		Proofs about the blocks that a registry grants: G1 and G4 of src/README.md.
 *
 * options: --unwind 8 -DSNO_GRANTS=6 --unsigned-overflow-check --conversion-check
 */
#include "core/asker.c"
#include "proof.h"

static SnoGrants
any_grants(void)
{
	SnoGrants	grants;

	ASSUME(grants.count >= 0 && grants.count <= SNO_GRANTS);
	return grants;
}

/* Blocks that pass as granted have no number twice, and each of them is found. */
PROOF(grants)
{
	SnoGrants	blocks = any_grants();
	int64_t		last = nondet_int64();
	int64_t		number = nondet_int64();
	int			one = (int) any_between(0, SNO_GRANTS - 1);
	int			two = (int) any_between(0, SNO_GRANTS - 1);

	ASSUME(one < two && two < blocks.count);
	ASSUME(sno_grants_are_valid(&blocks, last));
	PROVE(!sno_grant_has(&blocks.grant[one], number) || !sno_grant_has(&blocks.grant[two], number));
	if (sno_grant_has(&blocks.grant[one], number))
	{
		PROVE(number >= 0 && number <= last);
		PROVE(sno_grants_find(&blocks, number) == &blocks.grant[one]);
	}
	MAY_BE(sno_grant_has(&blocks.grant[two], number));
}

/* G4: what is sent is kept until it is answered, and an answer moves the asker on, or empties it. */
PROOF(asker)
{
	SnoAsker	a = {.holder = nondet_uint64(),.token = nondet_uint64(),.next = nondet_uint64()};
	SnoGrants	blocks = any_grants();
	uint64_t	holder = any_between(1, UINT64_MAX);
	uint64_t	next = any_between(1, UINT64_MAX);
	SnoAnswer	answer = (SnoAnswer) any_between(SNO_ANSWER_GRANTED, SNO_ANSWER_RANGE);
	uint64_t	sent;

	a.granted = any_grants();
	ASSUME(a.next == 0 || a.holder != 0);
	sent = a.next;
	PROVE(sno_asker_prepare(&a, holder, next) == (sent == 0));
	PROVE(a.holder != 0 && a.next == (sent == 0 ? next : sent));
	/* The same request again */
	PROVE(!sno_asker_prepare(&a, nondet_uint64(), nondet_uint64()) && a.next == (sent == 0 ? next : sent));
	sent = a.next;
	holder = a.holder;
	sno_asker_take(&a, answer, &blocks);
	if (answer == SNO_ANSWER_GRANTED || answer == SNO_ANSWER_FULL)
		PROVE(a.token == sent && a.next == 0 && (blocks.count == 0 || a.granted.holder == holder));
	else if (answer == SNO_ANSWER_SUPERSEDED)
		PROVE(a.holder == 0 && a.granted.count == 0);
	else if (answer == SNO_ANSWER_FORGOTTEN)
		PROVE(a.holder == 0 && a.token == 0 && a.next == 0);
	else
		PROVE(a.holder == holder && a.next == sent);
	MAY_BE(answer == SNO_ANSWER_FULL && blocks.count == 0);
	MAY_BE(answer == SNO_ANSWER_RANGE);
}

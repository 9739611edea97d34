/*
 * proof.h
 *		What the proofs for CBMC share.
 *
 * A proof is a function without arguments.  It takes any values, assumes what the rules say,
 * calls a function of src/, and proves what the rules say afterwards.  MAY_BE() keeps a
 * proof from being empty: CBMC must find that the condition can be true there.  Each proof
 * ends with one.
 */
#ifndef PROOF_H
#define PROOF_H

#include <stdbool.h>
#include <stdint.h>

#define PROOF(name)		void name(void)
#define ASSUME(condition)	__CPROVER_assume(condition)
#define PROVE(condition)	__CPROVER_assert(condition, #condition)
#ifdef MUTANT
#define MAY_BE(condition)	((void) 0)
#else
#define MAY_BE(condition)	__CPROVER_assert(!(condition), "may be: " #condition)
#endif

/* Any value: CBMC lets a function of such a name return anything. */
bool		nondet_bool(void);
uint8_t		nondet_uint8(void);
uint32_t	nondet_uint32(void);
int64_t		nondet_int64(void);
uint64_t	nondet_uint64(void);

/* Any number from the first one to the last one */
static inline uint64_t
any_between(uint64_t first, uint64_t last)
{
	uint64_t	number = nondet_uint64();

	ASSUME(number >= first && number <= last);
	return number;
}

#endif							/* PROOF_H */

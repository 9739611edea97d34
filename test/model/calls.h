/*
 * calls.h
 *		Calls that stop wherever something else may come in between.
 *
 * Calls run on a stack of their own.  A call that stops is put away as data, so that it
 * can be a part of a world, and is brought back to go on.  What runs on the stack is
 * the model's serve(): an endless loop that stops at NOWHERE and then makes one call.
 * Include this before all else.
 */
#ifndef SNO_CALLS_H
#define SNO_CALLS_H

/* Calls change stacks by longjmp(), which its checked variant would refuse. */
#undef _FORTIFY_SOURCE

#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#define NOWHERE		0			/* the place between two calls */

#define STACK_SIZE	8192
#define FRAME		256			/* of stop(), at most */

typedef struct Continuation
{
	jmp_buf		here;
	char		stack[STACK_SIZE];	/* its upper end */
} Continuation;

static char stack[STACK_SIZE] __attribute__((aligned(64)));
static size_t depth;
static jmp_buf inside,
			outside;
static int	stopped_at;
static Continuation idle;		/* where a call begins */
static size_t idle_depth;

static void serve(void);
static void bail_out(const char *why);

/* The call that runs stops here. */
static __attribute__((noinline)) void
stop(int place)
{
	stopped_at = place;
	depth = (size_t) (stack + STACK_SIZE - (char *) __builtin_frame_address(0) + FRAME + 7) & ~(size_t) 7;
	if (depth > STACK_SIZE || *(const uint64_t *) stack != 0)
		bail_out("a call is too deep");
	if (_setjmp(inside) == 0)
		_longjmp(outside, 1);
}

static void
put_away(Continuation *c)
{
	memcpy(c->here, inside, sizeof(inside));
	memcpy(c->stack, stack + STACK_SIZE - depth, depth);
}

/* Let a call go on until it stops. */
static void
bring_back(const Continuation *c, size_t size)
{
	memset(stack, 0, STACK_SIZE - size);
	memcpy(inside, c->here, sizeof(inside));
	memcpy(stack + STACK_SIZE - size, c->stack, size);
	if (_setjmp(outside) == 0)
		_longjmp(inside, 1);
}

static void
prepare_stack(void)
{
	static ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	makecontext(&context, serve, 0);
	if (_setjmp(outside) == 0)
		setcontext(&context);
	put_away(&idle);
	idle_depth = depth;
}

#endif							/* SNO_CALLS_H */

/*
 * tap.h
 *		What unit tests print: TAP.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdio.h>

static int	tests;
static int	failures;

static void
report(bool passed, const char *what)
{
	tests++;
	failures += !passed;
	printf("%sok %d - %s\n", passed ? "" : "not ", tests, what);
}

/* Print the plan; returns what the program is to exit with. */
static int
plan(void)
{
	printf("1..%d\n", tests);
	return failures != 0;
}

#endif							/* TAP_H */

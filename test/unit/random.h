/*
 * random.h
 *		Random numbers, the same ones in each run.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* splitmix64, by Sebastiano Vigna; public domain. */
static uint64_t
next_random(void)
{
	static uint64_t state = 20100101;
	uint64_t	z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#endif							/* RANDOM_H */

/*
 * posix.h
 *		Only the functions of POSIX, and those that PostgreSQL adds on systems that lack them.
 */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700

#include <stddef.h>

extern void explicit_bzero(void *buf, size_t len);

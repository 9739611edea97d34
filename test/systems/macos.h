/*
 * macos.h
 *		The 64-bit integers of macOS, for any other system.
 *
 * uint64_t is unsigned long long there, and uint64 of PostgreSQL before 18 is unsigned long.  The
 * system's headers, which are included before the types get their new names, keep their own types.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

typedef long long macos_int64;
typedef unsigned long long macos_uint64;

#define int64_t macos_int64
#define uint64_t macos_uint64

#undef PRId64
#undef PRIu64
#undef PRIx64
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"

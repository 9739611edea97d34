# sno: built with PGXS alone, against the server that PG_CONFIG names.

EXTENSION = sno
DATA = $(wildcard sql/sno--*.sql)

MODULE_big = sno
OBJS = \
	src/sno.o \
	src/type.o \
	src/fields.o \
	src/range.o \
	src/opclass.o \
	src/gist.o \
	src/activity.o \
	src/clock.o \
	src/generator.o \
	src/shmem.o \
	src/partition.o \
	src/wait.o \
	src/table.o \
	src/lease.o \
	src/generate.o \
	src/many.o \
	src/at.o \
	src/reseed.o \
	src/definition.o \
	src/pool.o \
	src/named.o \
	src/snapshot.o \
	src/overflow.o \
	src/status.o \
	src/check.o \
	src/simd/dispatch.o \
	src/simd/portable.o \
	src/simd/ssse3.o \
	src/simd/avx2.o \
	src/simd/avx512vbmi.o \
	src/simd/neon.o
PG_CPPFLAGS = -I$(srcdir)/src -DSNO_VERSION='"$(EXTVERSION)"'
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/sno.control)

# Inputs live in test/, outputs in expected/.  The TAP tests start servers of
# their own; the others want one that runs.
REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test --outputdir=.
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# What is called within the library isn't looked for in all others first, which
# takes each session's first id some time.
ifeq ($(PORTNAME), linux)
SHLIB_LINK += -Wl,-Bsymbolic
endif

# sno: built with PGXS alone, against the server that PG_CONFIG names.

EXTENSION = sno
DATA = $(wildcard sql/sno--*.sql)

MODULE_big = sno
# By layer: what a file includes is of its own folder or of one further up.
OBJS = \
	src/core/generator.o \
	$(addprefix src/simd/, dispatch.o portable.o ssse3.o avx512vbmi.o neon.o) \
	$(addprefix src/type/, type.o fields.o range.o opclass.o gist.o) \
	$(addprefix src/shared/, shmem.o activity.o clock.o wait.o partition.o) \
	$(addprefix src/lease/, table.o lease.o definition.o) \
	$(addprefix src/generate/, generate.o many.o backfill.o reseed.o) \
	$(addprefix src/named/, state.o named.o snapshot.o) \
	$(addprefix src/monitor/, overflow.o generators.o check.o) \
	src/sno.o
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

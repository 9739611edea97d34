# sno: built with PGXS alone, against the server that PG_CONFIG names, here or in
# a build folder (make -f ../Makefile).  PGXS sets srcdir, so what uses it has to
# be expanded later.

EXTENSION = sno sno_flakes sno_feeds sno_registry $(if $(with_seal),sno_seal)
DATA = $(filter-out $(if $(with_seal),,sql/sno_seal--%),$(call sources,sql/*--*.sql))

MODULE_big = sno
# By layer: what a file includes is of its own folder or of one further up.
OBJS = \
	$(addprefix src/core/, generator.o backfill.o issuer.o numbers.o asker.o flake.o) \
	$(addprefix src/simd/, dispatch.o portable.o ssse3.o neon.o) \
	$(addprefix src/type/, type.o fields.o uuidv8.o range.o selectivity.o opclass.o gist.o) \
	$(addprefix src/shared/, shmem.o space.o prepared.o feed.o feed_memory.o wake.o partition.o reserve.o activity.o clock.o attempt.o turn.o worker.o grant.o) \
	$(addprefix src/registry/, place.o file.o reply.o client.o) \
	$(addprefix src/catalog/, table.o leases.o row.o home.o record.o publish.o layout.o definition.o prefix.o) \
	$(addprefix src/generate/, wait.o refuse.o session.o leasing.o snapshot.o generate.o many.o at.o watermark.o feed_wait.o feed_execute.o loan.o reseed.o) \
	$(addprefix src/named/, state.o group.o queue.o chosen.o past.o named_wait.o right.o open.o look.o use.o next.o call.o named.o define.o restore.o) \
	$(addprefix src/flake/, value.o parts.o text.o choose.o nodes.o issue.o flake_watermark.o) \
	$(addprefix src/monitor/, overflow.o generators.o grants.o check.o trials.o feeds.o) \
	src/sno.o
PG_CPPFLAGS = -I$(srcdir)/src -DSNO_VERSION='"$(EXTVERSION)"'
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/sno.control)

# Files of the sources that match the pattern, from srcdir on.
sources = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(srcdir)/$(1))))

# libpq is linked to a library of its own, which the registry client alone loads.
LIBPQ_OBJS = src/registry/libpq.o
LIBPQ_LIBRARY = sno_libpq$(DLSUFFIX)

# So is libcrypto.  That library belongs to an extension of its own, sno_seal, which isn't
# built where OpenSSL's headers are missing.
SEAL_OBJS = $(addprefix src/seal/, key.o cipher.o seal.o) $(addprefix src/core/, sparx.o ff1.o)
SEAL_LIBRARY = sno_seal$(DLSUFFIX)
SEAL_TESTS = keys key_locks key_missed definitions privileges names schema
EXTRA_CLEAN = $(LIBPQ_OBJS) $(LIBPQ_LIBRARY) $(SEAL_OBJS) $(SEAL_LIBRARY) $(dependencies) tmp_check

dependencies = $(addsuffix .d, $(OBJS) $(OBJS:.o=.bc) $(LIBPQ_OBJS) $(SEAL_OBJS))

# Inputs live in test/, outputs in expected/, to which test/expected is a link for
# a build folder's sake.  installcheck wants a server that runs.
tests = $(filter-out $(if $(with_seal),,$(SEAL_TESTS)),$(patsubst $(1),%,$(call sources,$(subst %,*,$(1)))))
REGRESS = $(call tests,test/sql/%.sql)
REGRESS_OPTS = --inputdir=$(srcdir)/test
ISOLATION = $(call tests,test/specs/%.spec)
ISOLATION_OPTS = --inputdir=$(srcdir)/test --outputdir=.
PROVE_TESTS = test/t/*.pl

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

ifdef srcdir    # without PGXS, make has complained already
ifeq ($(DATA),)
$(error no SQL script in $(srcdir)/sql)
endif

# A build folder takes sources from the tree, not what another build left there.
srcdir := $(srcdir)
override VPATH =
vpath %.c $(srcdir)
vpath %.sql $(srcdir)
vpath %.control $(srcdir)

# A build folder begins without the folders of the objects.  Their names are
# absolute, because make would take the ones of the sources for relative names.
object_folders = $(patsubst %/,$(CURDIR)/%,$(sort $(dir $(OBJS) $(SEAL_OBJS))))
$(OBJS) $(OBJS:.o=.bc) $(LIBPQ_OBJS) $(SEAL_OBJS): | $(object_folders)
$(object_folders):
	$(MKDIR_P) $@

# The compiler writes down the headers of each object: PGXS does so only if the server was
# configured with --enable-depend.
%.o %.bc: override CPPFLAGS += -MMD -MP -MF $@.d
-include $(dependencies)

# It has the version in it.
src/monitor/check.o src/monitor/check.bc: $(srcdir)/sno.control

# On Windows, no process can ask a registry (src/registry/place.c).
ifneq ($(PORTNAME), win32)
all: $(LIBPQ_LIBRARY)
$(LIBPQ_OBJS): CPPFLAGS += -I$(libpq_srcdir)
$(LIBPQ_LIBRARY): $(LIBPQ_OBJS)
	$(LINK.shared) -o $@ $^ $(LDFLAGS) $(LDFLAGS_SL) $(libpq) $(BE_DLLLIBS)

install: install-libpq-library
install-libpq-library: $(LIBPQ_LIBRARY) | installdirs
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/$<'
uninstall: uninstall-libpq-library
uninstall-libpq-library:
	rm -f '$(DESTDIR)$(pkglibdir)/$(LIBPQ_LIBRARY)'
endif

with_seal := $(shell printf '\043include <openssl/evp.h>\n' | \
	$(CC) $(CFLAGS) $(CPPFLAGS) -fsyntax-only -x c - 2>/dev/null && echo yes)
ifneq ($(with_seal),)
all: $(SEAL_LIBRARY)
$(SEAL_LIBRARY): $(SEAL_OBJS) src/catalog/table.o
	$(LINK.shared) -o $@ $^ $(LDFLAGS) $(LDFLAGS_SL) -lcrypto $(symbolic) $(BE_DLLLIBS)

install: install-seal-library
install-seal-library: $(SEAL_LIBRARY) | installdirs
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/$<'
uninstall: uninstall-seal-library
uninstall-seal-library:
	rm -f '$(DESTDIR)$(pkglibdir)/$(SEAL_LIBRARY)'
else
all: tell-without-seal
tell-without-seal:
	@echo "Extension sno_seal is left out: $(CC) finds no openssl/evp.h (libssl-dev on Debian)"
endif

# PGXS would put DOCS into one folder, together with those of all extensions.  These
# name and show each other, so they keep their folders, in one of sno's own.
DOCS = README.md $(call sources,doc/*.md) $(call sources,monitoring/*)
docs = '$(DESTDIR)$(docdir)/$(docmoduledir)/sno'
install: install-docs
install-docs:
	for file in $(DOCS); do \
		$(MKDIR_P) $(docs)/$$(dirname $$file) && \
		$(INSTALL_DATA) $(srcdir)/$$file $(docs)/$$file || exit; \
	done
uninstall: uninstall-docs
uninstall-docs:
	rm -rf $(docs)
.PHONY: install-libpq-library uninstall-libpq-library install-docs uninstall-docs \
	install-seal-library uninstall-seal-library tell-without-seal

# The archive for PGXN, of what is committed.
RELEASE = sno-$(shell sed -n 's/^    "version": "\(.*\)",/\1/p' $(srcdir)/META.json)
dist:
	@test -e $(srcdir)/.git || { echo "make dist needs a git checkout" >&2; exit 1; }
	git -C $(srcdir) archive --prefix=$(RELEASE)/ --output=$(CURDIR)/$(RELEASE).zip HEAD
.PHONY: dist

# The TAP tests start servers of their own.  They need IPC::Run of Perl, and libfaketime.
prove_installcheck:
	$(prove_installcheck)
.PHONY: prove_installcheck
endif

# What is called within a library isn't looked for in all others first, which takes each
# session's first id some time.  And each of the two that have src/catalog/table.o uses
# its own.  PGXS of 16 and later hides symbols, with the same effect, and lookups of other
# symbols are then faster without the option.
ifeq ($(PORTNAME)$(CFLAGS_SL_MODULE), linux)
symbolic = -Wl,-Bsymbolic
endif
SHLIB_LINK += $(symbolic)

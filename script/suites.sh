# shellcheck shell=bash
#
# The suites of script/test, each a function suite_NAME.  They run in $work/tree, and report
# their results by count().

warnings=(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
          -Wno-sign-compare -Werror)
not_for_clang=(-Wno-unknown-warning-option -Wno-ignored-optimization-argument
               -Wno-ignored-attributes)
sanitizers=(-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all)
fuzz_runs=2000000
recv_fuzz_runs=1000000
fuzz_seconds=120                # an upper bound, for slow machines
simulation_seeds=(1 2)
simulation_ids=20000000         # with each of them

# Compilers for systems that have no server here, and their packages
declare -A other_compilers=([musl-gcc]=musl-tools [x86_64-w64-mingw32-gcc]=gcc-mingw-w64-x86-64-win32)

# need_for SUITE...: install the packages of these suites.  The suites that need many packages
# install them when they begin.
need_for() {
    need gcc gdb make libc6-dev perl libipc-run-perl faketime libpq-dev libssl-dev \
        "postgresql-$pg_version" "postgresql-server-dev-$pg_version" pgtap libtap-parser-sourcehandler-pgtap-perl
    # Not every version has this package.  If it is missing, its test is skipped.
    ! available "postgresql-$pg_version-repack" || need "postgresql-$pg_version-repack"
    if [[ " $* " =~ " "(builds|model|worlds|units|fuzz|sanitize)" " ]]; then
        need clang git python3
        need "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
    fi
}

# Count the previous command as one test.
count_status() {
    if [ $? -eq 0 ]; then count 1 0; else count 0 1; fi
}

# count_regress OPTION [VARIABLE=VALUE ...]: run pg_regress and
# pg_isolation_regress, and take the figures from their last lines.
count_regress() {
    local bad all
    rm -rf regression.diffs output_iso
    extension_make installcheck EXTRA_REGRESS_OPTS="$1" "${@:2}" 2>&1 |
        tee "$work/regress.out"
    read -r bad all < <(awk '
        { sub(/^# /, "") }
        match($0, /All [1-9][0-9]* tests passed/)        { all += $2 }
        match($0, /[0-9]+ of [0-9]+ tests failed/)       { bad += $1; all += $3 }
        END                                              { print bad + 0, all + 0 }
    ' "$work/regress.out")
    count $((all - bad)) "$bad"
    cat regression.diffs output_iso/regression.diffs 2>/dev/null
}

# Run a command that prints TAP, and count its assertions.  The file $tap_out gets its output.
count_tap() {
    local status=0 ok not_ok skip
    tap_out=$work/tap.$BASHPID
    "$@" | tee "$tap_out" || status=1
    read -r ok not_ok skip < <(awk '
        /^ *(ok |1\.\.0).*# *[Ss][Kk][Ii][Pp]/ { skip++; next }
        /\.\. skipped: /                       { skip++ }
        /^ +1\.\.[0-9]+$/                      { subtest = 1; next }
        /^ *(not )?ok / {
            if (subtest)            # it sums up the tests above it
                subtest = 0
            else if ($1 == "ok")
                ok++
            else
                not_ok++
        }
        END { print ok + 0, not_ok + 0, skip + 0 }
    ' "$tap_out")
    # A test that died, or didn't run all planned assertions, may print no "not ok".
    [ $status -eq 0 ] || [ "$not_ok" -gt 0 ] || not_ok=1
    count "$ok" "$not_ok" "$skip"
}

# A changed header causes the objects of exactly those sources to be rebuilt that include it.
rebuild_after_header() {
    as_user touch src/core/generator.h && extension_make || return
    [ src/core/generator.o -nt src/core/generator.h ] && [ src/generate/session.o -nt src/core/generator.h ] &&
        ! [ src/simd/portable.o -nt src/core/generator.h ]
}

# needs_libcrypto LIBRARY: is the installed library linked to libcrypto?
needs_libcrypto() { readelf -d "$pg_bin/../lib/$1" | grep 'NEEDED.*libcrypto'; }

# build_with COMPILER FLAG ...
build_with() { extension_make -j"$(nproc)" CC="$1" COPT="${warnings[*]} ${*:2}"; }

suite_build() {
    build_with gcc
    count_status
    extension_make install || count 0 1
    needs_libcrypto sno_seal.so && ! needs_libcrypto sno.so
    count_status
    rebuild_after_header
    count_status
    as_user env PG_CONFIG="$pg_bin/pg_config" script/layers
    count_status
    as_user script/rules
    count_status
}

# Build like packagers, in a folder outside of the tree, which has the files of another build.
# This must build the same files, and pass tests.
build_apart() {
    local apart=("$work/apart" -f "$work/tree/Makefile")
    as_user mkdir "$work/apart"
    extension_make install DESTDIR="$work/from_tree" &&
        extension_make -C "${apart[@]}" -j"$(nproc)" && extension_make clean &&
        extension_make -C "${apart[@]}" install DESTDIR="$work/from_apart" &&
        diff <(cd "$work/from_tree" && find . | sort) <(cd "$work/from_apart" && find . | sort)
    count_status
    extension_make -C "${apart[@]}" installcheck REGRESS=type ISOLATION=lock \
        EXTRA_REGRESS_OPTS="--temp-instance=$work/instance"
    count_status
}

# If OpenSSL's headers are missing, make builds all extensions but sno_seal, and prints a notice.
# Here they are hidden by a folder that the compiler searches first.  The remaining tests must
# pass without sno_seal.
build_without_openssl() {
    local bare=("$work/bare" -f "$work/tree/Makefile" COPT="-I$work/hidden")
    local control=$pg_share/extension/sno_seal.control
    as_user mkdir -p "$work/bare" "$work/hidden/openssl"
    as_user tee "$work/hidden/openssl/evp.h" <<<'#error "hidden"'
    extension_make -C "${bare[@]}" -j"$(nproc)" | tee "$work/bare.out" &&
        extension_make -C "${bare[@]}" install DESTDIR="$work/from_bare" &&
        grep -q '^Extension sno_seal is left out' "$work/bare.out" &&
        diff <(cd "$work/from_apart" && find . | grep -v '/sno_seal[.-]' | sort) \
            <(cd "$work/from_bare" && find . | sort)
    count_status
    as_user mv "$control" "$work" &&
        extension_make -C "${bare[@]}" installcheck ISOLATION= \
            EXTRA_REGRESS_OPTS="--temp-instance=$work/instance"
    count_status
    as_user mv "$work/sno_seal.control" "$control"
}

# Compilation fails for an unknown version of PostgreSQL, and for a machine without 64-bit atomic
# operations.
refuse_unknown() {
    local compiler=(as_user clang -Isrc -fsyntax-only -x c -) unknown
    unknown=$(sed -n 's/^#if PG_VERSION_NUM < .* || PG_VERSION_NUM >= //p' src/compat.h)
    grep -q 'PostgreSQL must be of version' \
        <<<"$(printf '#define PG_VERSION_NUM %s\n#include "compat.h"\n' "$unknown" | "${compiler[@]}" 2>&1)" &&
        grep -q 'needs a machine with atomic operations' \
            <<<"$("${compiler[@]}" -ffreestanding --target=mipsel-linux-gnu <<<'#include "id.h"' 2>&1)"
}

# compiles_for SYSTEM COMPILER FLAG ...: are all sources compiled without a warning?  Nothing is
# written.
compiles_for() {
    local files=(src/*.c src/*/*.c)
    if ! command -v "$2" >/dev/null; then
        say "$1: skipped, because there is no $2 (package ${other_compilers[$2]})"
        count 0 0 1
        return
    fi
    # The registry client's connection isn't built for Windows.
    [ "$1" != Windows ] || mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -v '/libpq.c$')
    printf '%s\n' "${files[@]}" |
        as_user xargs -n 4 -P "$(nproc)" "$2" -std=gnu11 -fsyntax-only "${warnings[@]}" \
            -DSNO_VERSION='"1"' -Isrc "${@:3}"
    count_status
}

# Compile for systems whose headers are here, and for properties of systems whose headers are not:
# the integers of macOS, and the functions that macOS and BSD have, too.
compile_for_others() {
    local server client package headers=$work/headers
    for package in "${other_compilers[@]}"; do ! available "$package" || need "$package"; done
    server=$("$pg_bin/pg_config" --includedir-server)
    client=$("$pg_bin/pg_config" --includedir)

    compiles_for 'integers of macOS' clang "${not_for_clang[@]}" -include test/systems/macos.h \
        -I"$server" -I"$client"
    compiles_for 'integers of macOS' gcc -include test/systems/macos.h -I"$server" -I"$client"
    compiles_for POSIX gcc -include test/systems/posix.h -I"$server" -I"$client"

    # OpenSSL has the same headers on all systems.
    as_user mkdir -p "$headers/openssl/openssl"
    as_user ln -s /usr/include/openssl/* "/usr/include/$(gcc -print-multiarch)/openssl"/* "$headers/openssl/openssl"
    compiles_for musl musl-gcc -I"$server" -I"$client" -I"$headers/openssl"

    # PostgreSQL's headers as configure of version 15 makes them for 64-bit Windows
    if [ "$pg_version" -ne 15 ]; then
        say 'Windows: skipped, because its headers are made from those of PostgreSQL 15'
        count 0 0 1
        return
    fi
    as_user cp -rs "$server" "$headers/windows"
    (
        cd "$headers/windows" && as_user rm pg_config.h pg_config_ext.h pg_config_os.h
        sed -E '/^#define (ENABLE_GSS|ENABLE_NLS|HAVE_EXPLICIT_BZERO|HAVE_INET_ATON|HAVE_SYS_UN_H)/d
            s/^#define HAVE_LONG_INT_64/#define HAVE_GETTIMEOFDAY 1\n#define HAVE_LONG_LONG_INT_64/
            s/^(#define (ALIGNOF|SIZEOF)_LONG) .*/\1 4/
            s/^(#define PG_INT64_TYPE long) int/\1 long int/
            s/^(#define INT64_MODIFIER) .*/\1 "ll"/' "$server/pg_config.h" | as_user tee pg_config.h
        sed 's/long int/long long int/' "$server/pg_config_ext.h" | as_user tee pg_config_ext.h
        as_user tee pg_config_os.h <<<'#include "port/win32.h"'
    ) >/dev/null
    compiles_for Windows x86_64-w64-mingw32-gcc -I"$headers/windows" -I"$headers/windows/port/win32" \
        -I"$headers/openssl"
}

# META.json lists each extension, with its version, script and page.
check_provided() {
    python3 - <<'END'
import glob, json, os, re, sys

provided = json.load(open('META.json'))['provides']
controls = {path.removesuffix('.control'): open(path).read() for path in glob.glob('*.control')}
wrong = set(provided) ^ set(controls)
for name in set(provided) & set(controls):
    entry = provided[name]
    version = re.search(r"^default_version = '(.*)'", controls[name], re.M)[1]
    if not (entry['version'].startswith(version + '.') and
            os.path.basename(entry['file']).startswith(name + '--') and
            os.path.exists(entry['file']) and os.path.exists(entry['docfile'])):
        wrong.add(name)
sys.exit(f'META.json disagrees on: {", ".join(sorted(wrong))}' if wrong else 0)
END
}

# All files that contain the version must agree.  The archive of a release must have all files
# when unpacked like PGXN's client does, which doesn't support links.
check_release() {
    local version archive left_out
    version=$(sed -n 's/^    "version": "\(.*\)",/\1/p' META.json)
    [ "$(sed -n "s/^default_version = '\(.*\)'/\1/p" sno.control)" = "${version%.*}" ] &&
        [[ $(grep -m 1 '^## ' CHANGELOG.md) =~ ^"## $version - "[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] &&
        [[ $(head -n 1 debian/changelog) = *"($version-"*")"* ]] &&
        ! grep -LE "version[\"' =:>]+$version\b" clients/python/pyproject.toml \
            clients/javascript/package.json clients/ruby/*.gemspec clients/java/pom.xml clients/php/composer.json \
            clients/rust/Cargo.toml clients/elixir/mix.exs | grep .
    count_status
    check_provided
    count_status

    archive=$work/release/sno-$version
    left_out=$(sed -n 's/ *export-ignore$//p' .gitattributes 2>/dev/null)
    as_user mkdir "$work/release"
    as_user cp -r . "$archive.git"
    ! extension_make -C "$archive.git" dist 2>"$work/dist.err" &&
        grep -q 'needs a git checkout' "$work/dist.err" &&
        as_user git -C "$archive.git" init -q &&
        as_user git -C "$archive.git" add . &&
        as_user git -C "$archive.git" -c user.name=sno -c user.email=sno@localhost commit -qm sno &&
        extension_make -C "$archive.git" dist &&
        as_user python3 -m zipfile -e "$archive.git/sno-$version.zip" "$work/release" &&
        diff -r --exclude=.git --exclude=expected --exclude=sno-*.zip \
            --exclude-from=<(printf '%s\n' "$left_out") "$archive.git" "$archive"
    count_status
    # The command of CONTRIBUTING.md
    (cd "$archive.git" && sed -n '/^```sh placeholders$/,/^```$/ { /^```/ !p }' CONTRIBUTING.md | as_user bash -eu &&
        ! git grep -E 'sno[.]example|example[.]sno')
    count_status
}

# Other ways to build, and the content of a release.  gcc comes last, because the other suites
# use its build.
suite_builds() {
    check_release
    extension_make clean
    # PostgreSQL's flags and headers were configured for gcc.
    build_with clang "${not_for_clang[@]}" && extension_make install
    count_status
    refuse_unknown
    count_status
    compile_for_others
    build_apart
    build_without_openssl
    build_with gcc && extension_make install
    count_status
}

# compile COMPILER TEST [FLAG ...]: make $program of a test, src/core and src/simd.
compile() {
    local objects=$work/objects.$1${sanitizers[0]}${3:-}
    local cc=(as_user "$1" -std=c11 -O1 -g -Wall -Wextra -Werror "${sanitizers[@]}" "${@:3}" -pthread "-I$work/tree/src")
    program=$work/$(basename "$2" .c).$1${sanitizers[0]}${3:-}
    if [ ! -e "$objects" ]; then
        as_user mkdir "$objects" &&
            (cd "$objects" && "${cc[@]}" -c "$work"/tree/src/core/*.c "$work"/tree/src/simd/*.c) || return
    fi
    "${cc[@]}" -o "$program" "$2" "$objects"/*.o -lcrypto
}

# at_once COMMAND ...: run commands that print TAP, $jobs at a time, or as many as there are processors.
at_once() {
    local taps
    taps=$(as_user mktemp -d "$work/taps.XXXXXX")
    printf '%s\0' "$@" | as_user xargs -0 -P "${jobs:-$(nproc)}" -I{} sh -c '
        tap=$1/$(basename "$2")
        $2 >"$tap" 2>&1 || echo "not ok - exit status $?" >>"$tap"' at_once "$taps" {}
    count_tap as_user prove --verbose --exec cat "$taps"/*
    rm -r "$taps"
}

# run_unit_tests COMPILER TEST ...
run_unit_tests() {
    local test programs=()
    for test in "${@:2}"; do
        if compile "$1" "$test"; then programs+=("$program"); else count 0 1; fi
    done
    at_once "${programs[@]}"
}

suite_unit() { run_unit_tests gcc test/unit/*_test.c; }

# Unit tests compiled with clang, and with the thread sanitizer, which can't be combined with the
# other sanitizers.
suite_units() {
    run_unit_tests clang test/unit/*_test.c
    local sanitizers=(-fsanitize=thread)
    run_unit_tests gcc test/unit/shared_test.c
}

# compile_model COMPILER NAME SOURCE ...: make $program of test/model/NAME.c and of
# unchanged files of the extension.  The model defines the PostgreSQL functions that these
# need.  The linker drops unused functions of the files.
compile_model() {
    local quiet=()
    [ "$1" = gcc ] || quiet=("${not_for_clang[@]}")
    program=$work/$2.$1
    as_user "$1" -std=gnu11 -O2 -g -fno-strict-aliasing "${warnings[@]}" "${quiet[@]}" \
        -ffunction-sections -Wl,--gc-sections \
        -pthread -I"$("$pg_bin/pg_config" --includedir-server)" -Isrc \
        -o "$program" "test/model/$2.c" "${@:3}"
}

suite_model() {
    local model seed commands=()
    # The models are compiled with gcc, their mutants with clang.
    for model in model feed grant reader; do
        if compile_model gcc $model; then commands+=("$program"); else count 0 1; fi
        if compile_model clang $model; then commands+=("$program mutants"); else count 0 1; fi
    done

    # The simulation replaces functions of PostgreSQL 15, so it runs only there.
    if [ "$pg_version" -ne 15 ]; then
        count 0 0 ${#simulation_seeds[@]}
    elif compile_model gcc simulation src/core/*.c src/generate/{wait,refuse,session,leasing,generate,at,reseed}.c \
        src/catalog/publish.c src/shared/{partition,reserve,shmem,space,prepared,feed,feed_memory,grant,clock,activity,attempt,turn,wake}.c; then
        for seed in "${simulation_seeds[@]}"; do
            commands+=("$program $seed $simulation_ids")
        done
    else
        count 0 1
    fi
    at_once "${commands[@]}"
}

# The scopes of the models that take long
suite_worlds() {
    local model commands=()
    for model in model feed grant reader; do
        if compile_model gcc $model; then commands+=("$program large"); else count 0 1; fi
    done
    at_once "${commands[@]}"
}

# A new Debian for it is made in $work, unless the caller gives CHROOTS.
suite_evidence() { CHROOTS=${CHROOTS:-$work/chroots} count_tap "$top/script/evidence" small; }

suite_fuzz() {
    local program
    compile clang test/fuzz/decode_fuzz.c -fsanitize=fuzzer &&
        as_user "$program" -seed=1 -runs=$fuzz_runs -max_total_time=$fuzz_seconds \
            -artifact_prefix="$program."
    count_status
}

# The settings of this server differ from the defaults; the server of suite_sanitize has these.
regress_elsewhere() {
    count_regress "--temp-instance=$work/instance --temp-config=test/settings.conf" "$@"
}

suite_regress() { regress_elsewhere ISOLATION=; }
suite_isolation() { regress_elsewhere REGRESS=; }

# Run these TAP tests, and print their reports and the summary.  Many of them run at a time,
# because they mostly wait for servers.  They take the most time of all suites, so their progress
# is printed to descriptor 3, the caller's terminal.
run_tap_tests() {
    local status=0
    extension_make prove_installcheck PROVE_TESTS="$*" \
        PROVE_FLAGS="--timer --jobs=$((2 * $(nproc) + 1))" | tee "$work/prove.out" >&3 || status=$?
    sed -E 's/^\[[^]]*\]\([^)]*\) //' tmp_check/log/regress_log_*
    grep -v '\.\. skipped: ' "$work/prove.out"
    return $status
}

# count_tap_tests TEST ...
count_tap_tests() {
    local test
    count_tap run_tap_tests "$@"
    # If a test died, its log has the reason.
    sed -nE 's|^test/t/(\w+)\.pl +\(Wstat: .*|\1|p' "$tap_out" |
        while read -r test; do tail -n 40 "tmp_check/log/regress_log_$test"; done
}

# Tests of pages, of other tools, of installation, and of some faults under load.  script/torture runs
# the other tests torture_*, and random_*, which take minutes each.
suite_long() {
    need python3 pgbouncer patroni python3-etcd etcd-server redis-server python3-redis python3-psycopg2 \
        python3-sqlalchemy python3-django || return
    ! available "postgresql-$pg_version-wal2json" || need "postgresql-$pg_version-wal2json" || return
    # With MORE_TOOLS=1, tests of tools with large packages run, too.
    [ -z "${MORE_TOOLS:-}" ] || need pgpool2 || return
    count_tap_tests test/t/{page,tool,install}_*.pl test/t/torture_{control,feed}.pl
}
suite_tap() {
    local tests
    mapfile -t tests < <(printf '%s\n' test/t/*.pl | grep -vE '/(torture|random|page|tool|install)_')
    count_tap_tests "${tests[@]}"
}

# run_pgtap FILE ...
run_pgtap() {
    # pgTAP is packaged for one version of PostgreSQL, and works with other versions, too.
    as_user cp -n /usr/share/postgresql/*/extension/pgtap* "$pg_share/extension"
    create_server "$work/pgtap" && start_server "$work/pgtap" &&
        as_user "$pg_bin/psql" -qX -v ON_ERROR_STOP=1 -h "$work/pgtap" -U postgres \
            -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION sno' || return
    count_tap as_user pg_prove --verbose --psql-bin "$pg_bin/psql" -h "$work/pgtap" \
        -U postgres -d postgres "$@"
}

suite_pgtap() { run_pgtap test/pgtap/*.sql; }

# Build a library of the extension with the sanitizers and recv_fuzz().  A server with their
# runtime finds it before the installed one.
build_sanitized() {
    local fuzzer flags=(-O1 -g "${sanitizers[@]}" -fsanitize=fuzzer-no-link -shared-libsan
        "${not_for_clang[@]}")
    fuzzer=$(clang -print-file-name="libclang_rt.fuzzer_no_main-$(uname -m).a")
    # Tests that run beside this one create and remove files in tmp_check.
    as_user mkdir "$work/sanitized" &&
        tar -C "$work/tree" --exclude=./tmp_check -c . | as_user tar -C "$work/sanitized" -x &&
        cd "$work/sanitized" &&
        extension_make clean &&
        as_user clang -c -fPIC "${flags[@]}" "${warnings[@]}" -Isrc \
            -I"$("$pg_bin/pg_config" --includedir-server)" -o recv_fuzz.o test/fuzz/recv_fuzz.c &&
        extension_make -j"$(nproc)" CC=clang COPT="${flags[*]}" \
            SHLIB_LINK="${flags[*]} recv_fuzz.o $fuzzer -Wl,-Bsymbolic -lstdc++" &&
        as_user clang -shared -fPIC -x c -o no_bindtextdomain.so - <<'C'
/* The function of this name in the runtime waits for itself. */
char *bindtextdomain(const char *domain, const char *folder) { return (char *) folder; }
C
}

suite_sanitize() {
    local pid server=$work/sanitize sanitized=(env
        LD_PRELOAD="$(clang -print-file-name="libclang_rt.asan-$(uname -m).so"):$work/sanitized/no_bindtextdomain.so"
        ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0)
    (build_sanitized) && create_server "$server" || return
    as_user tee -a "$server/data/postgresql.conf" <<<"autovacuum = off
dynamic_library_path = '$work/sanitized:\$libdir'"

    # pg_ctl doesn't work with this runtime.
    as_user "${sanitized[@]}" "$pg_bin/postgres" -D "$server/data" &
    pid=$!
    until "$pg_bin/pg_isready" -q -h "$server"; do kill -0 $pid || return; sleep 0.1; done
    # What the specs of feeds add is SQL.
    count_regress "--host=$server --user=postgres" \
        ISOLATION="$(basename -s .spec test/specs/*.spec | grep -v '^feed_' | paste -sd ' ')"
    stop_server "$server"
    wait $pid

    as_user "${sanitized[@]}" "$pg_bin/postgres" --single -D "$server/data" postgres \
        <<SQL 2>&1 | tee "$work/recv_fuzz.out"
CREATE EXTENSION sno;
CREATE FUNCTION recv_fuzz(text) RETURNS void LANGUAGE c AS 'sno';
SELECT recv_fuzz('-seed=1 -max_len=160 -runs=$recv_fuzz_runs -max_total_time=$fuzz_seconds');
SQL
    grep -q '^Done [1-9]' "$work/recv_fuzz.out"
    count_status
}

# If npm is missing or can't reach its registry, the tests that need the packages are
# skipped.
install_for_node() {
    as_user npm install --prefix "$work/node" --no-audit --no-fund --engine-strict \
        --fetch-retries=1 "$@" || true
}

suite_drivers() {
    local server=$work/drivers
    local -x PGHOST=$server PGUSER=postgres
    need libpq-dev || return
    create_server "$server" && start_server "$server" || return
    count_tap as_user env PATH="$pg_bin:$PATH" TMPDIR="$work" \
        prove --verbose --exec test/drivers/run test/drivers/*_test.*
}

# The files of monitoring/, with Prometheus and both exporters.  It runs only if it is named,
# because Prometheus checks at most once a second.
run_monitoring() {
    extension_make prove_installcheck PROVE_FLAGS=--verbose \
        PROVE_TESTS=test/monitoring/monitoring.pl
}

suite_monitoring() {
    need prometheus prometheus-postgres-exporter prometheus-sql-exporter || return
    count_tap run_monitoring
}

# Programs of all languages beside sessions, on a separate server.  A folder of its own keeps it from
# removing the files of the suite long.
run_applications() {
    unset PGHOST PGUSER PGPORT PGPASSWORD
    as_user mkdir "$work/applications"
    extension_make -C "$work/applications" -f "$work/tree/Makefile" prove_installcheck \
        PROVE_FLAGS=--verbose PROVE_TESTS=clients/applications.pl
}

# JDBC doesn't support Unix sockets.  Clients that use TCP need the password.
suite_clients() {
    local server=$work/clients test tests=()
    local -x PGHOST=$server PGUSER=postgres PGPORT PGPASSWORD NODE_PATH=$work/node/node_modules
    local -x PATH=$pg_bin:$PATH TMPDIR=$work GOCACHE=$work/go-cache CARGO_TARGET_DIR=$work/cargo-target
    need python3-psycopg2 python3-psycopg python3-psycopg-pool python3-asyncpg python3-sqlalchemy alembic \
        python3-django python3-pip python3-setuptools python3-wheel python3-cryptography \
        ruby ruby-activerecord ruby-pg default-jdk-headless libpostgresql-jdbc-java golang-go \
        golang-github-lib-pq-dev golang-github-jackc-pgx-v4-dev || return
    # Not every Debian has these.  If one is missing, its tests are skipped.
    local package
    for package in golang-github-jackc-pgx-v5-dev golang-github-jinzhu-gorm-dev chromium \
        php-cli php-pgsql php-doctrine-dbal php-doctrine-orm php-illuminate-database ruby-sequel python3-peewee \
        cargo librust-tokio-postgres-dev elixir erlang-p1-pgsql \
        ${MORE_TOOLS:+odbc-postgresql python3-pyodbc libdbd-pg-perl libdbix-class-perl libdbix-class-schema-loader-perl libsql-translator-perl}; do
        ! available "$package" || need "$package" || return
    done
    command -v node >/dev/null || need nodejs || return
    ! command -v npm >/dev/null ||
        install_for_node pg@8 pg-copy-streams@7 postgres@3 drizzle-orm@0.45 drizzle-kit@0.31 \
            knex@3 kysely@0.28 sequelize@6 typeorm@1 typescript@5 @types/pg@8 @types/node@20 \
            @mikro-orm/core@6.6.16 @mikro-orm/postgresql@6.6.16 objection@3 playwright-core@1
    # Prisma's scripts would download programs that only migrations need, and unused parts of it
    # require a newer Node.js.
    ! command -v npm >/dev/null ||
        install_for_node --ignore-scripts --no-engine-strict prisma@7 @prisma/client@7 @prisma/adapter-pg@7
    # These take long to install.
    [ -z "${MORE_TOOLS:-}" ] || ! command -v npm >/dev/null ||
        install_for_node --ignore-scripts --no-engine-strict @pgtyped/cli@2 @pgtyped/runtime@2 zapatos@6 \
            kysely-codegen@0.20 postgraphile@5

    create_server "$server" || return
    as_user sed -i 's/^\(host.*\)trust$/\1scram-sha-256/' "$server/data/pg_hba.conf"
    PGPORT=$(perl -MIO::Socket::INET -e \
        'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1)->sockport')
    PGPASSWORD=$(od -An -tx8 -N8 /dev/urandom | tr -d ' ')
    printf '%s\n' "listen_addresses = '127.0.0.1'" "port = $PGPORT" >>"$server/data/postgresql.conf"
    start_server "$server" &&
        as_user "$pg_bin/psql" -qX <<<"ALTER ROLE postgres PASSWORD '$PGPASSWORD'" || return
    for test in clients/*/test/*_test.*; do tests+=("clients/run $test"); done
    # Many of them wait, for leases and for readers that stop.
    jobs=$((2 * $(nproc))) at_once "${tests[@]}"
    count_tap run_applications
}

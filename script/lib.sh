# shellcheck shell=bash
#
# Functions of all scripts: Debian's packages, the unprivileged user, a copy of the
# tree, and servers in a temporary folder.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pg_version=${PG_VERSION:-15}
pg_bin=/usr/lib/postgresql/$pg_version/bin

# The caller's PG variables must not reach our servers and clients.
unset "${!PG@}"
export LC_ALL=C.UTF-8

say() { printf '%s\n' "$@"; }
die() { say "${0##*/}: $*" >&2; exit 1; }
# set -e alone doesn't print the place of the failure.
set -E
trap 'say "${0##*/}: failed at line $LINENO" >&2' ERR

# Run a command as an unprivileged user, because PostgreSQL refuses to run as root.  A server
# that is left running must not keep descriptor 3, the output of script/test, open.
as_user() {
    if [ "$EUID" -eq 0 ]; then set -- runuser -u postgres -- "$@"; fi
    "$@" 3>&-
}

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "this needs root, but sudo is not installed: $*" >&2
        return 1
    fi
}

# quietly LOG COMMAND...: print the end of its output, but only if it fails.
quietly() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null || {
        tail -n 40 "$log" >&2
        return 1
    }
}

# available PACKAGE: can apt install it?  apt also knows names of packages without a candidate.
# grep -q would end before apt-cache has written all, and pipefail would report that as a failure.
available() { apt-cache policy "$1" | grep 'Candidate: [^(]' >/dev/null; }

# need PACKAGE...: install the missing packages.
need() {
    local missing
    mapfile -t missing < <(printf '%s\n' "$@" | grep -vxFf <(dpkg-query -W \
        -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true)
    [ ${#missing[@]} -gt 0 ] || return 0

    say "installing ${missing[*]}"
    # Suites that run beside each other install packages one after another.  The programs that a
    # package starts must not inherit the lock.
    {
        flock 9
        [ -n "${lists_are_new:-}" ] || update_lists 9>&-
        lists_are_new=1
        quietly "$work/apt.log" as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -o DPkg::Lock::Timeout=600 -q -y --no-install-recommends install "${missing[@]}" 9>&-
    } 9<"$top/script/lib.sh"
}

# A machine that has just started may update its packages by itself.  The option lets apt wait for
# the lock of the packages, but not for the lock of the lists.
update_lists() {
    local try
    for try in {1..600}; do
        as_root apt-get -o DPkg::Lock::Timeout=600 -q update >"$work/apt.log" 2>&1 </dev/null && return
        grep -q '/lists/lock' "$work/apt.log" || break
        sleep 1
    done
    tail -n 40 "$work/apt.log" >&2
    return 1
}

# at_exit COMMAND: run it at any end of the script, to clean up.  If the reader of our
# output is gone, each printed line causes a signal, which must not end the clean-up.
# shellcheck disable=SC2064
at_exit() { trap "trap '' PIPE; $1" EXIT; }

# Make a temporary folder, $work.  copy_tree() gives it to the unprivileged user.
make_work() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/sno.XXXXXX")
    cd "$work" || exit          # the unprivileged user may not enter the caller's folder
}

# Copy the sources, of a checkout or an archive, to $work/tree, except the files that
# .gitignore names.  So the build neither leaves files in the sources, nor uses files of
# another build there.
copy_tree() {
    mkdir "$work/tree"
    tar --create --directory="$top" --exclude=./.git \
        --exclude-from=<(sed 's|^/|./|; s|/$||' "$top/.gitignore") . |
        tar --extract --directory="$work/tree"
    export HOME=$work
    [ "$EUID" -ne 0 ] || chown -R postgres: "$work"
}

# Use a copy of PostgreSQL in $work from now on; make it if it is missing.  PostgreSQL finds its
# files relative to its programs, so a copy is a separate installation.  If sno is installed in
# the system, it is left out of the copy.
private_postgres() {
    local system_bin=$pg_bin
    pg_bin=$work/lib/postgresql/$pg_version/bin
    pg_share=$work/share/postgresql/$pg_version
    ! cmp -s "$system_bin/postgres" "$pg_bin/postgres" || return 0
    as_user rm -rf "$work/lib" "$work/share" "$work/include"
    as_user mkdir -p "$work/lib/postgresql" "$work/share/postgresql"
    as_user cp -a "/usr/lib/postgresql/$pg_version" "$work/lib/postgresql"
    as_user cp -a "/usr/share/postgresql/$pg_version" "$work/share/postgresql"
    as_user ln -s /usr/include "$work/include"
    as_user rm -rf "$pg_bin"/../lib/{sno*.so,bitcode/sno*} "$pg_share"/extension/sno*
}

extension_make() {
    as_user make -s with_llvm=no PG_CONFIG="$pg_bin/pg_config" "$@"
}

# Make a copy of PostgreSQL that has sno.
install_privately() {
    copy_tree
    private_postgres
    quietly build.log extension_make -C tree -j"$(nproc)" install
}

# create_server FOLDER: create a server that listens only on a socket in that folder.
create_server() {
    as_user mkdir "$1"
    quietly "$1/initdb.log" as_user "$pg_bin/initdb" -D "$1/data" -U postgres \
        --auth=trust --no-locale
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$1'" \
        >>"$1/data/postgresql.conf"
}

start_server() {
    quietly "$1/start.log" as_user "$pg_bin/pg_ctl" -w -D "$1/data" -l "$1/server.log" start
}

# Start a server again after kill -9.  The sessions of the killed server keep its
# memory until they see that it is gone.
restart_server() {
    local try
    for ((try = 0; try < 900; try++)); do
        start_server "$1" 2>/dev/null && return
        sleep 0.2
    done
    die "the server did not start again: see $1/server.log"
}

stop_server() {
    if [ -e "$1/data/postmaster.pid" ]; then
        as_user "$pg_bin/pg_ctl" -s -w -D "$1/data" -m fast stop
    fi
}

# Stop the server in $work/server, and remove $work.
clear_away() {
    stop_server "$work/server" || true
    rm -rf "$work"
}

# shellcheck shell=bash
#
# Folders with a Debian in each, in $chroots.

chroots=$(realpath -m "${CHROOTS:-${TMPDIR:-/tmp}/sno-chroots}")
# The Debian release with a version of PostgreSQL
# shellcheck disable=SC2034
declare -A debian=([15]=bookworm [16]=16 [17]=trixie [18]=sid [19]=sid)
# shellcheck disable=SC2034
mapfile -t versions < <(printf '%s\n' "${!debian[@]}" | sort -n)
# Files and folders that are mounted in a chroot at the same path
outside=()

# make_chroot SUITE[-MACHINE]: make the folder completely, or not at all.
make_chroot() {
    local root=$chroots/$1 suite=${1%-*} arch=()
    [ "$suite" = "$1" ] || arch=(--arch="${1#*-}")
    [ ! -d "$root" ] || return 0
    [ "$1" != 16 ] || die "no Debian has PostgreSQL 16: see the first lines of script/matrix"

    say "making $root"
    need debootstrap
    as_root mkdir -p "$chroots"
    as_root rm -rf "$root.part"
    quietly "$work/debootstrap.log" as_root debootstrap --variant=minbase \
        --include=ca-certificates "${arch[@]}" "$suite" "$root.part" ||
        die "could not make $root"
    # Packages installed there must not start or create a server.  Their files need not be
    # flushed to disk one by one.
    as_root tee "$root.part/usr/sbin/policy-rc.d" >/dev/null <<<$'#!/bin/sh\nexit 101'
    as_root chmod +x "$root.part/usr/sbin/policy-rc.d"
    as_root mkdir "$root.part/etc/postgresql-common"
    as_root tee "$root.part/etc/postgresql-common/createcluster.conf" >/dev/null <<<'create_main_cluster = false'
    as_root tee "$root.part/etc/dpkg/dpkg.cfg.d/sno" >/dev/null <<<$'force-confold\nforce-unsafe-io'
    if [ "$suite" = sid ]; then
        # PostgreSQL 19 is still in experimental.  apt takes only these packages there.
        sed 's/ sid / experimental /' "$root.part/etc/apt/sources.list" |
            as_root tee "$root.part/etc/apt/sources.list.d/experimental.list" >/dev/null
        as_root tee "$root.part/etc/apt/preferences.d/sno" >/dev/null <<'END'
Package: postgresql-19 postgresql-*-19 libpq5 libpq-dev
Pin: release a=experimental
Pin-Priority: 990
END
        # A mirror's sid may be old, and its lists may have expired.
        as_root tee "$root.part/etc/apt/apt.conf.d/sno" >/dev/null <<<'Acquire::Check-Valid-Until "false";'
    fi
    as_root mv "$root.part" "$root"
}

# enter CHROOT COMMAND...: run a command in a chroot, where the checkout is mounted as /sno, and
# $outside.  Mounts and processes end with the command.  chroot is not enough, because user
# namespaces are not allowed in it.
enter() {
    as_root mkdir -p "$chroots/$1/sno"
    # shellcheck disable=SC2016
    as_root unshare --mount --pid --fork --kill-child bash -euc '
        mount --bind "$0" "$0"
        mount --bind "$1" "$0/sno"
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/dev/shm"
        for path in "${@:3:$2}"; do
            mkdir -p "$0${path%/*}"
            if [ -d "$path" ]; then mkdir -p "$0$path"; else touch "$0$path"; fi
            mount --bind "$path" "$0$path"
        done
        cd "$0"
        pivot_root . .
        umount --lazy .
        cd /
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:$2 + 3}"
    ' "$chroots/$1" "$top" ${#outside[@]} "${outside[@]}" "${@:2}"
}

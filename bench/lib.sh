# shellcheck shell=bash
#
# Functions of all benchmarks on a throw-away server.

# shellcheck source-path=SCRIPTDIR source=../script/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../script/lib.sh"

sql() { "$pg_bin/psql" -qXAt -v ON_ERROR_STOP=1 -h "$work/server" -U postgres "$@"; }

# throw_away_server [SETTING ...]: start one in $work/server, with sno.  It runs as
# long as the script does.
throw_away_server() {
    make_work
    at_exit clear_away
    need gcc make libc6-dev "postgresql-$pg_version" "postgresql-server-dev-$pg_version"
    install_privately
    create_server "$work/server"
    printf '%s\n' "fsync = off" "jit = off" "$@" >>server/data/postgresql.conf
    start_server "$work/server"
    sql -c 'CREATE EXTENSION sno'
}

machine() {
    local cpu memory
    cpu=$(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
    memory=$(awk '/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
    say "This is PostgreSQL $(sql -c "SHOW server_version"), on ${cpu:-$(uname -m)} with $(nproc) cores and $memory GB of memory."
}

# The settings of the server that differ from the defaults.  initdb writes some, too.
settings() {
    sql -c "SELECT format('| \`%s\` | %s |', name, current_setting(name)) FROM pg_settings
            WHERE source = 'configuration file' AND setting <> boot_val AND name <> 'listen_addresses'
                AND name <> 'unix_socket_directories' AND category NOT LIKE 'Client Connection Defaults / Locale%'
                AND category NOT LIKE 'Reporting%'
            ORDER BY name"
}

# write_page TEMPLATE: print it.  A line @table SECTION is replaced by a table of figures, and
# other lines with @ by the output of the function of that name.
write_page() {
    local line
    while IFS= read -r line; do
        case $line in
        @table*) sql -c "SELECT line FROM markdown('${line#@table }') AS line" ;;
        @*) "${line#@}" ;;
        *) say "$line" ;;
        esac
    done <"$1"
}

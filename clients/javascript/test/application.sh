# shellcheck shell=bash
#
# An application in the current folder, for tests in shell: it has the package installed,
# and the blocks of clients/javascript/README.md as files.

# application NAME PACKAGE...: blocks of that name, such as NAME/schema.js, become files.
# The test is skipped if a package is missing.
application() {
    local name=$1 package
    shift
    mkdir node_modules
    for package in "${NODE_PATH:-/nonexistent}"/* "${NODE_PATH:-/nonexistent}"/.bin; do
        [ ! -e "$package" ] || ln -s "$package" node_modules
    done
    for package; do
        [ -d "node_modules/$package" ] || skip_all "no $package"
    done
    cp -r "$CLIENTS/javascript" node_modules/postgresql-sno
    awk -v name="$name" '
        /^```/ {
            open = !open
            file = open && split($2, path, "/") == 2 && path[1] == name ? path[2] : ""
            next
        }
        file { print > file }
    ' "$CLIENTS/javascript/README.md"
}

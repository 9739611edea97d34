# shellcheck shell=bash
#
# The package as npm packs and installs it, from a copy of the folder
# (clients/javascript/README.md).

command -v npm >/dev/null || skip_all 'no npm'
cp -r "$CLIENTS/javascript" source
npm() { command npm --offline --no-audit --no-fund --loglevel=error "$@"; }

works 'npm pack' npm pack ./source
is "$(tar tzf postgresql-sno-*.tgz | sort)" "$(
    cd source && printf 'package/%s\n' LICENSE README.md package.json page.html bin/*.js *.js *.mjs *.d.ts *.d.mts | LC_ALL=C sort
)" 'it has all that users need, and nothing else'

mkdir application
cd application
echo '{}' >package.json
works 'npm install' npm install --legacy-peer-deps ../postgresql-sno-*.tgz
is "$(ls node_modules)" 'postgresql-sno' 'it needs no other package'
is "$(cat node_modules/postgresql-sno/LICENSE)" "$(cat "$CLIENTS/../LICENSE")" 'it has the license'
works 'package.json' node -e "
const { accessSync } = require('fs')
const { version, main, types, exports } = require('./node_modules/postgresql-sno/package.json')
const files = (entry) => (typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(files))
if (version !== '0.9.0') throw Error(version)
for (const file of [main, types, ...files(exports)]) accessSync('node_modules/postgresql-sno/' + file)
"
works 'require' env -u NODE_PATH node -e "
const { meta } = require('postgresql-sno')
if (meta('nerfoeusqoxgw25d') !== 197) throw Error('meta')
for (const entry of ['loan', 'generator', 'feed', 'seal', 'prefixes', 'pg', 'postgres', 'postgraphile', 'prisma', 'typeorm']) require('postgresql-sno/' + entry)
"
works 'import' node --input-type=module -e "
import sno, { meta } from 'postgresql-sno'
import { registerSno } from 'postgresql-sno/pg'
import * as postgres from 'postgresql-sno/postgres'
if (meta('nerfoeusqoxgw25d') !== 197 || !sno.range || !registerSno || !postgres.registerSno) throw Error('import')
"

works 'the command' env -u NODE_PATH node_modules/.bin/sno --json nerfoeusqoxgw25d
works 'the page' env -u NODE_PATH node node_modules/postgresql-sno/page.js

ln -s "${NODE_PATH:-/nonexistent}"/{drizzle-orm,sequelize} node_modules
[ ! -e node_modules/drizzle-orm ] || [ ! -e node_modules/sequelize ] ||
    works 'require and import of each entry' node -e "
const { exports } = require('./node_modules/postgresql-sno/package.json')
async function main() {
  for (const entry of Object.keys(exports)) {
    const name = 'postgresql-sno' + entry.slice(1)
    const required = Object.keys(require(name))
    const imported = await import(name)
    if (!required.length || !required.every((key) => key in imported)) throw Error(name)
  }
}
main()
"
cd ..

# shellcheck shell=bash
#
# The package as npm packs and installs it, from a copy of the folder
# (clients/javascript/README.md).

command -v npm >/dev/null || skip_all 'no npm'
cp -r "$CLIENTS/javascript" source
npm() { command npm --offline --no-audit --no-fund --loglevel=error "$@"; }

works 'npm pack' npm pack ./source
is "$(tar tzf postgresql-sno-*.tgz | sort)" "$(
    cd source && printf 'package/%s\n' LICENSE README.md package.json *.js *.mjs *.d.ts *.d.mts | LC_ALL=C sort
)" 'it has all that users need, and nothing else'

mkdir application
cd application
echo '{}' >package.json
works 'npm install' npm install --legacy-peer-deps ../postgresql-sno-*.tgz
is "$(ls node_modules)" 'postgresql-sno' 'it needs no other package'
works 'require' node -e "
const { meta } = require('postgresql-sno')
if (meta('nerfoeusqoxgw25d') !== 197) throw Error('meta')
for (const entry of ['pg', 'postgres', 'typeorm']) require('postgresql-sno/' + entry)
"
works 'import' node --input-type=module -e "
import sno, { meta } from 'postgresql-sno'
import { registerSno } from 'postgresql-sno/pg'
import * as postgres from 'postgresql-sno/postgres'
if (meta('nerfoeusqoxgw25d') !== 197 || !sno.range || !registerSno || !postgres.registerSno) throw Error('import')
"
cd ..

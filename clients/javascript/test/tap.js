// What the tests share.  Those in shell take the blocks of clients/javascript/README.md by
// application.sh.

'use strict'

const assert = require('assert')
const { execFileSync } = require('child_process')
const fs = require('fs')
const Module = require('module')
const path = require('path')

let tests = 0

function ok(name) {
  console.log(`ok ${++tests} - ${name}`)
}

function same(seen, wanted, name) {
  assert.deepStrictEqual(seen, wanted, name)
  ok(name)
}

async function fails(error, action, name) {
  await assert.rejects(async () => (typeof action === 'function' ? action() : action), error, name)
  ok(name)
}

// skipUnless(PACKAGE...)
function skipUnless(...packages) {
  for (const name of packages) {
    try {
      require.resolve(name)
    } catch {
      console.log(`1..0 # SKIP no ${name}`)
      process.exit(0)
    }
  }
}

// What the block of README.md with this name declares.
function readme(name, ...declared) {
  const file = path.join(__dirname, '../README.md')
  const [, code] = fs.readFileSync(file, 'utf8').match(RegExp('^```js ' + name + '\\n([^]*?)^```$', 'm'))
  const block = new Module(`${file}:${name}`)
  block.filename = file
  block.paths = module.paths
  block._compile(`${code}\nmodule.exports = { ${declared.join()} }`, file)
  return block.exports
}

const psql = (sql) => execFileSync('psql', ['-qXAt', '-c', sql], { encoding: 'utf8' })

// What belongs to the extension.
const extension = () => psql('\\dx+ sno')

// Tables, by default those of clients/tables.sql, as they are, with their keys.
const tables = (...names) => psql(`
  SELECT relname, attname, format_type(atttypid, NULL), attnotnull, pg_get_expr(adbin, adrelid),
    (SELECT string_agg(format('%s %s', contype, confrelid::regclass), ', ' ORDER BY contype) FROM pg_constraint
     WHERE conrelid = attrelid AND attnum = ANY (conkey) AND contype IN ('p', 'f'))
  FROM pg_attribute JOIN pg_class AS c ON attrelid = c.oid LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
  WHERE relname = ANY ('{${names.length ? names : 'customers,orders'}}') AND attnum > 0 ORDER BY relname, attnum`)

function run(test) {
  test().then(
    () => console.log(`1..${tests}`),
    (error) => {
      console.log(`not ok ${tests + 1} - ${error.stack.replace(/\n/g, '\n# ')}`)
      process.exit(1)
    })
}

module.exports = { assert, extension, fails, ok, psql, readme, run, same, skipUnless, tables }

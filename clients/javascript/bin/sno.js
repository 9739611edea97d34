#!/usr/bin/env node
// sno ID...: what an id tells.  "sno feed" is in feed.js.

'use strict'

const readline = require('readline')
const { json: jsonOf } = require('../common.js')
const { ago, read } = require('../read.js')
const { version } = require('../package.json')

const HELP = `Usage: sno [OPTION]... [ID]...
       sno feed ..., which hands rows to a program: see "sno feed --help"

Tells what an id may be, when it was made, and what its bits mean. Reads lines of
standard input if there is no ID. Nothing leaves this machine.

  --all       tell all that it may be in full, not only the likeliest
  --json      one line of JSON for each id
  --help      this text
  --version   the version

It reads a sno as text, with a prefix, as a uuid, or as bytes; uuids; numbers of up to
64 bits; the text of a ULID, TypeID, ObjectId, Xid, KSUID, TSID, and of an id of Instagram,
Randflake or Boundary. It can't read a CUID2 or a Nano ID, which have no time. The exit
status is 1 if one can't be read.
`
const WIDTH = 76

const many = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`

// |------ time 39 ------|- node 10 -|---|, as wide as the bits, with the names that fit
function ruler({ bits, fields }) {
  const width = Math.min(bits, WIDTH)
  let end = 0
  return '|' + fields.map(({ name, bits: own }) => {
    const begin = Math.round(end * width / bits)
    end += own
    const size = Math.max(Math.round(end * width / bits) - begin - 1, 1)
    const label = [` ${name} ${own} `, ` ${name} `, String(own), ''].find((text) => text.length <= size)
    const before = (size - label.length) >> 1
    return '-'.repeat(before) + label + '-'.repeat(size - before - label.length)
  }).join('|') + '|'
}

// Rows of texts, in columns.  The last one has no end.
function table(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)))
  return rows.map((row) => `  ${row.map((text, i) => text.padEnd(widths[i])).join('  ')}`.trimEnd())
}

function when({ time, precision, likely }, now) {
  const told = time === null ? 'no time' : `${time}, ${ago(time, now)}, exact to ${precision}`
  return likely ? told : `${told}; not likely`
}

function full(reading, now) {
  const { title, about, fields, forms } = reading
  return [`${title}: ${about}`, `  ${when(reading, now)}`, '', `  ${ruler(reading)}`, '',
    ...table(fields.map(({ name, bits, value, meaning }) => [name, many(bits, 'bit'), value, meaning])), '',
    ...table(forms.map(({ name, value }) => [name, value]))]
}

// The likeliest reading in full, the others in a line
function report(id, readings, all, now) {
  if (all) return [id, ...readings.flatMap((reading) => ['', ...full(reading, now)])]
  const [first, ...others] = readings
  const likely = others.filter((reading) => reading.likely)
  const rest = others.length - likely.length
  const lines = [id, '', ...full(first, now)]
  if (likely.length) {
    lines.push('', 'It may also be:', ...table(likely.map(({ title, time }) =>
      [title, time === null ? 'no time' : `${time}, ${ago(time, now)}`])))
  }
  if (rest) lines.push('', `--all tells ${many(rest, 'more reading')}, not likely.`)
  return lines
}

function fail(message) {
  process.stderr.write(`sno: ${message}\n`)
  process.exitCode = 1
}

let told = false

function tell(id, { all, json }) {
  const now = new Date()
  let readings
  try {
    readings = read(id, now)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return fail(error.message)
  }
  const lines = json ? [jsonOf({ id, readings })] : [...told ? [''] : [], ...report(id, readings, all, now)]
  told = true
  process.stdout.write(lines.join('\n') + '\n')
}

// The options, and what is none: a negative number, for example
function parse(args) {
  const options = { all: false, json: false, help: false, version: false }
  const end = args.indexOf('--')
  const isOption = (text, i) => (end < 0 || i < end) && /^-\D/.test(text)
  for (const option of args.filter(isOption)) {
    const name = option.replace(/^--/, '')
    if (!Object.hasOwn(options, name)) throw new TypeError(`no option is ${jsonOf(option)}. Try "sno --help".`)
    options[name] = true
  }
  return { options, ids: args.filter((text, i) => i !== end && !isOption(text, i)) }
}

async function main() {
  if (process.argv[2] === 'feed') return require('./feed.js').main(process.argv.slice(3))
  const { options, ids } = parse(process.argv.slice(2))
  if (options.help) return process.stdout.write(HELP)
  if (options.version) return process.stdout.write(`${version}\n`)
  if (ids.length > 0) return ids.forEach((id) => tell(id, options))
  if (process.stdin.isTTY) return fail('no id. Try "sno --help".')
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line.trim() !== '') tell(line.trim(), options)
  }
}

// Who reads may have enough, as head does.
process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1))
main().catch((error) => fail(error.message))

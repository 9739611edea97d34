// The command sno.

'use strict'

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { read } = require('postgresql-sno/read')
const { assert, ok, run, same } = require('./tap')

const command = path.join(__dirname, '../bin/sno.js')
const ID = 'nerfoeusqoxgw25d'

function sno(args, input = '') {
  const { status, stdout, stderr } = spawnSync('node', [command, ...args], { input, encoding: 'utf8' })
  return { status, stdout, stderr }
}

run(async () => {
  const { stdout, ...rest } = sno([ID])
  same(rest, { status: 0, stderr: '' }, 'an id is read')
  same(stdout.replace(/in \d+ years/, 'in N years'), `${ID}

sno: an id of the extension sno
  2056-08-07T15:54:28.020Z, in N years, exact to 4 ms; not likely

  |------------- time 39 --------------|1|---8---| partition 16 | sequence 16 -|

  time       39 bits  367646317005  units of 4 ms since 2010-01-01T00:00:00Z
  tick-tock  1 bit    0             changes when the clock is set back
  metabyte   8 bits   197           the kind of thing that it is the id of; its table decides
  partition  16 bits  48879         which generator made it
  sequence   16 bits  107           counts within the 4 ms

  text              nerfoeusqoxgw25d
  uuid, version 8   ab32db33-9ac5-8bee-bc01-ac0000000000
  uuid of the text  6e657266-6f65-7573-716f-786777323564
  bytes             \\xab32db339ac5beef006b
  SQL               SELECT * FROM sno_parts('nerfoeusqoxgw25d')
`, 'what it tells')

  const many = sno(['1541815603606036480'])
  const others = read('1541815603606036480').filter(({ likely }) => likely).slice(1)
  assert(others.length > 2)
  same(others.filter(({ title, time }) => !many.stdout.split('It may also be:')[1].includes(`${title} `) ||
    (time && !many.stdout.includes(time))), [], 'others have a line each')
  assert.match(many.stdout, /\n--all tells \d+ more readings, not likely\.\n$/)
  const all = sno(['--all', '1541815603606036480']).stdout
  same(all.match(/^ {2}\|.*\|$/gm).length, read('1541815603606036480').length, '--all: a ruler for each')
  assert(!/[^\n\x20-\x7e]/.test(all), 'ASCII')
  // The widths are those of the bits.
  const [ruler] = sno(['507f1f77bcf86cd799439011']).stdout.match(/^ {2}\|.*\|$/m)
  same(ruler.split('|').slice(1, -1).map((text) => text.length + 1), [25, 32, 19], 'ruler')

  const linesOf = ({ stdout }) => stdout.trimEnd().split('\n').map((line) => JSON.parse(line))
  const json = linesOf(sno(['-5', '--json', ID]))
  same(json.map(({ id }) => id), ['-5', ID], '--json: a line for each, after a negative number')
  same(json[1].readings, read(ID), '--json: what read() returns')
  same(sno(['--', '-5']).stdout, sno(['-5']).stdout, '--')

  same(linesOf(sno(['--json'], `\n${ID}\r\n\n 4711 \n`)).map(({ id }) => id), [ID, '4711'],
    'lines of standard input')
  const mixed = sno([], `hello\n${ID}\n`)
  same([mixed.status, mixed.stdout, /^sno: not an id: "hello": expected a sno, .*\n$/.test(mixed.stderr)],
    [1, stdout, true], 'one that it can\'t read')
  same(sno([], ''), { status: 0, stdout: '', stderr: '' }, 'no line')
  for (const options of [['--no'], ['-x'], ['--json=1', ID], ['--constructor']]) {
    const { status, stdout, stderr } = sno(options)
    assert.deepStrictEqual([status, stdout, stderr], [1, '', `sno: no option is "${options[0]}". Try "sno --help".\n`])
  }
  ok('unknown options')

  // What a terminal would obey: C0, DEL and C1
  const hostile = 'a\x01\x1b[2J\x7f\x85\x9b31m\x9f'
  same([sno([hostile]), sno([`--${hostile}`]), sno([], hostile)].map(({ stdout, stderr }) =>
    [stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(stderr), stderr.includes('a\\u0001\\u001b[2J\\u007f\\u0085\\u009b31m\\u009f')]),
  Array(3).fill(['', false, true]), 'control characters are escaped')

  const { version } = JSON.parse(fs.readFileSync(path.join(__dirname, '../package.json')))
  same(sno(['--version']), { status: 0, stdout: `${version}\n`, stderr: '' }, '--version')
  const help = sno(['--help'])
  const missing = ['--all', '--json', '--help', '--version'].filter((option) => !help.stdout.includes(option))
  same([help.status, help.stderr, missing], [0, '', []], '--help')

  const pipe = `yes ${ID} | head -n 5000 | node ${command} 2>&1 | head -n 1`
  const head = spawnSync('sh', ['-c', pipe], { encoding: 'utf8' })
  same([head.status, head.stdout, head.stderr], [0, `${ID}\n`, ''], 'a reader that has enough')
})

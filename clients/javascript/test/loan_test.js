// What a loan permits, by the cases of test/vectors/loans.tsv.

'use strict'

const fs = require('fs')
const path = require('path')
const { Loan } = require('postgresql-sno/loan')
const { assert, ok, run, same } = require('./tap')

const WORDS = ['wait', 'behind', 'over']

// The cases, with the first call of each that returns something else than wanted.
function check(vectors) {
  const cases = []
  let loan, one
  for (const line of vectors.split('\n').filter((line) => line && !line.startsWith('#'))) {
    const [kind, ...fields] = line.split('\t')
    if (kind === 'loan') {
      const [name, ...bounds] = fields
      loan = new Loan(...bounds.map(Number))
      cases.push(one = { name, calls: 0, wrong: null })
      continue
    }
    assert.strictEqual(kind, 'read')
    const [unit, meta, times] = fields.map(Number)
    for (let n = 1; n <= times; n++) {
      const permitted = loan.permits(unit)
      const seen = loan.next(unit, meta)
      const right = n === times ? seen === fields[3] : !WORDS.includes(seen)
      const promised = permitted === !['behind', 'over'].includes(seen)
      if (!right || !promised) one.wrong ??= `${line}: ${seen}`
      one.calls++
    }
  }
  return cases
}

run(async () => {
  const vectors = fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors/loans.tsv'), 'utf8')
  const cases = check(vectors)
  assert(cases.length >= 18)
  for (const { name, calls, wrong } of cases) same([calls > 0, wrong], [true, null], name)

  // The runner finds what is wrong.
  const [, planted] = vectors.match(/^read\t.*\t(\S+)$/m)
  for (const instead of ['wait', planted.replace(/.$/, 'x')]) {
    const found = check(vectors.replace(planted, instead)).filter(({ wrong }) => wrong)
    same([found.length, found[0].wrong.endsWith(`\t${instead}: ${planted}`)], [1, true], `a planted ${instead} is found`)
  }

  const good = [257, 133331580000, 0, 65535, 133332480000]
  const loanOf = (changes) => new Loan(...Object.assign([...good], changes))
  for (const [n, value] of [[0, -1], [0, 65536], [1, -1], [1, 2 ** 39], [2, -1], [2, 65536], [3, 65536], [3, 1.5],
    [3, NaN], [4, 133331579999], [4, 2 ** 39]]) {
    assert.throws(() => loanOf({ [n]: value }), RangeError, `${n}: ${value}`)
  }
  for (const n of good.keys()) assert.throws(() => loanOf({ [n]: '1' }), TypeError)
  assert.throws(() => loanOf({ 2: 11, 3: 10 }), RangeError)
  ok('wrong bounds are refused')
})

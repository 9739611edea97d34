// Sealed ids: the cases of test/vectors/sealed.tsv, and a general FF1.

'use strict'

const { createCipheriv, randomBytes, randomUUID } = require('crypto')
const fs = require('fs')
const path = require('path')
const sno = require('postgresql-sno')
const { Seals } = require('postgresql-sno/seal')
const { assert, ok, readme, run, same } = require('./tap')

const bytesOf = (number, count) => Buffer.from(BigInt(number).toString(16).padStart(2 * count, '0'), 'hex')
const numberOf = (bytes) => BigInt(`0x${bytes.toString('hex')}`)

// FF1 as NIST SP 800-38G tells it, of a list of numerals
function ff1(key, radix, tweak, x) {
  const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
  const xor = (a, b) => Buffer.from(a.map((byte, i) => byte ^ b[i]))
  const num = (numerals) => numerals.reduce((sum, each) => sum * BigInt(radix) + BigInt(each), 0n)
  const str = (number, count) => Array.from({ length: count }, (_, i) =>
    Number(number / BigInt(radix) ** BigInt(count - 1 - i) % BigInt(radix)))
  const prf = (bytes) => {
    let y = Buffer.alloc(16)
    for (let i = 0; i < bytes.length; i += 16) y = cipher.update(xor(y, bytes.subarray(i, i + 16)))
    return y
  }
  const n = x.length
  const u = Math.floor(n / 2)
  const v = n - u
  let [a, b] = [x.slice(0, u), x.slice(u)]
  const size = Math.ceil((BigInt(radix) ** BigInt(v) - 1n).toString(2).length / 8)
  const d = 4 * Math.ceil(size / 4) + 4
  const p = Buffer.concat([Buffer.from([1, 2, 1]), bytesOf(radix, 3), Buffer.from([10, u % 256]), bytesOf(n, 4),
    bytesOf(tweak.length, 4)])
  for (let i = 0; i < 10; i++) {
    const zeros = Buffer.alloc((((-tweak.length - size - 1) % 16) + 16) % 16)
    const r = prf(Buffer.concat([p, tweak, zeros, Buffer.from([i]), bytesOf(num(b), size)]))
    let s = r
    for (let j = 1; s.length < d; j++) s = Buffer.concat([s, cipher.update(xor(r, bytesOf(j, 16)))])
    const m = i % 2 === 0 ? u : v
    const c = (num(a) + numberOf(s.subarray(0, d))) % BigInt(radix) ** BigInt(m)
    ;[a, b] = [b, str(c, m)]
  }
  return [...a, ...b]
}

const numeralsOf = (text) => Array.from(text, (digit) => parseInt(digit, 36))
const ALPHABET = '23456789abcdefghijklmnopqrstuvwx'

function uuidByFf1(secret, id) {
  const bits = numberOf(Buffer.from(sno.toBytes(id))).toString(2).padStart(80, '0') + '0'.repeat(42)
  const sealed = ff1(secret, 2, Buffer.alloc(0), [...bits].map(Number)).join('')
  const hex = bytesOf(BigInt(`0b${sealed.slice(0, 48)}0100${sealed.slice(48, 60)}10${sealed.slice(60)}`), 16).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function textByFf1(secret, id) {
  const numerals = Array.from(id, (digit) => ALPHABET.indexOf(digit))
  return ff1(secret, 32, Buffer.alloc(0), numerals).map((numeral) => ALPHABET[numeral]).join('')
}

run(async () => {
  const lines = fs.readFileSync(path.join(process.env.CLIENTS, '../test/vectors/sealed.tsv'), 'utf8')
    .split('\n').filter((line) => line && !line.startsWith('#'))
  assert(lines.length >= 24)
  for (const line of lines) {
    const [secret, id, text, uuid] = line.split('\t')
    const seals = new Seals(Buffer.from(secret, 'hex'))
    assert.deepStrictEqual([seals.seal(id), seals.unseal(text)], [text, id])
    assert.deepStrictEqual([seals.sealUuid(id), seals.unsealUuid(uuid), seals.unsealUuid(uuid.toUpperCase())], [uuid, id, id])
  }
  ok('vectors')

  const key = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex')
  for (const [radix, tweak, plain, sealed] of [[10, '', '0123456789', '2433477484'],
    [10, '39383736353433323130', '0123456789', '6124200773'],
    [36, '3737373770717273373737', '0123456789abcdefghi', 'a9tv40mll9kdu509eum']]) {
    same(ff1(key, radix, Buffer.from(tweak, 'hex'), numeralsOf(plain)), numeralsOf(sealed), `NIST's sample ${sealed}`)
  }
  for (let n = 0; n < 200; n++) {
    const [secret, id] = [randomBytes(16), sno.fromBytes(randomBytes(10))]
    const seals = new Seals(secret)
    const [text, uuid] = [textByFf1(secret, id), uuidByFf1(secret, id)]
    const message = `${secret.toString('hex')} ${id}`
    assert.deepStrictEqual([seals.seal(id), seals.unseal(text)], [text, id], message)
    assert.deepStrictEqual([seals.sealUuid(id), seals.unsealUuid(uuid)], [uuid, id], message)
  }
  ok('random ids, by a general FF1')

  // Other secrets
  const [old, fresh, foreign] = Array.from({ length: 3 }, () => new Uint8Array(randomBytes(16)))
  const id = 'nerfoeusqoxgw25d'
  const [before, after] = [new Seals(old), new Seals(fresh, old)]
  same([after.unsealUuid(before.sealUuid(id)), after.unsealUuid(after.sealUuid(id))], [id, id], 'uuids of both secrets')
  same([before.unsealUuid(after.sealUuid(id)), after.unsealUuid(new Seals(foreign).sealUuid(id))], [null, null],
    'uuids of other secrets')
  same(after.sealUuid(id), new Seals(fresh).sealUuid(id), 'the first secret seals')
  same([after.unseal(before.seal(id)) === id, sno.isSno(after.unseal(before.seal(id)))], [false, true],
    'a text of another secret is another id')
  const kept = new Uint8Array(old)
  const seals = new Seals(kept)
  kept.fill(0)
  same(seals.seal(id), before.seal(id), 'the secret is copied')

  // What is refused
  const uuid = before.sealUuid(id)
  for (const other of [uuid.replace(/^(.{14})4/, '$17'), uuid.replace(/^(.{19})./, '$1c'), sno.toUuid(id), sno.toUuidV8(id),
    '00000000-0000-0000-0000-000000000000', randomUUID()]) assert.strictEqual(before.unsealUuid(other), null, other)
  for (const wrong of [undefined, null, 7, '', id, uuid.slice(1), `{${uuid}}`, uuid.replace(/-/g, ''), uuid + '\n']) {
    assert.throws(() => before.unsealUuid(wrong), TypeError)
  }
  for (const wrong of [undefined, null, 7, '', id.slice(1), id.toUpperCase(), uuid]) {
    for (const method of ['seal', 'unseal', 'sealUuid']) assert.throws(() => before[method](wrong), TypeError)
  }
  for (const wrong of [undefined, null, 'sixteen letters.', Array(16).fill(0), new ArrayBuffer(16)]) {
    assert.throws(() => new Seals(wrong), TypeError)
    assert.throws(() => new Seals(old, wrong), TypeError)
  }
  for (const size of [0, 15, 17, 32]) {
    assert.throws(() => new Seals(Buffer.alloc(size)), RangeError)
    assert.throws(() => new Seals(old, Buffer.alloc(size)), RangeError)
  }
  ok('what is no uuid, id or secret')

  process.env.SNO_SECRET = key.toString('hex')
  const { asked, shown } = readme('seal', 'asked', 'shown')
  same([asked, shown], ['nerfoeusqoxgw25d', new Seals(key).sealUuid(asked)], 'README')
})

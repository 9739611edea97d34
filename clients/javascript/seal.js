/**
 * Sealed ids, as the extension sno_seal makes them: FF1 of NIST SP 800-38G with AES-128, 10
 * rounds and an empty tweak.  It needs node:crypto.
 */

'use strict'

const { createCipheriv } = require('crypto')
const { hexOfUuid, hyphenated, shown } = require('./common.js')
const { fromBytes, toBytes } = require('./index.js')

const BLOCK = 16
const ROUNDS = 10

// A text has 16 numerals of radix 32, a uuid of version 4 has 122 of radix 2: the id, and
// zeros.  The half of a number has so many bits, and takes so many bytes.
const TEXT = { radix: 32, numerals: 16, half: 40, bytes: 5 }
const UUID = { radix: 2, numerals: 122, half: 61, bytes: 8 }
const ZEROS = 42n

// AES of one block.  The cipher keeps nothing from block to block.
function aes(secret) {
  if (!(secret instanceof Uint8Array)) throw new TypeError(`the secret is not a Uint8Array: ${shown(secret)}`)
  if (secret.length !== BLOCK) throw new RangeError(`the secret has ${secret.length} bytes, not ${BLOCK}`)
  const cipher = createCipheriv('aes-128-ecb', secret, null).setAutoPadding(false)
  return (block) => cipher.update(block)
}

// FF1 of numbers of two halves
function ff1(encrypt, { radix, numerals, half, bytes }) {
  const start = encrypt(Uint8Array.of(1, 2, 1, 0, 0, radix, ROUNDS, numerals / 2, 0, 0, 0, numerals, 0, 0, 0, 0))
  const cut = (number) => BigInt.asUintN(half, number)

  function round(i, number) {
    const block = Buffer.alloc(BLOCK)
    block.writeBigUInt64BE(number, BLOCK - 8)
    block[BLOCK - bytes - 1] = i
    for (let n = 0; n < BLOCK; n++) block[n] ^= start[n]
    return encrypt(block).readBigUInt64BE(4)    // the low bits of the first 12 bytes
  }

  return {
    seal(number) {
      let [a, b] = [number >> BigInt(half), cut(number)]
      for (let i = 0; i < ROUNDS; i++) [a, b] = [b, cut(a + round(i, b))]
      return a << BigInt(half) | b
    },
    unseal(number) {
      let [a, b] = [number >> BigInt(half), cut(number)]
      for (let i = ROUNDS - 1; i >= 0; i--) [a, b] = [cut(b - round(i, a)), a]
      return a << BigInt(half) | b
    },
  }
}

const numberOf = (id) => BigInt(`0x${Buffer.from(toBytes(id)).toString('hex')}`)
const idOf = (number) => fromBytes(Buffer.from(number.toString(16).padStart(20, '0'), 'hex'))

// 48 of the 122 bits, version 4, 12 bits, variant binary 10, 62 bits
function uuidOf(number) {
  const high = (number >> 62n).toString(16).padStart(15, '0')
  const low = 2n << 62n | BigInt.asUintN(62, number)
  return hyphenated(`${high.slice(0, 12)}4${high.slice(12)}${low.toString(16)}`)
}

// Undefined unless it is of version 4
function numberOfUuid(uuid) {
  const [, first, second, rest] = hexOfUuid(uuid).match(/^(.{12})4(.{3})([89ab].{15})$/) ?? []
  if (rest) return BigInt(`0x${first}${second}`) << 62n | BigInt.asUintN(62, BigInt(`0x${rest}`))
}

class Seals {
  #text
  #uuids    // by the newest secret first

  constructor(secret, ...older) {
    this.#text = ff1(aes(secret), TEXT)
    this.#uuids = [secret, ...older].map((each) => ff1(aes(each), UUID))
  }

  seal(id) {
    return idOf(this.#text.seal(numberOf(id)))
  }

  unseal(text) {
    return idOf(this.#text.unseal(numberOf(text)))
  }

  sealUuid(id) {
    return uuidOf(this.#uuids[0].seal(numberOf(id) << ZEROS))
  }

  unsealUuid(uuid) {
    const sealed = numberOfUuid(uuid)
    if (sealed === undefined) return null
    for (const each of this.#uuids) {
      const number = each.unseal(sealed)
      if (BigInt.asUintN(Number(ZEROS), number) === 0n) return idOf(number >> ZEROS)
    }
    return null
  }
}

exports.Seals = Seals

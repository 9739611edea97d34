/**
 * Ids with the name of their metabyte before them, as sno_prefixed() and sno_from_prefixed() of
 * the database write and read them.
 */

'use strict'

const { checkNumber, shown } = require('./common.js')
const { isSno, meta } = require('./index.js')

const PREFIX = /^[a-z](?:[a-z0-9_]{0,61}[a-z0-9])?$/
const TEXT_SIZE = 16

class Prefixes {
  #byMeta = new Map()

  constructor(prefixes) {
    for (const [meta, prefix] of Object.entries(prefixes)) {
      if (typeof prefix !== 'string' || !PREFIX.test(prefix)) throw new TypeError(`not a prefix: ${shown(prefix)}`)
      const number = /^\d+$/.test(meta) ? Number(meta) : NaN
      checkNumber(`metabyte of ${shown(prefix)}`, number, 0, 255)
      this.#byMeta.set(number, prefix)
    }
    if (new Set(this.#byMeta.values()).size < Object.keys(prefixes).length) {
      throw new TypeError('a prefix belongs to one metabyte')
    }
  }

  prefix(id) {
    return this.#byMeta.get(meta(id)) ?? null
  }

  write(id) {
    const prefix = this.prefix(id)
    if (prefix === null) throw new TypeError(`metabyte ${meta(id)} has no prefix`)
    return `${prefix}_${id}`
  }

  // The id has the last 16 characters.  None of them can be an underscore.
  read(text, wanted) {
    const id = typeof text === 'string' ? text.slice(-TEXT_SIZE) : ''
    if (!isSno(id) || text.at(-TEXT_SIZE - 1) !== '_') throw new TypeError(`not an id with a prefix: ${shown(text)}`)
    const prefix = this.prefix(id)
    if (text !== `${prefix}_${id}` || prefix === null || prefix !== (wanted ?? prefix)) {
      throw new TypeError(`wrong prefix of an id: ${shown(text)}`)
    }
    return id
  }
}

exports.Prefixes = Prefixes

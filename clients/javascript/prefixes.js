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

  constructor(metas) {
    for (const [prefix, number] of Object.entries(metas)) {
      if (!PREFIX.test(prefix)) throw new TypeError(`not a prefix: ${shown(prefix)}`)
      checkNumber(`metabyte of ${shown(prefix)}`, number, 0, 255)
      if (this.#byMeta.has(number)) throw new TypeError(`metabyte ${number} has two prefixes`)
      this.#byMeta.set(number, prefix)
    }
  }

  prefix(id) {
    return this.#byMeta.get(meta(id)) ?? null
  }

  prefixed(id) {
    const prefix = this.prefix(id)
    if (prefix === null) throw new TypeError(`metabyte ${meta(id)} has no prefix`)
    return `${prefix}_${id}`
  }

  // The id has the last 16 characters.  None of them can be an underscore.
  parse(text, wanted) {
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

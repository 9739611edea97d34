#!/usr/bin/env node
// Writes the page to read ids: one file that has all that it needs, made of page.html and
// the modules that this names.  Its policy allows this style and this script, by their hashes, and
// nothing else.

'use strict'

const { createHash } = require('crypto')
const { readFileSync } = require('fs')
const { join } = require('path')

const file = (name) => readFileSync(join(__dirname, name), 'utf8')
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
const contents = (page, tag) => page.match(RegExp(`<${tag}>([^]*?)</${tag}>`))[1]

function page() {
  const whole = file('page.html').replace(/\{\{(\w+\.js)\}\}/g, (_, name) => file(name))
  return whole.replace(/\{\{(style|script)\}\}/g, (_, tag) => hash(contents(whole, tag)))
}

process.stdout.write(page())

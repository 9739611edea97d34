// Names before ids, as the database writes and reads them.

'use strict'

const { execFileSync } = require('child_process')
const { assert, fails, ok, psql, readme, run, same } = require('./tap')
const { Prefixes } = require('postgresql-sno/prefixes')

const metas = { user: 26, order: 1, a: 0, a_1_b: 255 }
const prefixes = new Prefixes(metas)
const rows = (sql) => execFileSync('psql', ['-qXAt', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-c', sql], { encoding: 'utf8' })
  .trim().split('\n').map((line) => line.split('\t'))

// What action() returns, or null if it raises a TypeError
function value(action) {
  try {
    return action()
  } catch (error) {
    assert(error instanceof TypeError, error)
    return null
  }
}

run(async () => {
  same(readme('prefixes', 'id', 'text', 'asked'),
    { id: '9d5ve82226224222', text: 'user_9d5ve82226224222', asked: '9d5ve82226224222' }, 'README')

  // The database is the judge.
  psql(`INSERT INTO sno_catalog.sno_prefix VALUES ${Object.entries(metas).map(([p, m]) => `(${m}, '${p}')`)}`)
  psql(`CREATE FUNCTION attempt(input text) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN RETURN sno_from_prefixed(input); EXCEPTION WHEN OTHERS THEN RETURN 'refused'; END $$`)
  const ids = rows(`SELECT id, coalesce(sno_prefix(id), ''),
      CASE WHEN sno_prefix(id) IS NULL THEN '' ELSE sno_prefixed(id) END
    FROM generate_series(0, 255) AS meta, LATERAL sno_with_meta('brpk4q725cf2m63l', meta) AS id`)
  same(ids.map(([id]) => [id, prefixes.prefix(id) ?? '', value(() => prefixes.prefixed(id)) ?? '']), ids,
    'prefix() and prefixed(), of all metabytes')
  const texts = ['user_brpk4q725cf2m63l', 'order_brpk4q725cf2m63l', 'user', 'user_', '_brpk4q725cf2m63l', '',
    'brpk4q725cf2m63l', 'user_brpk4q725cf2m63', 'user_brpk4q725cf2m63ll', 'user_brpk4q725cf2m63y', 'USER_brpk4q725cf2m63l',
    'user_BRPK4Q725CF2M63L', 'use_brpk4q725cf2m63l', 'users_brpk4q725cf2m63l', 'user__brpk4q725cf2m63l',
    'user-brpk4q725cf2m63l', 'user_brpk4q725cf2m63l ', ' user_brpk4q725cf2m63l', 'user_2222222222222222',
    'a_2222222222222222', 'a_1_b_xxxxxxxxxxxxxxxx', 'b_xxxxxxxxxxxxxxxx', 'user_222222222l222222', 'null_222222222l222222',
    'null_brpk4q725cf2m63l', 'üser_brpk4q725cf2m63l']
  const seen = rows(`SELECT attempt(input) FROM unnest('{${texts.map((text) => JSON.stringify(text))}}'::text[])
    WITH ORDINALITY AS t (input, n) ORDER BY n`)
  same(texts.map((text) => [value(() => prefixes.parse(text)) ?? 'refused']), seen, 'parse()')
  const names = ['User', '1user', 'user_', '_user', 'us er', '', 'user\n', 'a', 'a'.repeat(63), 'a'.repeat(64), 'a__b', 'ü']
  same(names.map((name) => [value(() => Boolean(new Prefixes({ [name]: 2 }))) ? 't' : 'f']),
    rows(`SELECT octet_length(p) <= 63 AND p ~ '^[a-z]([a-z0-9_]*[a-z0-9])?$'
      FROM unnest(ARRAY[${names.map((name) => `'${name}'`)}] COLLATE "C") WITH ORDINALITY AS t (p, n) ORDER BY n`),
    'names that are prefixes')

  // Nothing of the object's prototype is a prefix.
  same(value(() => new Prefixes({}).parse('constructor_2222222222222222')), null, 'no prefixes')
  same(prefixes.parse('user_brpk4q725cf2m63l', 'user'), 'brpk4q725cf2m63l', 'a prefix that was wanted')
  await fails(/^TypeError: wrong prefix of an id: "user_brpk4q725cf2m63l"$/,
    async () => prefixes.parse('user_brpk4q725cf2m63l', 'order'), 'another prefix than was wanted')
  await fails(/^TypeError: wrong prefix/, async () => prefixes.parse('null_222222222l222222', null), 'no prefix is wanted')
  for (const wrong of [null, undefined, 1, {}, ['user_brpk4q725cf2m63l']]) {
    assert.throws(() => prefixes.parse(wrong), /^TypeError: not an id with a prefix/)
    assert.throws(() => prefixes.prefixed(wrong), /^TypeError: not a sno/)
  }
  ok('no texts')
  await fails(/^TypeError: metabyte 4 has no prefix$/, async () => prefixes.prefixed('222222222l222222'), 'no prefix')
  for (const [wrong, error] of [[{ a: 256 }, RangeError], [{ a: -1 }, RangeError], [{ a: 1.5 }, RangeError], [{ a: '1' }, TypeError],
    [{ a: 1, b: 1 }, TypeError]]) assert.throws(() => new Prefixes(wrong), error)
  ok('wrong metabytes')
})

// The page to read ids, in a browser.  SNO_SCREENSHOTS names a folder to keep pictures of it.

'use strict'

const { execFileSync } = require('child_process')
const fs = require('fs')
const path = require('path')
const { pathToFileURL } = require('url')
const { read } = require('postgresql-sno/read')
const { assert, ok, run, same, skipUnless } = require('./tap')

const BROWSER = '/usr/bin/chromium'
if (!fs.existsSync(BROWSER)) {
  console.log('1..0 # SKIP no chromium')
  process.exit(0)
}
skipUnless('playwright-core')
const { chromium } = require('playwright-core')

// It asks no other server for anything, as it else does when it starts.
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']
const SNO = '9if53gfk2b3tu227'

run(async () => {
  const file = path.resolve('sno.html')
  fs.writeFileSync(file, execFileSync('node', [path.join(__dirname, '../page.js')]))
  const address = pathToFileURL(file).href
  const pictures = process.env.SNO_SCREENSHOTS ?? '.'
  const browser = await chromium.launch({ executablePath: BROWSER, args: FLAGS })
  const requests = new Set()
  const complaints = []

  async function open(options, id = '') {
    const page = await browser.newPage({ viewport: { width: 1100, height: 900 }, timezoneId: 'UTC', ...options })
    page.on('request', (request) => requests.add(request.url().replace(/#.*/, '')))
    page.on('console', (told) => complaints.push(told.text()))
    page.on('pageerror', (error) => complaints.push(error.stack))
    await page.goto(`${address}${id && '#' + encodeURIComponent(id)}`)
    return page
  }
  const first = (page) => page.locator('main > .card')
  const fits = (page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)

  try {
    const page = await open()
    const input = page.getByLabel('An id', { exact: true })
    same(await input.inputValue(), SNO, 'it begins with an example')

    // What it shows of an id is what read() tells.
    async function shows(id) {
      await page.waitForFunction((title) => document.title === title, `${id} · Read an id`)
      const [reading, ...others] = read(id)
      const card = first(page)
      const texts = (selector) => card.locator(selector).allTextContents()
      assert.strictEqual(await card.locator('h2').textContent(), reading.title)
      assert.strictEqual(await card.locator('p.time').textContent(),
        reading.time === null ? 'No time' : `${reading.time.replace('T', ' ').replace('Z', '')} UTC`)
      assert.deepStrictEqual(await texts('.fields .name'), reading.fields.map(({ name }) => name))
      assert.deepStrictEqual(await texts('.fields .value'), reading.fields.map(({ value }) => value))
      assert.deepStrictEqual(await texts('.fields .meaning'), reading.fields.map(({ meaning }) => meaning))
      assert.deepStrictEqual(await texts('.forms code'), reading.forms.map(({ value }) => value))
      // The widths are those of the bits, but for the gaps.
      const widths = await card.locator('.ruler button')
        .evaluateAll((blocks) => blocks.map((block) => block.offsetWidth))
      const room = widths.reduce((sum, width) => sum + width, 0)
      reading.fields.forEach(({ bits }, i) =>
        assert(Math.abs(widths[i] - room * bits / reading.bits) <= 2, `${id}: ${widths}`))
      assert.strictEqual(await page.locator('main details.row').count(), others.length)
      assert.strictEqual(decodeURIComponent(new URL(page.url()).hash.slice(1)), id)
    }

    for (const id of [SNO, `order_${SNO}`,
      '3c1a30b9-b202-843b-b800-140000000000', '39696635-3367-666b-3262-337475323237',
      '2054134809765584901', '1503693540306587690', 'DYO-OnFlPTX', '619161943957506571', '4711', '-5', '0QBTA83CG377R',
      '017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'C232AB00-9414-11EC-B3C8-9F6BDECED846',
      '1EC9414C-232A-6B00-B3C8-9F6BDECED846',
      '919108f7-52d1-4320-9bac-f847db4148a8', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '507f1f77bcf86cd799439011',
      '0ujtsYcgvSTl8PAuAdqWYSMnLOv', '00000134-d421-2d43-109a-dd5e0e8f0000', '\\x3c1a30b9b20243be0005']) {
      await input.fill(id)
      await shows(id)
      ok(`it shows ${id}`)
    }

    await input.fill('<img src=x onerror=alert(1)>')
    let message
    try {
      read('<img src=x onerror=alert(1)>')
    } catch (error) {
      message = error.message
    }
    assert.match(message, /^not an id: "<img src=x onerror=alert\(1\)>": expected/)
    same([await page.locator('#message').textContent(), await page.locator('main *').count(),
      await page.locator('img').count()], [message, 0, 0], 'a text that is no id')
    await input.fill('')
    same([await page.locator('#message').isVisible(), await page.locator('main *').count()], [false, 0], 'no text')

    // Each example is read as what it is called.
    const examples = page.locator('#examples button')
    const seen = {}
    for (const button of await examples.all()) {
      await button.click()
      await shows(await button.getAttribute('value'))
      assert.strictEqual(await button.getAttribute('aria-pressed'), 'true')
      seen[await button.textContent()] = read(await input.inputValue(), new Date('2026-11-25T12:00:00Z'))[0].kind
    }
    same(seen, {
      sno: 'sno', 'with a prefix': 'sno', 'sno as a uuid': 'sno-uuidv8', Snowflake: 'snowflake', Discord: 'discord',
      Instagram: 'instagram', Mastodon: 'mastodon', Sonyflake: 'sonyflake', 'number for JavaScript': 'json1',
      TSID: 'tsid', 'uuid v7': 'uuidv7', TypeID: 'typeid', 'uuid v4': 'uuidv4', ULID: 'ulid', Xid: 'xid',
      ObjectId: 'objectid', KSUID: 'ksuid',
    }, 'examples')
    await page.goBack()
    await shows('507f1f77bcf86cd799439011')
    ok('back')

    // The ruler, by mouse and by keys
    await input.fill(SNO)
    const detail = first(page).locator('.detail')
    const blocks = first(page).locator('.ruler button')
    same(await detail.textContent(), 'timeunits of 4 ms since 2010-01-01T00:00:00Z ' +
      'bits 79 to 41 · 001 1110 0000 1101 0001 1000 0101 1100 1101 1001', 'it tells the first field')
    await blocks.nth(2).hover()
    same(await detail.textContent(), 'metabytethe kind of thing that it is the id of; its table decides ' +
      'bits 39 to 32 · 0000 0010', 'it tells the field under the mouse')
    await page.mouse.move(0, 0)
    await input.focus()
    for (let i = 0; i < 1 + await examples.count(); i++) await page.keyboard.press('Tab')
    same(await page.evaluate(() => document.activeElement.ariaLabel.split(',')[0]), 'metabyte', 'one stop for the ruler')
    await page.keyboard.press('ArrowRight')
    same([await detail.locator('b').textContent(), await detail.locator('code').textContent()],
      ['partition', 'bits 31 to 16 · 0100 0011 1011 1110'], 'the right arrow')
    await page.keyboard.press('Tab')
    same(await page.evaluate(() => document.activeElement.ariaLabel), 'Copy text', 'then the forms')

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.keyboard.press('Enter')
    await first(page).getByText('Copied').waitFor()
    same(await page.evaluate(() => navigator.clipboard.readText()), SNO, 'a form is copied')

    // What else it could be
    const number = '1503693540306587690'
    await input.fill(number)
    const [, second] = read(number)
    const row = page.locator('details.row').first()
    same(await row.locator('.card').count(), 0, 'a row is closed')
    await row.locator('summary').focus()
    await page.keyboard.press('Enter')
    await row.locator('.card').waitFor()
    same([await row.locator('h2').textContent(), await row.locator('.fields .value').allTextContents()],
      [second.title, second.fields.map(({ value }) => value)], 'a row is opened')
    await page.getByText('whose time is not likely').click()
    same(await page.locator('.more .row').first().isVisible(), true, 'those that are not likely')

    // Both colour schemes, and narrow screens
    const colors = {}
    for (const colorScheme of ['light', 'dark']) {
      for (const width of [1100, 360]) {
        const other = await open({ colorScheme, viewport: { width, height: 800 } }, SNO)
        for (const id of ['3c1a30b9-b202-843b-b800-140000000000', '0ujtsYcgvSTl8PAuAdqWYSMnLOv', 'a'.repeat(150),
          number]) {
          await other.locator('#id').fill(id)
          assert(await fits(other), `${id} needs more than ${width}`)
        }
        await other.locator('summary').first().click()
        await other.locator('.row .card').waitFor()
        assert(await fits(other), `an open row needs more than ${width}`)
        colors[colorScheme] = await other.evaluate(() => getComputedStyle(document.body).backgroundColor)
        await other.screenshot({ path: path.join(pictures, `${colorScheme}-${width}.png`), fullPage: true })
        await other.close()
      }
    }
    same(colors, { light: 'rgb(251, 252, 251)', dark: 'rgb(22, 26, 24)' }, 'light and dark, wide and narrow')

    same([...requests], [address], 'no request leaves the page')
    same(complaints, [], 'nothing complains')
    const refused = await page.evaluate(async (url) => {
      const violated = new Promise((resolve) =>
        addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)))
      fetch(url).catch(() => {})
      return violated
    }, 'https://sno.example/')
    same(refused, 'connect-src', 'the policy forbids a network')
  } finally {
    await browser.close()
  }
})

// test.mjs PAGE FOLDER [MUTANT ADDRESS ...]
//
// Presses the buttons of the page in chromium, with the keyboard, and looks at what it shows.  Prints
// lines of TAP without numbers.  FOLDER has playwright-core, and gets pictures of the page.  Each
// MUTANT is a page with a mistake, and an address that leads to a repeat there.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [file, folder, ...mutants] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)('playwright-core');
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1200, height: 1250 }, colorScheme: 'light' });
const page = await context.newPage();
const errors = [], requests = [];

page.on('console', message => errors.push(message.text()));
page.on('pageerror', error => errors.push(String(error)));
page.on('request', request => request.url().startsWith('data:') || requests.push(request.url()));

function ok(passed, text) {
    console.log(`${passed ? 'ok' : 'not ok'} - ${text}`);
}

// What the page shows of a side: ids, repeats and fingerprint, and its light.
async function side(name) {
    const [, ids, repeats, hash] = /^(\d+) ids, (\d+) twice.*, fingerprint (\w+)$/.exec(await page.textContent(`#${name}-count`));
    const light = page.locator(`#${name}-light`);
    return { ids: +ids, repeats: +repeats, hash, text: await light.textContent(), red: /\bred\b/.test(await light.getAttribute('class')),
        colour: await light.evaluate(at => getComputedStyle(at, '::before').backgroundColor) };
}

const both = async () => [await side('own'), await side('other')];
const open = async (address, at = file) => {
    await page.goto('about:blank');
    await page.goto(pathToFileURL(at).href + address);
};
const press = key => page.locator(`[data-key=${key}]`).press('Enter');
const steps = async count => { for (let n = 0; n < count; n++) await page.locator('#one').press('Enter'); };
const table = () => page.locator('#sessions tr').count();

await open('#seed=42&peer=snowflake&at=300');
let [own, other] = await both();
ok(own.ids > 50 && other.ids > own.ids, `both sides issue: ${own.ids} and ${other.ids} ids in 300 steps`);
ok(!own.red && !other.red && own.text === 'No id came twice', 'both lights are green');
const green = own.colour;
ok(await table() === 3, 'three sessions');
await press('a');
ok(await table() === 4, 'a session is added');

// Each button, and the ids that follow
for (const [key, told] of [['b', 'the clock stepped back'], ['k', 'kill -9'], ['p', 'the standby was promoted']]) {
    const before = await both();
    await press(key);
    ok((await page.textContent('#log li')).includes(told), `the page tells that ${told}`);
    await steps(160);
    [own, other] = await both();
    ok(own.ids > before[0].ids + 20, `sno issued ${own.ids - before[0].ids} ids in the next 160 steps`);
    ok(!own.red && own.repeats === 0, 'its light is green');
    if (key === 'b') {
        const [, id, first, again] = /^(\d+) came twice: to session (\d) .*, and to session (\d) /.exec(other.text) ?? [];
        ok(other.red && other.repeats > 0 && other.colour !== green, `the snowflake’s light is red, with ${other.repeats} repeats`);
        ok(id && first === again && first - 1 === Number(BigInt(id) >> 12n & 1023n), `it tells id ${id}, of session ${first}, its node`);
    }
}
ok(await page.locator('#server').textContent() === 'Server 3', 'the server is the third one');
const struck = await page.locator('tfoot td').allTextContents();
ok(struck.reduce((sum, text) => sum + Number(text), 0) === 8, `two kills met four sessions: ${struck.join(' ')}`);

// The same run again, by the address
await page.screenshot({ path: `${folder}/page.png` });
const link = await page.getAttribute('#link', 'href');
await open(link);
const again = await both();
ok(/press=300a,300b,460k,620p&at=780$/.test(link), `the address tells of the presses: ${link}`);
ok(again[0].hash === own.hash && again[0].ids === own.ids, `a replay issues the same ids: ${own.ids}, ${own.hash}`);
ok(again[1].hash === other.hash && again[1].repeats === other.repeats, `so it does beside: ${other.ids}, ${other.hash}`);
await open(link.replace('seed=42', 'seed=43'));
ok((await side('own')).hash !== own.hash, 'another seed issues others');

// Where each peer repeats
for (const [peer, press, red] of [
    ['snowflake', '300b', true], ['snowflake', '300k', false], ['snowflake', '300p', true], ['snowflake', '300k,320b', true],
    ['waits', '300b', false], ['waits', '300k,320b', true], ['waits', '300p', true],
    ['go', '300b', false], ['go', '300k,320b', true], ['go', '300p', true]]) {
    await open(`#seed=7&peer=${peer}&press=${press}&at=700`);
    [own, other] = await both();
    ok(other.red === red && !own.red, `${peer}, ${press}: ${other.repeats} repeats, and none of sno`);
}

// It runs by itself, stops, and begins anew.
await open('#seed=5&press=20b');
await page.waitForFunction(() => /step [1-9]\d\d/.test(document.getElementById('clock').textContent));
ok((await page.textContent('#log li')).startsWith('step 20'), 'it runs, and presses what the address says');
await page.locator('#run').press('Enter');
const stopped = await both();
await page.waitForTimeout(200);
ok((await side('own')).hash === stopped[0].hash && await page.textContent('#run') === 'Run', 'it stops');
await page.fill('#seed', '11');
await page.locator('#again').press('Enter');
ok(page.url().endsWith('#seed=11&sessions=3&peer=snowflake'), 'it begins anew with a seed');
await page.selectOption('#peer', 'go');
ok(page.url().endsWith('peer=go'), 'another system can be chosen');

await page.locator('#run').press('Enter');
const before = await side('own');
await page.fill('#seed', '12');
await page.locator('#link').press('Enter');
await page.waitForFunction(() => document.getElementById('seed').value === '11');
ok((await side('own')).hash === before.hash && await page.textContent('#run') === 'Run', 'the link leads to the same moment');

// Its light can be red, too.
while (mutants.length > 0) {
    const [mutant, at] = mutants.splice(0, 2);
    await open(at, mutant);
    own = await side('own');
    ok(own.red && / came twice: to session/.test(own.text), `a mutant’s light is red: ${own.text}`);
    await open(at);
    ok(!(await side('own')).red, 'without the mistake it is green');
}

// A telephone, in the dark
await page.emulateMedia({ colorScheme: 'dark' });
await page.setViewportSize({ width: 360, height: 780 });
await open(link);
const wide = await page.evaluate(() => document.documentElement.scrollWidth);
ok(wide === 360, `nothing is wider than a screen of 360 pixels: ${wide}`);
ok(await page.evaluate(() => [...document.querySelectorAll('.card, .box')].every(box => box.scrollWidth <= box.clientWidth)), 'nor than its box');
await page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
ok(await page.evaluate(() => [...document.querySelectorAll('button, select, input')].every(at => at.labels?.length || at.textContent.trim())),
    'what can be pressed or filled in has a name');

const others = requests.filter(url => !url.startsWith(pathToFileURL(folder).href));
ok(requests.length > 0 && others.length === 0, `no request but for the page itself: ${others}`);
ok(errors.length === 0, `no message on the console: ${errors}`);
await browser.close();

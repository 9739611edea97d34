// soak.mjs WORLD SEEDS STEPS [MISTAKE]
//
// Presses buttons at random, without a browser, in the world of a WebAssembly file.  If that
// has a mistake, ids must come twice: the line ends with an address that leads to a repeat.  Prints lines of
// TAP without numbers.

import { readFileSync } from 'node:fs';
import { Run, PEERS, PHASES } from './world.mjs';

const [file, seeds, steps, mistake] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(file));
const total = { presses: 0, ids: 0, repeats: 0, broken: 0, red: 0, unlucky: 0, losses: 0, struck: PHASES.map(() => 0) };
const peers = Object.fromEntries(PEERS.map(peer => [peer, { ids: 0, repeats: 0, runs: 0, red: 0 }]));
let example = '';       // the first run with a repeat

for (let seed = 1; seed <= seeds; seed++) {
    const options = { seed, sessions: 1 + seed % 4, peer: PEERS[seed % PEERS.length] };
    const run = new Run(module, options);
    let state = seed;           // Lehmer's generator: which button, and when
    const draw = below => (state = state * 48271 % 0x7fffffff) % below;
    const presses = [];
    while (run.steps < steps) {
        if (draw(60) === 0) {
            presses.push(run.steps + 'kkbbbppa'[draw(8)]);
            run.press(presses.at(-1).at(-1));
        }
        run.step();
    }
    const link = `#seed=${seed}&sessions=${options.sessions}&peer=${options.peer}&press=${presses}&at=${steps}`;
    total.presses += presses.length;
    total.ids += run.own.count;
    total.repeats += run.own.repeats.length;
    total.red += run.own.repeats.length > 0;
    total.losses += run.losses;
    // What came twice against the promise, and else after how many promotions
    total.broken += run.own.repeats.filter(repeat => !repeat.unpromised).length;
    total.unlucky += new Set(run.own.repeats.filter(repeat => repeat.unpromised).map(({ again }) => again.server)).size;
    if (run.own.repeats.length > 0) example ||= link;
    run.struck.forEach((count, phase) => total.struck[phase] += count);
    const peer = peers[options.peer];
    peer.ids += run.other.count;
    peer.repeats += run.other.repeats.length;
    peer.runs++;
    peer.red += run.other.repeats.length > 0;
}

const ok = (passed, text) => console.log(`${passed ? 'ok' : 'not ok'} - ${text}`);
if (mistake) {
    ok(total.red > 1, `${mistake}: ${total.repeats} of ${total.ids} ids came twice, in ${total.red} of ${seeds} runs; ${example}`);
} else {
    ok(total.broken === 0, `${seeds} runs of ${steps} steps, ${total.presses} presses: ${total.broken} of ${total.ids} ids came twice against the promise`);
    ok(total.unlucky * 500 < total.losses, `${total.losses} promotions lost rows, after ${total.unlucky} of which ids came twice; ${example}`);
    ok(total.struck.every(count => count > 0), `kills met sessions about to ${PHASES.map((phase, n) => `${phase} ${total.struck[n]}`).join(', ')}`);
    for (const [name, { ids, repeats, runs, red }] of Object.entries(peers))
        ok(repeats > 0, `${name}: ${repeats} of ${ids} ids came twice, in ${red} of ${runs} runs`);
}

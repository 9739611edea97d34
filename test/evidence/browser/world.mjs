// A run of the world: the compiled core of world.c, presses of buttons, and the check of all
// ids.  The page and soak.mjs have this in common.

const ALPHABET = '23456789abcdefghijklmnopqrstuvwx';
export const PEERS = ['snowflake', 'waits', 'go'];
export const PHASES = ['reserve', 'write', 'flush', 'publish', 'issue'];

// The bytes of an id: as text, and what the chart needs.
function readSno(bytes) {
    const bits = bytes.reduce((all, byte) => all << 8n | BigInt(byte), 0n);
    let text = '';
    for (let at = 75n; at >= 0n; at -= 5n) text += ALPHABET[Number(bits >> at & 31n)];
    return { text, unit: Number(bits >> 41n), side: Number(bits >> 40n & 1n), owner: bytes[6] << 8 | bytes[7] };
}

function readFlake(bytes) {
    const bits = bytes.slice(0, 8).reduce((all, byte) => all << 8n | BigInt(byte), 0n);
    return { text: String(bits), unit: Number(bits >> 24n), side: 0, owner: Number(bits >> 12n & 1023n) };
}

// Everything that was issued, by its text: it knows nothing of how ids are made.
class Received {
    first = new Map();
    repeats = [];
    hash = 0x811c9dc5;      // FNV-1a of all texts in order, to compare runs

    // The repeat, if it is one
    add(id, by) {
        for (const character of id.text) this.hash = Math.imul(this.hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
        const before = this.first.get(id.text);
        if (before === undefined) {
            this.first.set(id.text, by);
            return null;
        }
        const repeat = { ...id, before, again: by };
        this.repeats.push(repeat);
        return repeat;
    }

    get count() { return this.first.size + this.repeats.length; }
}

export class Run {
    constructor(module, { seed, sessions, peer }) {
        this.core = new WebAssembly.Instance(module).exports;
        this.core.begin(seed, sessions, PEERS.indexOf(peer));
        this.peer = peer;
        this.steps = 0;
        this.own = new Received();
        this.other = new Received();
        this.losses = 0;        // promotions that lost rows
        this.struck = PHASES.map(() => 0);      // sessions that a kill or a promotion met in each phase
        this.epoch = this.core.epoch();
    }

    // One turn of one session.  `see` gets each id that was issued.
    step(see = () => {}) {
        this.steps++;
        const result = this.core.step();
        if (result < 0) return;
        const by = { session: (result >> 2) + 1, server: this.core.server(), step: this.steps };
        const bytes = at => new Uint8Array(this.core.memory.buffer, at, 10);
        if (result & 1) {
            const id = readSno(bytes(this.core.own_id()));
            const repeat = this.own.add(id, by);
            // If rows of its lease were lost in a promotion, only odds are promised.
            const lost = this.core.lost(id.owner);
            if (repeat) repeat.unpromised = repeat.before.server <= lost && lost < by.server;
            see(id, repeat, this.own);
        }
        if (result & 2) {
            const id = (this.peer === 'go' ? readSno : readFlake)(bytes(this.core.peer_id()));
            see(id, this.other.add(id, by), this.other);
        }
    }

    // Press a button.  The result tells what happened.
    press(key) {
        const core = this.core;
        if (key === 'b') {
            core.back();
            return 'the clock stepped back by 80 ms';
        }
        if (key === 'a') {
            core.add();
            return `session ${core.session_count()} connected`;
        }
        let told = '';
        if (!core.is_down()) {
            const met = PHASES.map(() => 0);
            for (let n = 0; n < core.session_count(); n++) met[core.phase(n)]++;
            met.forEach((count, phase) => this.struck[phase] += count);
            told = '. Sessions were about to ' +
                PHASES.map((name, phase) => `${name} (${met[phase]})`).filter((_, phase) => met[phase]).join(', ');
        }
        if (key === 'k') {
            core.kill();
            return `kill -9${told}`;
        }
        const missing = core.promote();
        this.losses += missing > 0;
        return `the standby was promoted, its clock 40 ms behind${told}. ` + (missing === 0 ?
            'It had all rows of leases' : `${missing} row${missing > 1 ? 's' : ''} of leases never reached it`);
    }
}

// js.mjs PEER [NODE]: ids of one of these packages, as peers.py asks for them.  With NODE,
// it is configured as its own document says for many processes; without, by default.

import { createInterface } from 'node:readline';

const [peer, node] = process.argv.slice(2);
const own = node === undefined ? undefined : Number(node);
const epoch = Date.UTC(2024, 0, 1);
const makers = {
  'bson': ({ ObjectId }) => () => new ObjectId().toHexString(),
  'uuid': ({ v7 }) => v7,
  'ulid': ({ monotonicFactory }) => monotonicFactory(),
  'ksuid': (m) => () => m.default.randomSync().string,
  'nodejs-snowflake': (m) => {
    const s = new m.default.Snowflake(own && { custom_epoch: epoch, instance_id: own });
    return () => s.getUniqueID();
  },
  '@sapphire/snowflake': ({ Snowflake }) => {
    const s = new Snowflake(new Date(epoch));
    if (own) s.workerId = own;
    return () => s.generate();
  },
  'flake-idgen': (m) => {
    const s = new m.default(own && { id: own });
    return () => s.next().readBigUInt64BE();
  },
  'tsid-ts': (m) => {
    if (!own) return () => m.default.getTsid().toBigInt();
    const s = new m.default.TSIDGenerator(own);
    return () => s.create().toBigInt();
  },
};
const next = makers[peer](await import(peer));

for await (const line of createInterface({ input: process.stdin })) {
  const ids = [];
  try {
    for (let n = Number(line); n > 0; n--) ids.push(next());
  } catch (error) {
    ids.push(`! ${error.message}`);
  }
  process.stdout.write([...ids, '.\n'].join('\n'));
}

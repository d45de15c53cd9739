import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { connect, createServer } from 'node:tls';

/** Operations per second of each kind of work, in one thread. */
export interface Rates {
  readonly hashing: number;
  readonly json: number;
  readonly fsync: number;
  readonly tls: number;
}

/** A certificate for the loopback address with its key and its CA, all PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const EACH_MS = 500;
const HASHED_BYTES = 16 * 1_024;
const WRITTEN_BYTES = 4 * 1_024;
/** Operations between two reads of the clock, which would cost as much as the work. */
const AT_ONCE = 20;

/** The size of a log event. */
const EVENT = {
  specversion: '1.0',
  id: '0190f3a2-7f0c-7aa1-9b1e-3f0f5f4f4c11',
  source: '/bootstrap-svc',
  type: 'WorkerJoined',
  subject: 'ns/default/clusters/c-17',
  time: '2026-01-01T00:00:00.000Z',
  actor: 'system/bootstrap-svc',
  correlationid: '0190f3a2-7f0c-7aa1-9b1e-3f0f5f4f4c12',
  prevhash: 'f'.repeat(64),
  data: { uid: '0190f3a2-7f0c-7aa1-9b1e-3f0f5f4f4c13', node: 'c-17-w-1', labels: { tier: 'web', zone: 'lab-1a' } },
};

const perSecond = (work: () => void, atOnce = 1): number => {
  const startedAt = performance.now();
  let done = 0;
  while (performance.now() - startedAt < EACH_MS) {
    for (let index = 0; index < atOnce; index += 1) work();
    done += atOnce;
  }
  return (done * 1_000) / (performance.now() - startedAt);
};

const hashing = (): number => {
  const bytes = Buffer.alloc(HASHED_BYTES, 'fairlead');
  return perSecond(() => createHash('sha256').update(bytes).digest('hex'), AT_ONCE);
};

const json = (): number => perSecond(() => JSON.parse(JSON.stringify(EVENT)), AT_ONCE);

const fsync = (): number => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-yardstick-'));
  const file = openSync(join(folder, 'log'), 'w');
  const bytes = Buffer.alloc(WRITTEN_BYTES, 'fairlead');
  try {
    return perSecond(() => {
      writeSync(file, bytes);
      fdatasyncSync(file);
    });
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
};

/** Full TLS 1.3 handshakes on the loopback address, client and server in this thread, one after the other. */
const tls = async ({ cert, key, ca }: Identity): Promise<number> => {
  const server = createServer({ cert, key }, (socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const startedAt = performance.now();
  let done = 0;
  while (performance.now() - startedAt < EACH_MS) {
    const socket = connect({ host: '127.0.0.1', port, ca });
    await once(socket, 'secureConnect');
    socket.destroy();
    done += 1;
  }
  const rate = (done * 1_000) / (performance.now() - startedAt);
  server.close();
  return rate;
};

/** The fixed work, one kind after the other, about two seconds in total. */
export const doWork = async (identity: Identity): Promise<Rates> => ({
  hashing: hashing(),
  json: json(),
  fsync: fsync(),
  tls: await tls(identity),
});

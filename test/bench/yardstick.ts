import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ensureCertificates } from '@fairlead/embedded';
import type { Identity, Rates } from './yardstick.work.js';

const KINDS = ['hashing', 'json', 'fsync', 'tls'] as const;
const UNITS = { hashing: 'SHA-256 of 16 KiB', json: 'JSON events', fsync: 'fsyncs', tls: 'TLS handshakes' };

/** The machine's rates per second: of each kind of work on one core, and on two cores together. */
export interface Yardstick {
  readonly one: Rates;
  readonly two: Rates;
}

/**
 * The score 100: the speed at which 1,000 single-node clusters took 292 s. That version (a01441b) took 202.9 s on the
 * machine with these rates, measured right afterwards, divided by 1.44.
 */
const REFERENCE: Yardstick = {
  one: { hashing: 78_590, json: 363_970, fsync: 3_853, tls: 387 },
  two: { hashing: 150_380, json: 705_980, fsync: 5_710, tls: 702 },
};
const WORKER = new URL('./yardstick.worker.mjs', import.meta.url);

const inWorker = (identity: Identity): Promise<Rates> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(WORKER, { workerData: identity });
    worker.once('message', resolve);
    worker.once('error', reject);
  });

const sumOf = (a: Rates, b: Rates): Rates => ({
  hashing: a.hashing + b.hashing,
  json: a.json + b.json,
  fsync: a.fsync + b.fsync,
  tls: a.tls + b.tls,
});

/**
 * A fixed amount of work like that of Fairlead's programs, about five seconds, which measures the current speed of this
 * machine.
 */
export const measureYardstick = async (): Promise<Yardstick> => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-yardstick-'));
  try {
    const { serverFile, caFile } = await ensureCertificates(folder, ['127.0.0.1']);
    const server = readFileSync(serverFile, 'utf8');
    const identity = { cert: server, key: server, ca: readFileSync(caFile, 'utf8') };
    const one = await inWorker(identity);
    const [first, second] = await Promise.all([inWorker(identity), inWorker(identity)]);
    return { one, two: sumOf(first, second) };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/**
 * 100 at the reference's speed, 200 at twice its speed: the geometric mean over all kinds of work, on one core and on
 * two.
 */
export const scoreOf = ({ one, two }: Yardstick): number => {
  const ratios = KINDS.flatMap((kind) => [one[kind] / REFERENCE.one[kind], two[kind] / REFERENCE.two[kind]]);
  return 100 * Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
};

export const yardstickLine = (yardstick: Yardstick): string =>
  `score ${scoreOf(yardstick).toFixed(0)} (${KINDS.map(
    (kind) =>
      `${UNITS[kind]}/s ${yardstick.one[kind].toFixed(0)} on one core, ${yardstick.two[kind].toFixed(0)} on two`,
  ).join('; ')})`;

import { eventuallyPasses, newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ask,
  askWhenItListens,
  Balanced,
  freePort,
  HEALTHY,
  HOST,
  servingCertificate,
  type Health,
} from '../../../../test/balancers/balanced.js';
import { itWith } from '../../../../test/recorded/checkers.js';
import { API_PORT } from '../kubeadm/kubeadm.types.js';
import { canMakeNamespaces, Machines } from './failover.fixtures.js';
import { haproxyConfig, MONITOR_PORT } from './haproxy.config.js';

const [FIRST, SECOND] = [HOST, '127.0.0.2'] as const;
/** Longer than all checks that could take a server out. */
const LONG_MS = 9_000;
const ANSWERED_AFTER_MS = 2_000;
/** For a busy machine. */
const MORE_MS = 2_000;
/** Three times: a second until the next check, and the time that the API server has to answer it. */
const OUT_AFTER_MS = 3 * (1_000 + 5_000);
const CASE_LIMIT_MS = 60_000;

let balanced: Balanced;

/** API servers at these addresses, and the haproxy of a control plane in front of them. Returns its port. */
const balance = async (health: Readonly<Record<string, Health>>, answersAfterMs: number): Promise<number> => {
  const [port, apiPort, monitorPort] = [await freePort(), await freePort(), await freePort()];
  for (const [address, answers] of Object.entries(health))
    await balanced.serve(address, apiPort, answers, answersAfterMs);
  const peers = Object.keys(health).map((address, at) => ({ name: `cp-${at + 1}`, address }));
  const own = haproxyConfig({ ipv6: false, port }, peers);
  balanced.start(
    own
      .replaceAll(/^ {2}(user|group) haproxy\n/gm, '')
      .replace(`bind *:${port}`, `bind ${HOST}:${port}`)
      .replaceAll(`:${API_PORT}`, `:${apiPort}`)
      .replace(`:${MONITOR_PORT}`, `:${monitorPort}`),
  );
  return port;
};

describe('haproxy on the control planes of own hosts', () => {
  beforeEach(() => {
    balanced = new Balanced();
  });
  afterEach(() => balanced.end());

  const busy: readonly (readonly [string, Health])[] = [
    ['needs three seconds for each health check', () => ({ status: 200, afterMs: 3_000 })],
    ['fails two health checks', (check) => ({ status: check === 2 || check === 3 ? 500 : 200, afterMs: 0 })],
  ];
  itWith('haproxy', '-v').each(busy)(
    'leaves an API server the request that it answers when it %s: it is busy, not gone',
    async (_what, health) => {
      expect(await askWhenItListens(await balance({ [FIRST]: health }, LONG_MS))).toBe(200);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy', '-v')(
    'ends the requests of an API server that fails three health checks, so that clients find another one',
    async () => {
      const health: Health = (check) => ({ status: check === 1 ? 200 : 500, afterMs: 0 });
      expect(await askWhenItListens(await balance({ [FIRST]: health }, LONG_MS))).toBe('ECONNRESET');
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy', '-v')(
    'ends the requests of an API server that accepts connections and answers nothing within 20 seconds',
    async () => {
      const health: Health = (check) => ({ status: 200, afterMs: check === 1 ? 0 : CASE_LIMIT_MS });
      const port = await balance({ [FIRST]: health }, CASE_LIMIT_MS);
      const from = performance.now();
      expect(await askWhenItListens(port)).toBe('ECONNRESET');
      expect(performance.now() - from).toBeLessThan(OUT_AFTER_MS + MORE_MS);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy', '-v')(
    'sends requests elsewhere at once when the API server that had the fewest has just stopped',
    async () => {
      const port = await balance({ [FIRST]: HEALTHY, [SECOND]: HEALTHY }, ANSWERED_AFTER_MS);
      expect(await askWhenItListens(port)).toBe(200);
      const open = Array.from({ length: 6 }, () => ask(port));
      await sleep(ANSWERED_AFTER_MS / 2);
      balanced.stopServing(SECOND);
      const from = performance.now();
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(port)));
      expect(answers).toEqual(answers.map(() => 200));
      expect(performance.now() - from).toBeLessThan(ANSWERED_AFTER_MS + MORE_MS);
      expect(new Set(await Promise.all(open))).toEqual(new Set([200, 'ECONNRESET']));
    },
    CASE_LIMIT_MS,
  );
});

const HOSTS = { cp1: '198.51.100.31', cp2: '198.51.100.32' } as const;
const FIRST_NUMBER = 11;
const NUMBERS = Object.keys(HOSTS).map((_name, at) => FIRST_NUMBER + at);
const BALANCED_PORT = 9_998;
/** Three checks, each a second after the one before, and a second for the connection of each. */
const GONE_AFTER_MS = 3 * (1_000 + 1_000);
/** An attempt of a second at the host that is gone, and one elsewhere. */
const ELSEWHERE_AFTER_MS = 1_000;
/** Until a client has its first answer. */
const BEGUN_AFTER_MS = 3_000;

/** An API server that says its number at once, or, where it is asked for a watch, nothing. */
const apiServer = (folder: string, number: number): readonly string[] => [
  '-e',
  `const { readFileSync } = require('node:fs');
   const [key, cert] = ['key', 'cert'].map((kind) => readFileSync('${folder}/' + kind + '.pem'));
   const answer = ({ url }, response) => url === '/watch' ? response.writeHead(200).write('{}') : response.end('${number}');
   require('node:https').createServer({ key, cert }, answer).listen(${API_PORT}, '0.0.0.0');`,
];

const CUT_OFF = 2;
/** Asks the haproxy here, and ends when the answer does: with the number of who gave it, or CUT_OFF. */
const client = (path: string): readonly string[] => [
  '-e',
  `const options = { host: '${HOST}', port: ${BALANCED_PORT}, path: '${path}', rejectUnauthorized: false, agent: false };
   const asked = require('node:https').get(options, (answer) => {
     let said = '';
     answer.on('data', (bytes) => (said += bytes)).on('error', () => process.exit(${CUT_OFF}));
     answer.on('end', () => process.exit(Number(said)));
   });
   asked.on('error', () => process.exit(${CUT_OFF}));`,
];

const whenPossible = canMakeNamespaces('haproxy') ? describe : describe.skip;
if (whenPossible === describe.skip)
  process.stderr.write('\n!!! NOT RUN: a balancer whose hosts are gone needs root, haproxy and network namespaces\n\n');

whenPossible('haproxy on a control plane of own hosts, when the host of an API server is gone', () => {
  let machines: Machines;
  let folder = '';

  /** How it ended, and after how long. */
  const asking = async (path: string): Promise<{ readonly code: number | null; readonly ms: number }> => {
    const from = performance.now();
    const child = machines.start('lb', process.execPath, client(path));
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
    return { code, ms: performance.now() - from };
  };

  /** They take turns while both are in. */
  const bothAsked = async (): Promise<(number | null)[]> =>
    (await Promise.all(NUMBERS.map(() => asking('/')))).map(({ code }) => code);

  beforeAll(async () => {
    machines = new Machines();
    folder = newFolder('balancer-gone');
    const { cert, key } = await servingCertificate(Object.values(HOSTS));
    writeFileSync(join(folder, 'cert.pem'), cert);
    writeFileSync(join(folder, 'key.pem'), key);
    machines.add('lb', '198.51.100.20');
    for (const [at, [name, address]] of Object.entries(HOSTS).entries()) {
      machines.add(name, address);
      machines.start(name, process.execPath, apiServer(folder, FIRST_NUMBER + at));
    }
    const peers = Object.entries(HOSTS).map(([name, address]) => ({ name, address }));
    const file = join(folder, 'haproxy.cfg');
    const own = haproxyConfig({ ipv6: false, port: BALANCED_PORT }, peers);
    writeFileSync(file, own.replaceAll(/^ {2}(user|group) haproxy\n/gm, ''));
    machines.start('lb', 'haproxy', ['-db', '-f', file]);
    await eventuallyPasses(async () => expect((await bothAsked()).sort()).toEqual(NUMBERS), { withinMs: 20_000 });
  }, CASE_LIMIT_MS);

  afterAll(async () => {
    await machines.remove();
    removeFolder(folder);
  }, CASE_LIMIT_MS);

  it(
    'loses no request that is new, and ends those that it had within six seconds',
    async () => {
      const watches = [asking('/watch'), asking('/watch')];
      await sleep(BEGUN_AFTER_MS);
      const from = performance.now();
      machines.cutOff('cp1');
      const answers = await Promise.all(Array.from({ length: 4 }, () => asking('/')));
      expect(answers.map(({ code }) => code)).toEqual(answers.map(() => NUMBERS[1]));
      expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(ELSEWHERE_AFTER_MS + MORE_MS);
      expect(await Promise.race(watches)).toMatchObject({ code: CUT_OFF });
      expect(performance.now() - from).toBeLessThan(GONE_AFTER_MS + MORE_MS);
    },
    CASE_LIMIT_MS,
  );
});

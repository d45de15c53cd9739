import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventuallyPasses, newFolder, removeFolder } from '@fairlead/testing';
import {
  ask,
  askWhenItListens,
  Balanced,
  freePort,
  HEALTHY,
  HOST,
  type Health,
} from '../../../../test/balancers/balanced.js';
import { itWith } from '@fairlead/testing/programs';
import { API_PORT } from '../kubeadm/kubeadm.types.js';
import { BALANCER } from './balancer.paths.js';
import { haproxyConfig, MONITOR_PORT } from './haproxy.config.js';

const [FIRST, SECOND] = [HOST, '127.0.0.2'] as const;
/** Longer than all checks that could remove a server. */
const LONG_MS = 9_000;
const ANSWERED_AFTER_MS = 2_000;
/** Tolerance for a busy machine. */
const MORE_MS = 2_000;
/** Three times the interval of one second plus the API server's timeout. */
const OUT_AFTER_MS = 3 * (1_000 + 5_000);
const CASE_LIMIT_MS = 60_000;

let balanced: Balanced;
let folder: string;
const socket = (): string => join(folder, 'stats.sock');

/** API servers at these addresses, behind the haproxy of a control plane. Returns its port. */
const balance = async (health: Readonly<Record<string, Health>>, answersAfterMs: number): Promise<number> => {
  const [port, apiPort, monitorPort] = [await freePort(), await freePort(), await freePort()];
  for (const [address, answers] of Object.entries(health))
    await balanced.serve(address, apiPort, answers, answersAfterMs);
  const peers = Object.keys(health).map((address, at) => ({ name: `cp-${at + 1}`, address }));
  const own = haproxyConfig({ ipv6: false, port }, peers);
  balanced.start(
    own
      .replaceAll(/^ {2}(user|group) haproxy\n/gm, '')
      .replace(BALANCER.stats, socket())
      .replace(`bind *:${port}`, `bind ${HOST}:${port}`)
      .replaceAll(`:${API_PORT}`, `:${apiPort}`)
      .replace(`:${MONITOR_PORT}`, `:${monitorPort}`),
  );
  return port;
};

/** haproxy's answer to `show stat`. */
const statistics = async (): Promise<string> => {
  const asked = connect({ path: socket() });
  asked.write('show stat\n');
  return text(asked);
};

describe('haproxy on control planes of own hosts', () => {
  beforeEach(() => {
    balanced = new Balanced();
    folder = newFolder('balancer-stats');
  });
  afterEach(async () => {
    await balanced.end();
    removeFolder(folder);
  });

  const busy: readonly (readonly [string, Health])[] = [
    ['needs three seconds for each health check', () => ({ status: 200, afterMs: 3_000 })],
    ['fails two health checks', (check) => ({ status: check === 2 || check === 3 ? 500 : 200, afterMs: 0 })],
  ];
  itWith('haproxy').each(busy)(
    'does not interrupt the request of an API server that %s: it is busy, not dead',
    async (_what, health) => {
      expect(await askWhenItListens(await balance({ [FIRST]: health }, LONG_MS))).toBe(200);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy')(
    'closes the connections of an API server that fails three health checks, so that clients choose another one',
    async () => {
      const health: Health = (check) => ({ status: check === 1 ? 200 : 500, afterMs: 0 });
      expect(await askWhenItListens(await balance({ [FIRST]: health }, LONG_MS))).toBe('ECONNRESET');
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy')(
    'closes the connections of an API server that accepts connections but does not answer within 20 seconds',
    async () => {
      const health: Health = (check) => ({ status: 200, afterMs: check === 1 ? 0 : CASE_LIMIT_MS });
      const port = await balance({ [FIRST]: health }, CASE_LIMIT_MS);
      const from = performance.now();
      expect(await askWhenItListens(port)).toBe('ECONNRESET');
      expect(performance.now() - from).toBeLessThan(OUT_AFTER_MS + MORE_MS);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy')(
    'sends requests elsewhere at once when the API server with the fewest connections has just stopped',
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

  itWith('haproxy')(
    'states at its socket which API servers pass their health check [ORBITER 32]',
    async () => {
      const sick: Health = () => ({ status: 500, afterMs: 0 });
      expect(await askWhenItListens(await balance({ [FIRST]: HEALTHY, [SECOND]: sick }, 0))).toBe(200);
      await eventuallyPasses(
        async () => {
          const rows = (await statistics()).split('\n').map((line) => line.split(','));
          const status = rows[0]?.indexOf('status') ?? -1;
          const servers = rows.filter(([backend, server]) => backend === 'api' && server?.startsWith('cp-'));
          expect(servers.map((row) => [row[1], row[status]])).toEqual([
            ['cp-1', 'UP'],
            ['cp-2', 'DOWN'],
          ]);
        },
        { withinMs: CASE_LIMIT_MS / 2 },
      );
    },
    CASE_LIMIT_MS,
  );
});

import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { askWhenItListens, Balanced, freePort, HOST, type Health } from '../../../../test/balancers/balanced.js';
import { itWith } from '../../../../test/recorded/checkers.js';
import { haproxyConfig } from './haproxy.config.js';

/** Longer than all checks that could take the server out. */
const ANSWERED_AFTER_MS = 9_000;
const CASE_LIMIT_MS = 60_000;

let balanced: Balanced;

beforeEach(() => {
  balanced = new Balanced();
});
afterEach(() => balanced.end());

/** An API server that takes long for each request, behind a balancer. Returns the balancer's port. */
const balance = async (health: Health): Promise<number> => {
  const [port, apiPort] = [await freePort(), await freePort()];
  await balanced.serve(HOST, apiPort, health, ANSWERED_AFTER_MS);
  const targets = [{ name: 'cp-1', address: HOST, port: apiPort }];
  balanced.start(haproxyConfig({ address: HOST, port, healthPath: '/readyz', targets }));
  return port;
};

describe('a balancer in front of an API server that is answering a request', () => {
  const busy: readonly (readonly [string, Health])[] = [
    ['needs three seconds for each health check', () => ({ status: 200, afterMs: 3_000 })],
    ['fails two health checks', (check) => ({ status: check === 2 || check === 3 ? 500 : 200, afterMs: 0 })],
  ];
  itWith('haproxy').each(busy)(
    'leaves it the request when it %s: it is busy, not gone',
    async (_what, health) => {
      expect(await askWhenItListens(await balance(health))).toBe(200);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy')(
    'ends the request when it fails three of them, so that the client finds another API server',
    async () => {
      const port = await balance((check) => ({ status: check === 1 ? 200 : 500, afterMs: 0 }));
      expect(await askWhenItListens(port)).toBe('ECONNRESET');
    },
    CASE_LIMIT_MS,
  );
});

import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { askWhenItListens, Balanced, freePort, HOST, type Health } from '../../../../test/balancers/balanced.js';
import { itWith } from '@fairlead/testing/programs';
import { haproxyConfig } from './haproxy.config.js';

/** Longer than all checks that could remove the server. */
const ANSWERED_AFTER_MS = 9_000;
const CASE_LIMIT_MS = 60_000;

let balanced: Balanced;

beforeEach(() => {
  balanced = new Balanced();
});
afterEach(() => balanced.end());

/** An API server that is slow for each request, behind a load balancer. Returns the load balancer's port. */
const balance = async (health: Health): Promise<number> => {
  const [port, apiPort] = [await freePort(), await freePort()];
  await balanced.serve(HOST, apiPort, health, ANSWERED_AFTER_MS);
  const targets = [{ name: 'cp-1', address: HOST, port: apiPort }];
  balanced.start(haproxyConfig({ address: HOST, port, healthPath: '/readyz', targets }));
  return port;
};

describe('a load balancer in front of an API server that is answering a request', () => {
  const busy: readonly (readonly [string, Health])[] = [
    ['needs three seconds for each health check', () => ({ status: 200, afterMs: 3_000 })],
    ['fails two health checks', (check) => ({ status: check === 2 || check === 3 ? 500 : 200, afterMs: 0 })],
  ];
  itWith('haproxy').each(busy)(
    'does not interrupt the request if it %s: it is busy, not dead',
    async (_what, health) => {
      expect(await askWhenItListens(await balance(health))).toBe(200);
    },
    CASE_LIMIT_MS,
  );

  itWith('haproxy')(
    'closes the connection if it fails three of them, so that the client chooses another API server',
    async () => {
      const port = await balance((check) => ({ status: check === 1 ? 200 : 500, afterMs: 0 }));
      expect(await askWhenItListens(port)).toBe('ECONNRESET');
    },
    CASE_LIMIT_MS,
  );
});

import { describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { ServiceLiveness } from './liveness.js';

const quiet = {
  subscribe: () => ({ unsubscribe: () => undefined }),
  publish: () => undefined,
  status: async function* () {},
} as unknown as NatsConnection;

describe('the liveness of other services', () => {
  it('is ok until one is silent for twenty seconds, and again after its next announcement', () => {
    let nowMs = 1_000;
    const signs = new ServiceLiveness(quiet, 'gateway', () => nowMs);
    signs.start();
    const good = { 'infra-svc': 'ok', 'bootstrap-svc': 'ok', 'upgrade-svc': 'ok' };
    expect(signs.report()).toEqual(good);
    nowMs += 15_000;
    for (const service of ['infra-svc', 'upgrade-svc']) signs.received(service);
    nowMs += 10_000;
    expect(signs.report()).toEqual({ ...good, 'bootstrap-svc': 'silent for 25 s; its work waits' });
    signs.received('bootstrap-svc');
    expect(signs.report()).toEqual(good);
    signs.stop();
  });
});

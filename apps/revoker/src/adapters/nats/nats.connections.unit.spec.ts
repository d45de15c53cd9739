import { setImmediate as turn } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import { describe, expect, it } from '@jest/globals';
import { natsConnections } from './nats.connections.js';

describe('a connection that cannot be closed', () => {
  it('is reported with its server and the words of NATS', async () => {
    const said: (readonly [string, string])[] = [];
    const nc = { request: () => Promise.reject(new Error('no responders')) } as unknown as NatsConnection;
    natsConnections(nc, 'ACCOUNT', (level, sentence) => void said.push([level, sentence])).close({
      server: 'NS1',
      id: 7,
      user: 'UAGENT',
      node: 'default/demo/w-1',
    });
    await turn();
    expect(said).toEqual([
      ['warn', 'closing the connection of a node failed: connection 7 of server NS1: no responders'],
    ]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const CREATE_TIMEOUT_MS = 120_000;
/** Any address other than the loopback addresses of embedded servers: NATS treats it like one for other machines. */
const ADDRESS = '127.0.0.9';

interface Connections {
  readonly connections: readonly { readonly name?: string; readonly tls_version?: string }[];
}

describe('NATS at an address for other machines', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ natsHost: ADDRESS });
  }, 120_000);

  afterAll(() => system?.stop(), 60_000);

  it(
    'is used only by TLS, by every service and by the agents that it installs',
    async () => {
      await system.call('POST', '/ns/default/clusters', clusterBody('safe', { controlPlanes: 1, workers: 1 }));
      const end = await system.until('safe', ({ type }) => /^Cluster(Ready|Failed)$/.test(type), CREATE_TIMEOUT_MS);
      expect(end.type).toBe('ClusterReady');
      const answer = await fetch(`${system.environment.nats.monitorUrl ?? ''}/connz`);
      const { connections } = (await answer.json()) as Connections;
      const names = connections.map(({ name = '' }) => name);
      expect(names).toEqual(expect.arrayContaining([...SERVICE_NAMES]));
      expect(names.filter((name) => name.startsWith('agent default/safe/'))).toHaveLength(2);
      expect(connections.map(({ tls_version: version }) => version)).toEqual(names.map(() => '1.3'));
    },
    CREATE_TIMEOUT_MS,
  );
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const READY_WITHIN_MS = 60_000;

describe('the network of a cluster', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, 120_000);

  afterAll(() => system?.stop(), 60_000);

  it.each([
    ['single', 'calico'],
    ['single', 'cilium'],
    ['multi', 'canal'],
    ['multi', 'kilo'],
  ])(
    'of serviceType %s may be %s: it is installed and rolled out, and the cluster becomes Ready [CB-Ladybug 19]',
    async (serviceType, networkCni) => {
      const body = clusterBody(networkCni, { controlPlanes: 1, workers: 1 });
      const asked = await system.call('POST', '/ns/default/clusters', {
        ...body,
        serviceType,
        config: { kubernetes: { networkCni } },
      });
      expect(asked.status).toBe(202);
      const end = await system.until(
        networkCni,
        ({ type }) => type === 'ClusterReady' || type === 'ClusterFailed',
        READY_WITHIN_MS,
      );
      expect(end.type).toBe('ClusterReady');
      const installed = (await system.events(networkCni)).filter(({ type }) => type === 'NetworkReady');
      expect(installed.map(({ data }) => data)).toEqual([expect.objectContaining({ cni: networkCni })]);
    },
    READY_WITHIN_MS + 10_000,
  );
});

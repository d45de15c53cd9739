import type { StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { saidTwice } from './system/said.twice.js';
import { clusterBody, SERVICE_NAMES, startSystem, type System } from './system/system.js';

const CLUSTERS = 12;
const CREATE_TIMEOUT_MS = 180_000;
const ready = ({ type }: StoredEvent): boolean => type === 'ClusterReady' || type === 'ClusterFailed';

describe('two replicas of every service', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true });
    for (const service of SERVICE_NAMES.filter((name) => name !== 'gateway')) await system.supervisor.scale(service, 2);
  }, 120_000);

  afterAll(() => system?.stop(), 60_000);

  it(
    'do nothing twice and keep the order of every cluster, even if one of each is killed',
    async () => {
      const names = Array.from({ length: CLUSTERS }, (_, index) => `pair-${index}`);
      for (const name of names) {
        const answer = await system.call(
          'POST',
          '/ns/default/clusters',
          clusterBody(name, { controlPlanes: 1, workers: 1 }),
        );
        expect([name, answer.status]).toEqual([name, 202]);
      }
      await system.until('pair-0', ({ type }) => type === 'VmsCreated', CREATE_TIMEOUT_MS);
      for (const service of SERVICE_NAMES) system.kill(service);
      for (const name of names) {
        const end = await system.until(name, ready, CREATE_TIMEOUT_MS);
        expect([name, end.type]).toEqual([name, 'ClusterReady']);
      }
      for (const name of names) {
        const events = await system.events(name);
        expect([name, saidTwice(events)]).toEqual([name, []]);
        expect(events.filter(({ type }) => type === 'VmCreated')).toHaveLength(2);
      }
      expect(await system.made()).toMatchObject({ machine: CLUSTERS * 2, network: 1, firewall: 1, sshKey: 1 });
    },
    2 * CREATE_TIMEOUT_MS,
  );
});

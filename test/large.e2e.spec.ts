import type { ClusterManifestView, NodeList, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { benchClusters } from './bench/clusters.bench.js';
import { tableOf, type Figure } from './bench/figures.js';
import { useOfTree } from './bench/processes.js';
import { clusterBody, startSystem, type System } from './system/system.js';

const MINUTE_MS = 60_000;
const LIMIT_MS = 15 * MINUTE_MS;

const print = (text: string): void => void process.stdout.write(`\n${text}\n`);

describe('the capacity of one machine in the lab', () => {
  it(
    'is 1,000 clusters of one node, Running within 15 minutes; memory and idle CPU are printed [Cluster API 34]',
    async () => {
      const startedAt = Date.now();
      // It rejects if one of them fails, or if not all are Ready in time.
      const figures: readonly Figure[] = await benchClusters(1_000);
      print(tableOf(figures, 1));
      expect(figures.map(({ name }) => name)).toEqual(
        expect.arrayContaining([expect.stringContaining('memory'), expect.stringContaining('idle CPU')]),
      );
      expect(Date.now() - startedAt).toBeLessThan(LIMIT_MS + 4 * MINUTE_MS);
    },
    LIMIT_MS + 5 * MINUTE_MS,
  );
});

describe('a cluster of 3 control planes and 500 workers with the default networks', () => {
  const path = '/ns/default/clusters/large';
  let system: System;

  beforeAll(async () => {
    system = await startSystem({ light: true });
  }, 2 * MINUTE_MS);
  afterAll(() => system?.stop(), MINUTE_MS);

  it(
    'becomes Ready with a range of the pod network for each node [Cluster API 34]',
    async () => {
      const startedAt = Date.now();
      const request = clusterBody('large', { controlPlanes: 3, workers: 500 });
      expect(await system.call('POST', '/ns/default/clusters', request)).toMatchObject({ status: 202 });
      const end = await system.until('large', ({ type }) => /^Cluster(Ready|Failed)$/.test(type), LIMIT_MS);
      expect(end.type).toBe('ClusterReady');
      const seconds = (Date.now() - startedAt) / 1_000;
      const uses = system.supervisor
        .status()
        .flatMap(({ name, pid }) => (pid === undefined ? [] : [{ name, ...useOfTree(pid) }]));
      const costs = uses.map(
        ({ name, cpuSeconds, rssMiB }) => `${name} ${cpuSeconds.toFixed(1)} s, ${rssMiB.toFixed(0)} MiB`,
      );
      print(`3 + 500 nodes: Ready after ${seconds.toFixed(1)} s; ${costs.join('; ')}`);
      const { items } = (await system.call<NodeList>('GET', `${path}/nodes?limit=1000&minSeq=${end.meta.seq}`)).body;
      expect(items).toHaveLength(503);
      expect(items.filter(({ phase }) => phase !== 'Ready')).toEqual([]);
    },
    LIMIT_MS + MINUTE_MS,
  );

  it(
    'is refused a 501st worker with the numbers, and accepts another one in place of one that leaves',
    async () => {
      const { metadata, spec } = (await system.call<ClusterManifestView>('GET', `${path}/manifest`)).body;
      expect([metadata.name, spec.network.podCidr]).toEqual(['large', '10.244.0.0/16']);
      const another = { worker: [{ connection: 'lab', count: 1, spec: 'lab.medium' }] };
      expect(await system.call('POST', `${path}/nodes`, another)).toMatchObject({
        status: 400,
        body: { reason: 'cluster.too-many-nodes', message: 'A cluster may have at most 500 workers, not 501' },
      });
      const { items } = (await system.call<NodeList>('GET', `${path}/nodes?limit=1000`)).body;
      const { name } = items.find(({ role }) => role === 'worker')!;
      expect(await system.call('DELETE', `${path}/nodes/${name}`)).toMatchObject({ status: 202 });
      const isGone = ({ type, data }: StoredEvent): boolean =>
        type === 'VmDeleted' && (data as { readonly name: string }).name === name;
      const { meta: gone } = await system.until('large', isGone, 5 * MINUTE_MS);
      const answer = await system.call('POST', `${path}/nodes`, another);
      expect(answer).toMatchObject({ status: 202 });
      const isReady = ({ type, meta }: StoredEvent): boolean => type === 'ClusterReady' && meta.seq > gone.seq;
      await system.until('large', isReady, 5 * MINUTE_MS);
    },
    6 * MINUTE_MS,
  );
});

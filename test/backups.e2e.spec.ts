import {
  SNAPSHOTS_BUCKET,
  type ClusterManifestView,
  type EtcdSnapshotList,
  type EventType,
  type StoredEvent,
} from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Objm } from '@nats-io/obj';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 300_000;
const MINUTE_MS = 60_000;
/** A manifest is applied and seen by its reconciler within this time. */
const APPLIED_MS = 4_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };

/** The first has kubeadm's etcd, the second an external one. */
const CLUSTERS = [
  { name: 'stacked', controlPlane: { replicas: 1, ...machines } },
  { name: 'outside', controlPlane: { replicas: 3, ...machines, etcd: 'external' } },
] as const;
type Cluster = (typeof CLUSTERS)[number];
type Name = Cluster['name'];

/** Twice an hour, first in the next minute: a run is due at most a minute later, and the next one in ten minutes. */
const soon = (): string => {
  const minute = new Date(Date.now() + APPLIED_MS + MINUTE_MS).getUTCMinutes();
  return `${minute},${(minute + 10) % 60} * * * *`;
};

/**
 * In the light lab, because it mostly waits; test/restore verifies with the real step scripts, and the story
 * etcd-external on real hosts.
 */
describe('scheduled etcd snapshots', () => {
  let system: System;
  const named = (names: readonly Name[]) => CLUSTERS.filter(({ name }) => names.includes(name));
  const pathOf = (cluster: Name): string => `/ns/default/clusters/${cluster}`;

  const apply = async ({ name, controlPlane }: Cluster, etcdBackups?: object): Promise<void> => {
    const { status, body } = await system.call('PUT', `${pathOf(name)}/manifest`, {
      apiVersion: 'fairlead.dev/v1alpha1',
      kind: 'Cluster',
      metadata: { name },
      spec: {
        serviceType: 'single',
        controlPlane,
        pools: [{ name: 'web', replicas: 1, ...machines }],
        ...(etcdBackups === undefined ? {} : { etcdBackups }),
      },
    });
    if (status >= 300) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
  };
  const lastSeq = async (cluster: Name): Promise<number> => (await system.events(cluster)).at(-1)?.meta.seq ?? 0;
  const until = async <T extends EventType>(
    cluster: Name,
    types: readonly T[],
    after: number,
  ): Promise<StoredEvent<T>> =>
    (await system.until(
      cluster,
      ({ type, meta }) => meta.seq > after && types.includes(type as T),
      TIMEOUT_MS,
    )) as StoredEvent<T>;
  const listed = async (cluster: Name): Promise<EtcdSnapshotList['items']> => {
    const path = `${pathOf(cluster)}/etcd/snapshots?minSeq=${await lastSeq(cluster)}`;
    return (await system.call<EtcdSnapshotList>('GET', path)).body.items;
  };
  /** The cluster's condition `BackupsHealthy`. */
  const health = async (cluster: Name) => {
    const path = `${pathOf(cluster)}/manifest?minSeq=${await lastSeq(cluster)}`;
    const { body } = await system.call<ClusterManifestView>('GET', path);
    return body.status?.conditions.find(({ type }) => type === 'BackupsHealthy');
  };
  const stored = async (snapshot: string): Promise<boolean> => {
    const store = await new Objm(system.admin).open(SNAPSHOTS_BUCKET);
    const found = await store.info(snapshot);
    return found !== null && !found.deleted;
  };

  /** Takes one by a schedule that starts now; returns its name once it was verified. */
  const backedUp = async (cluster: Cluster): Promise<string> => {
    const [{ name }, after, schedule] = [cluster, await lastSeq(cluster.name), soon()];
    await apply(cluster, { schedule, keep: 1 });
    const { data, meta } = await until(name, ['EtcdSnapshotTaken', 'EtcdBackupFailed'], after);
    if (!('snapshot' in data)) throw new Error(data.cause.message);
    const { snapshot, scheduledAt = '', revision, keys } = data;
    expect([scheduledAt.slice(14, 16), scheduledAt <= meta.time]).toEqual([
      schedule.split(',')[0]?.padStart(2, '0'),
      true,
    ]);
    const end = await until(name, ['EtcdSnapshotVerified', 'EtcdSnapshotVerificationFailed'], meta.seq);
    expect(end).toMatchObject({ type: 'EtcdSnapshotVerified', data: { snapshot, keys } });
    expect('revision' in end.data && end.data.revision >= revision && end.data.objects > 0).toBe(true);
    return snapshot;
  };

  beforeAll(async () => {
    system = await startSystem({ light: true });
    await Promise.all(
      CLUSTERS.map(async (cluster) => {
        await apply(cluster);
        await until(cluster.name, ['ClusterReady'], 0);
      }),
    );
  }, TIMEOUT_MS);
  afterAll(() => system?.stop(), 60_000);

  it(
    'are taken, stored and verified in a scratch etcd, also with an external etcd; the oldest is deleted when there are too many',
    async () => {
      const first = await Promise.all(CLUSTERS.map(backedUp));
      for (const [at, { name }] of CLUSTERS.entries())
        expect(await listed(name)).toMatchObject([
          { name: first[at], reason: 'schedule', restorable: true, verification: { state: 'verified' } },
        ]);
      const second = await Promise.all(CLUSTERS.map(backedUp));
      for (const [at, { name }] of CLUSTERS.entries()) {
        const { data } = await until(name, ['EtcdSnapshotDeleted'], 0);
        expect(data).toMatchObject({ snapshot: first[at], reason: 'count' });
        expect(await listed(name)).toMatchObject([{ name: second[at], verification: { state: 'verified' } }]);
        expect([await stored(first[at] ?? ''), await stored(second[at] ?? '')]).toEqual([false, true]);
        expect(await health(name)).toMatchObject({ status: 'True' });
      }
    },
    2 * TIMEOUT_MS,
  );

  it(
    'fail verification if they were modified, which is an event and a condition of the cluster',
    async () => {
      const [{ name }] = named(['stacked']) as [Cluster];
      const [snapshot = ''] = (await listed(name)).map((one) => one.name);
      const store = await new Objm(system.admin).open(SNAPSHOTS_BUCKET);
      const content = Buffer.from((await store.getBlob(snapshot)) ?? []);
      const middle = Math.floor(content.length / 2);
      content.writeUInt8(content.readUInt8(middle) ^ 1, middle);
      await store.putBlob({ name: snapshot }, content);

      const after = await lastSeq(name);
      expect((await system.call('POST', `${pathOf(name)}/etcd/snapshots/${snapshot}/verify`, {})).status).toBe(202);
      const end = await until(name, ['EtcdSnapshotVerified', 'EtcdSnapshotVerificationFailed'], after);
      expect(end).toMatchObject({ type: 'EtcdSnapshotVerificationFailed', data: { snapshot, invalid: true } });
      expect('cause' in end.data && end.data.cause.message).toMatch(/^it does not open: it was changed or cut off/);
      expect(await listed(name)).toMatchObject([{ name: snapshot, verification: { state: 'invalid' } }]);
      const condition = await health(name);
      expect(condition).toMatchObject({ status: 'False', reason: 'BackupNotVerified' });
      expect(condition?.message).toContain('no good snapshot is known');
    },
    TIMEOUT_MS,
  );
});

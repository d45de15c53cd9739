import type { EtcdRequestView, EtcdSnapshotList, EventData, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const CLUSTER = '/ns/default/clusters/saved';
const CONTROL_PLANES = 3;

/** Three control planes of the lab; agents, kubeadm's manifests, etcdutl and SFTP are used as on any host. */
describe.each([{ light: true }, { light: false }])('etcd restored from a snapshot (light lab: $light)', ({ light }) => {
  let system: System;
  let kubernetes: KubernetesClient;

  const ask = async (path: string, body: object): Promise<EtcdRequestView> => {
    const { status, body: view } = await system.call<EtcdRequestView>('POST', `${CLUSTER}/etcd/${path}`, body);
    if (status !== 202) throw new Error(`${path}: ${status} ${JSON.stringify(view)}`);
    return view;
  };
  const namespaces = async (): Promise<readonly string[]> =>
    (await kubernetes.core.listNamespace()).items.map(({ metadata }) => metadata?.name ?? '');
  const make = (name: string): Promise<unknown> => kubernetes.core.createNamespace({ body: { metadata: { name } } });
  const restored = (event: StoredEvent): boolean => event.type === 'EtcdRestored' || event.type === 'EtcdRestoreFailed';

  beforeAll(async () => {
    system = await startSystem({ light });
    const body = clusterBody('saved', { controlPlanes: CONTROL_PLANES, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', body)).status).toBe(202);
    await system.until('saved', ({ type }) => type === 'ClusterReady', TIMEOUT_MS);
    const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient('saved', kubeconfig, () => undefined);
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it(
    'contains what existed when it was taken, and nothing created later [ORBITER 33]',
    async () => {
      await make('before');
      await ask('snapshots', {});
      const taken = await system.until('saved', ({ type }) => type === 'EtcdSnapshotTaken', TIMEOUT_MS);
      const { snapshot } = taken.data as { readonly snapshot: string };
      await make('after');
      expect(await namespaces()).toEqual(expect.arrayContaining(['before', 'after']));

      await ask('restore', { snapshot, confirm: 'saved' });
      const end = await system.until('saved', restored, TIMEOUT_MS / 2);
      if (end.type === 'EtcdRestoreFailed') throw new Error(end.data.cause.message);
      expect(end.data).toMatchObject({ snapshot });

      const found = await namespaces();
      expect(found).toContain('before');
      expect(found).not.toContain('after');
    },
    TIMEOUT_MS,
  );

  it(
    'was restored from a snapshot that a scratch etcd on a control plane has verified, with the saved revision and number of keys',
    async () => {
      const [taken] = (await system.events('saved')).flatMap((event) =>
        event.type === 'EtcdSnapshotTaken' ? [event.data] : [],
      );
      const { snapshot = '', revision, keys } = taken ?? {};
      await ask(`snapshots/${snapshot}/verify`, {});
      const isEnd = ({ type }: StoredEvent): boolean =>
        type === 'EtcdSnapshotVerified' || type === 'EtcdSnapshotVerificationFailed';
      const end = await system.until('saved', isEnd, TIMEOUT_MS / 2);
      expect(end).toMatchObject({ type: 'EtcdSnapshotVerified', data: { snapshot, revision, keys } });
      const { body } = await system.call<EtcdSnapshotList>('GET', `${CLUSTER}/etcd/snapshots?minSeq=${end.meta.seq}`);
      expect(body.items).toMatchObject([{ name: snapshot, reason: 'command', verification: { state: 'verified' } }]);
    },
    TIMEOUT_MS,
  );

  it('was stopped on every control plane before the first restore, and restored on all before the first start', async () => {
    const progress = (await system.events('saved')).flatMap((event) =>
      event.type === 'NodeChangeProgressed' && event.data.change.startsWith('restore/') ? [event.data] : [],
    );
    for (const [before, after] of [
      ['etcd-stop', 'etcd-restore'],
      ['etcd-restore', 'etcd-start'],
    ] as const) {
      const lastDone = progress.findLastIndex(({ phase, status }) => phase === before && status === 'done');
      const firstStarted = progress.findIndex(({ phase, status }) => phase === after && status === 'started');
      expect(lastDone).toBeLessThan(firstStarted);
      expect(progress.filter(({ phase, status }) => phase === before && status === 'done')).toHaveLength(
        CONTROL_PLANES,
      );
    }
    expect(progress.filter(({ status }) => status === 'failed')).toEqual([]);
  });

  it(
    'leaves a cluster that accepts new objects, and whose agents have no permission for changes',
    async () => {
      await make('later');
      expect(await namespaces()).toContain('later');
      // Each node is Ready, which ends the permission until then.
      const isPermitted = ({ changesAllowed, changesAllowedUntil }: EventData<'DesiredVersionsSet'>): boolean =>
        changesAllowed && changesAllowedUntil === undefined;
      const isReleased = (events: readonly StoredEvent[]): boolean => {
        const desired = new Map(
          events.flatMap((event) =>
            event.type === 'DesiredVersionsSet' ? [[event.data.node, isPermitted(event.data)] as const] : [],
          ),
        );
        return [...desired.values()].every((allowed) => !allowed);
      };
      await system.until('saved', restored, TIMEOUT_MS);
      const deadline = Date.now() + 20_000;
      while (!isReleased(await system.events('saved')) && Date.now() < deadline)
        await new Promise((resolve) => setTimeout(resolve, 100));
      expect(isReleased(await system.events('saved'))).toBe(true);
    },
    TIMEOUT_MS,
  );

  it("is not changed for an unknown snapshot, nor without confirmation by the cluster's name", async () => {
    const missing = await system.call('POST', `${CLUSTER}/etcd/restore`, { snapshot: 'none', confirm: 'saved' });
    expect(missing.status).toBe(404);
    const [{ snapshot } = { snapshot: '' }] = (await system.events('saved')).flatMap((event) =>
      event.type === 'EtcdSnapshotTaken' ? [event.data] : [],
    );
    const unconfirmed = await system.call('POST', `${CLUSTER}/etcd/restore`, { snapshot, confirm: 'other' });
    expect(unconfirmed.status).toBe(422);
  });
});

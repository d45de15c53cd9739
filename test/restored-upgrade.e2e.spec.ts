import type { EtcdRequestView, EventType, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually, eventuallyPasses } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const OLD = 'v1.34.4';
const NEW = 'v1.35.4';
const PATH = '/ns/default/clusters/shop';
const machines = { connection: 'lab', machineType: 'lab.medium' };

/** A pod on this node that tolerates every taint: whenever it is evicted, it is recreated there. */
const helper = (node: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'helper', namespace: 'default' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'helper' } },
    template: {
      metadata: { labels: { app: 'helper' } },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        nodeSelector: { 'kubernetes.io/hostname': node },
        containers: [{ name: 'helper', image: 'nginx' }],
      },
    },
  },
});

/** In the lab, with stand-ins for kubeadm and etcd. */
describe('a cluster with returning pods that is drained in several ways, upgraded, and restored from an earlier snapshot', () => {
  let system: System;
  let kubernetes: KubernetesClient;
  let worker: string;
  let other: string;

  const lastSeq = async (): Promise<number> => (await system.events('shop')).at(-1)?.meta.seq ?? 0;
  const until = <T extends EventType>(after: number, ...types: readonly T[]): Promise<StoredEvent<T>> =>
    system.until(
      'shop',
      ({ type, meta }) => meta.seq > after && types.some((one) => one === type),
      TIMEOUT_MS,
    ) as Promise<StoredEvent<T>>;
  const post = async <Body>(path: string, body: object, wait = 0): Promise<Body> => {
    const answer = await system.call<Body>('POST', `${PATH}${path}`, body, { prefer: `wait=${wait}` });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  /** Requests the action for one node, and waits until it is done. */
  const act = async (action: string, node: string): Promise<void> => {
    const before = await lastSeq();
    await post('/nodes/actions', { action, select: { nodes: [node] }, reason: 'a story' });
    const end = await until(before, 'NodeActionSucceeded', 'NodeActionFailed');
    if (end.type !== 'NodeActionSucceeded') throw new Error(JSON.stringify(end.data));
  };
  const isCordoned = async (name: string): Promise<boolean> =>
    (await kubernetes.core.readNode({ name })).spec?.unschedulable === true;
  const helperUid = (): Promise<string> =>
    eventually(
      async () => {
        const { items } = await kubernetes.core.listNamespacedPod({ namespace: 'default' });
        const there = items.filter(
          ({ metadata, status }) => !metadata?.deletionTimestamp && status?.phase === 'Running',
        );
        return there[0]?.metadata?.uid ?? '';
      },
      (uid) => uid !== '',
      { withinMs: TIMEOUT_MS, everyMs: 100 },
    );

  const helpersKilled = async (): Promise<number> => {
    const { items } = await kubernetes.core.listNamespacedEvent({ namespace: 'default' });
    const killed = items.filter(
      ({ reason, involvedObject: { name = '' } }) => reason === 'Killing' && name.startsWith('helper-'),
    );
    return new Set(killed.map(({ involvedObject: { name } }) => name)).size;
  };

  beforeAll(async () => {
    const env = { UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100', AGENT_HEARTBEAT_INTERVAL_MS: '200' };
    system = await startSystem({ light: true, env });
    const spec = {
      serviceType: 'single',
      version: OLD,
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 2, ...machines, labels: { tier: 'web' } }],
      drain: { timeout: '60s' },
    };
    const body = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    const { status, body: answer } = await system.call('PUT', `${PATH}/manifest`, body);
    expect({ status, answer }).toMatchObject({ status: 202 });
    await until(0, 'ClusterReady');
    const { body: kubeconfig } = await system.call<string>('GET', `${PATH}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient('shop', kubeconfig, () => undefined);
    const names = (await kubernetes.core.listNode()).items.map(({ metadata }) => metadata?.name ?? '');
    [worker = '', other = ''] = names.filter((name) => name.includes('-w-'));
    await kubernetes.apps.createNamespacedDeployment({ namespace: 'default', body: helper(worker) });
    await helperUid();
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it(
    'is drained and rebooted on request: each evicts the existing pod once, and ends despite its successor on the node',
    async () => {
      for (const action of ['drain', 'uncordon', 'reboot']) {
        const before = await helperUid();
        const seq = await lastSeq();
        await act(action, worker);
        const drained = (await system.events('shop')).filter(
          ({ type, meta }) => type === 'NodeActionDrained' && meta.seq > seq,
        );
        if (action === 'uncordon') continue;
        expect(drained).toMatchObject([{ data: { node: worker, evictedPods: 1 } }]);
        expect(await helperUid()).not.toBe(before);
      }
      expect(await isCordoned(worker)).toBe(false);
    },
    TIMEOUT_MS,
  );

  it(
    'is upgraded likewise, and nodes are uncordoned, except the one that an operator cordoned',
    async () => {
      await post<EtcdRequestView>('/etcd/snapshots', {});
      await until(0, 'EtcdSnapshotTaken');
      await act('cordon', other);
      const killed = await helpersKilled();
      const before = await lastSeq();
      const view = await post<UpgradeView>('/upgrades', { version: NEW }, 60);
      expect(view.findings.filter(({ severity }) => severity === 'refuse')).toEqual([]);
      await post(`/upgrades/${view.id}/approve`, { planHash: view.planHash });
      const end = await until(before, 'RolloutCompleted', 'RolloutHalted', 'RolloutAborted');
      expect(end).toMatchObject({ type: 'RolloutCompleted' });
      const emptied = (await system.events('shop')).flatMap((event) =>
        event.type === 'NodeEmptied' && event.data.node === worker ? [event.data] : [],
      );
      expect(emptied).toMatchObject([{ forcedPods: 0 }]);
      expect((await helpersKilled()) - killed).toBe(1);
      expect([await isCordoned(worker), await isCordoned(other)]).toEqual([false, true]);
    },
    TIMEOUT_MS,
  );

  it(
    'is restored from the snapshot of the earlier version: add-ons match the nodes, and cordons are the current ones, including a node that joined later',
    async () => {
      const [taken] = (await system.events('shop')).flatMap((event) =>
        event.type === 'EtcdSnapshotTaken' ? [event.data.snapshot] : [],
      );
      // It joins after the snapshot, which does not contain it.
      const headers = { 'content-type': 'application/merge-patch+json' };
      const pools = [{ name: 'web', replicas: 3, ...machines, labels: { tier: 'web' } }];
      const joining = await lastSeq();
      expect((await system.call('PATCH', `${PATH}/manifest`, { spec: { pools } }, headers)).status).toBeLessThan(300);
      const joined = await until(joining, 'NodeReady');
      const later = 'node' in joined.data ? joined.data.node : '';
      await act('cordon', later);
      const before = await lastSeq();
      const request = { snapshot: taken, confirm: 'shop' };
      expect((await system.call('POST', `${PATH}/etcd/restore`, request)).status).toBeGreaterThanOrEqual(400);
      await post('/etcd/restore', { ...request, confirmVersion: OLD });
      const end = await until(before, 'EtcdRestored', 'EtcdRestoreFailed');
      expect(end).toMatchObject({ type: 'EtcdRestored' });
      await until(before, 'DeclaredStateReapplied');
      const { data = {} } = await kubernetes.core.readNamespacedConfigMap({
        name: 'kubeadm-config',
        namespace: 'kube-system',
      });
      expect(data['ClusterConfiguration']).toContain(`kubernetesVersion: ${NEW}`);
      const proxy = await kubernetes.apps.readNamespacedDaemonSet({ name: 'kube-proxy', namespace: 'kube-system' });
      expect(proxy.spec?.template.spec?.containers[0]?.image).toContain(NEW);
      // A node that the snapshot lacks registers again, and is then given what was set on it.
      await eventuallyPasses(
        async () => {
          expect(await Promise.all([worker, other, later].map(isCordoned))).toEqual([false, true, true]);
          const { metadata } = await kubernetes.core.readNode({ name: later });
          expect(metadata?.labels).toMatchObject({ tier: 'web', 'kubernetes.io/cluster': 'shop' });
        },
        { withinMs: 60_000 },
      );
      await act('uncordon', other);
      expect(await isCordoned(other)).toBe(false);
    },
    TIMEOUT_MS,
  );
});

import type { EventType, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const path = '/ns/default/clusters/shop';
/** As a node problem detector sets it. */
const DEADLOCK = { type: 'KernelDeadlock', status: 'True', timeout: '4s' } as const;

/** The machines, kubelets and the API are those of the lab, a simulation. */
describe('a pool whose health check names a condition of Nodes', () => {
  let system: System;
  let kubernetes: KubernetesClient;

  const lastSeq = async (): Promise<number> => (await system.events('shop')).at(-1)!.meta.seq;
  const until = <T extends EventType>(type: T, after: number): Promise<StoredEvent<T>> =>
    system.until('shop', (event) => event.type === type && event.meta.seq > after, TIMEOUT_MS) as Promise<
      StoredEvent<T>
    >;
  const since = async (after: number, ...types: readonly EventType[]): Promise<readonly StoredEvent[]> =>
    (await system.events('shop')).filter(({ type, meta }) => meta.seq > after && types.includes(type));
  const set = async (name: string, status: 'True' | 'False'): Promise<void> => {
    const node = await kubernetes.core.readNode({ name });
    const { type } = DEADLOCK;
    const at = new Date();
    const condition = { type, status, reason: 'TaskHung', message: 'task hung', lastHeartbeatTime: at };
    const others = (node.status?.conditions ?? []).filter((one) => one.type !== type);
    const conditions = [...others, { ...condition, lastTransitionTime: at }];
    await kubernetes.core.replaceNodeStatus({ name, body: { ...node, status: { ...node.status, conditions } } });
  };

  beforeAll(async () => {
    const env = { NODES_WATCH_INTERVAL_MS: '400', INFRA_WATCH_INTERVAL_MS: '3600000' };
    system = await startSystem({ light: true, env });
    const health = { unhealthyAfter: '5m', retryPeriod: '0s', unhealthyNodeConditions: [DEADLOCK] };
    const spec = {
      serviceType: 'single',
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 2, ...machines, health }],
    };
    const manifest = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${path}/manifest`, manifest)).status).toBe(202);
    await until('ClusterReady', 0);
    const { body } = await system.call<string>('GET', `${path}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient('shop', body, () => undefined);
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it(
    'replaces a Ready node that has had it for as long as the health check says, and not earlier [Cluster API 26]',
    async () => {
      const events = await system.events('shop');
      const [victim = ''] = events.flatMap((event) => (event.type === 'WorkerJoined' ? [event.data.node] : []));
      const before = await lastSeq();
      await set(victim, 'True');
      const first = await until('NodeConditionsChanged', before);
      expect(first.data).toMatchObject({ node: victim });
      await set(victim, 'False');
      const over = await until('NodeConditionsChanged', first.meta.seq);
      // It was over before its time.
      expect(await since(before, 'RemediationRequested')).toEqual([]);
      await set(victim, 'True');
      const again = await until('NodeConditionsChanged', over.meta.seq);
      const requested = await until('RemediationRequested', again.meta.seq);
      expect(requested.data).toMatchObject({
        ...{ node: victim, pool: 'web', action: 'replace' },
        reason: { condition: 'NodeCondition', nodeCondition: { type: 'KernelDeadlock', status: 'True' } },
      });
      expect(Date.parse(requested.meta.time) - Date.parse(again.meta.time)).toBeGreaterThanOrEqual(4_000);
      const done = await until('RemediationSucceeded', requested.meta.seq);
      expect(done.data).toMatchObject({ node: victim });
      const { items } = await eventually(
        () => kubernetes.core.listNode(),
        (list) => !list.items.some(({ metadata }) => metadata?.name === victim),
        { withinMs: TIMEOUT_MS },
      );
      expect(items).toHaveLength(3);
      // Kubernetes called it Ready until it was emptied.
      const left = await until('NodeDrained', requested.meta.seq);
      const unready = await since(before, 'NodeNotReady', 'NodeReadinessContradicted', 'NodeLost');
      expect(unready.filter(({ meta }) => meta.seq < left.meta.seq)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

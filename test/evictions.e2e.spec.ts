import type { EventType, NodeList, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
/** Of one wait: shorter, so that it says what it saw. */
const WAIT_MS = 100_000;
const OLD = 'v1.34.4';
const NEW = 'v1.35.4';
const PATH = '/ns/default/clusters/shop';
const DENIED = 'the broker is moved by its operator';
const FAILED = 'the service of the webhook has no endpoints';
const machines = { connection: 'lab', machineType: 'lab.medium' };
type Answer = 'denied' | 'failure';
const WORDS: Readonly<Record<Answer, string>> = { denied: DENIED, failure: FAILED };

const nameOfHelper = (node: string): string => `helper-${node}`;

/** A pod on this node that tolerates every taint: whenever it is evicted, the next one is made there. */
const helper = (node: string) => {
  const labels = { app: nameOfHelper(node) };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: nameOfHelper(node), namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          tolerations: [{ operator: 'Exists' }],
          nodeSelector: { 'kubernetes.io/hostname': node },
          containers: [{ name: 'helper', image: 'nginx' }],
        },
      },
    },
  };
};

/** In the lab, a simulation: its API answers evictions as admission webhooks and those that are away would. */
describe('evictions that a webhook denies and then fails at, of pods that come back', () => {
  let system: System;
  let kubernetes: KubernetesClient;

  const log = (): Promise<readonly StoredEvent[]> => system.events('shop');
  const lastSeq = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const until = (after: number, desired: (event: StoredEvent) => boolean): Promise<StoredEvent> =>
    system.until('shop', (event) => event.meta.seq > after && desired(event), WAIT_MS);
  const event =
    (...types: readonly EventType[]) =>
    ({ type }: StoredEvent): boolean =>
      types.includes(type);
  const of =
    (node: string, type: EventType, words = '') =>
    (found: StoredEvent): boolean =>
      found.type === type &&
      'node' in found.data &&
      found.data.node === node &&
      JSON.stringify(found.data).includes(words);
  const post = async <Body>(path: string, body: object, wait = 0): Promise<Body> => {
    const answer = await system.call<Body>('POST', `${PATH}${path}`, body, { prefer: `wait=${wait}` });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const answer = (faults: Readonly<Record<string, Answer>>): Promise<unknown> =>
    system.lab('PUT', '/v1/faults', {
      items: Object.entries(faults).map(([machine, kind]) => ({
        kind: `eviction-${kind}`,
        machine,
        message: WORDS[kind],
      })),
    });
  const workers = async (): Promise<readonly string[]> => {
    const { items } = (await system.call<NodeList>('GET', `${PATH}/nodes?minSeq=${await lastSeq()}`)).body;
    return items.filter(({ pool, ready }) => pool === 'web' && ready).map(({ name }) => name);
  };
  const workerWithHelper = async (): Promise<string> => {
    const [worker = ''] = await workers();
    await place(worker);
    return worker;
  };
  const running = async (node: string): Promise<readonly string[]> => {
    const { items } = await kubernetes.core.listNamespacedPod({
      namespace: 'default',
      labelSelector: `app=${nameOfHelper(node)}`,
    });
    return items.flatMap(({ metadata, status }) =>
      !metadata?.deletionTimestamp && status?.phase === 'Running' ? [metadata?.uid ?? ''] : [],
    );
  };
  const place = async (node: string): Promise<void> => {
    await kubernetes.apps
      .createNamespacedDeployment({ namespace: 'default', body: helper(node) })
      .catch((error: unknown) => {
        if ((error as { readonly code?: number }).code !== 409) throw error;
      });
    await eventually(async () => (await running(node)).length === 1, { withinMs: WAIT_MS, everyMs: 100 });
  };
  /** How many of the pods of this node were ended so far. */
  const ended = async (node: string): Promise<number> => {
    const { items } = await kubernetes.core.listNamespacedEvent({ namespace: 'default' });
    const killed = items.filter(
      ({ reason, involvedObject: { name = '' } }) => reason === 'Killing' && name.startsWith(`${nameOfHelper(node)}-`),
    );
    return new Set(killed.map(({ involvedObject: { name } }) => name)).size;
  };
  const cordoned = async (): Promise<readonly string[]> =>
    (await kubernetes.core.listNode()).items.flatMap(({ metadata, spec }) =>
      spec?.unschedulable === true ? [metadata?.name ?? ''] : [],
    );
  const begun = async (upgrade: object): Promise<string> => {
    const view = await post<UpgradeView>('/upgrades', upgrade, 60);
    expect(view.findings.filter(({ severity }) => severity === 'refuse')).toEqual([]);
    await post(`/upgrades/${view.id}/approve`, { planHash: view.planHash });
    return view.id;
  };
  /** The drain of the node waits in the words of both answers, then goes on. */
  const hold = async (node: string, refused: EventType, after: number): Promise<void> => {
    await until(after, of(node, refused, DENIED));
    await answer({ [node]: 'failure' });
    await until(after, of(node, refused, FAILED));
    await answer({});
  };
  const failuresSince = async (seq: number): Promise<readonly StoredEvent[]> =>
    (await log()).filter(
      ({ type, meta }) =>
        meta.seq > seq &&
        ['BootstrapStepFailed', 'NodeActionFailed', 'OperationFailed', 'RolloutHalted', 'NodeRemovalFailed'].includes(
          type,
        ),
    );
  const falseConditions = async (): Promise<readonly string[]> => {
    const { body } = await system.call<{
      readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    }>('GET', `${PATH}?minSeq=${await lastSeq()}`);
    return body.conditions
      .filter(
        ({ type, status }) => ['Available', 'ControlPlaneReady', 'NodesReady'].includes(type) && status !== 'True',
      )
      .map(({ type, reason }) => `${type}: ${reason}`);
  };

  beforeAll(async () => {
    const env = {
      ...{ UPGRADE_PASS_INTERVAL_MS: '200', UPGRADE_LOOK_EVERY_MS: '100', AGENT_HEARTBEAT_INTERVAL_MS: '200' },
      DRAIN_LIMIT_MS: '2000',
    };
    system = await startSystem({ light: true, env });
    const spec = {
      ...{ serviceType: 'single', version: OLD },
      controlPlane: { replicas: 1, ...machines },
      pools: [{ name: 'web', replicas: 2, ...machines }],
    };
    const body = { apiVersion: 'fairlead.dev/v1alpha1', kind: 'Cluster', metadata: { name: 'shop' }, spec };
    expect((await system.call('PUT', `${PATH}/manifest`, body)).status).toBe(202);
    await system.until('shop', event('ClusterReady'), TIMEOUT_MS);
    const { body: kubeconfig } = await system.call<string>('GET', `${PATH}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient('shop', kubeconfig, () => undefined);
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it.each(['drain', 'reboot'])(
    'are waited for in their words by a requested %s, which then evicts each pod once',
    async (action) => {
      const worker = await workerWithHelper();
      const [before, seq] = [await ended(worker), await lastSeq()];
      await answer({ [worker]: 'denied' });
      await post('/nodes/actions', { action, select: { nodes: [worker] }, reason: 'a story' });
      await hold(worker, 'NodeActionEvictionRefused', seq);
      await until(seq, of(worker, 'NodeActionSucceeded'));
      expect([(await ended(worker)) - before, await failuresSince(seq)]).toEqual([1, []]);
      if (action === 'drain') {
        await post('/nodes/actions', { action: 'uncordon', select: { nodes: [worker] } });
        await until(seq, of(worker, 'NodeActionUncordoned'));
      }
      expect(await cordoned()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it.each(['replacement', 'removal'])(
    'are waited for in their words by the %s of a node, which then evicts each pod once, and leaves no other node cordoned',
    async (way) => {
      const worker = await workerWithHelper();
      const [before, seq] = [await ended(worker), await lastSeq()];
      await answer({ [worker]: 'denied' });
      if (way === 'replacement') await post(`/nodes/${worker}/replace`, {});
      else expect((await system.call('DELETE', `${PATH}/nodes/${worker}`)).status).toBe(202);
      await hold(worker, 'NodeDrainBlocked', seq);
      const drained = await until(seq, of(worker, 'NodeDrained'));
      expect(drained.data).toMatchObject({ dead: false });
      expect((await ended(worker)) - before).toBe(1);
      await until(seq, of(worker, 'NodeRemoved'));
      expect([await failuresSince(seq), await cordoned()]).toEqual([[], []]);
    },
    TIMEOUT_MS,
  );

  it(
    'are waited for in their words by an upgrade and by the release of its surge machine, which evict each pod once in each drain',
    async () => {
      const worker = await workerWithHelper();
      const [before, seq] = [await ended(worker), await lastSeq()];
      await answer({ [worker]: 'denied' });
      const strategy = { workers: { maxUnavailable: 0, maxSurge: 1 } };
      await begun({ version: NEW, strategy });
      const planned = await until(seq, event('VmsCreated', 'RolloutCompleted', 'RolloutHalted'));
      const [surge = ''] =
        planned.type === 'VmsCreated'
          ? planned.data.machines.filter((one) => one.surge !== undefined).map(({ name }) => name)
          : [];
      await until(seq, of(surge, 'NodeReady'));
      await place(surge);
      const surgeBefore = await ended(surge);
      await hold(worker, 'EvictionRefused', seq);
      await answer({ [surge]: 'denied' });
      await until(seq, of(worker, 'NodeEmptied'));
      await hold(surge, 'EvictionRefused', seq);
      await until(seq, event('RolloutCompleted', 'RolloutHalted', 'RolloutAborted'));
      // CoreDNS is on some of these nodes, too: only the pods of this story are counted.
      const forced = (await log()).flatMap(({ meta, type, data }) =>
        meta.seq > seq && type === 'NodeEmptied' ? [data.forcedPods] : [],
      );
      expect(forced).toEqual(forced.map(() => 0));
      expect((await ended(worker)) - before).toBe(1);
      await until(seq, of(surge, 'NodeRemoved'));
      // It is drained once more when it leaves.
      expect((await ended(surge)) - surgeBefore).toBeLessThanOrEqual(2);
      expect([await failuresSince(seq), await cordoned(), await falseConditions()]).toEqual([[], [], []]);
    },
    TIMEOUT_MS,
  );

  it.each([
    ['a control plane', {}],
    ['a worker', { controlPlane: false }],
  ])(
    'hold an upgrade at %s, which is aborted: no node stays cordoned, no pod has gone, and no condition says that quorum or nodes are lost',
    async (which, part) => {
      const worker = await workerWithHelper();
      const { items } = (await system.call<NodeList>('GET', `${PATH}/nodes`)).body;
      const node = which === 'a worker' ? worker : (items.find(({ role }) => role === 'control-plane')?.name ?? '');
      await place(node);
      const [before, seq] = [await ended(node), await lastSeq()];
      await answer({ 'shop-*': 'denied' });
      const id = await begun({ reboot: true, ...part });
      const held = await until(seq, event('EvictionRefused', 'RolloutHalted', 'RolloutCompleted'));
      expect(held).toMatchObject({ type: 'EvictionRefused' });
      await post(`/upgrades/${id}/abort`, { reason: 'not today' });
      await until(seq, event('RolloutAborted', 'RolloutHalted', 'RolloutCompleted'));
      expect(await cordoned()).toEqual([]);
      expect([(await ended(node)) - before, await falseConditions()]).toEqual([0, []]);
      const reported = (await log()).filter(
        ({ meta, data }) => meta.seq > seq && JSON.stringify(data).includes('QuorumLost'),
      );
      expect(reported).toEqual([]);
      await answer({});
    },
    TIMEOUT_MS,
  );

  it(
    'end with the time that drains may take: an upgrade stops in their words and uncordons when it is aborted, a node that leaves is removed with its pods',
    async () => {
      const worker = await workerWithHelper();
      await answer({ 'shop-*': 'denied' });
      const seq = await lastSeq();
      const id = await begun({ reboot: true, controlPlane: false, strategy: { workers: { drainTimeoutSeconds: 3 } } });
      await until(seq, event('RolloutHalted', 'RolloutCompleted'));
      const view = await system.call<UpgradeView>('GET', `${PATH}/upgrades/${id}?minSeq=${await lastSeq()}`);
      expect(view.body).toMatchObject({ phase: 'Halted', message: expect.stringContaining(DENIED) });
      await post(`/upgrades/${id}/abort`, {});
      await until(seq, event('RolloutAborted'));
      expect([await cordoned(), await falseConditions()]).toEqual([[], []]);
      const headers = { 'content-type': 'application/merge-patch+json' };
      const patched = await system.call('PATCH', `${PATH}/manifest`, { spec: { drain: { timeout: '5s' } } }, headers);
      expect(patched.status).toBe(200);
      expect((await system.call('DELETE', `${PATH}/nodes/${worker}`)).status).toBe(202);
      const drained = await until(seq, of(worker, 'NodeDrained'));
      expect(drained.data).toMatchObject({ leftPods: expect.any(Number) });
      await until(seq, of(worker, 'NodeRemoved'));
    },
    TIMEOUT_MS,
  );
});

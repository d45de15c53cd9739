import { describe, expect, it } from '@jest/globals';
import type { Operation } from '../operations/operation.js';
import type { Node, Pod } from '../objects/core.types.js';
import type { ControllerRevision, DaemonSet, Job, ReplicaSet, StatefulSet } from '../objects/workload.types.js';
import { aNode, aPod } from '../scheduling/scheduling.fixtures.js';
import { planDaemonSet } from './daemonset.planner.js';
import { planJob } from './job.planner.js';
import { templateHash } from './pod.template.js';
import { byWorth, planReplicaSet } from './replicaset.planner.js';
import { planStatefulSet } from './statefulset.planner.js';

const nowMs = Date.UTC(2026, 0, 1, 1);
const now = '2026-01-01T01:00:00Z';
const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'x', image: 'x:2' }] } };
const hash = templateHash(template);
const metadata = {
  name: 'x',
  namespace: 'default',
  uid: 'owner',
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
  generation: 2,
};
const selector = { matchLabels: { app: 'x' } };

/** The pods that a plan creates and deletes, in order: `+name` or `+` for a generated name, `-name`. */
const podWork = (plan: readonly Operation[]): readonly string[] =>
  plan.flatMap((operation) => {
    if (operation.do === 'create' && operation.resource.plural === 'pods')
      return [`+${operation.draft.metadata.name ?? ''}`];
    return operation.do === 'delete' && operation.resource.plural === 'pods'
      ? [`-${operation.object.metadata.name}`]
      : [];
  });

/** The status that a plan reports for its own object. */
const statusIn = (plan: readonly Operation[], plural: string): unknown =>
  plan.flatMap((operation) =>
    operation.do === 'replace' && operation.resource.plural === plural
      ? [(operation.object as { status?: unknown }).status]
      : [],
  )[0];

const revised = (pod: Pod, revision: string): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, 'controller-revision-hash': revision } },
});

describe('A replica set', () => {
  const aReplicaSet = (replicas: number): ReplicaSet => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata,
    spec: { replicas, selector, template },
  });

  it('creates missing pods, and does not count those that ended or are being deleted', () => {
    const pods = [aPod('a', { phase: 'Running', ready: true }), aPod('b', { deleted: true })];

    expect(podWork(planReplicaSet({ replicaSet: aReplicaSet(3), pods, nowMs }))).toEqual(['+', '+']);
  });

  it('deletes unscheduled pods first, then unready ones, then those that share a node', () => {
    const pods = [
      aPod('ready-alone', { phase: 'Running', ready: true, spec: { nodeName: 'n1' } }),
      aPod('ready-together', { phase: 'Running', ready: true, spec: { nodeName: 'n2' } }),
      aPod('unready', { phase: 'Running', spec: { nodeName: 'n2' } }),
      aPod('waiting'),
    ];

    expect(byWorth(pods).map(({ metadata: { name } }) => name)).toEqual([
      'waiting',
      'unready',
      'ready-together',
      'ready-alone',
    ]);
    const plan = planReplicaSet({ replicaSet: aReplicaSet(1), pods, nowMs });
    expect(podWork(plan)).toEqual(['-waiting', '-unready', '-ready-together']);
    expect(statusIn(plan, 'replicasets')).toMatchObject({
      replicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
      observedGeneration: 2,
    });
  });

  it('waits minReadySeconds before it reports a pod as available, and plans again at that time', () => {
    const replicaSet = { ...aReplicaSet(1), spec: { ...aReplicaSet(1).spec, minReadySeconds: 30 } };
    const pods = [aPod('a', { phase: 'Running', ready: true })];
    const readySince = Date.UTC(2026, 0, 1);

    const early = planReplicaSet({ replicaSet, pods, nowMs: readySince + 10_000 });
    const late = planReplicaSet({ replicaSet, pods, nowMs: readySince + 30_000 });

    expect(statusIn(early, 'replicasets')).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    expect(early).toContainEqual({ do: 'again', atMs: readySince + 30_000 });
    expect(statusIn(late, 'replicasets')).toMatchObject({ availableReplicas: 1 });
  });
});

describe('A daemon set', () => {
  const daemonSet = (given: Partial<DaemonSet['spec']> = {}): DaemonSet => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata,
    spec: { selector, template, ...given },
  });
  const revisions: readonly ControllerRevision[] = [];
  const on = (node: string, revision = hash, ready = true): Pod =>
    revised(aPod(`on-${node}`, { phase: 'Running', ready, spec: { nodeName: node } }), revision);
  const work = (set: DaemonSet, nodes: readonly Node[], pods: readonly Pod[]): readonly string[] =>
    podWork(planDaemonSet({ daemonSet: set, nodes, pods, revisions, nowMs }));

  it('runs on every node that it tolerates, including cordoned and unready ones', () => {
    const nodes = [
      aNode('a', { cordoned: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] }),
      aNode('b', { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }] }),
      aNode('c', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }),
    ];

    expect(work(daemonSet(), nodes, [])).toEqual(['+', '+']);
  });

  it('leaves a node whose labels no longer match', () => {
    const selecting = daemonSet({
      template: { ...template, spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } },
    });

    expect(work(selecting, [aNode('a')], [on('a')])).toEqual(['-on-a']);
  });

  it('replaces broken old pods at once and healthy ones one at a time', () => {
    const nodes = [aNode('a'), aNode('b'), aNode('c')];

    expect(work(daemonSet(), nodes, [on('a', 'old'), on('b', 'old'), on('c', 'old')])).toEqual(['-on-a']);
    expect(work(daemonSet(), nodes, [on('a', hash, false), on('b', 'old'), on('c', 'old')])).toEqual([]);
    expect(work(daemonSet(), nodes, [on('a', 'old', false), on('b', 'old'), on('c', 'old')])).toEqual(['-on-a']);
    expect(
      work(
        daemonSet({ updateStrategy: { type: 'OnDelete' } }),
        nodes,
        nodes.map(({ metadata: { name } }) => on(name, 'old')),
      ),
    ).toEqual([]);
  });
});

describe('A stateful set', () => {
  const statefulSet = (replicas: number, given: Partial<StatefulSet['spec']> = {}): StatefulSet => ({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata,
    spec: { replicas, selector, template, ...given },
  });
  const number = (ordinal: number, revision = hash, ready = true): Pod =>
    revised(aPod(`x-${ordinal}`, { phase: 'Running', ready }), revision);
  const work = (set: StatefulSet, pods: readonly Pod[]): readonly string[] =>
    podWork(planStatefulSet({ statefulSet: set, pods, claims: [], revisions: [], nowMs }));

  it('scales up one by one, each once the one before it is available', () => {
    expect(work(statefulSet(3), [])).toEqual(['+x-0']);
    expect(work(statefulSet(3), [number(0, hash, false)])).toEqual([]);
    expect(work(statefulSet(3), [number(0)])).toEqual(['+x-1']);
    expect(work(statefulSet(3, { podManagementPolicy: 'Parallel' }), [number(0, hash, false)])).toEqual([
      '+x-1',
      '+x-2',
    ]);
  });

  it('scales down from the highest number, one at a time', () => {
    expect(work(statefulSet(1), [number(0), number(1), number(2)])).toEqual(['-x-2']);
    expect(work(statefulSet(0), [number(0)])).toEqual(['-x-0']);
  });

  it('updates from the highest number down to its partition while all others are available', () => {
    expect(work(statefulSet(3), [number(0, 'old'), number(1, 'old'), number(2, 'old')])).toEqual(['-x-2']);
    expect(work(statefulSet(3), [number(0, 'old'), number(1, 'old'), number(2, hash, false)])).toEqual([]);
    const partitioned = statefulSet(3, { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } });
    expect(work(partitioned, [number(0, 'old'), number(1, 'old'), number(2)])).toEqual([]);
  });

  it('creates the volume claims of each number before its pod', () => {
    const set = statefulSet(1, {
      volumeClaimTemplates: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec: {} }],
    });
    const made = planStatefulSet({ statefulSet: set, pods: [], claims: [], revisions: [], nowMs }).flatMap(
      (operation) =>
        operation.do === 'create' ? [`${operation.resource.singular} ${operation.draft.metadata.name}`] : [],
    );

    expect(made).toEqual([`controllerrevision x-${hash}`, 'persistentvolumeclaim data-x-0', 'pod x-0']);
  });
});

describe('A job', () => {
  const job = (given: Partial<Job['spec']> = {}): Job => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: { template, parallelism: 2, completions: 3, ...given },
  });
  const ended = (name: string, phase: 'Succeeded' | 'Failed'): Pod => ({ ...aPod(name), status: { phase } });

  it('runs up to its parallelism until enough pods have succeeded', () => {
    expect(podWork(planJob({ job: job(), pods: [], now, nowMs }))).toEqual(['+', '+']);
    expect(
      podWork(planJob({ job: job(), pods: [ended('a', 'Succeeded'), ended('b', 'Succeeded')], now, nowMs })),
    ).toEqual(['+']);
    const pods = ['a', 'b', 'c'].map((name) => ended(name, 'Succeeded'));
    expect(statusIn(planJob({ job: job(), pods, now, nowMs }), 'jobs')).toMatchObject({
      succeeded: 3,
      completionTime: now,
      conditions: [{ type: 'Complete', status: 'True' }],
    });
  });

  it('fails if more pods fail than its limit', () => {
    const pods = ['a', 'b'].map((name) => ended(name, 'Failed'));

    expect(statusIn(planJob({ job: job({ backoffLimit: 1 }), pods, now, nowMs }), 'jobs')).toMatchObject({
      conditions: [{ type: 'Failed', reason: 'BackoffLimitExceeded' }],
    });
  });
});

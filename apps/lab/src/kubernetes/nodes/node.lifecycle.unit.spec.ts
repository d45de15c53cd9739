import { describe, expect, it } from '@jest/globals';
import { planNode } from './node.planner.js';
import type { Operation } from '../operations/operation.js';
import { isReady, type Node, type Pod } from '../objects/core.types.js';
import { conditionOf } from '../objects/kube.object.js';
import { aPod } from '../scheduling/scheduling.fixtures.js';
import { planNodeLifecycle, type NodeWorld } from './node.lifecycle.planner.js';

const startMs = Date.UTC(2026, 0, 1);
const time = (ms: number): string => new Date(startMs + ms).toISOString().replace('.000Z', 'Z');

const registered = (networkReady: boolean): Node =>
  ({
    ...planNode(
      {
        name: 'n',
        role: 'worker',
        internalIP: '10.0.0.1',
        kubeletVersion: 'v1.34.4',
        containerRuntimeVersion: 'containerd://1.7',
        osImage: 'Debian',
        kernelVersion: '6.1',
        cpu: 2,
        memory: '4Gi',
      },
      { now: time(0), podCidr: '10.244.0.0/24', networkReady },
    ),
    metadata: { name: 'n', uid: 'n', resourceVersion: '1', creationTimestamp: time(0) },
  }) as Node;

const world = (given: Partial<NodeWorld> & { readonly atMs?: number }): NodeWorld => ({
  node: registered(true),
  pods: [],
  stoppedMs: undefined,
  networkReady: true,
  runtimeHangs: false,
  monitorGraceMs: 40_000,
  now: time(given.atMs ?? 0),
  nowMs: startMs + (given.atMs ?? 0),
  ...given,
});

const nodeAfter = (given: NodeWorld): Node =>
  planNodeLifecycle(given).flatMap((operation: Operation) =>
    operation.do === 'replace' && operation.resource.plural === 'nodes' ? [operation.object as Node] : [],
  )[0] ?? given.node;

const taints = (node: Node): readonly string[] => (node.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);

describe('A node', () => {
  it('is NotReady and tainted until it has a network, then Ready without taints', () => {
    const without = nodeAfter(world({ node: registered(false), networkReady: false }));
    const withNetwork = nodeAfter(world({ node: without, atMs: 5_000 }));

    expect(conditionOf(without, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: expect.stringContaining('cni plugin not initialized'),
    });
    expect(taints(without)).toEqual([
      'node.kubernetes.io/not-ready:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
    ]);
    expect([isReady(withNetwork), taints(withNetwork)]).toEqual([true, []]);
    expect(conditionOf(withNetwork, 'Ready')?.lastTransitionTime).toBe(time(5_000));
  });

  it("is NotReady with the kubelet's message while its container runtime hangs", () => {
    const hung = nodeAfter(world({ runtimeHangs: true, atMs: 5_000 }));

    expect(conditionOf(hung, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: expect.stringContaining('PLEG is not healthy'),
    });
    expect(isReady(nodeAfter(world({ node: hung, atMs: 6_000 })))).toBe(true);
  });

  it('becomes NotReady once its container runtime has been stopped for 30 s', () => {
    const early = planNodeLifecycle(world({ runtimeStoppedMs: startMs, atMs: 29_999 }));
    const down = nodeAfter(world({ runtimeStoppedMs: startMs, atMs: 30_000 }));

    expect(early).toContainEqual({ do: 'again', atMs: startMs + 30_000 });
    expect(isReady(nodeAfter(world({ runtimeStoppedMs: startMs, atMs: 29_999 })))).toBe(true);
    expect(conditionOf(down, 'Ready')).toMatchObject({ status: 'False', reason: 'KubeletNotReady' });
    expect(isReady(nodeAfter(world({ node: down, atMs: 31_000 })))).toBe(true);
  });

  it('remains Ready while its disk is full, with DiskPressure and a NoSchedule taint', () => {
    const full = nodeAfter(world({ diskFull: true, atMs: 5_000 }));
    const freed = nodeAfter(world({ node: full, atMs: 6_000 }));

    expect([isReady(full), conditionOf(full, 'DiskPressure')?.status]).toEqual([true, 'True']);
    expect(taints(full)).toEqual(['node.kubernetes.io/disk-pressure:NoSchedule']);
    expect([conditionOf(freed, 'DiskPressure')?.status, taints(freed)]).toEqual(['False', []]);
  });

  it('does not change over time without a cause', () => {
    const settled = nodeAfter(world({}));

    expect(nodeAfter(world({ node: settled, atMs: 3_600_000 }))).toEqual(settled);
  });

  it('counts as lost after the grace period without heartbeats, not before', () => {
    const early = planNodeLifecycle(world({ stoppedMs: startMs, atMs: 39_999 }));
    const lost = nodeAfter(world({ stoppedMs: startMs, atMs: 40_000 }));

    expect(early).toContainEqual({ do: 'again', atMs: startMs + 40_000 });
    expect(lost.status?.conditions?.map(({ status }) => status)).toEqual(['Unknown', 'Unknown', 'Unknown', 'Unknown']);
    expect(taints(lost)).toEqual([
      'node.kubernetes.io/unreachable:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
    ]);
  });

  it('keeps taints that others set, and represents its cordon as a taint', () => {
    const node = {
      ...registered(true),
      spec: { unschedulable: true, taints: [{ key: 'gpu', effect: 'NoSchedule' as const }] },
    };

    expect(taints(nodeAfter(world({ node })))).toEqual([
      'gpu:NoSchedule',
      'node.kubernetes.io/unschedulable:NoSchedule',
    ]);
  });

  it('keeps pods as long as they tolerate its loss, and marks them unready meanwhile', () => {
    const stays = aPod('stays', { phase: 'Running', ready: true, spec: { tolerations: [{ operator: 'Exists' }] } });
    const waits = aPod('waits', {
      phase: 'Running',
      ready: true,
      spec: {
        tolerations: [
          { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
        ],
      },
    });
    const leaves = aPod('leaves', { phase: 'Running', ready: true });
    const lost = nodeAfter(world({ stoppedMs: startMs, atMs: 40_000 }));
    const at = (atMs: number): readonly Operation[] =>
      planNodeLifecycle(world({ node: lost, pods: [stays, waits, leaves], stoppedMs: startMs, atMs }));
    const gone = (plan: readonly Operation[]): readonly string[] =>
      plan.flatMap((operation) => (operation.do === 'delete' ? [operation.object.metadata.name] : []));
    const unready = (plan: readonly Operation[]): readonly string[] =>
      plan.flatMap((operation) =>
        operation.do === 'replace' && operation.resource.plural === 'pods' && !isReady(operation.object as Pod)
          ? [operation.object.metadata.name]
          : [],
      );

    expect([gone(at(40_000)), unready(at(40_000))]).toEqual([['leaves'], ['stays', 'waits', 'leaves']]);
    expect(gone(at(340_000))).toEqual(['waits', 'leaves']);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { Node, Pod } from '../objects/core.types.js';
import { conditionOf } from '../objects/kube.object.js';
import { planScheduling } from './scheduler.planner.js';
import { aNode, aPod } from './scheduling.fixtures.js';

const now = '2026-01-01T00:00:00Z';

/** The pods after the plan, by name. */
const afterScheduling = (pods: readonly Pod[], nodes: readonly Node[]): ReadonlyMap<string, Pod> => {
  const placed = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  for (const operation of planScheduling({ pods, nodes, now })) {
    if (operation.do === 'replace') placed.set(operation.object.metadata.name, operation.object as Pod);
  }
  return placed;
};

const placements = (pods: readonly Pod[], nodes: readonly Node[]): Record<string, string | undefined> =>
  Object.fromEntries([...afterScheduling(pods, nodes)].map(([name, { spec }]) => [name, spec.nodeName]));

const whyNot = (pod: Pod, ...nodes: readonly Node[]): string | undefined => {
  const left = afterScheduling([pod], nodes).get(pod.metadata.name);
  return left === undefined ? undefined : conditionOf(left, 'PodScheduled')?.message;
};

const controlPlane = aNode('cp', { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] });

describe('The scheduler', () => {
  it('spreads the replicas of one controller over the workers and avoids the control planes', () => {
    const pods = Array.from({ length: 10 }, (_, index) => aPod(`p${index}`, { owner: 'web' }));
    const nodes = [controlPlane, aNode('a'), aNode('b'), aNode('c')];

    const counts = new Map<string | undefined, number>();
    for (const node of Object.values(placements(pods, nodes))) counts.set(node, (counts.get(node) ?? 0) + 1);

    expect([...counts].sort()).toEqual([
      ['a', 4],
      ['b', 3],
      ['c', 3],
    ]);
  });

  it('fills the emptier zone first', () => {
    const zone = (name: string, inZone: string) => aNode(name, { labels: { 'topology.kubernetes.io/zone': inZone } });
    const nodes = [zone('a1', 'a'), zone('a2', 'a'), zone('b1', 'b')];

    const placed = placements([aPod('one', { owner: 'web' }), aPod('two', { owner: 'web' })], nodes);

    expect(new Set(Object.values(placed))).toEqual(new Set(['a1', 'b1']));
  });

  it('counts the requests of existing pods', () => {
    const there = aPod('there', { cpu: '3', phase: 'Running', spec: { nodeName: 'a' } });

    expect(whyNot(aPod('big', { cpu: '5' }), aNode('a'))).toBe('0/1 nodes are available: 1 Insufficient cpu.');
    expect(placements([there, aPod('next', { cpu: '1500m' })], [aNode('a'), aNode('b')])['next']).toBe('b');
  });

  it('reports for each node why a pod does not fit', () => {
    const pod = aPod('p', { spec: { nodeSelector: { disk: 'ssd' } } });
    const nodes = [
      aNode('a'),
      aNode('b', { labels: { disk: 'ssd' }, cordoned: true }),
      aNode('c', { labels: { disk: 'ssd' }, taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
    ];

    expect(whyNot(pod, ...nodes)).toBe(
      "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were unschedulable.",
    );
  });

  it('does not repeat a report, so that a waiting pod causes no writes', () => {
    const pod = aPod('p', { cpu: '100' });
    const waiting = afterScheduling([pod], [aNode('a')]).get('p') as Pod;

    expect(planScheduling({ pods: [waiting], nodes: [aNode('a')], now })).toEqual([]);
  });

  it('enforces a DoNotSchedule spread over hosts, and leaves the surplus pending', () => {
    const constraint = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule' as const,
      labelSelector: { matchLabels: { app: 'web' } },
    };
    const pods = Array.from({ length: 4 }, (_, index) =>
      aPod(`p${index}`, { labels: { app: 'web' }, spec: { topologySpreadConstraints: [constraint] } }),
    );

    const placed = Object.values(placements(pods, [aNode('a', { cpu: '0' }), aNode('b')]));
    const small = pods.map((pod) => ({
      ...pod,
      spec: { ...pod.spec, containers: [{ name: 'x', resources: { requests: { cpu: '1' } } }] },
    }));
    const stuck = Object.values(placements(small, [aNode('a', { cpu: '0' }), aNode('b')]));

    expect(placed.filter((node) => node === 'a')).toHaveLength(2);
    expect(stuck.filter((node) => node === 'b')).toHaveLength(1);
  });

  it('separates pods with anti-affinity, also if only the existing pod has the rule', () => {
    const apart = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
        ],
      },
    };
    const first = aPod('first', { labels: { app: 'db' }, spec: { nodeName: 'a', affinity: apart }, phase: 'Running' });
    const second = aPod('second', { labels: { app: 'db' } });

    expect(placements([first, second], [aNode('a'), aNode('b')])['second']).toBe('b');
    expect(placements([first, second], [aNode('a')])['second']).toBeUndefined();
  });

  it('schedules pods by priority if there is capacity for one', () => {
    const critical = aPod('critical', { cpu: '3', spec: { priority: 2_000_000_000 } });

    expect(placements([aPod('plain', { cpu: '3' }), critical], [aNode('a')])).toEqual({
      plain: undefined,
      critical: 'a',
    });
  });
});

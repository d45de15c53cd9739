import type { EventData, Fact, StoredEvent } from '@fairlead/contracts';
import { later } from '@fairlead/event-sourcing';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { driftReconciler } from './drift.reconciler.js';
import { ABSENT, type DriftState } from './drift.state.js';

const uid = '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10';
const BEGAN_AT = '2026-11-28T10:00:00.000Z';
const SYSCTL = { item: 'sysctl', what: 'net.ipv4.ip_forward', observed: '0', desired: '1' };
const KUBELET = { item: 'packages', what: 'kubelet', observed: '1.33.13', desired: '1.34.4', needsDrain: true };

/** A cluster whose agents use their permissions, in simulated time. */
class Cluster {
  readonly log: StoredEvent[] = [];
  now = BEGAN_AT;
  private state: DriftState = ABSENT;

  constructor(spec: object = {}) {
    this.say('ClusterRequested', { spec: {} });
    this.say('VmsPlanned', {
      machines: [
        { name: 'w-1', pool: 'web' },
        { name: 'w-2', pool: 'web' },
      ],
    });
    this.say('ClusterReady', {});
    this.say('ClusterSpecChanged', { revision: 1, spec });
  }

  say(type: string, data: object): void {
    const seq = this.log.length + 1;
    const meta = { id: `event-${seq}`, seq, namespace: 'default', cluster: 'demo', context: '', time: this.now };
    const event = { type, data: { uid, ...data }, meta } as unknown as StoredEvent;
    this.log.push(event);
    this.state = driftReconciler.decider.evolve(this.state, event);
  }

  /** Appends the reconciler's facts until there are none. */
  settle(): void {
    for (;;) {
      const facts: readonly Fact[] = driftReconciler.facts?.(this.state, this.now) ?? [];
      if (facts.length === 0) return;
      for (const { type, data } of facts) this.say(type, data);
    }
  }

  /** `acts` false: the agent has crashed and does not use its permission. */
  permit(acts = true): void {
    for (const { data } of driftReconciler.tasks(this.state, this.now)) {
      const { node, requestId } = data as { readonly node: string; readonly requestId: string };
      this.say('DesiredVersionsSet', { node, revision: 9, software: {}, changesAllowed: false, repair: requestId });
      if (acts) this.say('NodeReady', { node, revision: 9, software: {} });
    }
    this.settle();
  }

  /** How the request about the node of a repair ended. */
  acts(type: string, { node, requestId }: EventData<'DriftRepairRequested'>): void {
    this.say(type, { node, requestId, action: 'repair' });
    this.settle();
  }

  requests(): readonly EventData<'DriftRepairRequested'>[] {
    return this.log.flatMap(({ type, data }) =>
      type === 'DriftRepairRequested' ? [data as EventData<'DriftRepairRequested'>] : [],
    );
  }

  tasks(): readonly unknown[] {
    return driftReconciler.tasks(this.state, this.now);
  }

  drifts(node: string, ...differences: readonly object[]): void {
    this.say('NodeDiverged', { node, revision: 1, differences });
    this.settle();
  }

  passes(seconds: number): void {
    this.now = later(this.now, seconds * 1_000);
    this.settle();
  }

  get wakesAt(): string | null | undefined {
    return driftReconciler.wakeAt?.(this.state, this.now);
  }

  count(type: string, node = 'w-1'): number {
    return this.log.filter((event) => event.type === type && 'node' in event.data && event.data.node === node).length;
  }
}

describe('a node with drift', () => {
  it('is repaired at once with one permission if that needs no drain [ORBITER 10]', () => {
    const cluster = new Cluster();
    cluster.drifts('w-1', SYSCTL);
    cluster.drifts('w-1', SYSCTL);
    expect(cluster.count('DriftRepairRequested')).toBe(1);
    cluster.permit();
    expect([cluster.count('DesiredVersionsSet'), cluster.count('DriftRepaired')]).toEqual([1, 1]);
  });

  it.each([
    ['of a cluster that declares report', { drift: 'report' }, [SYSCTL], []],
    ['that is held out of changes', {}, [SYSCTL], [['UpdatesDisabledSet', 'node']]],
    ['while an upgrade is in progress', {}, [SYSCTL], [['RolloutStarted', '']]],
  ] as const)('is only reported: one %s', (_, spec, differences, before) => {
    const cluster = new Cluster(spec);
    for (const [type] of before)
      cluster.say(type, {
        scope: { kind: 'node', node: 'w-1' },
        disabled: true,
        reason: 'mine',
        upgradeId: 'u-000001',
      });
    cluster.drifts('w-1', ...differences);
    expect(cluster.count('DriftRepairRequested')).toBe(0);
  });

  it('is drained and repaired if that needs a drain, whatever else differs [ORBITER 10]', () => {
    const cluster = new Cluster();
    cluster.drifts('w-1', SYSCTL, KUBELET);
    const [request] = cluster.requests();
    expect(request).toMatchObject({
      node: 'w-1',
      drain: true,
      items: ['sysctl/net.ipv4.ip_forward', 'packages/kubelet'],
    });
    expect(cluster.tasks()).toEqual([]); // The request about the node does the rest.
    cluster.passes(3_600);
    expect(cluster.count('DriftRepaired')).toBe(0);
    cluster.say('NodeReady', { node: 'w-1', revision: 2, software: {} });
    cluster.acts('NodeActionSucceeded', request!);
    expect([cluster.count('DriftRepaired'), cluster.count('DriftRepairSuspended')]).toEqual([1, 0]);
  });

  it('is drained for its repair after others, while what needs no drain is repaired beside it', () => {
    const cluster = new Cluster();
    cluster.drifts('w-1', KUBELET);
    cluster.drifts('w-2', KUBELET);
    expect(cluster.requests().map(({ node }) => node)).toEqual(['w-1']);
    cluster.say('NodeReady', { node: 'w-1', revision: 2, software: {} });
    cluster.acts('NodeActionSucceeded', cluster.requests()[0]!);
    expect(cluster.requests().map(({ node }) => node)).toEqual(['w-1', 'w-2']);
    cluster.drifts('w-1', SYSCTL);
    expect(cluster.requests().map(({ node, drain }) => [node, drain])).toEqual([
      ['w-1', true],
      ['w-2', true],
      ['w-1', undefined],
    ]);
  });

  it.each(['NodeActionFailed', 'NodeActionVoided'])(
    'is reported for an hour after a repair with a drain that ended with %s',
    (end) => {
      const cluster = new Cluster();
      cluster.drifts('w-1', KUBELET);
      cluster.acts(end, cluster.requests()[0]!);
      expect(cluster.log.at(-1)).toMatchObject({ type: 'DriftRepairSuspended', data: { reason: 'NotRepaired' } });
      cluster.passes(3_601);
      expect(cluster.requests()).toHaveLength(2);
    },
  );

  it('is repaired once an upgrade has ended', () => {
    const cluster = new Cluster();
    cluster.say('RolloutStarted', {});
    cluster.drifts('w-1', SYSCTL);
    cluster.say('RolloutCompleted', {});
    cluster.settle();
    expect(cluster.count('DriftRepairRequested')).toBe(1);
  });

  it('is reported instead after it was repaired three times within ten minutes, and repaired again an hour later', () => {
    const cluster = new Cluster();
    for (let time = 0; time < 5; time += 1) {
      cluster.drifts('w-1', SYSCTL);
      cluster.permit();
      cluster.passes(60);
    }
    expect([cluster.count('DriftRepairRequested'), cluster.count('DriftRepairSuspended')]).toEqual([3, 1]);
    expect(cluster.log.findLast(({ type }) => type === 'DriftRepairSuspended')?.data).toMatchObject({
      reason: 'Recurring',
      repairs: 3,
      items: ['sysctl/net.ipv4.ip_forward'],
    });
    expect(cluster.wakesAt).not.toBeNull();
    cluster.passes(3_600);
    expect(cluster.count('DriftRepairRequested')).toBe(4);
  });

  it('is repaired at once when repairs are declared again', () => {
    const cluster = new Cluster();
    for (let time = 0; time < 4; time += 1) {
      cluster.drifts('w-1', SYSCTL);
      cluster.permit();
    }
    for (const drift of ['report', undefined]) cluster.say('ClusterSpecChanged', { revision: 2, spec: { drift } });
    cluster.settle();
    expect(cluster.count('DriftRepairRequested')).toBe(4);
  });

  it('is repaired repeatedly if the repairs are far apart', () => {
    const cluster = new Cluster();
    for (let time = 0; time < 6; time += 1) {
      cluster.drifts('w-1', SYSCTL);
      cluster.permit();
      cluster.passes(400);
    }
    expect([cluster.count('DriftRepaired'), cluster.count('DriftRepairSuspended')]).toEqual([6, 0]);
  });

  it('is not repaired forever if that does not help', () => {
    const cluster = new Cluster();
    cluster.drifts('w-1', SYSCTL);
    cluster.permit(false);
    cluster.passes(301);
    expect(cluster.log.at(-1)).toMatchObject({ type: 'DriftRepairSuspended', data: { reason: 'NotRepaired' } });
  });
});

it.each(Array.from({ length: 30 }, (_, seed) => seed + 1))(
  'any drift on two nodes, with crashing agents, is repaired or reported, never with two concurrent repairs of a node (seed %i)',
  (seed) => {
    const random = seededRandom(seed);
    const cluster = new Cluster();
    for (let step = 0; step < 60; step += 1) {
      const node = random() < 0.5 ? 'w-1' : 'w-2';
      if (random() < 0.4) cluster.drifts(node, SYSCTL, ...(random() < 0.2 ? [KUBELET] : []));
      if (random() < 0.6) cluster.permit(random() < 0.7);
      if (random() < 0.2) cluster.say('NodeReady', { node, revision: 9, software: {} });
      cluster.settle();
      cluster.passes(Math.floor(random() * 120));
      for (const name of ['w-1', 'w-2']) {
        const begun = cluster.count('DriftRepairRequested', name);
        const ends = cluster.count('DriftRepaired', name) + cluster.count('DriftRepairSuspended', name);
        expect(begun - ends).toBeLessThanOrEqual(1);
      }
    }
    cluster.passes(301);
    cluster.permit();
    cluster.passes(3_700);
    cluster.permit();
    expect(driftReconciler.tasks(ABSENT, cluster.now)).toEqual([]);
  },
);

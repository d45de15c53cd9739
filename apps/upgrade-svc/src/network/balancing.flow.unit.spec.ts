import { VirtualAddress, type EventData, type Fact, type NodeName } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { agentStarted, created, CP, declared, W1, W2 } from './network.fixtures.js';
import { planner } from './network.planner.js';
import { networkReconciler } from './network.reconciler.js';
import type { Network } from './network.state.js';

const { decider } = networkReconciler;
type Known = Extract<Network, { readonly status: 'known' }>;

const ingress = VirtualAddress.parse({
  name: 'ingress',
  address: '192.0.2.5',
  holders: ['w'],
  transports: [{ name: 'https', frontendPort: 443, backendPort: 8443, backends: ['w'] }],
});
const FIREWALL = { enabled: true } as const;

/** Facts of services and agents in order: each node receives its desired state and applies it. */
class Story {
  readonly facts: Fact[] = [clusterRequested()];

  say(...facts: readonly Fact[]): this {
    this.facts.push(...facts);
    return this;
  }

  get state(): Known {
    return this.facts.map((fact, at) => stored(fact, at + 1)).reduce(decider.evolve, decider.initial) as Known;
  }

  get due(): readonly unknown[] {
    return networkReconciler.tasks(this.state, '').flatMap(({ data }) => data['nodes'] as unknown[]);
  }

  desired(node: NodeName): EventData<'DesiredNetworkSet'> {
    const { basis } = this.state;
    const { revision, content } = planner(basis)(basis.nodes[node]!);
    return { uid, node, revision, attempt: 1, ...content };
  }

  give(...nodes: readonly NodeName[]): this {
    for (const node of nodes) this.say({ type: 'DesiredNetworkSet', data: this.desired(node) });
    return this;
  }

  apply(...nodes: readonly NodeName[]): this {
    for (const node of nodes) {
      const { revision, attempt } = this.desired(node);
      this.say({ type: 'NodeNetworkApplied', data: { uid, node, revision, attempt } });
    }
    return this;
  }

  holds(node: NodeName): boolean {
    return this.desired(node).loadBalancing !== undefined;
  }

  behind(node: NodeName): readonly string[] {
    return Object.values(this.desired(node).loadBalancing?.pools ?? {}).flatMap((all) => all.map((one) => one.node));
  }
}

const removed = (node: NodeName): Fact => ({ type: 'NodeRemovalRequested', data: { uid, node } });
const rolledBack = (node: NodeName): Fact => ({
  type: 'NodesFailed',
  data: {
    uid,
    requestId: 'r-1',
    nodes: [node],
    onFailure: 'rollback',
    step: 'JoinWorker',
    reason: 'AddNodeFailedReason',
    cause: { operation: 'join', target: node, message: 'timed out' },
  },
});
const released = (node: NodeName): Fact => ({
  type: 'SurgeReleased',
  data: { uid, upgradeId: 'u-1' as never, operation: 'return', pool: 'w', nodes: [node] },
});
const made = (): Story =>
  new Story()
    .say(created(CP, W1, W2), agentStarted(CP), agentStarted(W1), agentStarted(W2))
    .say(declared({ virtualAddresses: [ingress] }));
const settled = (): Story => made().give(W1, W2).apply(W1, W2);

describe('virtual addresses of a cluster', () => {
  it('are assigned to the nodes of their holders, and to no other node', () => {
    expect(made().due).toEqual([W1, W2]);
    expect(settled().due).toEqual([]);
    expect([CP, W1, W2].map((node) => settled().holds(node))).toEqual([false, true, true]);
  });

  it('exclude a node as a backend once its removal is requested', () => {
    const story = settled().say(removed(W1));
    expect(story.due).toContain(W2);
    expect(story.behind(W2)).toEqual([W2]);
  });

  it('exclude a node that is rolled back, which hands them over while it is drained', () => {
    const story = settled().say(rolledBack(W1));
    expect(story.due).toContain(W2);
    expect(story.behind(W2)).toEqual([W2]);
    expect(story.holds(W1)).toBe(false);
  });

  it('exclude a released surge node, which hands them over while it is drained', () => {
    const story = settled().say(released(W1));
    expect(story.due).toContain(W2);
    expect(story.behind(W2)).toEqual([W2]);
    expect(story.holds(W1)).toBe(false);
  });

  it('exclude a node of a failed surge while it is drained', () => {
    const { data } = created(W1);
    const surge = { ...data, machines: data.machines.map((machine) => ({ ...machine, surge: 'u-1' as never })) };
    const story = new Story()
      .say({ type: 'VmsCreated', data: surge }, created(CP, W2), agentStarted(W1), agentStarted(W2))
      .say(declared({ virtualAddresses: [ingress] }))
      .give(W1, W2)
      .apply(W1, W2);
    const cause = { operation: 'create surge machines', target: 'w', message: 'no room' };
    story.say({ type: 'SurgeFailed', data: { uid, upgradeId: 'u-1' as never, pool: 'w', cause } });
    expect([story.behind(W2), story.holds(W1)]).toEqual([[W2], false]);
  });

  it('are handed over by a removed node as soon as another one can hold them', () => {
    expect(settled().say(removed(W1)).holds(W1)).toBe(false);
    const early = made().give(W1, W2).apply(W1).say(removed(W1));
    expect(early.holds(W1)).toBe(true);
    early.give(W1, W2).apply(W2);
    expect([early.due, early.holds(W1)]).toEqual([[W1, W2], false]);
  });

  it('remain on the only node that can hold them until it is gone', () => {
    const last = settled().say({ type: 'NodeLost', data: { uid, node: W2 } } as Fact, removed(W1));
    expect(last.holds(W1)).toBe(true);
  });

  it('use a draining node only as the last resort, and again when it is back', () => {
    const change = { uid, upgradeId: 'u-1', operation: 'op', node: W1 };
    const story = settled().say({ type: 'NodeCordoned', data: { ...change, byPlan: true } } as Fact);
    const reserve = (): unknown =>
      story.desired(W2).loadBalancing?.pools['w']?.map(({ node, reserve: isReserve }) => [node, isReserve === true]);
    expect(reserve()).toEqual([
      [W1, true],
      [W2, false],
    ]);
    story.say({ type: 'NodeUncordoned', data: change } as Fact);
    const action = { uid, requestId: 'r-1', node: W1 };
    story.say({ type: 'NodeActionCordoned', data: { ...action, action: 'cordon', byRequest: true } } as Fact);
    expect(reserve()).toEqual([
      [W1, false],
      [W2, false],
    ]);
    story.say({ type: 'NodeActionCordoned', data: { ...action, action: 'drain', byRequest: true } } as Fact);
    expect(reserve()).toEqual([
      [W1, true],
      [W2, false],
    ]);
  });

  describe('on a node with a requested drain or reboot', () => {
    const action = (type: string, kind: string, more: object = {}): Fact =>
      ({ type, data: { uid, requestId: 'r-1', action: kind, node: W1, ...more } }) as unknown as Fact;
    const cordoned = (kind: string): Fact => action('NodeActionCordoned', kind, { byRequest: true });
    const uncordoned = (kind: string): Fact => action('NodeActionUncordoned', kind, { cordonedBy: 'r-1' });

    it('are handed over as soon as that begins, and nothing changes on other nodes', () => {
      const story = settled().say(action('NodeActionStarted', 'reboot'));
      expect([story.due, story.holds(W1), story.holds(W2)]).toEqual([[W1], false, true]);
    });

    it('may be held again when it is back; a drained node must first be uncordoned', () => {
      const story = settled().say(action('NodeActionStarted', 'reboot'), cordoned('reboot')).give(W1, W2).apply(W1, W2);
      expect(story.holds(W1)).toBe(false);
      story.say(uncordoned('reboot'), action('NodeActionSucceeded', 'reboot', { tookMs: 1 }));
      expect(story.holds(W1)).toBe(true);
      const drained = settled().say(action('NodeActionStarted', 'drain'), cordoned('drain'));
      drained.say(action('NodeActionSucceeded', 'drain', { tookMs: 1 }));
      expect(drained.holds(W1)).toBe(false);
      expect(drained.say(uncordoned('uncordon')).holds(W1)).toBe(true);
    });

    it('may be held again after a failed reboot without a drain', () => {
      const story = settled().say(action('NodeActionStarted', 'reboot'));
      const cause = { operation: 'reboot', target: W1, message: 'no' };
      expect(story.say(action('NodeActionFailed', 'reboot', { cause })).holds(W1)).toBe(true);
    });

    it('remain on it while no other node can hold them, and are not moved by a cordon alone', () => {
      const alone = settled().say({ type: 'NodeLost', data: { uid, node: W2 } } as Fact);
      expect(alone.say(action('NodeActionStarted', 'reboot')).holds(W1)).toBe(true);
      const story = settled().say(action('NodeActionStarted', 'cordon'), cordoned('cordon'));
      expect([story.due, story.holds(W1)]).toEqual([[], true]);
    });
  });

  describe('on a node that an upgrade drains', () => {
    const change = { uid, upgradeId: 'u-1', operation: 'worker/w1', node: W1 };
    const planned = (drain: boolean): Fact =>
      ({
        type: 'UpgradePlanned',
        data: { uid, plan: { operations: [{ id: 'worker/w1', drain }] } },
      }) as unknown as Fact;
    const allowed: Fact = { type: 'UpgradeAllowed', data: change } as Fact;
    const withdrawn = (leftFailed: boolean): Fact =>
      ({ type: 'UpgradeWithdrawn', data: { ...change, leftFailed } }) as Fact;
    const cordoned = (byPlan: boolean): Fact => ({ type: 'NodeCordoned', data: { ...change, byPlan } }) as Fact;
    const uncordoned: Fact = { type: 'NodeUncordoned', data: change } as Fact;

    it('are handed over before it is cordoned, and may be held again once it is uncordoned', () => {
      const story = settled().say(planned(true), allowed);
      expect([story.due, story.holds(W1), story.holds(W2)]).toEqual([[W1], false, true]);
      story.give(W1).apply(W1).say(cordoned(true)).give(W2).apply(W2);
      expect(story.holds(W1)).toBe(false);
      expect(story.say(uncordoned, withdrawn(false)).holds(W1)).toBe(true);
    });

    it('may be held again although others cordoned it, and not by a node that was left in its failed state', () => {
      const story = (): Story => settled().say(planned(true), allowed, cordoned(false));
      expect(story().say(withdrawn(false)).holds(W1)).toBe(true);
      expect(story().say(withdrawn(true)).holds(W1)).toBe(false);
    });

    it('remain on it while no other node can hold them, and if it is changed without a drain', () => {
      const lost = { type: 'NodeLost', data: { uid, node: W2 } } as Fact;
      expect(settled().say(lost, planned(true), allowed).holds(W1)).toBe(true);
      expect(settled().say(planned(false), allowed).holds(W1)).toBe(true);
    });
  });

  it('keep their VRRP groups when others are added or removed', () => {
    const other = VirtualAddress.parse({ ...ingress, name: 'other', address: '192.0.9.5' });
    const idOf = (story: Story, name: string): number | undefined =>
      story.desired(W1).loadBalancing?.addresses.find((one) => one.name === name)?.routerId;
    const story = settled().say(declared({ virtualAddresses: [other, ingress] }));
    expect([idOf(story, 'ingress'), idOf(story, 'other')]).toEqual([5, 6]);
    story.give(W1, W2).say(declared({ virtualAddresses: [other] }));
    expect(idOf(story, 'other')).toBe(6);
  });

  it('are removed from nodes when no longer declared', () => {
    const story = settled().say(declared({}));
    expect(story.due).toEqual([W1, W2]);
    expect([W1, W2].some((node) => story.holds(node))).toBe(false);
    story.give(W1, W2);
    expect(story.state.basis).toMatchObject({ serving: {}, routerIds: {} });
  });

  it('open the ports of their clients, VRRP among their holders, and the backend ports to nodes', () => {
    const allow = ['198.51.100.0/24'];
    const closed = { ...ingress, transports: ingress.transports.map((one) => ({ ...one, allow })) };
    const rulesOf = (address: VirtualAddress, node: NodeName) =>
      made()
        .say(declared({ virtualAddresses: [address], firewall: FIREWALL }))
        .desired(node)
        .firewall?.inbound.filter(({ name }) => /address|behind/.test(name))
        .map(({ name, protocol, ports, peers }) => [name, protocol, ports, peers]);
    expect(rulesOf(closed, W1)).toEqual([
      ['address-ingress-https', 'tcp', ['443'], [...allow, '192.0.2.22']],
      ['virtual-addresses-vrrp', 'vrrp', [], ['192.0.2.22']],
      ['behind-ingress-https', 'tcp', ['8443'], ['@nodes']],
    ]);
    expect(rulesOf(ingress, W1)?.[0]).toEqual(['address-ingress-https', 'tcp', ['443'], ['any']]);
    expect(rulesOf(closed, CP)).toEqual([]);
  });
});

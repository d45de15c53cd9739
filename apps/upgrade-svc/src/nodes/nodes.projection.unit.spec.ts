import type { Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { node, otherUid, SOFTWARE_1_34, uid, vmsPlanned } from './nodes.fixtures.js';
import { nodesProjection, type NodeRow } from './nodes.projection.js';

const KEY = `default/demo/${node}`;

const rowAfter = (...facts: readonly Fact[]): NodeRow | undefined =>
  facts
    .map((fact, index) => stored(fact, index + 1))
    .filter((event) => nodesProjection.keys(event).includes(KEY))
    .reduce<NodeRow | undefined>((row, event) => nodesProjection.evolve(row, event, KEY), undefined);

const software = SOFTWARE_1_34;
const started: Fact = { type: 'AgentStarted', data: { uid, node, agentVersion: '1', sha256: 'x' } };
const set: Fact = { type: 'DesiredVersionsSet', data: { uid, node, revision: 1, software, changesAllowed: true } };
const initialized: Fact = {
  type: 'NodeInitialized',
  data: { uid, node, revision: 1, software, os: 'Debian', kernel: '6.1', bootId: 'b1', changed: [] },
};
const ready: Fact = { type: 'NodeReady', data: { uid, node, revision: 1, software } };
const notReady: Fact = {
  type: 'NodeNotReady',
  data: { uid, node, revision: 1, reason: 'KubernetesNotReady', message: 'NodeStatusUnknown: kubelet stopped posting' },
};
const lost: Fact = { type: 'NodeLost', data: { uid, node, lastSeenAt: null, limitMs: 40_000 } };
const back: Fact = { type: 'NodeRecovered', data: { uid, node, lostForMs: 1 } };

describe('the row of a node', () => {
  it('exists from the plan on, without expected heartbeats', () =>
    expect(rowAfter(vmsPlanned(node))).toMatchObject({ uid, agentStarted: false, desired: null, ready: false }));

  it('shows desired and observed versions and readiness', () => {
    expect(rowAfter(vmsPlanned(node), set, started, initialized, ready)).toMatchObject({
      desired: { revision: 1, software },
      observed: { revision: 1, software },
      agentStarted: true,
      ready: true,
      bootId: 'b1',
    });
    expect(rowAfter(vmsPlanned(node), initialized, ready, notReady)).toMatchObject({
      ready: false,
      notReadyBecause: 'KubernetesNotReady: NodeStatusUnknown: kubelet stopped posting',
    });
  });

  it('expects heartbeats even if the agent reports before bootstrap-svc has recorded its start', () =>
    expect(rowAfter(vmsPlanned(node), initialized)).toMatchObject({ agentStarted: true }));

  it('shows that it is lost, and that it recovered', () => {
    expect(rowAfter(vmsPlanned(node), started, lost)?.lost).toBe(true);
    expect(rowAfter(vmsPlanned(node), started, lost, back)?.lost).toBe(false);
  });

  it('has the newest event as the cause of decisions about it', () =>
    expect(rowAfter(vmsPlanned(node), started)?.because).toEqual({ eventId: 'event-2', correlationId: 'event-1' }));

  it('is deleted with its machine', () =>
    expect(rowAfter(vmsPlanned(node), started, { type: 'VmDeleted', data: { uid, name: node } })).toBeUndefined());

  it('ignores an earlier cluster of this name', () =>
    expect(
      rowAfter(vmsPlanned(node), { type: 'NodeLost', data: { uid: otherUid, node, lastSeenAt: null, limitMs: 1 } })
        ?.lost,
    ).toBe(false));
});

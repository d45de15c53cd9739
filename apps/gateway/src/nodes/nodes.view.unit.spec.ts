import type { Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { countsOf } from '@fairlead/domain';
import { stored } from '@fairlead/event-sourcing/spec';
import { CREATE, nodeFact, uid, world } from '../story.fixtures.js';
import { nodesProjection, readySinceOf, type NodeDoc } from './nodes.projection.js';
import { nodeProgress, nodeView } from './nodes.view.js';

const NODE = 'demo-w-1';
const WORDS = 'Kubelet stopped posting node status.';

const shown = (...facts: readonly Fact[]) => {
  const doc = world([...CREATE, ...facts]).nodes.find(({ name }) => name === NODE)!;
  const { phase, ready, reason } = nodeView(doc);
  return { phase, ready, reason, state: nodeProgress(doc).state };
};

describe('a node', () => {
  const contradicted = nodeFact('NodeReadinessContradicted', NODE, { message: WORDS });
  const down = { phase: 'NotReady', ready: false, reason: WORDS, state: 'not-ready' };

  it('is not Ready while the list of Nodes contradicts its agent, whatever that reports, until the list shows it as Ready', () => {
    const report = nodeFact('NodeReady', NODE, { revision: 2, software: { kubelet: '1.34.4' } });
    expect([shown(contradicted), shown(contradicted, report)]).toEqual([down, down]);
    const back = { phase: 'Ready', ready: true, reason: '', state: 'ready' };
    expect(shown(contradicted, nodeFact('NodeReadinessConfirmed', NODE))).toEqual(back);
  });

  it('is not Ready without a Node object', () => {
    const reason = 'Kubernetes has no Node object of it';
    expect(shown(nodeFact('NodeMissing', NODE))).toEqual({ ...down, reason });
    expect(shown(nodeFact('NodeMissing', NODE), nodeFact('NodeReturned', NODE))).toMatchObject({ ready: true });
  });

  it('is Ready with DiskPressure, as for Kubernetes, and says so', () => {
    const full = nodeFact('NodePressureChanged', NODE, { conditions: ['DiskPressure'] });
    const reason = 'DiskPressure: Kubernetes schedules no pods on it';
    expect(shown(full)).toEqual({ phase: 'Ready', ready: true, reason, state: 'ready' });
    expect(shown(full, nodeFact('NodePressureChanged', NODE, { conditions: [] })).reason).toBe('');
  });

  it('that is lost says since when its agent is silent, and what the list of Nodes has against it', () => {
    const lastSeenAt = '2026-01-01T00:00:40.000Z';
    const lost = nodeFact('NodeLost', NODE, { lastSeenAt, limitMs: 40_000 });
    const silent = `its agent has sent no heartbeat since ${lastSeenAt}`;
    expect(shown(lost)).toEqual({ phase: 'Lost', ready: false, reason: silent, state: 'lost' });
    expect(shown(lost, contradicted).reason).toBe(`${silent}; ${WORDS}`);
  });

  it('is not blamed for another machine that could not be deleted', () => {
    const failed = (target: string, message: string): Fact => ({
      type: 'VmDeletionFailed',
      data: {
        ...{ uid, machines: [NODE, 'demo-w-2'] as never[], reason: 'x', attempt: 1 },
        cause: { operation: 'delete machines', target, message },
        nextAttemptAt: '2026-01-01T01:00:00.000Z',
      },
    });
    expect(shown(failed('groups/demo', 'demo-w-2 cannot be deleted')).reason).toBe('');
    expect(shown(failed('groups/demo', 'demo-w-1 cannot be deleted')).reason).toContain('demo-w-1 cannot be deleted');
    expect(shown(failed('groups/demo', 'the provider does not answer')).reason).toContain('does not answer');
  });
});

it('a node that flaps is available only when it was Ready for minReadySeconds without a break [Cluster API 10]', () => {
  const MIN_READY_S = 30;
  const at = (seconds: number): string => new Date(Date.UTC(2026, 1, 1, 0, 0, seconds)).toISOString();
  let doc: NodeDoc = world(CREATE).nodes.find(({ name }) => name === NODE)!;
  const happens = (seconds: number, fact: Fact): void => {
    const event = stored(fact, 1_000 + seconds, { time: at(seconds) });
    const [key = ''] = nodesProjection.keys(event);
    const changed = nodesProjection.evolve(doc, event, key);
    if (changed === undefined) throw new Error('the node is gone');
    doc = changed;
  };
  const available = (seconds: number): number => {
    const node = { readySince: readySinceOf(doc), pool: 'web', name: NODE } as Parameters<typeof countsOf>[0][number];
    const pool = { name: 'web', replicas: 1, minReadySeconds: MIN_READY_S } as Parameters<typeof countsOf>[1]['pool'];
    return countsOf([node], { pool, version: 'v1.34.4', now: at(seconds) }).availableReplicas;
  };
  const notReady = nodeFact('NodeNotReady', NODE, { revision: 1, reason: 'KubernetesNotReady', message: 'no' });
  const ready = nodeFact('NodeReady', NODE, { revision: 1, software: {} });
  const breaks = [
    [notReady, ready],
    [nodeFact('NodeLost', NODE, { lastSeenAt: null, limitMs: 1 }), nodeFact('NodeRecovered', NODE, { lostForMs: 1 })],
    [nodeFact('NodeReadinessContradicted', NODE, { message: 'no' }), nodeFact('NodeReadinessConfirmed', NODE)],
  ] as const;
  happens(0, notReady);
  happens(1, ready);
  breaks.forEach(([down, up], index) => {
    const start = 1 + index * MIN_READY_S;
    // One second before it would be available, it is down for a moment.
    expect(available(start + MIN_READY_S - 1)).toBe(0);
    happens(start + MIN_READY_S - 1, down);
    expect(available(start + MIN_READY_S)).toBe(0);
    happens(start + MIN_READY_S, up);
  });
  const last = 1 + breaks.length * MIN_READY_S;
  expect([available(last + MIN_READY_S - 1), available(last + MIN_READY_S)]).toEqual([0, 1]);
});

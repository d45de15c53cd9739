import type { Fact } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { CREATE, nodeFact, uid, world } from '../story.fixtures.js';
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

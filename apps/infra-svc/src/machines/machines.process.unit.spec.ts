import type { Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import type { Reaction } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, nodeSet, requested, UID } from '../../test/fixtures.js';
import { planCluster } from './machines.planner.js';
import { DELETION_TIMEOUT_MS, machinesProcess } from './machines.process.js';

const of = (type: 'ClusterAccepted' | 'ClusterRetryRequested' | 'ClusterDeletionRequested' | 'ClusterDismantled') =>
  ({ type, data: { uid: UID } }) as Fact;
const failed: Fact = {
  type: 'InfrastructureFailed',
  data: { uid: UID, step: 's', reason: 'r', cause: { operation: 'o', target: 't', message: 'm' } },
};
const removed: Fact = { type: 'NodeRemoved', data: { uid: UID, node: 'demo-w-1' as NodeName } };
const planned: Fact = {
  type: 'VmsPlanned',
  data: { uid: UID, machines: [...planCluster(UID, clusterSpec(), () => [])] },
};
const moreRequested: Fact = { type: 'NodesRequested', data: { uid: UID, requestId: 'r1', workers: [nodeSet(1)] } };

const eventsOf = (facts: readonly Fact[]): readonly StoredEvent[] => facts.map((fact, at) => stored(fact, at + 1));

/** What the process asks for at the last of the facts. */
const afterAll = (...facts: readonly Fact[]): readonly Reaction[] => {
  const events = eventsOf(facts);
  const state = events.reduce(
    (before, event) => machinesProcess.evolve(before, event) ?? machinesProcess.initial,
    machinesProcess.initial,
  );
  return machinesProcess.react(state, events.at(-1)!);
};
const jobsOf = (reactions: readonly Reaction[]): string[] =>
  reactions.flatMap((reaction) => (reaction.kind === 'job' ? [reaction.type] : []));

describe('what infra-svc does for a cluster', () => {
  it('validates what was asked for, and makes what was accepted', () => {
    expect(jobsOf(afterAll(requested()))).toEqual(['ValidateCluster']);
    expect(jobsOf(afterAll(requested(), of('ClusterAccepted')))).toEqual(['CreateMachines']);
  });

  it('asks for one job at most for each event, so that a thousand clusters are two thousand jobs', () =>
    expect(afterAll(requested(), of('ClusterAccepted'), planned)).toEqual([]));

  it('validates a rejected cluster again when that is asked for', () => {
    const rejected: Fact = { type: 'ClusterRejected', data: { uid: UID, code: 'c', message: 'm' } };
    expect(jobsOf(afterAll(requested(), rejected))).toEqual([]);
    expect(jobsOf(afterAll(requested(), rejected, of('ClusterRetryRequested')))).toEqual(['ValidateCluster']);
  });

  it('takes up what is open when a retry is asked for: machines, requests for more, removals', () => {
    const facts = [requested(), of('ClusterAccepted'), planned, moreRequested, removed, failed];
    expect(jobsOf(afterAll(...facts, of('ClusterRetryRequested')))).toEqual([
      'CreateMachines',
      'AddMachines',
      'RemoveMachine',
    ]);
  });

  it('deletes machines only after the cluster is dismantled, with a deadline', () => {
    const requests = [requested(), of('ClusterAccepted'), of('ClusterDeletionRequested')];
    expect(afterAll(...requests)).toEqual([]);
    const [deletion] = afterAll(...requests, of('ClusterDismantled'));
    const at = stored(of('ClusterDismantled'), 4).meta.time;
    expect(deletion).toEqual({
      kind: 'job',
      type: 'DeleteMachines',
      data: { uid: UID, deadline: new Date(Date.parse(at) + DELETION_TIMEOUT_MS).toISOString() },
    });
  });

  const notDeleted: Fact = {
    type: 'VmDeletionFailed',
    data: {
      uid: UID,
      machines: ['demo-w-1' as NodeName],
      reason: 'r',
      cause: { operation: 'o', target: 't', message: 'm' },
      attempt: 1,
      nextAttemptAt: '2026-01-01T01:00:00.000Z',
    },
  };

  it('begins the deletion of a cluster that failed again when its next attempt is due', () => {
    const facts = [requested(), of('ClusterDeletionRequested'), of('ClusterDismantled'), notDeleted];
    const [again] = afterAll(...facts);
    expect(again).toMatchObject({ kind: 'timer', key: 'delete-again', dueAt: '2026-01-01T01:00:00.000Z' });
    if (again?.kind !== 'timer') throw new Error('no timer');
    const state = { ...machinesProcess.initial, uid: UID, stage: 'leaving' as const };
    expect(jobsOf(machinesProcess.due?.(state, again) ?? [])).toEqual(['DeleteMachines']);
    expect(machinesProcess.due?.({ ...state, uid: LATER_UID }, again)).toEqual([]);
  });

  it('begins the deletion of one machine that failed again when its next attempt is due, and when a retry is asked for', () => {
    const facts = [requested(), of('ClusterAccepted'), planned, removed, notDeleted];
    const [again] = afterAll(...facts);
    expect(again).toMatchObject({ kind: 'timer', dueAt: '2026-01-01T01:00:00.000Z' });
    if (again?.kind !== 'timer') throw new Error('no timer');
    const state = eventsOf(facts).reduce(
      (before, event) => machinesProcess.evolve(before, event) ?? machinesProcess.initial,
      machinesProcess.initial,
    );
    expect(jobsOf(machinesProcess.due?.(state, again) ?? [])).toEqual(['RemoveMachine']);
    expect(jobsOf(afterAll(...facts, of('ClusterRetryRequested')))).toEqual(['CreateMachines', 'RemoveMachine']);
    const gone: Fact = { type: 'VmDeleted', data: { uid: UID, name: 'demo-w-1' as NodeName } };
    expect(machinesProcess.due?.(machinesProcess.evolve(state, stored(gone, 9))!, again)).toEqual([]);
  });

  it('forgets a deleted cluster and starts afresh with the next of that name, deaf to the old one', () => {
    const deleted: Fact = { type: 'ClusterDeleted', data: { uid: UID } };
    expect(machinesProcess.evolve({ ...machinesProcess.initial, uid: UID }, stored(deleted))).toBeUndefined();
    const again = requested(clusterSpec(), LATER_UID);
    expect(jobsOf(afterAll(requested(), deleted, again))).toEqual(['ValidateCluster']);
    expect(jobsOf(afterAll(requested(), deleted, again, of('ClusterAccepted')))).toEqual([]);
  });
});

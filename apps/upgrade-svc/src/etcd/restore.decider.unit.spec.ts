import type { Fact, NodeName, RestoreStep } from '@fairlead/contracts';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid, vmsCreated } from '../nodes/nodes.fixtures.js';
import { restore } from './restore.decider.js';
import { advance } from './restore.planner.js';
import { restoreReconciler } from './restore.reconciler.js';
import { changeIdOf, evolve, NO_RESTORES, type Restores } from './restore.state.js';

const { given } = specification(restore);
const ID = 'r1';
const SNAPSHOT = 'demo-r0';
const CPS = ['demo-cp-1-aaaaa', 'demo-cp-2-aaaaa'] as NodeName[];
const NOW = '2026-01-01T00:01:00.000Z';

const taken: Fact = {
  type: 'EtcdSnapshotTaken',
  data: {
    ...{ uid, upgradeId: null, operation: null, requestId: 'r0', snapshot: SNAPSHOT, node: CPS[0] as NodeName },
    ...{ sha256: 'ab', bytes: 1, revision: 1, keys: 1, dataRef: 'upgrade-svc.snapshot.demo-r0' },
  } as Fact<'EtcdSnapshotTaken'>['data'],
};
const asked: Fact = { type: 'EtcdRestoreRequested', data: { uid, requestId: ID, snapshot: SNAPSHOT } };
const created = vmsCreated(uid, ...CPS, 'demo-w-1-aaaaa');
const machines: Fact = {
  type: 'VmsCreated',
  data: {
    uid,
    machines: created.data.machines.map((machine) => ({
      ...machine,
      role: CPS.includes(machine.name) ? 'control-plane' : 'worker',
    })),
  },
};
const known = [clusterRequested(), machines, taken];
const at = (step: RestoreStep): Fact<'EtcdRestoreAdvanced'> => ({
  type: 'EtcdRestoreAdvanced',
  data: { uid, requestId: ID, step, cause: null },
});
const placed = (node: NodeName): Fact => ({
  type: 'EtcdSnapshotPlaced',
  data: { uid, node, requestId: ID, snapshot: SNAPSHOT, sha256: 'ab' },
});
const did = (node: NodeName, step: RestoreStep, status: 'done' | 'failed' = 'done', attempt = 1): Fact => ({
  type: 'NodeChangeProgressed',
  data: {
    ...{ uid, node, revision: 3, change: changeIdOf(ID, step), phase: 'etcd-stop', status, attempt },
    ...{ tookMs: 1, command: null, message: status === 'failed' ? 'no space left' : null },
  },
});

const stateAfter = (...facts: readonly Fact[]): Restores =>
  facts.reduce<Restores>((state, fact, index) => evolve(state, stored(fact, index + 1)), NO_RESTORES);

/** The next facts, abbreviated. */
const saidAfter = (...facts: readonly Fact[]): readonly string[] => {
  const state = stateAfter(...facts);
  return advance(state, state.current?.since ?? NOW).map(({ type, data }) =>
    type === 'EtcdRestoreAdvanced' ? data.step : type,
  );
};

describe('a restore of etcd', () => {
  it('begins with the current members, and places the snapshot on each of them', () =>
    expect(saidAfter(...known, asked)).toEqual(['EtcdRestoreStarted', 'place']));

  it('does not begin during a rollout or from an unknown snapshot, and then changes nothing', () => {
    const running = { type: 'RolloutStarted', data: { uid, upgradeId: 'u-8f3k2m9q', planHash: 'h' } } as Fact;
    expect(saidAfter(...known, running, asked)).toEqual(['EtcdRestoreFailed']);
    expect(saidAfter(clusterRequested(), machines, asked)).toEqual(['EtcdRestoreFailed']);
  });

  it('continues only once every control plane has completed the step', () => {
    const before: Partial<Record<RestoreStep, RestoreStep>> = { stop: 'restore', restore: 'start', start: 'verify' };
    for (const [step, next] of Object.entries(before) as [RestoreStep, RestoreStep][]) {
      const [first, second] = CPS as [NodeName, NodeName];
      expect(saidAfter(...known, asked, at(step), did(first, step))).toEqual([]);
      expect(saidAfter(...known, asked, at(step), did(first, step), did(second, step))).toEqual([next]);
    }
    expect(saidAfter(...known, asked, at('place'), ...CPS.map(placed))).toEqual(['stop']);
  });

  it('is undone if a control plane cannot complete a step before the start, and not after it', () => {
    const [first] = CPS as [NodeName];
    expect(saidAfter(...known, asked, at('restore'), did(first, 'restore', 'failed', 1))).toEqual([]);
    expect(saidAfter(...known, asked, at('restore'), did(first, 'restore', 'failed', 3))).toEqual(['undo']);
    expect(saidAfter(...known, asked, at('stop'), did(first, 'stop', 'failed', 3))).toEqual(['undo']);
    expect(saidAfter(...known, asked, at('start'), did(first, 'start', 'failed', 3))).toEqual(['EtcdRestoreFailed']);
    expect(saidAfter(...known, asked, at('undo'), ...CPS.map((node) => did(node, 'undo')))).toEqual([
      'EtcdRestoreFailed',
    ]);
  });

  it('does not wait forever', () => {
    const late = '2027-01-01T00:00:00.000Z';
    const ends = (step: RestoreStep) => advance(stateAfter(...known, asked, at(step)), late)[0];
    expect(ends('place')?.type).toBe('EtcdRestoreFailed');
    expect(ends('stop')).toMatchObject({ data: { step: 'undo', cause: { target: CPS.join(', ') } } });
    expect(ends('verify')?.type).toBe('EtcdRestoreFailed');
    // The kubelet of an unavailable worker notices the restore by itself.
    expect(ends('refresh')?.type).toBe('EtcdRestored');
  });

  it('ends once etcd was verified and the kubelets of workers were restarted', () => {
    const look = {
      type: 'RecordVerified' as const,
      data: { uid, requestId: ID, step: 'verify' as const, now: NOW, failed: null },
    };
    given(...known, asked, at('verify'))
      .when(look)
      .then(at('refresh'));
    given(...known, asked, at('start'))
      .when(look)
      .thenNothing();
    expect(saidAfter(...known, asked, at('refresh'), did('demo-w-1-aaaaa' as NodeName, 'refresh'))).toEqual([
      'EtcdRestored',
    ]);
  });

  const desired = (node: NodeName, step?: RestoreStep): Fact =>
    ({
      type: 'DesiredVersionsSet',
      data: {
        uid,
        node,
        revision: 3,
        software: {},
        changesAllowed: true,
        change: step && { id: step, etcd: { step } },
      },
    }) as unknown as Fact;
  const tasksAfter = (...facts: readonly Fact[]) =>
    restoreReconciler.tasks(stateAfter(...facts), NOW).map(({ key, data }) => [key, data['nodes']]);
  const ended: Fact = { type: 'EtcdRestored', data: { uid, requestId: ID, snapshot: SNAPSHOT } };

  it('requests each step from agents, except the first, which bootstrap-svc performs', () => {
    expect(tasksAfter(...known, asked, at('place'))).toEqual([]);
    expect(tasksAfter(...known, asked, at('stop'))).toEqual([[`TakeRestoreStep/${ID}/stop`, undefined]]);
  });

  it('withdraws the permissions of agents at its end', () => {
    const [first, second] = CPS as [NodeName, NodeName];
    const stopping = [...known, asked, at('stop'), desired(first, 'stop'), desired(second, 'stop')];
    expect(tasksAfter(...stopping, ended)).toEqual([['ReleaseRestore', [first, second]]]);
    expect(tasksAfter(...stopping, ended, desired(first))).toEqual([['ReleaseRestore', [second]]]);
    expect(tasksAfter(...stopping, ended, desired(first), desired(second))).toEqual([]);
  });

  it('withdraws no permission from nodes of a rollout if it is refused because of that rollout', () => {
    const running = { type: 'RolloutStarted', data: { uid, upgradeId: 'u-8f3k2m9q', planHash: 'h' } } as Fact;
    const changing = desired(CPS[0] as NodeName);
    const cause = { operation: 'restore etcd', target: SNAPSHOT, message: 'a rollout is under way' };
    const refused: Fact = { type: 'EtcdRestoreFailed', data: { uid, requestId: ID, snapshot: SNAPSHOT, cause } };
    expect(tasksAfter(...known, running, changing, asked, refused)).toEqual([]);
  });
});

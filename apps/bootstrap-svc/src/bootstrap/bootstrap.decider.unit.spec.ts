import { describe, it } from '@jest/globals';
import type { Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { bootstrap } from './bootstrap.decider.js';
import {
  balanced,
  clusterReady,
  controlPlaneInitialized,
  controlPlaneJoined,
  cp,
  created,
  fit,
  machinesOf,
  networkReady,
  reached,
  requested,
  UID,
  w,
  wholeCluster,
  workerJoined,
} from './bootstrap.fixtures.js';

const { given } = specification(bootstrap);
const five = [cp(1), cp(2), cp(3), w(1), w(2)];
const readyToInit: Fact[] = [requested(3, 2), created(machinesOf(3, 2)), balanced, ...fit(...five)];
const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
const failed = (step: string): Fact<'ClusterFailed'> => ({
  type: 'ClusterFailed',
  data: {
    uid: UID,
    step,
    node: w(1),
    reason: 'WorkerJoinFailed',
    cause: { operation: 'o', target: 't', message: 'm' },
  },
});

describe('an outcome', () => {
  it('is recorded', () =>
    given(requested(3, 2), created(machinesOf(3, 2)))
      .when(reached(cp(1)))
      .then(reached(cp(1))));

  it.each([
    ['a host that was reached', [reached(cp(1))], reached(cp(1))],
    ['an initialised control plane', [controlPlaneInitialized], controlPlaneInitialized],
    ['a network', [networkReady], networkReady],
    ['a joined control plane', [controlPlaneJoined(cp(2))], controlPlaneJoined(cp(2))],
    ['a joined worker', [workerJoined(w(1))], workerJoined(w(1))],
  ] as const)('is recorded once: %s', (_what, before, outcome) =>
    given(...readyToInit, ...before)
      .when(outcome)
      .thenNothing(),
  );

  it('is recorded for a cluster that failed meanwhile, so that a retry need not repeat the work', () =>
    given(...readyToInit, controlPlaneInitialized, failed('JoinWorker'))
      .when(workerJoined(w(2)))
      .then(workerJoined(w(2))));

  it('is not recorded once the deletion of the cluster was requested', () =>
    given(...readyToInit, deletion)
      .when(controlPlaneInitialized)
      .thenNothing());

  it('is not recorded for a machine that was removed', () =>
    given(...wholeCluster(), { type: 'NodeRemoved', data: { uid: UID, node: w(2) } })
      .when(workerJoined(w(2)))
      .thenNothing());

  it('of a dismantling requires a requested deletion', () => {
    const dismantled: Fact<'ClusterDismantled'> = { type: 'ClusterDismantled', data: { uid: UID } };
    given(...wholeCluster())
      .when(dismantled)
      .thenNothing();
    given(...wholeCluster(), deletion)
      .when(dismantled)
      .then(dismantled);
    given(...wholeCluster(), deletion, dismantled)
      .when(dismantled)
      .thenNothing();
  });
});

describe('the last step', () => {
  const allReady = wholeCluster().filter(({ type }) => type !== 'ClusterReady');
  const finish = { type: 'FinishCluster', data: { uid: UID, addons: { coredns: 'v1.12.1' } } } as const;

  it('records the addons and that the cluster is ready, in one decision', () =>
    given(...allReady)
      .when(finish)
      .then({ type: 'AddonInstalled', data: { uid: UID, addon: 'coredns', version: 'v1.12.1' } }, clusterReady));

  it('records nothing if a node is no longer Ready', () =>
    given(...allReady, {
      type: 'NodeNotReady',
      data: { uid: UID, node: w(1), revision: 1, reason: 'KubernetesNotReady', message: 'stopped' },
    })
      .when(finish)
      .thenNothing());

  it('is recorded once', () =>
    given(...wholeCluster())
      .when(finish)
      .thenNothing());
});

describe('a host that does not answer yet', () => {
  const cause = { operation: 'open SSH', target: w(1), message: 'root@192.0.2.7:22 does not answer: ECONNREFUSED' };
  const tried = { uid: UID, node: w(1), cause, attempt: 2, nextAttemptAt: '2026-01-01T00:00:08.000Z' };
  const when = { type: 'StateUnreached', data: tried } as const;
  const machines: readonly Fact[] = [requested(3, 2), created(machinesOf(3, 2))];

  it('is recorded from the first attempt on, and has no consequence', () =>
    given(...machines)
      .when(when)
      .then({ type: 'BootstrapStepFailed', data: { ...tried, step: 'ReachHost', attemptsMax: 2 } }));

  it.each([
    ['it was reached', reached(w(1))],
    ['the cluster is being deleted', deletion],
  ])('is not recorded once %s', (_what, fact) =>
    given(...machines, fact)
      .when(when)
      .thenNothing(),
  );
});

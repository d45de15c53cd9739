import { describe, it } from '@jest/globals';
import type { Fact, UpgradeId } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { bootstrap, type BeginStep, type RecordFailure } from './bootstrap.decider.js';
import {
  balanced,
  clusterReady,
  controlPlaneInitialized,
  controlPlaneJoined,
  cp,
  created,
  desired,
  fit,
  machine,
  machinesOf,
  networkReady,
  OTHER_UID,
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
const beginInit: BeginStep = { type: 'BeginStep', data: { uid: UID, run: 1, step: 'InitControlPlane', node: cp(1) } };
const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
const failed = (step: string): Fact<'ClusterFailed'> => ({
  type: 'ClusterFailed',
  data: {
    uid: UID,
    step,
    node: w(1),
    reason: 'JoinWorkerFailedReason',
    cause: { operation: 'o', target: 't', message: 'm' },
  },
});

describe('a step', () => {
  it('begins when it is what the cluster needs', () =>
    given(...readyToInit)
      .when(beginInit)
      .thenNothing());

  it('is refused before it is due', () =>
    given(...readyToInit.slice(0, -1))
      .when(beginInit)
      .thenRefused('bootstrap.step-not-wanted'));

  it('is refused for a cluster that was deleted and made again under the same name', () =>
    given(...readyToInit)
      .when({ type: 'BeginStep', data: { ...beginInit.data, uid: OTHER_UID } })
      .thenRefused('bootstrap.step-not-wanted'));

  it('is refused when it belongs to a run before the last retry', () =>
    given(...readyToInit, failed('InitControlPlane'), { type: 'ClusterRetryRequested', data: { uid: UID } })
      .when(beginInit)
      .thenRefused('bootstrap.step-not-wanted'));

  it('never initialises a control plane that was initialised, whatever happened since', () =>
    given(...readyToInit, controlPlaneInitialized, failed('InstallNetwork'), {
      type: 'ClusterRetryRequested',
      data: { uid: UID },
    })
      .when({ type: 'BeginStep', data: { ...beginInit.data, run: 2 } })
      .thenRefused('bootstrap.initialized'));

  it('is refused once the end of the cluster was asked for', () =>
    given(...readyToInit, deletion)
      .when(beginInit)
      .thenRefused('bootstrap.step-not-wanted'));
});

describe('an outcome', () => {
  it('is recorded', () =>
    given(requested(3, 2), created(machinesOf(3, 2)))
      .when({ type: 'RecordOutcome', data: reached(cp(1)) })
      .then(reached(cp(1))));

  it.each([
    ['a host that was reached', [reached(cp(1))], reached(cp(1))],
    ['an initialised control plane', [controlPlaneInitialized], controlPlaneInitialized],
    ['a network', [networkReady], networkReady],
    ['a joined control plane', [controlPlaneJoined(cp(2))], controlPlaneJoined(cp(2))],
    ['a joined worker', [workerJoined(w(1))], workerJoined(w(1))],
  ] as const)('is recorded once: %s', (_what, before, outcome) =>
    given(...readyToInit, ...before)
      .when({ type: 'RecordOutcome', data: outcome })
      .thenNothing(),
  );

  it('is recorded of a cluster that failed meanwhile, so that a retry need not do it again', () =>
    given(...readyToInit, controlPlaneInitialized, failed('JoinWorker'))
      .when({ type: 'RecordOutcome', data: workerJoined(w(2)) })
      .then(workerJoined(w(2))));

  it('is not recorded once the end of the cluster was asked for', () =>
    given(...readyToInit, deletion)
      .when({ type: 'RecordOutcome', data: controlPlaneInitialized })
      .thenNothing());

  it('is not recorded of a machine that was removed', () =>
    given(...wholeCluster(), { type: 'NodeRemoved', data: { uid: UID, node: w(2) } })
      .when({ type: 'RecordOutcome', data: workerJoined(w(2)) })
      .thenNothing());

  it('of a dismantling needs that someone asked for the end', () => {
    const dismantled: Fact<'ClusterDismantled'> = { type: 'ClusterDismantled', data: { uid: UID } };
    given(...wholeCluster())
      .when({ type: 'RecordOutcome', data: dismantled })
      .thenNothing();
    given(...wholeCluster(), deletion)
      .when({ type: 'RecordOutcome', data: dismantled })
      .then(dismantled);
    given(...wholeCluster(), deletion, dismantled)
      .when({ type: 'RecordOutcome', data: dismantled })
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

  it('says nothing when a node has stopped being Ready meanwhile', () =>
    given(...allReady, {
      type: 'NodeNotReady',
      data: { uid: UID, node: w(1), revision: 1, reason: 'KubernetesNotReady', message: 'stopped' },
    })
      .when(finish)
      .thenNothing());

  it('says it once', () =>
    given(...wholeCluster())
      .when(finish)
      .thenNothing());
});

describe('a failure', () => {
  const cause = { operation: 'kubeadm init', target: cp(1), message: 'the port is taken' };
  const record = (more: Partial<RecordFailure['data']> = {}): RecordFailure => ({
    type: 'RecordFailure',
    data: {
      uid: UID,
      run: 1,
      step: 'InitControlPlane',
      node: cp(1),
      reason: 'InitControlPlaneFailedReason',
      cause,
      attempt: 1,
      attemptsMax: 3,
      nextAttemptAt: '2026-01-01T00:01:00.000Z',
      ...more,
    },
  });
  const stepFailed = (attempt: number, nextAttemptAt: string | null): Fact<'BootstrapStepFailed'> => ({
    type: 'BootstrapStepFailed',
    data: { uid: UID, step: 'InitControlPlane', node: cp(1), cause, attempt, attemptsMax: 3, nextAttemptAt },
  });

  it('that is tried again is told with its next attempt', () =>
    given(...readyToInit)
      .when(record())
      .then(stepFailed(1, '2026-01-01T00:01:00.000Z')));

  it("that is the last one makes the cluster Failed, with Ladybug's reason and the cause", () =>
    given(...readyToInit)
      .when(record({ attempt: 3, nextAttemptAt: null }))
      .then(stepFailed(3, null), {
        type: 'ClusterFailed',
        data: { uid: UID, step: 'InitControlPlane', node: cp(1), reason: 'InitControlPlaneFailedReason', cause },
      }));

  it('of another step is not told once the cluster has failed', () =>
    given(...readyToInit, failed('BootstrapHost'))
      .when(record({ nextAttemptAt: null }))
      .thenNothing());

  it('of a removal leaves the cluster as it is', () => {
    const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
    given(...wholeCluster(), removal)
      .when(record({ step: 'RemoveNode', node: w(1), attempt: 5, attemptsMax: 5, nextAttemptAt: null }))
      .then({
        type: 'BootstrapStepFailed',
        data: { uid: UID, step: 'RemoveNode', node: w(1), cause, attempt: 5, attemptsMax: 5, nextAttemptAt: null },
      });
  });

  it('that a deadline found counts for its own run only', () => {
    const failure = { step: 'AwaitNodeReady', node: w(1), reason: 'JoinWorkerFailedReason', cause };
    const fail = (run: number) => ({ type: 'FailCluster', data: { uid: UID, run, failure } }) as const;
    given(...readyToInit)
      .when(fail(1))
      .then({ type: 'ClusterFailed', data: { uid: UID, ...failure } });
    given(...readyToInit)
      .when(fail(2))
      .thenNothing();
    given(...wholeCluster())
      .when(fail(1))
      .thenNothing();
  });
});

describe('a name that is used again', () => {
  it('is a fresh start', () =>
    given(
      ...wholeCluster(),
      deletion,
      { type: 'ClusterDeleted', data: { uid: UID } },
      requested(3, 2),
      created(machinesOf(3, 2)),
      desired(cp(1)),
    )
      .when({ type: 'BeginStep', data: { uid: UID, run: 1, step: 'BootstrapHost', node: cp(1) } })
      .thenNothing());
});

describe('an extra machine', () => {
  const upgradeId = 'u-8f3k2m9q' as UpgradeId;
  const cause = { operation: 'kubeadm join', target: w(3), message: 'it is broken' };
  const withExtra = [
    ...readyToInit,
    controlPlaneInitialized,
    created([{ ...machine(w(3)), surge: upgradeId }]),
    desired(w(3)),
  ] as const;
  const lastFailure = {
    type: 'BootstrapStepFailed',
    data: { uid: UID, step: 'BootstrapHost', node: w(3), cause, attempt: 3, attemptsMax: 3, nextAttemptAt: null },
  } as const;

  it('that cannot be made a node does not fail its cluster, and goes', () => {
    given(...withExtra)
      .when({ type: 'RecordFailure', data: { ...lastFailure.data, run: 1, reason: 'SetupBoostrapFailedReason' } })
      .then(lastFailure);
    given(...withExtra, lastFailure)
      .when({ type: 'BeginStep', data: { uid: UID, run: 1, step: 'RemoveNode', node: w(3) } })
      .thenNothing();
  });

  it('that keeps everybody waiting does not fail its cluster, either', () =>
    given(...withExtra)
      .when({
        type: 'FailCluster',
        data: { uid: UID, run: 1, failure: { step: 'InitializeNode', node: w(3), reason: 'x', cause } },
      })
      .then({
        ...lastFailure,
        data: { ...lastFailure.data, step: 'InitializeNode', attempt: 1, attemptsMax: 1 },
      }));
});

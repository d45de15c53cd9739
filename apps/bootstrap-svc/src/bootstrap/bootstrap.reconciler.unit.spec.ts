import { describe, expect, it } from '@jest/globals';
import type { Fact, NodeName, UpgradeId } from '@fairlead/contracts';
import {
  advance,
  reconcilerDecider,
  reconcilerProcess,
  tasksInState,
  desiredTask,
  type Reaction,
  type TaskFailure,
} from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import {
  agentStarted,
  balanced,
  controlPlaneInitialized,
  cp,
  created,
  desired,
  fit,
  initialized,
  machine,
  machinesOf,
  networkReady,
  OTHER_UID,
  reached,
  requested,
  stateAfter,
  UID,
  w,
  wholeCluster,
} from './bootstrap.fixtures.js';
import { failCluster } from './bootstrap.decider.js';
import { bootstrapReconciler } from './bootstrap.reconciler.js';
import type { Present } from './bootstrap.state.js';

const reconciler = bootstrapReconciler({ agentMs: 60_000, readyMs: 120_000 });
const flow = reconcilerProcess(reconciler);
const NOW = '2026-01-01T00:00:59.000Z';

const say = (reaction: Reaction): string => {
  switch (reaction.kind) {
    case 'task':
      return String(reaction.data['key']).replace('/', ' ');
    case 'timer':
      return `timer ${reaction.key} ${reaction.dueAt}`;
    case 'cancel-timer':
      return `cancel ${reaction.key}`;
  }
};

/** The tasks that each fact leads to. */
const after = (...facts: readonly Fact[]) => {
  const changes = advance(
    flow,
    () => undefined,
    facts.map((fact, index) => stored(fact, index + 1)),
  );
  const state = changes.states.get('default/demo')?.state;
  return {
    state,
    reactions: changes.reactions.map(({ reaction }) => reaction),
    last: changes.reactions.filter(({ event }) => event.meta.seq === facts.length).map(({ reaction }) => say(reaction)),
    tasks: changes.reactions
      .map(({ reaction }) => reaction)
      .filter(({ kind }) => kind === 'task')
      .map(say),
    poisons: changes.poisons,
  };
};

it('publishes every step of a cluster once', () => {
  const { tasks, poisons } = after(...wholeCluster());
  const five = [cp(1), cp(2), cp(3), w(1), w(2)];
  expect(poisons).toEqual([]);
  expect([...tasks].sort()).toEqual(
    [
      ...five.map((node) => `BootstrapHost ${node}`),
      ...five.map((node) => `VerifyNode ${node}`),
      `InitControlPlane ${cp(1)}`,
      'InstallNetwork',
      `JoinControlPlane ${cp(2)}`,
      `JoinControlPlane ${cp(3)}`,
      'VerifyControlPlane',
      `JoinWorker ${w(1)}`,
      `JoinWorker ${w(2)}`,
      'InstallAddons',
    ].sort(),
  );
});

it('identifies each task: generation and key', () => {
  const { reactions } = after(requested(1, 0), created(machinesOf(1, 0)), desired(cp(1)));
  expect(reactions).toEqual([
    {
      kind: 'task',
      type: 'BootstrapHost',
      data: {
        reconciler: 'bootstrap',
        generation: `${UID}/1`,
        key: `BootstrapHost/${cp(1)}`,
        seq: 3,
        now: '2026-01-01T00:00:03.000Z',
      },
    },
  ]);
});

it('publishes only the failed step again after a retry', () => {
  const failed: Fact = {
    type: 'ClusterFailed',
    data: {
      uid: UID,
      step: 'InstallNetwork',
      reason: 'NetworkAddonFailed',
      cause: { operation: 'apply', target: 'demo', message: 'no answer' },
    },
  };
  const facts = [requested(1, 0), created(machinesOf(1, 0)), balanced, ...fit(cp(1)), controlPlaneInitialized, failed];
  expect(after(...facts).last).toEqual([`cancel wake`]);
  const { last } = after(...facts, { type: 'ClusterRetryRequested', data: { uid: UID } });
  expect(last[0]).toBe('InstallNetwork');
  expect(last.filter((said) => !said.startsWith('timer'))).toEqual(['InstallNetwork']);
});

it('publishes steps in progress again after a retry if infra-svc failed', () => {
  const broken: Fact = {
    type: 'InfrastructureFailed',
    data: { uid: UID, step: 's', reason: 'r', cause: { operation: 'o', target: 't', message: 'm' } },
  };
  const { last } = after(requested(1, 0), created(machinesOf(1, 0)), desired(cp(1)), broken, {
    type: 'ClusterRetryRequested',
    data: { uid: UID },
  });
  expect(last).toEqual([`BootstrapHost ${cp(1)}`]);
});

it('prepares more hosts as the previous ones finish', () => {
  const many = Array.from({ length: 21 }, (_, index) => w(100 + index));
  const facts = [requested(1, 21), created([...many.map((name) => machine(name))]), ...many.map(desired)];
  expect(after(...facts).tasks).toHaveLength(20);
  expect(after(...facts, reached(w(100)), agentStarted(w(100))).last).toContain(`BootstrapHost ${w(120)}`);
});

describe('waiting for agents and nodes', () => {
  const begun = [
    requested(1, 0),
    created(machinesOf(1, 0)),
    balanced,
    desired(cp(1)),
    reached(cp(1)),
    agentStarted(cp(1)),
  ];

  it('has a timeout from the start of the agent', () => {
    expect(after(...begun).last).toEqual(['timer wake 2026-01-01T00:01:06.000Z']);
    expect(after(...begun, initialized(cp(1))).last).toEqual([`VerifyNode ${cp(1)}`, 'cancel wake']);
  });

  it('has no timeout while the cluster is paused, and the whole timeout afterwards [Cluster API 30]', () => {
    const paused: Fact = { type: 'ClusterPaused', data: { uid: UID, reason: '' } };
    const resumed: Fact = { type: 'ClusterResumed', data: { uid: UID, reason: '' } };
    expect(after(...begun, paused).last).toEqual(['cancel wake']);
    expect(after(...begun, paused, resumed).last).toEqual(['timer wake 2026-01-01T00:01:08.000Z']);
  });

  it("fails the cluster with the agent's last error after the timeout", () => {
    const trouble: Fact = {
      type: 'NodeInitializationFailed',
      data: {
        uid: UID,
        node: cp(1),
        revision: 1,
        item: 'kubelet',
        command: 'apt-get install kubelet',
        message: 'Unable to locate package kubelet',
        attempt: 4,
      },
    };
    const { state } = after(...begun, trouble);
    const dueAt = '2026-01-01T00:01:06.000Z';
    expect(flow.woken(state!, { now: dueAt, eventId: 'e', correlationId: 'c' }).reactions).toMatchObject([
      { kind: 'task', type: 'StateFacts' },
    ]);
    expect(reconciler.facts?.(state!.state, dueAt)).toMatchObject([
      {
        type: 'ClusterFailed',
        data: {
          step: 'InitializeNode',
          node: cp(1),
          reason: 'BootstrapFailed',
          cause: { operation: 'apt-get install kubelet', message: 'Unable to locate package kubelet' },
        },
      },
    ]);
  });

  it('ignores an outdated timer', () => {
    const { state } = after(...begun);
    const now = '2026-01-01T00:00:30.000Z';
    expect(flow.woken(state!, { now, eventId: 'e', correlationId: 'c' }).reactions).toEqual([
      { kind: 'timer', key: 'wake', dueAt: '2026-01-01T00:01:06.000Z', data: {} },
    ]);
    expect(reconciler.facts?.(state!.state, now)).toEqual([]);
  });

  it('has a separate timeout for a joined node', () => {
    const joined = [...begun, initialized(cp(1)), ...fit(cp(1)).slice(-1), controlPlaneInitialized, networkReady];
    const { state } = after(...joined);
    expect(state?.wakeAt).toBe('2026-01-01T00:02:09.000Z');
  });
});

it('destroys the secrets of a cluster last, when its machines are gone, and drops it [azimuth 26]', () => {
  const deletion = [
    ...wholeCluster(),
    { type: 'ClusterDeletionRequested', data: { uid: UID } },
    { type: 'ClusterDismantled', data: { uid: UID } },
  ] as const;
  expect(after(...deletion).last).toEqual([]);
  const { last, state } = after(...deletion, { type: 'ClusterDeleted', data: { uid: UID } });
  expect(last).toEqual([`DestroySecrets ${UID}`]);
  expect(state).toMatchObject({ isGone: true, desired: [], wakeAt: null });
  const { reaction } = tasksInState(reconciler, state!)[0]!;
  expect(flow.ended(JSON.parse(JSON.stringify(state)) as typeof state & object, reaction.data)).toBeUndefined();
});

it('ignores facts about another cluster of the same name', () => {
  const facts = wholeCluster();
  const stranger: Fact = {
    type: 'ClusterDeletionRequested',
    data: { uid: '7f9619ff-8b86-4d01-b42d-00cf4fc964ff' as typeof UID },
  };
  expect(after(...facts, stranger).last).toEqual([]);
});

const readyToInit: Fact[] = [
  requested(3, 2),
  created(machinesOf(3, 2)),
  balanced,
  ...fit(...[cp(1), cp(2), cp(3), w(1), w(2)]),
];
const deletion: Fact = { type: 'ClusterDeletionRequested', data: { uid: UID } };
const retry: Fact = { type: 'ClusterRetryRequested', data: { uid: UID } };
const failed = (step: string): Fact => ({
  type: 'ClusterFailed',
  data: {
    uid: UID,
    step,
    node: w(1),
    reason: 'WorkerJoinFailed',
    cause: { operation: 'o', target: 't', message: 'm' },
  },
});

/** Whether a task queued in a run of a cluster is desired after these facts. */
const isDesired = (at: { readonly key: string; readonly generation: string }, ...facts: readonly Fact[]): boolean =>
  desiredTask(
    reconciler,
    { state: stateAfter(...facts) },
    { reconciler: 'bootstrap', seq: 1, now: NOW, ...at },
    NOW,
  ) !== undefined;

describe('a step', () => {
  const init = { key: `InitControlPlane/${cp(1)}`, generation: `${UID}/1` };

  it('starts if the cluster needs it', () => expect(isDesired(init, ...readyToInit)).toBe(true));

  it('is rejected before it is due', () => expect(isDesired(init, ...readyToInit.slice(0, -1))).toBe(false));

  it('is rejected for a cluster that was deleted and created again under the same name', () =>
    expect(isDesired({ ...init, generation: `${OTHER_UID}/1` }, ...readyToInit)).toBe(false));

  it('is rejected if it belongs to a run before the last retry', () => {
    const retried = [...readyToInit, failed('InitControlPlane'), retry];
    expect(isDesired(init, ...retried)).toBe(false);
    expect(isDesired({ ...init, generation: `${UID}/2` }, ...retried)).toBe(true);
  });

  it('never initialises a control plane again, whatever happened since [ORBITER 8]', () =>
    expect(
      isDesired(
        { ...init, generation: `${UID}/2` },
        ...[...readyToInit, controlPlaneInitialized, failed('InstallNetwork'), retry],
      ),
    ).toBe(false));

  it('is rejected once the deletion of the cluster was requested', () =>
    expect(isDesired(init, ...readyToInit, deletion)).toBe(false));

  it('of a reused name is a new start', () =>
    expect(
      isDesired(
        { key: `BootstrapHost/${cp(1)}`, generation: `${UID}/1` },
        ...[...wholeCluster(), deletion, { type: 'ClusterDeleted', data: { uid: UID } } as Fact],
        ...[requested(3, 2), created(machinesOf(3, 2)), desired(cp(1))],
      ),
    ).toBe(true));
});

describe('a failure', () => {
  const cause = { operation: 'kubeadm init', target: cp(1), message: 'the port is taken' };
  const again: TaskFailure = { cause, attempt: 1, attemptsMax: 3, nextAttemptAt: '2026-01-01T00:01:00.000Z', now: NOW };
  const last: TaskFailure = { ...again, attempt: 3, nextAttemptAt: null };

  /** The facts when the task fails after these facts; none for a task that is not desired. */
  const failing = (key: string, failure: TaskFailure, ...facts: readonly Fact[]) =>
    reconcilerDecider(reconciler).decide(
      { state: stateAfter(...facts) },
      {
        type: 'RecordFailure',
        data: { ref: { reconciler: 'bootstrap', generation: `${UID}/1`, key, seq: 1, now: NOW }, failure },
      },
    );
  const stepFailed = (step: string, node: NodeName, { attempt, nextAttemptAt }: TaskFailure): Fact => ({
    type: 'BootstrapStepFailed',
    data: { uid: UID, step, node, cause, attempt, attemptsMax: 3, nextAttemptAt },
  });
  const init = `InitControlPlane/${cp(1)}`;

  it('that is retried is reported with its next attempt', () =>
    expect(failing(init, again, ...readyToInit)).toEqual([stepFailed('InitControlPlane', cp(1), again)]));

  it("that is the last attempt makes the cluster Failed, with Ladybug's reason and the cause", () =>
    expect(failing(init, last, ...readyToInit)).toEqual([
      stepFailed('InitControlPlane', cp(1), last),
      {
        type: 'ClusterFailed',
        data: { uid: UID, step: 'InitControlPlane', node: cp(1), reason: 'ControlPlaneInitFailed', cause },
      },
    ]));

  it('of another step is not reported once the cluster has failed', () =>
    expect(failing(init, last, ...readyToInit, failed('BootstrapHost'))).toEqual([]));

  it('of a removal does not change the cluster', () => {
    const removal: Fact = { type: 'NodeRemovalRequested', data: { uid: UID, node: w(1) } };
    expect(failing(`RemoveNode/${w(1)}`, last, ...wholeCluster(), removal)).toEqual([
      stepFailed('RemoveNode', w(1), last),
    ]);
  });

  it('to delete the secrets of a deleted cluster does not affect a later one of the same name', () => {
    const finalizer = { type: 'DestroySecrets', key: 'DestroySecrets', reason: '', data: { uid: OTHER_UID } };
    const ref = { reconciler: 'bootstrap', generation: '', key: 'DestroySecrets', seq: 1, now: NOW, finalizer };
    const recorded = { type: 'RecordFailure', data: { ref, failure: last } } as const;
    expect(reconcilerDecider(reconciler).decide({ state: stateAfter(...readyToInit) }, recorded)).toEqual([]);
  });

  it('found by a deadline applies only to a cluster that is being created', () => {
    const failure = { step: 'AwaitNodeReady', node: w(1), reason: 'WorkerJoinFailed', cause };
    expect(failCluster((stateAfter(...readyToInit) as Present).cluster, failure)).toEqual([
      { type: 'ClusterFailed', data: { uid: UID, ...failure } },
    ]);
    expect(reconciler.facts?.(stateAfter(...wholeCluster()), '2027-01-01T00:00:00.000Z')).toEqual([]);
  });

  it('reported by infra-svc is that of the cluster, with the same message', () => {
    const failure = {
      step: 'CreateMachines',
      reason: 'MachineCreationFailed',
      cause: { operation: 'create machines', target: 'lab', message: 'quota exceeded' },
    };
    const broken: Fact = { type: 'InfrastructureFailed', data: { uid: UID, ...failure } };
    expect(reconciler.facts?.(stateAfter(requested(3, 2), broken), NOW)).toEqual([
      { type: 'ClusterFailed', data: { uid: UID, ...failure } },
    ]);
  });

  describe('of a surge machine', () => {
    const withExtra: Fact[] = [
      ...readyToInit,
      controlPlaneInitialized,
      created([{ ...machine(w(3)), surge: 'u-8f3k2m9q' as UpgradeId }]),
      desired(w(3)),
    ];

    it('does not fail its cluster, and the machine is removed', () => {
      const stated = stepFailed('BootstrapHost', w(3), last);
      expect(failing(`BootstrapHost/${w(3)}`, last, ...withExtra)).toEqual([stated]);
      expect(isDesired({ key: `RemoveNode/${w(3)}`, generation: `${UID}/1` }, ...withExtra, stated)).toBe(true);
    });

    it('by timeout does not fail its cluster either', () => {
      const failure = { step: 'InitializeNode', node: w(3), reason: 'x', cause };
      expect(failCluster((stateAfter(...withExtra) as Present).cluster, failure)).toEqual([
        {
          type: 'BootstrapStepFailed',
          data: {
            uid: UID,
            step: 'InitializeNode',
            node: w(3),
            cause,
            attempt: 1,
            attemptsMax: 1,
            nextAttemptAt: null,
          },
        },
      ]);
    });
  });
});

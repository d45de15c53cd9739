import { describe, expect, it } from '@jest/globals';
import type { Fact } from '@fairlead/contracts';
import { advance, type Reaction } from '@fairlead/event-sourcing';
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
  reached,
  requested,
  UID,
  w,
  wholeCluster,
} from './bootstrap.fixtures.js';
import { makeBootstrapProcess, type Following } from './bootstrap.process.js';

const flow = makeBootstrapProcess({ agentMs: 60_000, readyMs: 120_000 });

const say = (reaction: Reaction): string => {
  switch (reaction.kind) {
    case 'job':
      return 'node' in reaction.data ? `${reaction.type} ${String(reaction.data['node'])}` : reaction.type;
    case 'timer':
      return `timer ${reaction.key} ${reaction.dueAt}`;
    case 'cancel-timer':
      return `cancel ${reaction.key}`;
  }
};

/** What each fact makes the process ask for. */
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
    jobs: changes.reactions
      .map(({ reaction }) => reaction)
      .filter(({ kind }) => kind === 'job')
      .map(say),
    poisons: changes.poisons,
  };
};

it('asks for every step of a cluster once', () => {
  const { jobs, poisons } = after(...wholeCluster());
  const five = [cp(1), cp(2), cp(3), w(1), w(2)];
  expect(poisons).toEqual([]);
  expect([...jobs].sort()).toEqual(
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

it('gives each job what names it: cluster, run, step and node', () => {
  const { reactions } = after(requested(1, 0), created(machinesOf(1, 0)), desired(cp(1)));
  expect(reactions).toEqual([
    {
      kind: 'job',
      type: 'BootstrapHost',
      data: {
        uid: UID,
        run: 1,
        step: 'BootstrapHost',
        node: cp(1),
        reason: 'its machine runs and its software is decided',
      },
    },
  ]);
});

it('asks for the failed step again when someone retries, and for no other', () => {
  const failed: Fact = {
    type: 'ClusterFailed',
    data: {
      uid: UID,
      step: 'InstallNetwork',
      reason: 'SetupNetworkCNIFailedReason',
      cause: { operation: 'apply', target: 'demo', message: 'no answer' },
    },
  };
  const facts = [requested(1, 0), created(machinesOf(1, 0)), balanced, ...fit(cp(1)), controlPlaneInitialized, failed];
  expect(after(...facts).last).toEqual([`cancel deadline`]);
  const { last } = after(...facts, { type: 'ClusterRetryRequested', data: { uid: UID } });
  expect(last[0]).toBe('InstallNetwork');
  expect(last.filter((said) => !said.startsWith('timer'))).toEqual(['InstallNetwork']);
});

it('asks again for what is under way when someone retries while infra-svc is the one that failed', () => {
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

it('prepares more hosts as those before them are done', () => {
  const many = Array.from({ length: 21 }, (_, index) => w(100 + index));
  const facts = [requested(1, 21), created([...many.map((name) => machine(name))]), ...many.map(desired)];
  expect(after(...facts).jobs).toHaveLength(20);
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

  it('has a limit from the start of the agent', () => {
    expect(after(...begun).last).toEqual(['timer deadline 2026-01-01T00:01:06.000Z']);
    expect(after(...begun, initialized(cp(1))).last).toEqual([`VerifyNode ${cp(1)}`, 'cancel deadline']);
  });

  it("fails the cluster with the agent's last words when the limit is over", () => {
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
    const due = { key: 'deadline', dueAt: '2026-01-01T00:01:06.000Z', data: {} };
    expect(flow.due?.(state as Following, due)).toMatchObject([
      {
        type: 'FailCluster',
        data: {
          failure: {
            step: 'InitializeNode',
            node: cp(1),
            reason: 'SetupBoostrapFailedReason',
            cause: { operation: 'apt-get install kubelet', message: 'Unable to locate package kubelet' },
          },
        },
      },
    ]);
  });

  it('ignores a timer that was overtaken', () => {
    const { state } = after(...begun);
    const due = { key: 'deadline', dueAt: '2026-01-01T00:00:30.000Z', data: {} };
    expect(flow.due?.(state as Following, due)).toEqual([]);
  });

  it('gives a joined node its own limit', () => {
    const joined = [...begun, initialized(cp(1)), ...fit(cp(1)).slice(-1), controlPlaneInitialized, networkReady];
    const { state } = after(...joined);
    expect(state?.deadline).toBe('2026-01-01T00:02:09.000Z');
  });
});

it('destroys the secrets of a deleted cluster and forgets it', () => {
  const { last, state } = after(
    ...wholeCluster(),
    { type: 'ClusterDeletionRequested', data: { uid: UID } },
    { type: 'ClusterDismantled', data: { uid: UID } },
    { type: 'ClusterDeleted', data: { uid: UID } },
  );
  expect(last).toEqual(['cancel deadline', 'DestroySecrets']);
  expect(state).toBeUndefined();
});

it('takes no notice of facts about another cluster of the name', () => {
  const facts = wholeCluster();
  const stranger: Fact = {
    type: 'ClusterDeletionRequested',
    data: { uid: '7f9619ff-8b86-4d01-b42d-00cf4fc964ff' as typeof UID },
  };
  expect(after(...facts, stranger).last).toEqual([]);
});

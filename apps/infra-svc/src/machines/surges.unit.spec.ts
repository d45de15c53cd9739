import type { Fact, MachinePlan, UpgradeId } from '@fairlead/contracts';
import { advance, reconcilerDecider, reconcilerProcess, type ReconcilerCommand } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, requested, runningMachine, UID } from '../../test/fixtures.js';
import { Story } from '../../test/story.js';
import { machines } from './machines.decider.js';
import { machineName, planCluster, planSurge } from './machines.planner.js';
import { machinesReconciler } from './machines.reconciler.js';

const { given } = specification(machines);
const SURGE = { upgradeId: 'u-8f3k2m9q' as UpgradeId, pool: 'worker-1' };
const rollout = { uid: UID, ...SURGE, operation: 'op-07' };
const plans = planCluster(UID, clusterSpec(), () => []);
const extra = planSurge(
  { uid: UID, spec: clusterSpec(), planned: plans, workersEver: 2 },
  { ...SURGE, count: 1 },
  () => [],
);
const [extraPlan] = extra as readonly [MachinePlan];
const extraMachine = { ...runningMachine(extraPlan, 9), surge: SURGE.upgradeId };

const made: readonly Fact[] = [
  requested(),
  { type: 'ClusterAccepted', data: { uid: UID } },
  { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } },
  ...plans.map((plan, at): Fact => ({ type: 'VmCreated', data: { uid: UID, machine: runningMachine(plan, at + 1) } })),
  { type: 'VmsCreated', data: { uid: UID, machines: plans.map((plan, at) => runningMachine(plan, at + 1)) } },
];
const asked: Fact = { type: 'SurgeRequested', data: { ...rollout, count: 1 } };
const returned: Fact = { type: 'SurgeReleased', data: { ...rollout, nodes: [] } };
const planned: Fact<'VmsPlanned'> = { type: 'VmsPlanned', data: { uid: UID, machines: [...extra] } };
const cause = { operation: 'create machines', target: extraPlan.name, message: 'Quota exceeded' };
const NOW = '2026-01-01T00:10:00.000Z';
const notMade: Extract<ReconcilerCommand, { type: 'RecordFailure' }> = {
  type: 'RecordFailure',
  data: {
    ref: {
      reconciler: 'machines',
      generation: `${UID}/1`,
      key: `EnsureMachines/${SURGE.upgradeId}/${SURGE.pool}`,
      seq: 1,
      now: NOW,
    },
    failure: { cause, attempt: 6, attemptsMax: 6, nextAttemptAt: null, now: NOW },
  },
};
const kernel = specification(reconcilerDecider(machinesReconciler));

/** Keys of the tasks that the last fact makes desired. */
const keysAfter = (...facts: readonly Fact[]): readonly unknown[] => {
  const events = facts.map((fact, index) => stored(fact, index + 1));
  const { reactions } = advance(reconcilerProcess(machinesReconciler), () => undefined, events);
  return reactions
    .filter(({ event }) => event.meta.seq === facts.length)
    .flatMap(({ reaction }) => (reaction.kind === 'task' ? [reaction.data['key']] : []));
};

describe('surge machines for a pool that is upgraded', () => {
  it('are like those of the pool, are marked, and have the next names', () =>
    expect(extra).toMatchObject([
      { name: machineName('demo', UID, 'worker', 3), pool: 'worker-1', spec: 'lab.medium', surge: SURGE.upgradeId },
    ]));

  it('are planned once, however often the task runs', () => {
    const plan = { type: 'PlanSurge', data: { uid: UID, ...SURGE, count: 1, offered: { zones: {} } } } as const;
    given(...made, asked)
      .when(plan)
      .then(planned);
    given(...made, asked, planned)
      .when(plan)
      .thenNothing();
    given(...made)
      .when(plan)
      .thenNothing();
  });

  it('are announced without the others', () =>
    given(...made, asked, planned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then(
        { type: 'VmCreated', data: { uid: UID, machine: extraMachine } },
        { type: 'VmsCreated', data: { uid: UID, machines: [extraMachine] } },
      ));

  it('that run after their surge was released are not announced', () =>
    given(...made, asked, planned, returned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then({ type: 'VmCreated', data: { uid: UID, machine: extraMachine } }));

  it('that were planned after their surge was released are not announced, and are deleted', () => {
    given(...made, asked, returned, planned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then({ type: 'VmCreated', data: { uid: UID, machine: extraMachine } });
    expect(keysAfter(...made, asked, returned, planned)).toEqual([`DeleteMachine/${extraPlan.name}`]);
  });

  it('are deleted until they are gone: a failed deletion is retried when its next attempt is due', () => {
    const nextAttemptAt = '2026-01-01T01:00:00.000Z';
    const notDeleted: Fact = {
      type: 'VmDeletionFailed',
      data: { uid: UID, machines: [extraPlan.name], reason: 'r', cause, attempt: 1, nextAttemptAt },
    };
    const process = reconcilerProcess(machinesReconciler);
    const dueAfter = (...more: readonly Fact[]): readonly unknown[] => {
      const facts = [...made, asked, planned, returned, ...more];
      const events = facts.map((fact, index) => stored(fact, index + 1));
      const state = [...advance(process, () => undefined, events).states.values()][0]?.state;
      const { reactions: due } = process.woken(state!, { now: nextAttemptAt, eventId: 'e', correlationId: 'c' });
      return due.map((reaction) => (reaction.kind === 'task' ? reaction.data['key'] : reaction.kind));
    };
    expect(dueAfter(notDeleted)).toEqual([`DeleteMachine/${extraPlan.name}`]);
    expect(dueAfter(notDeleted, { type: 'VmDeleted', data: { uid: UID, name: extraPlan.name } })).toEqual([]);
  });

  it('whose nodes have left are replaced only after a retry, so that one that cannot join is not replaced forever', () => {
    const announced: Fact = { type: 'VmsCreated', data: { uid: UID, machines: [extraMachine] } };
    const running: readonly Fact[] = [
      ...made,
      asked,
      planned,
      { type: 'VmCreated', data: { uid: UID, machine: extraMachine } },
    ];
    const gone: readonly Fact[] = [announced, { type: 'VmDeleted', data: { uid: UID, name: extraPlan.name } }];
    const plan = `PlanSurge/${SURGE.upgradeId}/${SURGE.pool}`;
    expect(keysAfter(...running, ...gone)).toEqual([]);
    expect(keysAfter(...running, ...gone, { type: 'ClusterRetryRequested', data: { uid: UID } })).toContain(plan);
  });

  it('are abandoned permanently: later requests get new machines', () => {
    const next = planSurge(
      { uid: UID, spec: clusterSpec(), planned: [...plans, ...extra], workersEver: 3 },
      { ...SURGE, count: 1 },
      () => [],
    );
    given(...made, asked, planned, returned, asked)
      .when({ type: 'PlanSurge', data: { uid: UID, ...SURGE, count: 1, offered: { zones: {} } } })
      .then({ type: 'VmsPlanned', data: { uid: UID, machines: [...next] } });
  });

  it('that the provider does not create fail their surge and not the cluster', () => {
    const { now: _now, ...attempt } = notMade.data.failure;
    kernel
      .given(...made, asked, planned)
      .when(notMade)
      .then(
        { type: 'InfrastructureStepFailed', data: { uid: UID, step: 'create machines', ...attempt } },
        { type: 'SurgeFailed', data: { uid: UID, ...SURGE, cause } },
      );
    kernel
      .given(...made, asked, planned, returned)
      .when(notMade)
      .thenNothing();
  });

  it('of a cluster whose machines are incomplete fail at once', () =>
    kernel
      .given(requested(), { type: 'ClusterAccepted', data: { uid: UID } }, asked)
      .when({ type: 'StateFacts', data: { now: NOW } })
      .then({
        type: 'SurgeFailed',
        data: {
          uid: UID,
          ...SURGE,
          cause: {
            operation: 'create surge machines',
            target: SURGE.pool,
            message: 'the pool has no machine that they could be like',
          },
        },
      }));
});

describe('a surge in a story', () => {
  const begun = async (): Promise<Story> => {
    const story = new Story();
    await story.begin();
    await story.request(requested());
    return story;
  };
  const names = (story: Story): readonly string[] => [...story.cloud.machines.keys()].sort();

  it('creates a machine of the pool, which is deleted when its node has left', async () => {
    const story = await begun();
    const before = names(story);
    await story.request(asked);
    expect(names(story)).toEqual([...before, extraPlan.name].sort());
    expect(story.last('VmsCreated').machines).toMatchObject([{ name: extraPlan.name, surge: SURGE.upgradeId }]);
    await story.request({ type: 'SurgeReleased', data: { ...rollout, nodes: [extraPlan.name] } });
    expect(names(story)).toContain(extraPlan.name);
    await story.request({ type: 'NodeRemoved', data: { uid: UID, node: extraPlan.name } });
    expect(names(story)).toEqual(before);
    expect(story.types().filter((type) => type === 'VmDeleted')).toHaveLength(1);
  });

  it('that the provider refuses leaves the cluster unchanged, with the message of the provider', async () => {
    const story = await begun();
    const before = names(story);
    story.cloud.machinesMax = before.length;
    await story.request(asked);
    expect(story.last('SurgeFailed')).toMatchObject({ ...SURGE, cause: { operation: 'create machines' } });
    expect(names(story)).toEqual(before);
    expect(story.types()).not.toContain('InfrastructureFailed');
  });

  it('of a pool without machines reports that', async () => {
    const story = await begun();
    await story.request({ type: 'SurgeRequested', data: { ...rollout, pool: 'gpu', count: 1 } });
    expect(story.last('SurgeFailed').cause).toEqual({
      operation: 'create surge machines',
      target: 'gpu',
      message: 'the pool has no machine that they could be like',
    });
  });
});

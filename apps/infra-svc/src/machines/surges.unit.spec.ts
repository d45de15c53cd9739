import type { Fact, MachinePlan, UpgradeId } from '@fairlead/contracts';
import { advance } from '@fairlead/event-sourcing';
import { specification, stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, requested, runningMachine, UID } from '../../test/fixtures.js';
import { Story } from '../../test/story.js';
import { machines, type StepFailure } from './machines.decider.js';
import { machinesProcess } from './machines.process.js';
import { machineName, planCluster, planSurge } from './machines.planner.js';

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
const failure: StepFailure = {
  step: 'create machines',
  cause,
  attempt: 6,
  attemptsMax: 6,
  nextAttemptAt: null,
  reason: 'CreateMCISFailedReason',
  deleting: false,
  surge: SURGE,
};
const { reason: _reason, deleting: _deleting, surge: _surge, ...step } = failure;

describe('extra machines for a pool that is upgraded', () => {
  it('are like those of the pool, are marked, and have the next names', () =>
    expect(extra).toMatchObject([
      { name: machineName('demo', UID, 'worker', 3), pool: 'worker-1', spec: 'lab.medium', surge: SURGE.upgradeId },
    ]));

  it('are planned once, however often the job runs', () => {
    const plan = { type: 'PlanSurge', data: { uid: UID, ...SURGE, machines: extra } } as const;
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

  it('are announced by themselves', () =>
    given(...made, asked, planned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then(
        { type: 'VmCreated', data: { uid: UID, machine: extraMachine } },
        { type: 'VmsCreated', data: { uid: UID, machines: [extraMachine] } },
      ));

  it('that run when no one wants them any more are announced to nobody', () =>
    given(...made, asked, planned, returned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then({ type: 'VmCreated', data: { uid: UID, machine: extraMachine } }));

  it('that got their names when no one desired them any more are announced to no one, and are deleted', () => {
    given(...made, asked, returned, planned)
      .when({ type: 'RecordMachine', data: { uid: UID, machine: extraMachine } })
      .then({ type: 'VmCreated', data: { uid: UID, machine: extraMachine } });
    const facts = [...made, asked, returned, planned].map((fact, index) => stored(fact, index + 1));
    const { reactions } = advance(machinesProcess, () => undefined, facts);
    const last = reactions.filter(({ event }) => event.meta.seq === facts.length).map(({ reaction }) => reaction);
    expect(last).toMatchObject([{ kind: 'job', type: 'ReturnSurge', data: { uid: UID, ...SURGE } }, { kind: 'timer' }]);
  });

  it('are looked after until they are gone: a deletion that did not succeed is begun again', () => {
    const facts = [...made, asked, planned, returned];
    const dueAfter = (...more: readonly Fact[]) => {
      const events = [...facts, ...more].map((fact, index) => stored(fact, index + 1));
      const { reactions, states } = advance(machinesProcess, () => undefined, events);
      const timer = reactions.map(({ reaction }) => reaction).find(({ kind }) => kind === 'timer');
      const state = [...states.values()][0]?.state;
      if (timer?.kind !== 'timer' || state === undefined) throw new Error('nobody looks after them');
      return machinesProcess.due?.(state, timer) ?? [];
    };
    expect(dueAfter()).toMatchObject([{ kind: 'job', type: 'ReturnSurge' }, { kind: 'timer' }]);
    expect(dueAfter({ type: 'VmDeleted', data: { uid: UID, name: extraPlan.name } })).toEqual([]);
  });

  it('are given up for good: what is desired later gets new machines', () => {
    const next = planSurge(
      { uid: UID, spec: clusterSpec(), planned: [...plans, ...extra], workersEver: 3 },
      { ...SURGE, count: 1 },
      () => [],
    );
    given(...made, asked, planned, returned, asked)
      .when({ type: 'PlanSurge', data: { uid: UID, ...SURGE, machines: next } })
      .then({ type: 'VmsPlanned', data: { uid: UID, machines: [...next] } });
  });

  it('that is not available fail their surge and not the cluster', () => {
    given(...made, asked, planned)
      .when({ type: 'RecordFailure', data: { uid: UID, failure } })
      .then(
        { type: 'InfrastructureStepFailed', data: { uid: UID, ...step } },
        { type: 'SurgeFailed', data: { uid: UID, ...SURGE, cause } },
      );
    given(...made, asked, planned, returned)
      .when({ type: 'RecordFailure', data: { uid: UID, failure } })
      .then({ type: 'InfrastructureStepFailed', data: { uid: UID, ...step } });
  });
});

describe('a surge in a story', () => {
  const begun = async (): Promise<Story> => {
    const story = new Story();
    await story.begin();
    await story.request(requested());
    return story;
  };
  const names = (story: Story): readonly string[] => [...story.cloud.machines.keys()].sort();

  it('brings a machine of the pool, which goes when its node has left', async () => {
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

  it('that the provider refuses leaves the cluster as it was, in the words of the provider', async () => {
    const story = await begun();
    const before = names(story);
    story.cloud.machinesMax = before.length;
    await story.request(asked);
    expect(story.last('SurgeFailed')).toMatchObject({ ...SURGE, cause: { operation: 'create machines' } });
    expect(names(story)).toEqual(before);
    expect(story.types()).not.toContain('InfrastructureFailed');
  });

  it('of a pool that has no machine says so', async () => {
    const story = await begun();
    await story.request({ type: 'SurgeRequested', data: { ...rollout, pool: 'gpu', count: 1 } });
    expect(story.last('SurgeFailed').cause).toEqual({
      operation: 'make extra machines',
      target: 'gpu',
      message: 'the pool has no machine that they could be like',
    });
  });
});

import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { scaledValue } from '../objects/quantity.js';
import type { Deployment, ReplicaSet } from '../objects/workload.types.js';
import { planRollout, rolloutLimits } from './rollout.planner.js';

const SEEDS = 100;
const STEPS_MAX = 2_000;

const randomOf = (seed: number): ((below: number) => number) => {
  const random = seededRandom(seed);
  return (below) => Math.floor(random() * below);
};

const metadata = (name: string) => ({
  name,
  namespace: 'default',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: `2026-01-0${name.length}T00:00:00Z`,
  generation: 1,
});

const aDeployment = (replicas: number, rollingUpdate: object): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadata('web'),
  spec: {
    replicas,
    selector: {},
    template: { spec: { containers: [] } },
    strategy: { type: 'RollingUpdate', rollingUpdate },
  },
});

/** A replica set with the number of its pods and of available ones. */
interface Group {
  replicaSet: ReplicaSet;
  pods: number;
  available: number;
}

const aGroup = (name: string, replicas: number): Group => ({
  replicaSet: {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: metadata(name),
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { replicas, availableReplicas: replicas, observedGeneration: 1 },
  },
  pods: replicas,
  available: replicas,
});

const servingOf = (groups: readonly Group[]): number => groups.reduce((sum, { available }) => sum + available, 0);

const sync = (group: Group): void => {
  const desired = group.replicaSet.spec.replicas ?? 0;
  // The replica set controller deletes unready pods first.
  const removed = Math.max(0, group.pods - desired);
  group.available -= Math.max(0, removed - (group.pods - group.available));
  group.pods = desired;
};

const report = (group: Group): void => {
  const { replicaSet } = group;
  const status = {
    replicas: group.pods,
    availableReplicas: group.available,
    observedGeneration: replicaSet.metadata.generation ?? 1,
  };
  group.replicaSet = { ...replicaSet, status };
};

const scaleTo = (group: Group, replicas: number): void => {
  const { metadata: old, spec } = group.replicaSet;
  group.replicaSet = {
    ...group.replicaSet,
    metadata: { ...old, generation: (old.generation ?? 1) + 1 },
    spec: { ...spec, replicas },
  };
};

describe('A rolling update under disorder', () => {
  const strategies = [
    { maxSurge: '25%', maxUnavailable: '25%' },
    { maxSurge: 1, maxUnavailable: 0 },
    { maxSurge: 0, maxUnavailable: 1 },
    { maxSurge: '100%', maxUnavailable: 0 },
    { maxSurge: 0, maxUnavailable: 0 },
  ];

  it.each(strategies)('with %p never has too many pods or too few available ones, and completes', (rollingUpdate) => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const random = randomOf(seed);
      const replicas = 1 + random(12);
      const deployment = aDeployment(replicas, rollingUpdate);
      const current = aGroup('new1', 0);
      const old = [aGroup('old', Math.ceil(replicas / 2)), aGroup('olds', Math.floor(replicas / 2))];
      const outcome = outcomeOf({ deployment, current, old, random });

      expect({ seed, outcome }).toEqual({ seed, outcome: 'done' });
      expect([current.available, ...old.map(({ pods }) => pods)]).toEqual([replicas, 0, 0]);
    }
  });

  interface World {
    readonly deployment: Deployment;
    readonly current: Group;
    readonly old: readonly Group[];
    readonly random: (below: number) => number;
  }

  const outcomeOf = (world: World): string => {
    try {
      return runToEnd(world) < STEPS_MAX ? 'done' : 'did not end';
    } catch (error) {
      return String(error);
    }
  };

  /**
   * Runs the deployment controller, the replica set controllers and the kubelets in random order, and checks the limits
   * after each step.
   */
  const runToEnd = ({ deployment, current, old, random }: World): number => {
    const groups = [current, ...old];
    const replicas = deployment.spec.replicas ?? 0;
    const limits = rolloutLimits(deployment);
    let steps = 0;
    for (; steps < STEPS_MAX; steps += 1) {
      const group = groups[random(groups.length)] as Group;
      const acts = [
        () => decide(deployment, current, old),
        () => sync(group),
        () => report(group),
        () => {
          group.available = Math.min(group.pods, group.available + 1);
        },
      ];
      acts[random(acts.length)]?.();
      const pods = groups.reduce((sum, { replicaSet }) => sum + (replicaSet.spec.replicas ?? 0), 0);
      const serving = servingOf(groups);
      if (pods > replicas + limits.surge)
        throw new Error(`step ${steps}: ${pods} pods are desired, ${replicas} + ${limits.surge} allowed`);
      if (serving < replicas - limits.unavailable)
        throw new Error(`step ${steps}: only ${serving} of ${replicas} serve`);
      if (current.available === replicas && old.every(({ pods: left }) => left === 0)) return steps;
    }
    return steps;
  };

  const decide = (deployment: Deployment, current: Group, old: readonly Group[]): void => {
    const plan = planRollout({ deployment, current: current.replicaSet, old: old.map(({ replicaSet }) => replicaSet) });
    for (const { replicaSet, to } of plan) {
      const group = [current, ...old].find(
        (candidate) => candidate.replicaSet.metadata.name === replicaSet.metadata.name,
      );
      if (group !== undefined) scaleTo(group, to);
    }
  };

  it('removes unhealthy old pods before healthy ones', () => {
    const healthy = aGroup('old', 5);
    const sick = aGroup('olds', 5);
    sick.available = 2;
    report(sick);
    const deployment = aDeployment(10, { maxSurge: 0, maxUnavailable: 2 });

    const plan = planRollout({
      deployment,
      current: aGroup('new1', 0).replicaSet,
      old: [healthy.replicaSet, sick.replicaSet],
    });

    expect(plan.map(({ replicaSet, to }) => [replicaSet.metadata.name, to])).toEqual([['olds', 3]]);
  });

  it('applies the percentages of surge and unavailability, rounded up and down', () => {
    expect(rolloutLimits(aDeployment(10, { maxSurge: '25%', maxUnavailable: '25%' }))).toEqual({
      surge: scaledValue('25%', 10, 'up'),
      unavailable: scaledValue('25%', 10, 'down'),
    });
  });
});

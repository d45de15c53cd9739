import { compareVersions, minorOf, type KubernetesVersion, type NodeName } from '@fairlead/contracts';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { changeNode, cp, modelOf, nodesOf, versionsOf, w, type Model } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, toVersion } from '../../test/rollout.story.js';
import { skewFindings } from '../rules/skew.rules.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const FIRST = Number(process.env['SIM_SEED'] ?? 1);
const LIMIT_MS = 600_000;

const at = (model: Model, name: NodeName, api: string | null, kubelet: string): Model => {
  const software = { ...model.nodes[name]!.software, kubelet, kubeadm: api ?? kubelet, kubectl: kubelet };
  return changeNode(model, name, {
    software,
    reported: software,
    components: api === null ? null : { api, controllers: api, scheduler: api, emulates: null },
    desired: { ...model.nodes[name]!.desired, software },
  });
};

const isAllowed = (model: Model): boolean => skewFindings(versionsOf(model)).length === 0;

/**
 * Runs a plan from this state to the target to its end. In the log the cluster has its oldest version, as after an
 * aborted upgrade.
 */
const upgraded = (model: Model, target: KubernetesVersion, from: string, seed: number): RolloutSimulation => {
  const simulation = new RolloutSimulation(model, seed);
  for (const [context, fact] of beginning(model, from)) simulation.say(context, fact);
  simulation.say('request', asked(toVersion(target)));
  simulation.run();
  return simulation;
};

const expectDone = ({ model, log, harm }: RolloutSimulation, target: string): void => {
  expect(
    log.flatMap(({ type, data }) => (type === 'RolloutHalted' || type === 'UpgradeRejected' ? [data] : [])),
  ).toEqual([]);
  expect(harm).toEqual([]);
  expect(log.filter(({ type }) => type === 'RolloutCompleted')).toHaveLength(1);
  for (const { components, software, cordoned, ready } of nodesOf(model)) {
    expect({ kubelet: software['kubelet'], cordoned, ready }).toEqual({
      kubelet: target,
      cordoned: false,
      ready: true,
    });
    if (components !== null) expect(components).toMatchObject({ api: target, controllers: target, scheduler: target });
  }
};

const [OLD, NEW] = ['1.33.13', '1.34.4'] as const;
/** Versions of a control plane at each point of an upgrade: API server, kubelet. */
const COURSES = [
  [OLD, OLD],
  [NEW, OLD],
  [NEW, NEW],
] as const;
const INDEXES = [0, 1, 2] as const;

describe('three control planes, each at any point of an upgrade that ended early', () => {
  const states = INDEXES.flatMap((one) =>
    INDEXES.flatMap((two) =>
      INDEXES.flatMap((three) => [1, 3].map((leader) => ({ courses: [one, two, three], leader }))),
    ),
  );

  it(
    'reach the target with another plan, whether the first or the last leads etcd',
    () => {
      let seen = 0;
      for (const { courses, leader } of states) {
        const mixed = courses.reduce<Model>(
          (before, course, index) => at(before, cp(index + 1), COURSES[course]![0], COURSES[course]![1]),
          {
            ...modelOf(3, 1, OLD),
            leader: cp(leader),
          },
        );
        if (!isAllowed(mixed)) continue;
        seen += 1;
        expectDone(upgraded(mixed, 'v1.34.4' as KubernetesVersion, OLD, 0), NEW);
      }
      expect(seen).toBe(54);
    },
    LIMIT_MS,
  );
});

/** Latest patches, and one older patch. */
const VERSIONS = ['1.32.11', '1.33.13', '1.34.2', '1.34.4', '1.35.4'];

const randomState = (random: () => number): Model | undefined => {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;
  const [controlPlanes, workers] = [pick([1, 3]), pick([1, 2, 3])];
  const base = pick(VERSIONS);
  const apis = VERSIONS.filter((one) => compareVersions(one, base) >= 0).slice(0, 2);
  let model: Model = {
    ...modelOf(controlPlanes, workers, base),
    proxy: base,
    leader: cp(1 + Math.floor(random() * controlPlanes)),
  };
  for (let index = 1; index <= controlPlanes; index += 1) {
    const api = pick(apis);
    model = at(model, cp(index), api, pick(VERSIONS.filter((one) => compareVersions(one, api) <= 0)));
  }
  for (let index = 1; index <= workers; index += 1) model = at(model, w(index), null, pick(VERSIONS));
  return isAllowed(model) ? model : undefined;
};

const nextState = (random: () => number): Model => {
  for (let tries = 0; tries < 10_000; tries += 1) {
    const model = randomState(random);
    if (model !== undefined) return model;
  }
  throw new Error('no state that the skew rules allow');
};

describe('versions in any combination that the skew rules allow', () => {
  it(
    'reach the newest version with one plan, despite random failures',
    () => {
      const minors = new Set<string>();
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const model = nextState(seededRandom(seed));
        const apis = nodesOf(model).flatMap(({ components }) => components?.api ?? []);
        for (const api of apis) minors.add(minorOf(api));
        try {
          expectDone(
            upgraded(model, 'v1.35.4' as KubernetesVersion, apis.toSorted(compareVersions)[0]!, seed),
            '1.35.4',
          );
        } catch (error) {
          throw new Error(`seed ${seed}: ${JSON.stringify(versionsOf(model))}: ${String(error)}`, { cause: error });
        }
      }
      if (SEEDS >= 10) expect(minors.size).toBeGreaterThan(2);
    },
    LIMIT_MS,
  );
});

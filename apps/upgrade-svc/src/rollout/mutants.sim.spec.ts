import { desiredTask, type Task } from '@fairlead/event-sourcing';
import { afterEach, describe, expect, it, jest } from '@jest/globals';

/** The modules that a scenario needs, loaded again with one guard replaced. */
const load = async () => ({
  ...(await import('../../test/model.js')),
  ...(await import('../../test/exploration.js')),
  ...(await import('../../test/rollout.simulation.js')),
  ...(await import('../../test/rollout.story.js')),
  ABSENT: (await import('./rollout.state.js')).ABSENT,
});
type Tools = Awaited<ReturnType<typeof load>>;

const STATES_MAX = 100_000;
const TIMEOUT_MS = 120_000;
const SEEDS = 10;

/** The first violation that an exhaustive search over 3 + 3 nodes finds. */
const explored = ({
  explore,
  started,
  withFacts,
  modelOf,
  asked,
  beginning,
  toVersion,
  ABSENT,
}: Tools): readonly string[] => {
  const model = modelOf(3, 3, '1.33.13');
  const world = { rollout: ABSENT, model, moves: 0, failures: 0 };
  const facts = beginning(model, '1.33.13').map(([, fact]) => fact);
  const request = asked(toVersion('v1.34.4'), { workers: { maxUnavailable: 2, canary: false } });
  return explore(started(withFacts(world, ...facts, request)), 2, STATES_MAX).harm;
};

/** The first violation that an exhaustive search over 3 workers with maxSurge 1 and maxUnavailable 0 finds. */
const exploredWithExtra = (tools: Tools): readonly string[] => {
  const model = tools.modelOf(1, 3, '1.33.13');
  const world = { rollout: tools.ABSENT, model, moves: 0, failures: 1 };
  const facts = tools.beginning(model, '1.33.13').map(([, fact]) => fact);
  const strategy = { workers: { maxUnavailable: 0, maxSurge: 1, canary: false }, failedShareMax: '100%' };
  const started = tools.started(tools.withFacts(world, ...facts, tools.asked(tools.toVersion('v1.34.4'), strategy)));
  return tools.explore(started, 0, STATES_MAX).harm;
};

const simulated = (
  tools: Tools,
  seed: number,
  tell: (simulation: InstanceType<Tools['RolloutSimulation']>) => void,
  model = tools.modelOf(3, 3, '1.33.13'),
): InstanceType<Tools['RolloutSimulation']> => {
  const simulation = new tools.RolloutSimulation(model, seed);
  for (const [context, fact] of tools.beginning(model, '1.33.13')) simulation.say(context, fact);
  tell(simulation);
  simulation.run();
  return simulation;
};

/** A simulation that never ends is a violation, too. */
const withoutEnd = (harm: () => readonly string[]): readonly string[] => {
  try {
    return harm();
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('still busy')) return [error.message];
    throw error;
  }
};

/** Keeps a task desired with its first data once it was desired. */
const desiredForEver = (): typeof desiredTask => {
  const known = new WeakMap<object, Task>();
  return (reconciler, state, ref, now) => {
    const task = desiredTask(reconciler, state, ref, now);
    if (task !== undefined && !known.has(ref)) known.set(ref, task);
    return task ?? known.get(ref);
  };
};

interface Mutant {
  readonly guard: string;
  readonly becomes: string;
  /** Replaced exports, by module. */
  readonly replaced: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The violations that follow. */
  readonly harm: (tools: Tools) => readonly string[];
}

const MUTANTS: readonly Mutant[] = [
  {
    guard: 'D2, the budget',
    becomes: 'always true',
    replaced: { '../rules/workers.rules.js': { d2MayBegin: () => true } },
    harm: explored,
  },
  {
    guard: 'D2, surge nodes count once they are there',
    becomes: 'as soon as they are planned',
    replaced: {
      './surge.planner.js': {
        atOnceNow: () => 1,
        surgePhase: () => 'complete',
      },
    },
    harm: exploredWithExtra,
  },
  {
    guard: 'D2, surge nodes stay while others are away',
    becomes: 'they go when their turn comes',
    replaced: { '../rules/workers.rules.js': { d2MayReturn: () => true } },
    harm: (tools) =>
      simulated(
        tools,
        0,
        (simulation) => {
          simulation.atOnce = 0;
          simulation.say(
            'request',
            tools.asked(tools.toVersion('v1.34.4'), { workers: { maxUnavailable: 0, maxSurge: 1 } }),
          );
          simulation.when(
            (event) => event.type === 'NodeUncordoned' && event.data.node === tools.w(3),
            () => {
              simulation.happens(tools.w(1), { ready: false });
              const data = {
                uid: tools.UID,
                node: tools.w(1),
                revision: 4,
                reason: 'KubernetesNotReady' as const,
                message: 'it is off',
              };
              simulation.say(`node-${tools.w(1)}`, { type: 'NodeNotReady', data });
            },
          );
        },
        tools.modelOf(1, 3, '1.33.13'),
      ).harm,
  },
  {
    guard: 'C4, apply once',
    becomes: 'always apply',
    replaced: { '../rules/control-plane.rules.js': { c4KubeadmCommand: () => 'apply' } },
    harm: explored,
  },
  {
    guard: 'C2, the leader gives up its lead',
    becomes: 'it need not',
    replaced: { '../rules/control-plane.rules.js': { c2NextLeader: () => null } },
    harm: explored,
  },
  {
    guard: 'C1, the gates before each control plane',
    becomes: 'none is asked',
    replaced: { '../rules/control-plane.rules.js': { c1GatesBefore: [] } },
    harm: (tools) =>
      simulated(tools, 0, (simulation) => {
        simulation.say('request', tools.asked(tools.toVersion('v1.34.4')));
        simulation.when(
          ({ type }) => type === 'EtcdSnapshotTaken',
          () => simulation.happens(tools.cp(3), { memberHealthy: false }),
        );
      }).harm,
  },
  {
    guard: 'A6, the skew on the way',
    becomes: 'nothing is found',
    replaced: {
      '../rules/skew.rules.js': { a6SkewOnTheWay: () => [] },
      './skew.guard.planner.js': { skewBrokenBy: () => [] },
    },
    harm: (tools) => {
      const old = tools.modelNode('demo-w-9', 'worker', 'w', '1.31.4');
      const model = tools.modelOf(1, 2, '1.33.13');
      return simulated(
        tools,
        0,
        (simulation) => {
          simulation.say('request', tools.hold(old.name, null, true), tools.asked(tools.toVersion('v1.35.4')));
        },
        { ...model, nodes: { ...model.nodes, [old.name]: old } },
      ).harm;
    },
  },
  {
    guard: 'the look of each task, whether it is desired',
    becomes: 'once is enough',
    replaced: { '../../../../libs/event-sourcing/src/reconciler.js': { desiredTask: desiredForEver() } },
    harm: (tools) =>
      withoutEnd(() =>
        Array.from({ length: SEEDS }, (_, seed) => {
          const { harm, model } = simulated(tools, seed + 1, (simulation) => {
            simulation.say('request', tools.asked(tools.toVersion('v1.34.4')));
          });
          const cordoned = tools.nodesOf(model).filter((node) => node.cordoned);
          return [...harm, ...cordoned.map(({ name }) => `${name} stays cordoned`)];
        }).flat(),
      ),
  },
  {
    guard: 'D1, a canary that fails stops the others',
    becomes: 'nothing stops',
    replaced: { './halts.planner.js': { haltOf: () => undefined } },
    harm: (tools) => {
      const simulation = simulated(tools, 0, (one) => {
        one.stuck.add(tools.w(1));
        one.say('request', tools.asked(tools.toVersion('v1.34.4'), { workers: { maxUnavailable: 2 } }));
      });
      return simulation.count('UpgradeAllowed', tools.w(2)) > 0 ? ['others went on after the canary had failed'] : [];
    },
  },
];

describe('every guard is needed', () => {
  afterEach(() => {
    jest.resetModules();
  });

  it.each(MUTANTS)(
    '$guard: without it ($becomes) there is a violation, with it none',
    async ({ replaced, harm }) => {
      jest.resetModules();
      expect(harm(await load())).toEqual([]);
      const actual = await Promise.all(
        Object.keys(replaced).map(async (module) => [module, { ...((await import(module)) as object) }] as const),
      );
      jest.resetModules();
      for (const [module, exports] of actual)
        jest.unstable_mockModule(module, () => ({ ...exports, ...replaced[module] }));
      try {
        expect(harm(await load())).not.toEqual([]);
      } finally {
        for (const [module, exports] of actual) jest.unstable_mockModule(module, () => exports);
      }
    },
    TIMEOUT_MS,
  );
});

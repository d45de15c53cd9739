import type { StoredEvent, UpgradeId } from '@fairlead/contracts';
import { goldenBeside } from '@fairlead/testing/golden';
import { describe, expect, it } from '@jest/globals';
import { changeNode, cp, modelNode, modelOf, NO_SURGE, nodesOf, w, type Model } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, hold, replacing, toVersion, UPGRADE, request } from '../../test/rollout.story.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Takes seconds on a dedicated machine; longer on a shared one. */
const LIMIT_MS = 600_000;

interface Story {
  readonly name: string;
  readonly model: () => Model;
  readonly version: string;
  readonly tell: (simulation: RolloutSimulation) => void;
  /** Assertions that must hold at the end, for every seed. */
  readonly then: (simulation: RolloutSimulation) => void;
}

const begin = (story: Story, seed: number): RolloutSimulation => {
  const simulation = new RolloutSimulation(story.model(), seed);
  for (const [context, fact] of beginning(simulation.model, story.version)) simulation.say(context, fact);
  story.tell(simulation);
  simulation.run();
  return simulation;
};

const storyGolden = goldenBeside(new URL('../../test/', import.meta.url));
const golden = (name: string, actual: string): void =>
  storyGolden(
    `${name}.story.golden`,
    `${actual}
`,
  );

const kubelets = ({ model }: RolloutSimulation): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(nodesOf(model).map(({ name, software }) => [name, software['kubelet']]));
const all = (simulation: RolloutSimulation, version: string) =>
  Object.fromEntries(nodesOf(simulation.model).map(({ name }) => [name, version]));

/** Nothing remains apart from the requested change: no node is cordoned or allowed to change, and no taint is left. */
const atRest = ({ model }: RolloutSimulation): void => {
  expect(nodesOf(model).filter(({ cordoned }) => cordoned)).toEqual([]);
  expect(nodesOf(model).filter(({ desired }) => desired.allowed)).toEqual([]);
  expect(model.marked).toEqual([]);
};

const expectUpgraded = (simulation: RolloutSimulation, version: string): void => {
  expect(kubelets(simulation)).toEqual(all(simulation, version));
  expect(simulation.count('RolloutCompleted')).toBe(1);
  atRest(simulation);
};

/** Several nodes run probes from before the first change until the end, and none afterwards. */
const expectWatched = (simulation: RolloutSimulation): void => {
  const asking = new Set<string>();
  for (const event of simulation.log) {
    if (event.type === 'DesiredVersionsSet')
      asking[(event.data.probes ?? []).length > 0 ? 'add' : 'delete'](event.data.node);
    if (event.type === 'UpgradeAllowed' || event.type === 'RolloutCompleted') expect(asking.size).toBe(4);
  }
  expect([...asking]).toEqual([]);
};

/** Surge nodes first, and never fewer nodes than requested. */
const SURGE = { workers: { maxUnavailable: 0, maxSurge: 1 } };

const withStock = (model: Model, stock: number): Model => ({ ...model, surge: { ...model.surge, stock } });

/** `made` surge machines were created and deleted, once each. */
const expectNoSurgeLeft = (simulation: RolloutSimulation, made: number): void => {
  expect(simulation.model.surge.machines).toEqual([]);
  expect(simulation.count('VmDeleted')).toBe(made);
  expect(simulation.count('VmsPlanned')).toBe(made);
};

const orderOf = (simulation: RolloutSimulation, type: StoredEvent['type'], node?: string): number =>
  simulation.log.findIndex(
    (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
  );

const typesOf = (simulation: RolloutSimulation, node: string): readonly string[] =>
  simulation.log
    .filter(({ data }) => 'node' in data && data.node === node)
    .map(({ type }) => type)
    .filter((type) => HAND_SHAKE.includes(type));

/** ORBITER's handshake, once and in order. */
const HAND_SHAKE: readonly string[] = [
  'UpgradeAllowed',
  'NodeCordoned',
  'NodeEmptied',
  'NodeNotReady',
  'NodeUncordoned',
  'UpgradeWithdrawn',
  'OperationCompleted',
];

const on =
  (type: StoredEvent['type'], node: string) =>
  (event: StoredEvent): boolean =>
    event.type === type && 'node' in event.data && event.data.node === node;

const twoPools = (): Model => {
  const model = modelOf(1, 2, '1.33.13');
  const gpu = modelNode('demo-gpu-1', 'worker', 'gpu', '1.33.13');
  return { ...model, nodes: { ...model.nodes, [gpu.name]: gpu } };
};

/** Versions of the nodes of a role, sorted. */
const versionsIn = ({ model }: RolloutSimulation, role: string): readonly string[] =>
  nodesOf(model)
    .flatMap((node) => (node.role === role ? [String(node.software['kubelet'])] : []))
    .toSorted();

const replacedIn = ({ log }: RolloutSimulation): readonly string[] =>
  log.flatMap((event) => (event.type === 'NodeReplacementPlanned' ? [event.data.node] : []));

const times = (count: number, version: string): readonly string[] => Array.from({ length: count }, () => version);

const upgradeAgain = (simulation: RolloutSimulation, version: string): void =>
  simulation.say('request', asked(toVersion(version), {}, { upgradeId: 'u-7777777a' as UpgradeId }));

/** Pools and control planes whose rollout has the strategy Replace. */
const REPLACED: readonly Story[] = [
  {
    name: 'replaced-3-2',
    model: () => modelOf(3, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', replacing(simulation.model));
      simulation.say('request', asked(toVersion('v1.34.4')));
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expect([versionsIn(simulation, 'control-plane'), versionsIn(simulation, 'worker')]).toEqual([
        times(3, '1.34.4'),
        times(2, '1.34.4'),
      ]);
      // Each node once, none in place, and control planes before workers.
      expect(replacedIn(simulation)).toEqual([cp(1), cp(2), cp(3), w(1), w(2)]);
      expect([simulation.count('UpgradeAllowed'), simulation.model.applied]).toEqual([0, []]);
      expect(simulation.model.snapshots).toBeGreaterThan(0);
      expect(simulation.model.proxy).toBe('1.34.4');
      const completed = simulation.log.findLast((event) => event.type === 'RolloutCompleted');
      expect(completed?.data).toMatchObject({ upgraded: nodesOf(simulation.model).map(({ name }) => name) });
    },
  },
  {
    name: 'replaced-over-two-minors',
    model: () => modelOf(1, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', replacing(simulation.model));
      simulation.say('request', asked(toVersion('v1.35.4')));
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.35.4');
      // The control plane passes through each minor, workers lag within the skew and are replaced once.
      expect(replacedIn(simulation)).toEqual([cp(1), cp(101), w(1), w(2)]);
    },
  },
  {
    name: 'replacement-is-aborted-and-finished-later',
    model: () => modelOf(3, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', replacing(simulation.model));
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('NodeReplacementPlanned', cp(2)), () =>
        simulation.say('request', request('UpgradeAbortRequested', { reason: 'wrong time' })),
      );
      simulation.when(
        ({ type }) => type === 'RolloutAborted',
        () => {
          // What has begun is finished, and nothing else begins: as many nodes as before, all Ready.
          expect(versionsIn(simulation, 'control-plane')).toEqual(['1.33.13', '1.34.4', '1.34.4']);
          expect(versionsIn(simulation, 'worker')).toEqual(times(2, '1.33.13'));
          atRest(simulation);
          simulation.after(60, () => upgradeAgain(simulation, 'v1.34.4'));
        },
      );
    },
    then: (simulation) => {
      expect(simulation.count('RolloutAborted')).toBe(1);
      expectUpgraded(simulation, '1.34.4');
      expect(replacedIn(simulation)).toEqual([cp(1), cp(2), cp(3), w(1), w(2)]);
    },
  },
  {
    name: 'replacement-pauses-between-nodes',
    model: () => modelOf(3, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', replacing(simulation.model));
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('NodeReplacementPlanned', cp(1)), () =>
        simulation.say('request', request('UpgradePauseRequested', { reason: 'the sale starts' })),
      );
      simulation.when(
        ({ type }) => type === 'RolloutPaused',
        () =>
          simulation.after(3_600, () => {
            expect(replacedIn(simulation)).toEqual([cp(1)]);
            expect(versionsIn(simulation, 'control-plane')).toEqual(['1.33.13', '1.33.13', '1.34.4']);
            simulation.say('request', request('UpgradeResumeRequested'));
          }),
      );
    },
    then: (simulation) => {
      expect(simulation.count('RolloutPaused')).toBe(1);
      expectUpgraded(simulation, '1.34.4');
    },
  },
  {
    name: 'replacement-fails-and-is-retried',
    model: () => modelOf(3, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', replacing(simulation.model));
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('NodeReplacementPlanned', cp(2)), () => {
        simulation.model = { ...simulation.model, replacement: { ...simulation.model.replacement!, unfit: 1 } };
      });
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () => simulation.after(60, () => simulation.say('request', request('UpgradeRetryRequested'))),
      );
    },
    then: (simulation) => {
      const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
      expect(halted?.data).toMatchObject({ rule: 'E7', cause: { message: 'it has no route to the API' } });
      expectUpgraded(simulation, '1.34.4');
      expect(replacedIn(simulation)).toEqual([cp(1), cp(2), cp(2), cp(3), w(1), w(2)]);
    },
  },
];

const STORIES: readonly Story[] = [
  {
    name: 'patch-upgrade-3-5',
    model: () => modelOf(3, 5, '1.34.2'),
    version: '1.34.2',
    tell: (simulation) => simulation.say('request', asked(toVersion('v1.34.4'))),
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      for (const { name } of nodesOf(simulation.model)) expect(typesOf(simulation, name)).toEqual(HAND_SHAKE);
      expect(simulation.model.applied).toEqual([['1.34.4', cp(2)]]);
      expect(simulation.model.snapshots).toBeGreaterThan(0);
    },
  },
  {
    name: 'two-minors-1-3',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => simulation.say('request', asked(toVersion('v1.35.4'))),
    then: (simulation) => {
      expectUpgraded(simulation, '1.35.4');
      expect(simulation.model.applied.map(([version]) => version)).toEqual(['1.34.4', '1.35.4']);
      // Workers lag within the skew and change once.
      for (const index of [1, 2, 3]) expect(simulation.count('UpgradeAllowed', w(index))).toBe(1);
    },
  },
  {
    name: 'canary-fails',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.stuck.add(w(1));
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () =>
          simulation.after(600, () => {
            expect(simulation.count('UpgradeAllowed', w(2))).toBe(0);
            expect(simulation.model.nodes[w(1)]?.desired.allowed).toBe(false);
            expect(simulation.model.nodes[w(1)]?.cordoned).toBe(true);
            simulation.repair(w(1));
            simulation.say('request', request('UpgradeRetryRequested'));
          }),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
      expect(halted?.data).toMatchObject({ rule: 'D1', nodes: [w(1)] });
    },
  },
  {
    name: 'budget-blocks-then-clears',
    model: () => ({ ...modelOf(1, 3, '1.33.13'), kept: [w(2)] }),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('EvictionRefused', w(2)), () =>
        simulation.after(90, () => {
          simulation.model = { ...simulation.model, kept: [] };
        }),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      // Recorded when the refusing budget or message changes, not for each attempt.
      expect(simulation.count('EvictionRefused', w(2))).toBe(1);
    },
  },
  {
    name: 'surge-comes-first-and-goes-last',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 1);
      expect(orderOf(simulation, 'SurgeRequested')).toBeLessThan(orderOf(simulation, 'NodeCordoned', w(1)));
      for (const index of [1, 2, 3])
        expect(orderOf(simulation, 'NodeUncordoned', w(index))).toBeLessThan(orderOf(simulation, 'NodeCordoned', w(4)));
      expect(orderOf(simulation, 'NodeEmptied', w(4))).toBeLessThan(orderOf(simulation, 'SurgeReleased'));
    },
  },
  {
    name: 'surge-of-two-is-emptied-at-once',
    model: () => modelOf(1, 4, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), { workers: { maxUnavailable: 0, maxSurge: 2 } }));
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expect(simulation.model.surge.machines).toEqual([]);
      const extra = simulation.log.flatMap((event) =>
        event.type === 'SurgeReleased' ? event.data.nodes.map(String) : [],
      );
      expect(extra).toHaveLength(2);
      for (const node of extra) {
        expect(simulation.count('NodeEmptied', node)).toBe(1);
        expect(orderOf(simulation, 'NodeEmptied', node)).toBeLessThan(orderOf(simulation, 'SurgeReleased'));
      }
    },
  },
  {
    name: 'surge-of-two-pools-one-after-the-other',
    model: twoPools,
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 2);
      expect(simulation.count('SurgeReleased')).toBe(2);
      expect(simulation.count('RolloutPaused')).toBe(0);
    },
  },
  {
    name: 'surge-fails-and-halts',
    model: () => withStock(modelOf(1, 3, '1.33.13'), 0),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () =>
          simulation.after(600, () => {
            for (const index of [1, 2, 3]) expect(simulation.count('UpgradeAllowed', w(index))).toBe(0);
            simulation.model = withStock(simulation.model, 1);
            simulation.say('request', request('UpgradeRetryRequested'));
          }),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 1);
      const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
      expect(halted?.data).toMatchObject({ rule: 'D2', cause: { message: 'no host is free' } });
    },
  },
  {
    name: 'surge-fails-and-continues-without',
    model: () => withStock(modelOf(1, 3, '1.33.13'), 0),
    version: '1.33.13',
    tell: (simulation) => simulation.say('request', asked(toVersion('v1.34.4'), { workers: { maxSurge: 1 } })),
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 0);
      expect(simulation.count('SurgeSkipped')).toBe(1);
    },
  },
  {
    name: 'surge-never-joins',
    model: () => ({ ...modelOf(1, 3, '1.33.13'), surge: { ...NO_SURGE, unfit: true } }),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () => simulation.after(60, () => simulation.say('request', request('UpgradeRetryRequested'))),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 2);
    },
  },
  {
    name: 'surge-and-abort',
    model: () => modelOf(1, 4, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(on('NodeCordoned', w(2)), () =>
        simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })),
      );
    },
    then: (simulation) => {
      expect(simulation.count('RolloutAborted')).toBe(1);
      expectNoSurgeLeft(simulation, 1);
      atRest(simulation);
    },
  },
  {
    name: 'surge-drain-blocked-by-pdb',
    model: () => ({ ...modelOf(1, 2, '1.33.13'), kept: [w(3)] }),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () =>
          simulation.after(60, () => {
            expect(simulation.count('SurgeReleased')).toBe(0);
            simulation.model = { ...simulation.model, kept: [] };
            simulation.say('request', request('UpgradeRetryRequested'));
          }),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 1);
      expect(simulation.count('EvictionRefused', w(3))).toBe(1);
      const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
      expect(halted?.data).toMatchObject({
        rule: 'D5',
        cause: {
          operation: 'drain the node',
          target: w(3),
          message: `these pods are still on it: shop/web-${w(3)}; the last refusal: Cannot evict pod as it would violate the pod's disruption budget.`,
        },
      });
    },
  },
  {
    name: 'surge-drain-fails',
    model: () => ({ ...modelOf(1, 2, '1.33.13'), surge: { ...NO_SURGE, stays: 1 } }),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () => simulation.after(60, () => simulation.say('request', request('UpgradeRetryRequested'))),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 1);
      const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
      expect(halted?.data).toMatchObject({ rule: 'D2', cause: { operation: 'RemoveNode' } });
    },
  },
  {
    name: 'surge-drain-fails-and-abort',
    model: () => ({ ...modelOf(1, 2, '1.33.13'), surge: { ...NO_SURGE, stays: 3 } }),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () =>
          simulation.after(60, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'enough' }))),
      );
    },
    then: (simulation) => {
      expect(simulation.count('RolloutAborted')).toBe(1);
      // Released by its operation, by the abort, and twice by the timer.
      expect(simulation.count('SurgeReleased')).toBe(4);
      expectNoSurgeLeft(simulation, 1);
      atRest(simulation);
    },
  },
  {
    name: 'surge-stays-while-a-node-is-away',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.stuck.add(w(3));
      simulation.say('request', asked(toVersion('v1.34.4'), { ...SURGE, failedShareMax: '100%' }));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () =>
          simulation.after(600, () => {
            expect(simulation.count('SurgeReleased')).toBe(0);
            simulation.repair(w(3));
            simulation.say('request', request('UpgradeRetryRequested'));
          }),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expectNoSurgeLeft(simulation, 1);
      expect(simulation.count('RolloutHalted')).toBe(1);
    },
  },
  {
    name: 'surge-of-a-pool-that-is-held-meanwhile',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.atOnce = 0;
      simulation.say('request', asked(toVersion('v1.34.4'), SURGE));
      simulation.when(on('NodeCordoned', w(1)), () => simulation.say('request', hold(null, 'w', true)));
    },
    then: (simulation) => {
      expect(simulation.count('RolloutCompleted')).toBe(1);
      expect(simulation.count('NodeSkipped')).toBe(2);
      expectNoSurgeLeft(simulation, 1);
      atRest(simulation);
    },
  },
  {
    name: 'agent-dies-in-the-middle',
    model: () => modelOf(3, 1, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('NodeNotReady', cp(3)), () => {
        simulation.dead.add(cp(3));
        simulation.after(300, () => simulation.repair(cp(3)));
      });
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expect(simulation.count('OperationFailed')).toBe(0);
    },
  },
  {
    name: 'abort',
    model: () => modelOf(1, 4, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(on('NodeNotReady', w(2)), () =>
        simulation.say('request', request('UpgradeAbortRequested', { reason: 'the release is called back' })),
      );
    },
    then: (simulation) => {
      expect(simulation.count('RolloutAborted')).toBe(1);
      // The node in progress is finished, the others are unchanged.
      expect(kubelets(simulation)).toEqual({
        [cp(1)]: '1.34.4',
        [w(1)]: '1.34.4',
        [w(2)]: '1.34.4',
        [w(3)]: '1.33.13',
        [w(4)]: '1.33.13',
      });
      atRest(simulation);
    },
  },
  {
    name: 'held-pool',
    model: twoPools,
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', hold(null, 'gpu', true), asked(toVersion('v1.34.4')));
    },
    then: (simulation) => {
      expect(kubelets(simulation)).toMatchObject({ [w(1)]: '1.34.4', [w(2)]: '1.34.4', 'demo-gpu-1': '1.33.13' });
      expect(simulation.count('RolloutCompleted')).toBe(1);
      const planned = simulation.log.find((event) => event.type === 'UpgradePlanned');
      expect(planned?.data).toMatchObject({ plan: { held: ['demo-gpu-1'] } });
      atRest(simulation);
    },
  },
  {
    name: 'certificate-renewal',
    model: () => modelOf(3, 2, '1.34.4'),
    version: '1.34.4',
    tell: (simulation) => simulation.say('request', asked({ renewCertificates: true })),
    then: (simulation) => {
      expect(nodesOf(simulation.model).map(({ renewals }) => renewals)).toEqual([1, 1, 1, 0, 0]);
      expect(simulation.count('NodeCordoned')).toBe(0);
      expect(simulation.count('RolloutCompleted')).toBe(1);
      atRest(simulation);
    },
  },
  {
    name: 'two-steps-3-2',
    model: () => modelOf(3, 2, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.say('request', asked(toVersion('v1.34.4'), { twoStep: true }));
      simulation.when(on('UpgradeAllowed', w(1)), () =>
        expect(nodesOf(simulation.model).flatMap(({ components }) => components?.emulates ?? [])).toEqual([]),
      );
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expect(simulation.model.applied.map(([version]) => version)).toEqual(['1.34.4 as 1.33', '1.34.4']);
      for (const index of [1, 2, 3]) expect(simulation.count('UpgradeAllowed', cp(index))).toBe(2);
      // The second step starts only after every control plane has made the first.
      const steps = simulation.log.flatMap((event) =>
        event.type === 'DesiredVersionsSet' && event.data.change !== undefined && event.data.change.kubeadm !== null
          ? [event.data.change.emulatedVersion]
          : [],
      );
      expect(steps.lastIndexOf('1.33')).toBeLessThan(steps.indexOf(null));
    },
  },
  {
    name: 'reboot-of-all',
    model: () => modelOf(3, 3, '1.34.4'),
    version: '1.34.4',
    tell: (simulation) => simulation.say('request', asked({ reboot: true })),
    then: (simulation) => {
      expect(nodesOf(simulation.model).map(({ boots }) => boots)).toEqual([1, 1, 1, 1, 1, 1]);
      expect(simulation.count('RolloutCompleted')).toBe(1);
      atRest(simulation);
    },
  },
  {
    name: 'probe-pauses',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      const probe = { name: 'shop', url: 'http://198.18.0.10/', everyMs: 500 };
      simulation.say('request', asked(toVersion('v1.34.4'), { probes: [probe] }));
      const probed = { node: w(3), probe: 'shop' };
      simulation.when(on('UpgradeAllowed', w(1)), () => {
        simulation.say(`node-${w(3)}`, request('ProbeFailed', { ...probed, message: 'connection refused' }));
        simulation.after(120, () => {
          expect(simulation.count('UpgradeAllowed', w(2))).toBe(0);
          simulation.say(`node-${w(3)}`, request('ProbeRecovered', { ...probed, failedForMs: 120_000 }));
          simulation.say('request', request('UpgradeResumeRequested'));
        });
      });
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      expect(simulation.count('RolloutPaused')).toBe(1);
      expectWatched(simulation);
    },
  },
  {
    name: 'probe-pauses-and-the-window-closes',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      const windows = [{ days: ['sat', 'sun'], from: '10:00', to: '10:30' }];
      simulation.say('request', asked(toVersion('v1.34.4'), { windows }));
      simulation.when(on('UpgradeAllowed', w(1)), () => {
        const probed = { node: w(3), probe: 'shop', message: 'connection refused' };
        simulation.say(`node-${w(3)}`, request('ProbeFailed', probed));
        // The window has closed by that time; only a user can end the pause.
        simulation.after(3_600, () => {
          simulation.say('request', asked({ renewCertificates: true }, {}, { upgradeId: 'u-second01' as UpgradeId }));
          simulation.after(60, () => simulation.say('request', request('UpgradeResumeRequested')));
        });
      });
    },
    then: (simulation) => {
      expectUpgraded(simulation, '1.34.4');
      const refused = simulation.log.find(({ type }) => type === 'UpgradeRejected');
      expect(refused?.data).toMatchObject({
        upgradeId: 'u-second01',
        findings: [
          {
            rule: 'B1',
            sentence: `upgrade ${UPGRADE} is paused (probe): shop does not answer ${w(3)}: connection refused`,
            help: 'Resume it ("fairlead upgrade resume <cluster>"), or end it: "fairlead upgrade abort <cluster>".',
          },
        ],
      });
      const pauses = simulation.log.flatMap((event) => (event.type === 'RolloutPaused' ? [event.data.by] : []));
      expect(pauses).toEqual(['probe', 'window']);
      for (const event of simulation.log)
        if (event.type === 'UpgradeAllowed') expect(event.meta.time).toMatch(/T10:[0-2]\d:/);
    },
  },
  {
    name: 'worker-fails-and-rolls-back',
    model: () => modelOf(1, 3, '1.33.13'),
    version: '1.33.13',
    tell: (simulation) => {
      simulation.failing.set(`CheckGates/${w(2)}`, 'CNI pod crashes');
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.when(
        ({ type }) => type === 'RolloutHalted',
        () => {
          simulation.failing.clear();
          simulation.after(60, () => simulation.say('request', request('NodeRollbackRequested', { node: w(2) })));
        },
      );
    },
    then: (simulation) => {
      expect(kubelets(simulation)).toMatchObject({ [w(1)]: '1.34.4', [w(2)]: '1.33.13', [w(3)]: '1.34.4' });
      expect(simulation.count('NodeSkipped', w(2))).toBe(1);
      expect(simulation.count('RolloutCompleted')).toBe(1);
      atRest(simulation);
    },
  },
  ...REPLACED,
];

describe.each(STORIES)('the story $name', (story) => {
  it('has this history without failures [ORBITER 10, ORBITER 15, ORBITER 16, ORBITER 18]', () => {
    const simulation = begin(story, 0);
    golden(story.name, simulation.narrative());
    expect(simulation.harm).toEqual([]);
    story.then(simulation);
  });

  it(
    `ends the same, without a violation, over ${SEEDS} seeds of crashes, duplicate deliveries and reordering`,
    () => {
      for (let seed = SEED_FIRST; seed < SEED_FIRST + SEEDS; seed += 1) {
        let simulation: RolloutSimulation | undefined;
        try {
          simulation = begin(story, seed);
          expect(simulation.harm).toEqual([]);
          story.then(simulation);
        } catch (error) {
          throw new Error(`seed ${seed}\n${simulation?.narrative().slice(-6_000) ?? ''}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );
});

describe('the order of nodes', () => {
  /** Number of nodes being changed after each event. */
  const inFlight = ({ log }: RolloutSimulation): readonly number[] => {
    const changing = new Set<string>();
    return log.map((event) => {
      if (event.type === 'UpgradeAllowed') changing.add(event.data.node);
      if (event.type === 'UpgradeWithdrawn') changing.delete(event.data.node);
      return changing.size;
    });
  };

  it('is one at a time over all pools, control planes first, and the same for every seed [ORBITER 13]', () => {
    const gpu = [1, 2].map((index) => modelNode(`demo-gpu-${index}`, 'worker', 'gpu', '1.33.13'));
    const model = modelOf(3, 3, '1.33.13');
    const nodes = { ...model.nodes, ...Object.fromEntries(gpu.map((node) => [node.name, node])) };
    const orders = Array.from({ length: 10 }, (_, seed) => {
      const simulation = new RolloutSimulation({ ...model, nodes }, seed);
      for (const [context, fact] of beginning(simulation.model, '1.33.13')) simulation.say(context, fact);
      simulation.say('request', asked(toVersion('v1.34.4')));
      simulation.run();
      expectUpgraded(simulation, '1.34.4');
      expect(Math.max(...inFlight(simulation))).toBe(1);
      return simulation.log.flatMap((event) => (event.type === 'UpgradeAllowed' ? [event.data.node] : []));
    });
    expect(orders[0]?.slice(0, 3)).toEqual([cp(2), cp(3), cp(1)]);
    expect(orders[0]?.slice(3).toSorted()).toEqual([w(1), w(2), w(3), ...gpu.map(({ name }) => name)].toSorted());
    for (const order of orders) expect(order).toEqual(orders[0]);
  });
});

describe('what-if', () => {
  it('a dry run plans what the run does, operation by operation', () => {
    const dry = new RolloutSimulation(modelOf(3, 5, '1.33.13'));
    for (const [context, fact] of beginning(dry.model, '1.33.13')) dry.say(context, fact);
    dry.say('request', asked(toVersion('v1.34.4'), {}, { mode: 'dry-run' }));
    dry.run();
    expect(dry.count('RolloutStarted')).toBe(0);
    const story = STORIES[0]!;
    const run = begin({ ...story, model: () => modelOf(3, 5, '1.33.13'), version: '1.33.13' }, 0);
    const planned = (simulation: RolloutSimulation) => {
      const event = simulation.log.find((one) => one.type === 'UpgradePlanned');
      return event?.type === 'UpgradePlanned' ? event.data : undefined;
    };
    expect(planned(dry)?.planHash).toBe(planned(run)?.planHash);
    const completed = run.log.flatMap((event) => (event.type === 'OperationCompleted' ? [event.data.operation] : []));
    expect(completed).toEqual(planned(dry)?.plan.operations.map(({ id }) => id));
  });

  it('the etcd leader is changed last even if it changes during the rollout', () => {
    const simulation = new RolloutSimulation(modelOf(3, 1, '1.33.13'));
    for (const [context, fact] of beginning(simulation.model, '1.33.13')) simulation.say(context, fact);
    simulation.say('request', asked(toVersion('v1.34.4')));
    simulation.when(on('OperationStarted', cp(3)), () => {
      simulation.model = { ...changeNode(simulation.model, cp(1), {}), leader: cp(3) };
    });
    simulation.run();
    expect(simulation.harm).toEqual([]);
    const order = simulation.log.flatMap((event) => (event.type === 'UpgradeAllowed' ? [event.data.node] : []));
    expect(order).toEqual([cp(2), cp(1), cp(3), w(1)]);
    expect(simulation.count('OperationPostponed', cp(3))).toBe(1);
    expect(simulation.model.applied).toEqual([['1.34.4', cp(2)]]);
  });
});

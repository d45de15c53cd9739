import { isRefusal, type Fact, type StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { cp, modelOf, nodesOf, UID, w } from '../../test/model.js';
import type { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, request, UPGRADE } from '../../test/rollout.story.js';
import { rollout } from './rollout.decider.js';
import { cluster, toNext, data } from './rollout.decider.fixtures.js';

/** The nodes that were asked to stage packages and images, and those that finished, in the order of the log. */
const staging = ({ log }: RolloutSimulation): readonly string[] => [
  ...new Set(
    log.flatMap((event) => {
      if (event.type === 'DesiredVersionsSet' && event.data.stage !== undefined) return [`${event.data.node} asked`];
      const isStaged =
        event.type === 'NodeChangeProgressed' && event.data.phase === 'stage' && event.data.status === 'done';
      return isStaged ? [`${event.data.node} done`] : [];
    }),
  ),
];

describe('workers of a pool with minReadySeconds', () => {
  const MIN_READY_MS = 300_000;
  const declared = (name: string): Fact => {
    const machines = { connection: 'lab', machineType: 'm', rootDisk: { type: 'default', size: 'default' } };
    const pools = [{ name, replicas: 3, minReadySeconds: MIN_READY_MS / 1_000, ...machines }];
    const spec = { controlPlane: { replicas: 1 }, pools };
    return { type: 'ClusterSpecChanged', data: { uid: UID, spec } } as unknown as Fact;
  };
  const timesOf = (simulation: RolloutSimulation, type: string, nodes: readonly string[]): readonly number[] =>
    simulation.log.flatMap(({ type: is, data: about, meta }) =>
      is === type && 'node' in about && nodes.includes(String(about.node)) ? [Date.parse(meta.time)] : [],
    );

  it('start one after the other, each once the previous one has been Ready for that long', () => {
    const model = modelOf(1, 3, '1.33.13');
    const simulation = cluster(model);
    const [pool] = nodesOf(model).flatMap(({ role, pool: of }) => (role === 'worker' ? [of] : []));
    simulation.say('request', declared(pool ?? ''));
    simulation.say('request', asked(toNext));
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
    expect(simulation.count('RolloutPaused')).toBe(0);
    const workers = [w(1), w(2), w(3)];
    const ready = timesOf(simulation, 'NodeReady', workers).slice(-3);
    const allowed = timesOf(simulation, 'UpgradeAllowed', workers);
    expect(allowed).toHaveLength(3);
    for (const at of [0, 1]) expect(allowed[at + 1]! - ready[at]!).toBeGreaterThanOrEqual(MIN_READY_MS);
  });
});

describe('B9 files and images missing from their source', () => {
  it('stop the rollout before any node is changed, with the error of the node; it continues once they are available', () => {
    const simulation = cluster();
    simulation.dead.add(w(2));
    const message = 'the source has no Kubernetes v1.34.4';
    const stated = { node: w(2), revision: 2, phase: 'stage', status: 'failed', attempt: 1, tookMs: 1, command: null };
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'OperationStarted',
      () => {
        const begun = data(simulation, 'OperationStarted');
        const change = `${begun !== undefined && 'upgradeId' in begun ? begun.upgradeId : ''}/op-01`;
        simulation.say(`node-${w(2)}`, request('NodeChangeProgressed', { ...stated, change, message }));
      },
    );
    simulation.when(
      ({ type }) => type === 'RolloutHalted',
      () => {
        expect(simulation.count('UpgradeAllowed')).toBe(0);
        simulation.repair(w(2));
        simulation.after(60, () => simulation.say('request', request('UpgradeRetryRequested')));
      },
    );
    simulation.run();
    expect(data(simulation, 'RolloutHalted')).toMatchObject({
      rule: 'E7',
      cause: { operation: expect.stringContaining('B9'), target: w(2), message: `${w(2)}: ${message}` },
    });
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });
});

describe('B9 staging', () => {
  const ofControlPlanes = (simulation: RolloutSimulation): readonly string[] =>
    staging(simulation).filter((said) => said.startsWith('demo-cp'));

  it('proceeds from one control plane to the next, in parallel with all workers, and to the etcd leader last', () => {
    const simulation = cluster(modelOf(3, 3, '1.33.13'));
    simulation.say('request', asked(toNext));
    simulation.run();
    expect(ofControlPlanes(simulation)).toEqual(
      [2, 3, 1].flatMap((index) => [`${cp(index)} asked`, `${cp(index)} done`]),
    );
    const first = staging(simulation).indexOf(`${cp(2)} done`);
    expect(staging(simulation).slice(0, first)).toEqual(
      expect.arrayContaining([1, 2, 3].map((index) => `${w(index)} asked`)),
    );
    expect(simulation.harm).toEqual([]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('skips a control plane that fails, which is retried in parallel with the others', () => {
    const simulation = cluster(modelOf(3, 1, '1.33.13'));
    simulation.dead.add(cp(2));
    const message = 'the disk is full';
    const stated = { node: cp(2), revision: 2, phase: 'stage', status: 'failed', attempt: 1, tookMs: 1, command: null };
    simulation.say('request', asked(toNext));
    simulation.when(
      (event) => event.type === 'DesiredVersionsSet' && event.data.node === cp(2) && event.data.stage !== undefined,
      () =>
        simulation.say(
          `node-${cp(2)}`,
          request('NodeChangeProgressed', { ...stated, change: `${UPGRADE}/op-01`, message }),
        ),
    );
    simulation.when(
      (event) =>
        event.type === 'NodeChangeProgressed' &&
        event.data.node === cp(1) &&
        event.data.phase === 'stage' &&
        event.data.status === 'done',
      () => simulation.after(60, () => simulation.repair(cp(2))),
    );
    simulation.run();
    expect(ofControlPlanes(simulation)).toEqual([
      `${cp(2)} asked`,
      `${cp(3)} asked`,
      `${cp(3)} done`,
      `${cp(1)} asked`,
      `${cp(1)} done`,
      `${cp(2)} done`,
    ]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('halts half an hour after the last node that finished, and names the silent one, not those that wait for it', () => {
    const simulation = cluster(modelOf(3, 1, '1.33.13'));
    simulation.dead.add(cp(2));
    simulation.say('request', asked(toNext));
    simulation.run();
    const halted = simulation.log.find(({ type }) => type === 'RolloutHalted');
    expect(halted?.data).toMatchObject({
      rule: 'E7',
      cause: { target: cp(2), message: `${cp(2)}: its agent has not reported them` },
    });
    const last = simulation.log.findLast(({ type }) => type === 'NodeChangeProgressed');
    const waited = Date.parse(halted?.meta.time ?? '') - Date.parse(last?.meta.time ?? '');
    expect(Math.round(waited / 60_000)).toBe(30);
    expect(simulation.count('UpgradeAllowed')).toBe(0);
  });
});

describe('D5 a node that cannot be drained', () => {
  const kept = (): RolloutSimulation => cluster({ ...modelOf(1, 3, '1.33.13'), kept: [w(1)] });
  const workers = { drainTimeoutSeconds: 60, canary: false };

  it('stops the rollout by default, and is named', () => {
    const simulation = kept();
    simulation.say('request', asked(toNext, { workers }));
    simulation.run();
    expect(data(simulation, 'RolloutHalted')).toMatchObject({ rule: 'D5', nodes: [w(1)] });
    expect(simulation.count('UpgradeAllowed', w(2))).toBe(0);
  });

  it('is skipped with the quarantine policy while the others continue', () => {
    const simulation = kept();
    simulation.say(
      'request',
      asked(toNext, { workers: { ...workers, onDrainTimeout: 'quarantine', maxBlockedNodes: 1 } }),
    );
    simulation.run();
    expect(data(simulation, 'RolloutCompleted')).toMatchObject({ quarantined: [w(1)], upgraded: [cp(1), w(2), w(3)] });
    expect(simulation.model.nodes[w(1)]).toMatchObject({ cordoned: true, desired: { allowed: false } });
  });

  it('fails when the time for force is over and pods remain: force ends by itself', () => {
    const simulation = kept();
    const forceUntil = new Date(Date.parse(simulation.now) + 3_600_000).toISOString();
    simulation.say('request', asked(toNext, { workers: { ...workers, onDrainTimeout: 'force', forceUntil } }));
    simulation.run();
    const forced = simulation.log.find((event) => event.type === 'DrainTimedOut');
    if (forced?.type !== 'DrainTimedOut') throw new Error('nothing was forced');
    const over = { type: 'DrainTimedOut' as const, data: { ...forced.data, policy: 'stop' as const } };
    const state = simulation.log.reduce(rollout.evolve, rollout.initial);
    const said = (fact: Fact<'DrainTimedOut'>) => {
      const decided = rollout.decide(state, { type: 'RecordFact', data: { facts: [fact], now: forceUntil } });
      return isRefusal(decided) ? [] : decided.map(({ type }) => type);
    };
    expect(said({ type: 'DrainTimedOut', data: forced.data })).toEqual([]);
    expect(said(over)).toEqual(expect.arrayContaining(['DrainTimedOut', 'OperationFailed']));
  });

  it('has its whole timeout again when it is retried', () => {
    const simulation = kept();
    simulation.say('request', asked(toNext, { workers }));
    simulation.when(
      ({ type }) => type === 'RolloutHalted',
      () =>
        simulation.after(600, () => {
          simulation.say('request', request('UpgradeRetryRequested'));
          simulation.after(30, () => {
            simulation.model = { ...simulation.model, kept: [] };
          });
        }),
    );
    simulation.run();
    expect(simulation.count('DrainTimedOut')).toBe(1);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('names each budget once, even if several protect its pods in turn', () => {
    const simulation = kept();
    simulation.say('request', asked(toNext, { workers }));
    simulation.run();
    const stated = simulation.log.findIndex(({ type }) => type === 'EvictionRefused');
    const first = simulation.log[stated];
    if (first?.type !== 'EvictionRefused') throw new Error('nothing was refused');
    const other = { ...first.data, budget: 'shop/db', pods: ['shop/db-0'] };
    let state = simulation.log.slice(0, stated).reduce(rollout.evolve, rollout.initial);
    const news = [first.data, other, first.data, other].flatMap((data) => {
      const now = first.meta.time;
      const said = rollout.decide(state, {
        type: 'RecordFact',
        data: { facts: [{ type: 'EvictionRefused', data }], now },
      });
      if (isRefusal(said)) throw new Error(said.message);
      state = said.reduce((before, fact) => rollout.evolve(before, { ...first, ...fact } as StoredEvent), state);
      return said.map(({ type }) => type);
    });
    expect(news).toEqual(['EvictionRefused', 'EvictionRefused']);
  });

  it.each([
    [[], ''],
    [['it is moved by its operator', 'no endpoints are available'], '; the last refusal: no endpoints are available'],
  ])('reports the remaining pods, and the last reason for the refusal: of %j', (refusals, words) => {
    const simulation = kept();
    simulation.say('request', asked(toNext, { workers }));
    simulation.run();
    const at = simulation.log.findIndex(({ type }) => type === 'EvictionRefused');
    const first = simulation.log[at];
    const late = simulation.log.find(({ type }) => type === 'DrainTimedOut');
    if (first?.type !== 'EvictionRefused' || late?.type !== 'DrainTimedOut') throw new Error('it was drained');
    const refused = refusals.map((message) => ({ ...first, data: { ...first.data, budget: null, message } }));
    const state = [...simulation.log.slice(0, at), ...refused].reduce(rollout.evolve, rollout.initial);
    const facts = [{ type: late.type, data: late.data }];
    const said = rollout.decide(state, { type: 'RecordFact', data: { facts, now: late.meta.time } });
    const message = `these pods are still on it: shop/web-${w(1)}${words}`;
    const failed = expect.objectContaining({ cause: { operation: 'drain the node', target: w(1), message } });
    expect(said).toContainEqual({ type: 'OperationFailed', data: failed });
  });

  it('stops by E4 when more nodes are skipped than allowed', () => {
    const simulation = kept();
    simulation.say('request', asked(toNext, { workers: { ...workers, onDrainTimeout: 'quarantine' } }));
    simulation.run();
    expect(data(simulation, 'RolloutHalted')).toMatchObject({ rule: 'E4', nodes: [w(1)] });
  });
});

describe('a node with changed software', () => {
  const node = w(1);
  const old = modelOf(1, 3, '1.33.13').nodes[node]!.software;
  const stays = (when: string, act: (simulation: RolloutSimulation) => void): RolloutSimulation => {
    const simulation = cluster();
    simulation.say('request', asked(toNext));
    simulation.when(
      (event) => event.type === when && 'node' in event.data && event.data.node === node,
      () => act(simulation),
    );
    simulation.run();
    return simulation;
  };

  it('is uncordoned and done when it is Ready, is allowed to change, and runs the desired versions [ORBITER 11, ORBITER 19]', () => {
    const simulation = stays('NodeNotReady', () => undefined);
    expect([simulation.count('NodeUncordoned', node), simulation.count('OperationCompleted', node)]).toEqual([1, 1]);
    expect(simulation.model.nodes[node]).toMatchObject({ cordoned: false, software: { kubelet: '1.34.4' } });
  });

  it.each<[string, string, (simulation: RolloutSimulation) => void]>([
    ['its agent does not report it ready', 'NodeNotReady', (simulation) => simulation.dead.add(node)],
    ['Kubernetes does not report it Ready', 'NodeReady', (simulation) => simulation.happens(node, { ready: false })],
    ['its kubelet has another version', 'NodeReady', (simulation) => simulation.happens(node, { software: old })],
    [
      'it may not be changed',
      'NodeNotReady',
      (simulation) =>
        simulation.happens(node, { desired: { ...simulation.model.nodes[node]!.desired, allowed: false } }),
    ],
  ])('stays cordoned and is not done while %s [ORBITER 11, ORBITER 19]', (_missing, when, act) => {
    const simulation = stays(when, act);
    expect(simulation.count('NodeCordoned', node)).toBe(1);
    expect([simulation.count('NodeUncordoned', node), simulation.count('OperationCompleted', node)]).toEqual([0, 0]);
    expect(simulation.model.nodes[node]?.cordoned).toBe(true);
    expect(data(simulation, 'RolloutHalted')).toMatchObject({ nodes: [node] });
  });
});

describe('a gate that never holds', () => {
  it('fails its node after its timeout, even if the process that evaluated it is gone [Cluster API 23]', () => {
    const simulation = cluster();
    // The task is never handled again: only the timer derived from the state remains.
    simulation.lost.add(`CheckGates/${w(1)}`);
    simulation.say('request', asked(toNext));
    simulation.run();
    const [failed] = simulation.log.filter((event) => event.type === 'OperationFailed');
    const [started] = simulation.log.filter((event) => event.type === 'OperationStarted' && event.data.node === w(1));
    expect(failed?.data).toMatchObject({ node: w(1), nextAttemptAt: null });
    const waitedMs = Date.parse(failed?.meta.time ?? '') - Date.parse(started?.meta.time ?? '');
    expect(Math.round(waitedMs / 60_000)).toBe(15);
    expect(data(simulation, 'RolloutHalted')).toMatchObject({ nodes: [w(1)] });
  });
});

describe('E health during the rollout', () => {
  it('E5 a node that was healthy and is not being changed stops the rollout after five minutes of being unhealthy', () => {
    const simulation = cluster();
    simulation.dead.add(w(1));
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'UpgradePlanned',
      () =>
        simulation.say(
          `node-${w(3)}`,
          request('NodeNotReady', {
            node: w(3),
            revision: 1,
            reason: 'KubernetesNotReady',
            message: 'kubelet stopped',
          }),
        ),
    );
    simulation.run();
    expect(data(simulation, 'RolloutHalted')).toMatchObject({ rule: 'E5', nodes: [w(3)] });
  });

  it('E7 a failed control plane stops the whole rollout; a retry succeeds [ORBITER 18, Cluster API 28]', () => {
    const simulation = cluster();
    simulation.failing.set(`CheckGates/${cp(1)}`, 'the API does not answer');
    simulation.say('request', asked(toNext));
    simulation.when(
      ({ type }) => type === 'RolloutHalted',
      () => {
        simulation.failing.clear();
        simulation.after(30, () => simulation.say('request', request('UpgradeRetryRequested')));
      },
    );
    simulation.run();
    const failures = simulation.log.flatMap((event) => (event.type === 'OperationFailed' ? [event.data] : []));
    expect(failures.map(({ attempt, nextAttemptAt }) => [attempt, nextAttemptAt !== null])).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ]);
    expect(data(simulation, 'RolloutHalted')).toMatchObject({
      rule: 'E7',
      cause: { message: 'the API does not answer' },
    });
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });
});

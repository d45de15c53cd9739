import { declaredOf, type Fact, type Hook, type StoredEvent } from '@fairlead/contracts';
import type { HookReply } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { modelOf, UID } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, request, toVersion } from '../../test/rollout.story.js';
import type { Upgrade } from '../rollout/rollout.state.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
/** Seconds on an idle machine; this allows for a busy one. */
const LIMIT_MS = 600_000;

const HOOK: Hook = { name: 'backup', points: ['BeforeUpgrade'], url: 'https://hooks.example.com/fairlead' };
const WAIT: HookReply = {
  kind: 'answered',
  status: 200,
  body: '{"status":"Success","retryAfterSeconds":60,"message":"a backup runs"}',
};
const SILENT: HookReply = { kind: 'silent', why: 'no answer within 10000 ms' };
const CHANGING: readonly string[] = ['OperationStarted', 'UpgradeAllowed', 'EtcdSnapshotTaken', 'NodesMarked'];

const declare = (hooks: readonly Hook[], revision: number): Fact => {
  const begun = beginning(modelOf(1, 2, '1.34.2'), '1.34.2')[0]?.[1];
  if (begun?.type !== 'ClusterRequested') throw new Error('a cluster begins with its request');
  const spec = { ...declaredOf(begun.data.spec), ...(hooks.length === 0 ? {} : { hooks: [...hooks] }) };
  return { type: 'ClusterSpecChanged', data: { uid: UID, revision, spec } };
};

const begin = (
  replies: readonly HookReply[],
  { seed = 0, hook = HOOK, mode = 'go' }: { seed?: number; hook?: Hook; mode?: Upgrade['request']['mode'] } = {},
): RolloutSimulation => {
  const simulation = new RolloutSimulation(modelOf(1, 2, '1.34.2'), seed);
  simulation.hookReplies = [...replies];
  for (const [context, fact] of beginning(simulation.model, '1.34.2')) simulation.say(context, fact);
  simulation.say('request', declare([hook], 1), asked(toVersion('v1.34.4'), {}, { mode }));
  return simulation;
};

const ofHooks = ({ log }: RolloutSimulation): readonly string[] =>
  log.flatMap(({ type }) => (type.startsWith('UpgradeHook') ? [type] : []));

const changesBefore = ({ log }: RolloutSimulation, type: string): readonly string[] =>
  log
    .slice(
      0,
      log.findLastIndex((event) => event.type === type),
    )
    .flatMap((event) => (CHANGING.includes(event.type) ? [event.type] : []));

describe('hooks before an upgrade', () => {
  it('block it after the plan was approved and before the first change, until they succeed [Cluster API 29]', () => {
    const simulation = begin([WAIT, WAIT]);
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookBlocked', 'UpgradeHookBlocked', 'UpgradeHookSucceeded']);
    expect(changesBefore(simulation, 'UpgradeHookSucceeded')).toEqual([]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('are not called before the plan is approved', () => {
    const simulation = begin([], { mode: 'ask' });
    simulation.run();
    expect(simulation.hookIds).toEqual([]);
    const planned = simulation.log.find(({ type }) => type === 'UpgradePlanned');
    const planHash = planned?.type === 'UpgradePlanned' ? planned.data.planHash : '';
    simulation.say('request', request('UpgradeApproved', { planHash }));
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookSucceeded']);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('that do not respond are retried with the policy Fail, and the upgrade waits [Cluster API 29]', () => {
    const simulation = begin([SILENT, SILENT]);
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookFailed', 'UpgradeHookFailed', 'UpgradeHookSucceeded']);
    expect(changesBefore(simulation, 'UpgradeHookSucceeded')).toEqual([]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('that do not respond are ignored with the policy Ignore [Cluster API 29]', () => {
    const simulation = begin([SILENT], { hook: { ...HOOK, failurePolicy: 'Ignore' } });
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookFailed']);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('do not prevent an operator from ending the upgrade', () => {
    const simulation = begin(Array.from({ length: 1_000 }, () => WAIT));
    simulation.after(150, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })));
    simulation.run();
    expect(simulation.count('RolloutAborted')).toBe(1);
    expect(simulation.count('RolloutStarted')).toBe(0);
    expect(ofHooks(simulation).length).toBeLessThan(5);
  });

  it('let an upgrade pause at once, are not called meanwhile, and continue when it is resumed', () => {
    const simulation = begin([WAIT, WAIT]);
    simulation.after(30, () => simulation.say('request', request('UpgradePauseRequested', { reason: 'lunch' })));
    simulation.run();
    expect([simulation.count('RolloutPaused'), simulation.count('RolloutStarted')]).toEqual([1, 0]);
    expect(ofHooks(simulation)).toEqual(['UpgradeHookBlocked']);
    simulation.say('request', request('UpgradeResumeRequested', {}));
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookBlocked', 'UpgradeHookBlocked', 'UpgradeHookSucceeded']);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('do not block it after they are skipped, and are called by the next upgrade [Cluster API 29]', () => {
    const simulation = begin(Array.from({ length: 1_000 }, () => WAIT));
    const skip = { uid: UID, hook: 'backup', point: 'BeforeUpgrade', reason: 'it is down' } as const;
    simulation.after(150, () => simulation.say('request', { type: 'HookSkipped', data: skip }));
    simulation.run();
    expect([simulation.count('RolloutCompleted'), simulation.count('UpgradeHookSucceeded')]).toEqual([1, 0]);
  });

  it('block nothing once they are removed from the manifest', () => {
    const simulation = begin(Array.from({ length: 1_000 }, () => WAIT));
    simulation.after(150, () => simulation.say('request', declare([], 2)));
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
    expect(simulation.count('UpgradeHookSucceeded')).toBe(0);
  });

  it(
    `over ${SEEDS} seeds of duplicate deliveries and crashes let the upgrade begin once, and repeat a call with the same ID`,
    () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const simulation = begin([WAIT, SILENT, WAIT], { seed });
        simulation.run();
        expect(simulation.count('RolloutStarted')).toBe(1);
        expect(simulation.count('RolloutCompleted')).toBe(1);
        expect(simulation.count('UpgradeHookSucceeded')).toBe(1);
        expect(changesBefore(simulation, 'UpgradeHookSucceeded')).toEqual([]);
        const ids = new Set(simulation.hookIds.map(({ id }) => id));
        expect(ids.size).toBe(new Set(simulation.hookIds.map(({ attempt }) => attempt)).size);
        expect(simulation.harm).toEqual([]);
      }
    },
    LIMIT_MS,
  );
});

const DRAINS: Hook = { ...HOOK, name: 'traffic', points: ['BeforeNodeDrain', 'AfterNodeDrain', 'AfterUpgrade'] };

const indexOf = ({ log }: RolloutSimulation, isIt: (event: StoredEvent) => boolean): number => log.findIndex(isIt);

const answersAt = ({ log }: RolloutSimulation, point: string): readonly string[] =>
  log.flatMap(({ type, data }) => ('point' in data && data.point === point ? [type] : []));

/** Every drained node was released by its hooks, in the same operation, before it was cordoned. */
const drainedTooSoon = (simulation: RolloutSimulation): readonly string[] =>
  simulation.log.flatMap((cordoned, at) => {
    if (cordoned.type !== 'NodeCordoned') return [];
    const { node, operation } = cordoned.data;
    const letGo = indexOf(
      simulation,
      ({ type, data }) =>
        type === 'UpgradeHookSucceeded' &&
        'point' in data &&
        data.point === 'BeforeNodeDrain' &&
        data.node === node &&
        'operation' in data &&
        data.operation === operation,
    );
    return letGo >= 0 && letGo < at ? [] : [node];
  });

describe('hooks of the drains of an upgrade', () => {
  it('block each node before it is cordoned, and are called after it is drained [Cluster API 29]', () => {
    const simulation = begin([WAIT, WAIT], { hook: DRAINS });
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
    expect(simulation.count('NodeCordoned')).toBeGreaterThan(1);
    expect(drainedTooSoon(simulation)).toEqual([]);
    expect(answersAt(simulation, 'BeforeNodeDrain').slice(0, 3)).toEqual([
      'UpgradeHookBlocked',
      'UpgradeHookBlocked',
      'UpgradeHookSucceeded',
    ]);
    expect(answersAt(simulation, 'AfterNodeDrain').length).toBe(simulation.count('NodeCordoned'));
    expect(simulation.harm).toEqual([]);
  });

  it('are not limited by the time of later gates', () => {
    const replies = Array.from({ length: 40 }, () => WAIT);
    const simulation = begin(replies, { hook: DRAINS });
    simulation.run();
    expect(answersAt(simulation, 'BeforeNodeDrain').filter((type) => type === 'UpgradeHookBlocked').length).toBe(40);
    expect([simulation.count('OperationFailed'), simulation.count('RolloutCompleted')]).toEqual([0, 1]);
  });

  it('let a rollout pause and end while they block a node, which is not changed', () => {
    const simulation = begin(
      Array.from({ length: 1_000 }, () => WAIT),
      { hook: DRAINS },
    );
    simulation.after(300, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })));
    simulation.run();
    expect([simulation.count('RolloutAborted'), simulation.count('NodeCordoned')]).toEqual([1, 0]);
    expect(simulation.count('UpgradeAllowed')).toBe(0);
  });

  it(
    `over ${SEEDS} seeds of duplicate deliveries and crashes let each drain begin once they succeed`,
    () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const simulation = begin([WAIT, SILENT, WAIT], { seed, hook: DRAINS });
        simulation.run();
        expect([seed, simulation.count('RolloutCompleted')]).toEqual([seed, 1]);
        expect([seed, drainedTooSoon(simulation)]).toEqual([seed, []]);
        const ids = new Set(simulation.hookIds.map(({ id }) => id));
        expect(ids.size).toBe(new Set(simulation.hookIds.map(({ attempt }) => attempt)).size);
        expect(answersAt(simulation, 'AfterUpgrade')).toEqual(['UpgradeHookSucceeded']);
        expect(simulation.harm).toEqual([]);
      }
    },
    LIMIT_MS,
  );
});

describe('hooks after an upgrade', () => {
  const AFTER: Hook = { ...HOOK, points: ['AfterUpgrade'] };

  it('are called once it is completed, and block nothing [Cluster API 29]', () => {
    const simulation = begin([WAIT], { hook: AFTER });
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookSucceeded']);
    const completed = indexOf(simulation, ({ type }) => type === 'RolloutCompleted');
    expect(indexOf(simulation, ({ type }) => type === 'UpgradeHookSucceeded')).toBeGreaterThan(completed);
  });

  it('are called five times if they fail', () => {
    const simulation = begin(
      Array.from({ length: 20 }, () => SILENT),
      { hook: AFTER },
    );
    simulation.run();
    expect(ofHooks(simulation)).toEqual(Array.from({ length: 5 }, () => 'UpgradeHookFailed'));
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('are not called for an upgrade that was ended', () => {
    const simulation = begin([], { hook: { ...HOOK, points: ['BeforeUpgrade', 'AfterUpgrade'] }, mode: 'ask' });
    simulation.after(150, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })));
    simulation.run();
    expect([simulation.count('RolloutAborted'), simulation.hookIds.length]).toEqual([1, 0]);
  });
});

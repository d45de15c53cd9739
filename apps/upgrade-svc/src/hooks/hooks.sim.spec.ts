import { declaredOf, type Fact, type Hook, type HookReply } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { modelOf, UID } from '../../test/model.js';
import { RolloutSimulation } from '../../test/rollout.simulation.js';
import { asked, beginning, request, toVersion } from '../../test/rollout.story.js';
import type { Upgrade } from '../rollout/rollout.state.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 100);
const TIMEOUT_MS = 120_000;

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
  it('hold it after the plan was approved and before the first change, until they let it go on [Cluster API 29]', () => {
    const simulation = begin([WAIT, WAIT]);
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookBlocked', 'UpgradeHookBlocked', 'UpgradeHookSucceeded']);
    expect(changesBefore(simulation, 'UpgradeHookSucceeded')).toEqual([]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('are not asked before the plan is approved', () => {
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

  it('that do not answer are asked again with the policy Fail, and the upgrade waits [Cluster API 29]', () => {
    const simulation = begin([SILENT, SILENT]);
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookFailed', 'UpgradeHookFailed', 'UpgradeHookSucceeded']);
    expect(changesBefore(simulation, 'UpgradeHookSucceeded')).toEqual([]);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('that do not answer are not waited for with the policy Ignore [Cluster API 29]', () => {
    const simulation = begin([SILENT], { hook: { ...HOOK, failurePolicy: 'Ignore' } });
    simulation.run();
    expect(ofHooks(simulation)).toEqual(['UpgradeHookFailed']);
    expect(simulation.count('RolloutCompleted')).toBe(1);
  });

  it('do not keep an operator from ending the upgrade', () => {
    const simulation = begin(Array.from({ length: 1_000 }, () => WAIT));
    simulation.after(150, () => simulation.say('request', request('UpgradeAbortRequested', { reason: 'not today' })));
    simulation.run();
    expect(simulation.count('RolloutAborted')).toBe(1);
    expect(simulation.count('RolloutStarted')).toBe(0);
    expect(ofHooks(simulation).length).toBeLessThan(5);
  });

  it('let an upgrade begin that is to pause, which pauses before its first change', () => {
    const simulation = begin([WAIT]);
    simulation.after(30, () => simulation.say('request', request('UpgradePauseRequested', { reason: 'lunch' })));
    simulation.run();
    expect(simulation.count('RolloutPaused')).toBe(1);
    expect(simulation.count('UpgradeAllowed')).toBe(0);
  });

  it('hold nothing any more once they are taken out of the manifest', () => {
    const simulation = begin(Array.from({ length: 1_000 }, () => WAIT));
    simulation.after(150, () => simulation.say('request', declare([], 2)));
    simulation.run();
    expect(simulation.count('RolloutCompleted')).toBe(1);
    expect(simulation.count('UpgradeHookSucceeded')).toBe(0);
  });

  it(
    `over ${SEEDS} seeds of twin deliveries and crashes let the upgrade begin once, and repeat a call with the same id`,
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
    TIMEOUT_MS,
  );
});

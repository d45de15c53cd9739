import type { Fact } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, it } from '@jest/globals';
import { CREATE, uid } from '../story.fixtures.js';
import { hooks, type SkipHook } from './hooks.decider.js';

const { given } = specification(hooks);

const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;
const NEXT = { nextAttemptAt: '2026-01-01T01:00:00.000Z' };
const blocked = (node: string, more: object = {}): Fact =>
  fact('HookBlocked', { hook: 'backup', point: 'BeforeNodeDrain', node, attempt: 1, message: '', ...NEXT, ...more });
const ofRequest = fact('NodeActionHookBlocked', {
  ...{ hook: 'backup', point: 'BeforeNodeDrain', node: 'demo-w-2', attempt: 1, message: '', ...NEXT },
  requestId: 'r1',
});
const ofUpgrade = fact('UpgradeHookBlocked', {
  ...{ hook: 'backup', point: 'BeforeUpgrade', attempt: 1, message: '', ...NEXT },
  upgradeId: 'u-1',
});
const skip = (which: Partial<SkipHook['data']> = {}): SkipHook => ({
  type: 'SkipHook',
  data: {
    ...{ namespace: 'default', cluster: 'demo', hook: 'backup', point: undefined, node: undefined, reason: 'down' },
    ...which,
  },
});
const skipped = (data: object): Fact<'HookSkipped'> =>
  fact('HookSkipped', { hook: 'backup', reason: 'down', ...data }) as Fact<'HookSkipped'>;

describe('a hook that is skipped', () => {
  it('lets go all that it holds, or one point or node of it', () => {
    const drain = { point: 'BeforeNodeDrain', node: 'demo-w-2', requestId: 'r1' };
    const upgrade = { point: 'BeforeUpgrade', upgradeId: 'u-1' };
    const all = given(...CREATE, blocked('demo-w-1'), ofRequest, ofUpgrade);
    all.when(skip()).then(skipped({ point: 'BeforeNodeDrain', node: 'demo-w-1' }), skipped(drain), skipped(upgrade));
    all.when(skip({ node: 'demo-w-2' })).then(skipped(drain));
    all.when(skip({ point: 'BeforeUpgrade' })).then(skipped(upgrade));
  });

  it('must hold something', () => {
    given(...CREATE)
      .when(skip())
      .thenRefused('hook.holds-nothing');
    given(...CREATE, blocked('demo-w-1'))
      .when(skip({ hook: 'another' }))
      .thenRefused('hook.holds-nothing');
    given(...CREATE, blocked('demo-w-1'), skipped({ point: 'BeforeNodeDrain', node: 'demo-w-1' }))
      .when(skip())
      .thenRefused('hook.holds-nothing');
    given().when(skip()).thenRefused('cluster.unknown');
  });

  it('holds the end of a deletion, too', () => {
    const held = blocked('', { point: 'AfterClusterDelete', node: undefined });
    given(...CREATE, fact('ClusterDeletionRequested', {}), held)
      .when(skip())
      .then(skipped({ point: 'AfterClusterDelete' }));
  });
});

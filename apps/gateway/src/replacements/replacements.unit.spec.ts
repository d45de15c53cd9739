import type { Fact, NodeSelection } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, it } from '@jest/globals';
import { CREATE, uid } from '../story.fixtures.js';
import { replacements, type ReplaceNodes } from './replacements.decider.js';

const { given } = specification(replacements);
const NOTHING: NodeSelection = { nodes: [], pools: [], labels: {}, all: false };

const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;
const replace = (select: Partial<NodeSelection>, reason = ''): ReplaceNodes => ({
  type: 'ReplaceNodes',
  data: { namespace: 'default', cluster: 'demo', requestId: 'r1', select: { ...NOTHING, ...select }, reason },
});
const rollout = (pool: string, nodes: readonly string[], more: object = {}): Fact<'PoolRolloutRequested'> =>
  fact('PoolRolloutRequested', {
    requestId: `r1-${pool}`,
    pool,
    nodes,
    ...more,
  }) as Fact<'PoolRolloutRequested'>;
const held = (scope: object): Fact => fact('UpdatesDisabledSet', { scope, disabled: true, reason: 'a database' });

describe('nodes that are selected for a replacement', () => {
  it('are replaced by one rollout of each of their pools [ORBITER 31]', () => {
    given(...CREATE)
      .when(replace({ nodes: ['demo-w-2', 'demo-w-1'] }, 'bad disks'))
      .then(rollout('worker-1', ['demo-w-1', 'demo-w-2'], { reason: 'bad disks' }));
    given(...CREATE)
      .when(replace({ nodes: ['demo-w-2', 'demo-cp-3'] }))
      .then(rollout('control-plane', ['demo-cp-3']), rollout('worker-1', ['demo-w-2']));
    given(...CREATE)
      .when(replace({ all: true }))
      .then(
        rollout('control-plane', ['demo-cp-1', 'demo-cp-2', 'demo-cp-3']),
        rollout('worker-1', ['demo-w-1', 'demo-w-2']),
      );
  });

  it('must be there', () => {
    given()
      .when(replace({ all: true }))
      .thenRefused('cluster.unknown');
    given(...CREATE)
      .when(replace({ nodes: ['demo-w-11'] }))
      .thenRefused('node.unknown');
    given(...CREATE)
      .when(replace({ pools: ['worker-2'] }))
      .thenRefused('pool.unknown');
    given(...CREATE)
      .when(replace({}))
      .thenRefused('node.selection-invalid');
  });

  it('wait for the end of whatever else changes nodes', () => {
    given(...CREATE, fact('ClusterPaused', { reason: '' }))
      .when(replace({ all: true }))
      .thenRefused('cluster.paused');
    given(...CREATE, rollout('worker-1', ['demo-w-1']))
      .when(replace({ nodes: ['demo-w-2'] }))
      .thenRefused('cluster.busy');
    given(...CREATE, fact('UpgradeRequested', { upgradeId: 'u-1', mode: 'ask', target: {} }))
      .when(replace({ all: true }))
      .thenRefused('upgrade.open');
    const reboot = { requestId: 'r0', action: 'reboot', nodes: ['demo-w-1'] };
    given(...CREATE, fact('NodeActionRequested', reboot))
      .when(replace({ nodes: ['demo-w-2'] }))
      .thenRefused('cluster.nodes-busy');
    const cause = { operation: 'create machines', target: 'lab', message: 'no' };
    const failed = fact('PoolRolloutFailed', { requestId: 'r1-worker-1', pool: 'worker-1', cause });
    given(...CREATE, rollout('worker-1', ['demo-w-1']), failed)
      .when(replace({ nodes: ['demo-w-2'] }))
      .thenRefused('pool.rollout-failed');
  });

  it('that leave, or are excluded from changes, are refused where they are named, and left out otherwise', () => {
    const leaving = fact('NodeRemovalRequested', { node: 'demo-w-1' });
    given(...CREATE, leaving)
      .when(replace({ nodes: ['demo-w-1', 'demo-w-2'] }))
      .thenRefused('node.leaving');
    given(...CREATE, leaving)
      .when(replace({ pools: ['worker-1'] }))
      .then(rollout('worker-1', ['demo-w-2']));
    given(...CREATE, held({ kind: 'node', node: 'demo-w-1' }))
      .when(replace({ nodes: ['demo-w-1', 'demo-w-2'] }))
      .thenRefused('node.held');
    given(...CREATE, held({ kind: 'pool', pool: 'worker-1' }))
      .when(replace({ all: true }))
      .then(rollout('control-plane', ['demo-cp-1', 'demo-cp-2', 'demo-cp-3']));
    given(...CREATE, held({ kind: 'pool', pool: 'worker-1' }))
      .when(replace({ pools: ['worker-1'] }))
      .thenRefused('node.none-selected');
  });

  it('are those of the cluster that has the name now', () => {
    const other = { type: 'PoolRolloutRequested', data: { uid: 'other', requestId: 'r0', pool: 'worker-1' } };
    given(...CREATE, other as unknown as Fact)
      .when(replace({ nodes: ['demo-w-1'] }))
      .then(rollout('worker-1', ['demo-w-1']));
  });
});

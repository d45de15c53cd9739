import type { Fact, NodeActionKind, NodeSelection } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { CREATE, uid } from '../story.fixtures.js';
import { actions, type RequestAction } from './actions.decider.js';
import { selectNodes, type Selectable } from '../lifecycle/selection.rules.js';

const { given } = specification(actions);
const NOTHING: NodeSelection = { nodes: [], pools: [], labels: {}, all: false };
const EXPIRES = '2026-01-02T00:00:00.000Z';

const fact = (type: string, data: object): Fact => ({ type, data: { uid, ...data } }) as unknown as Fact;
const machine = (name: string, pool: string): object => ({
  ...{ name, pool, role: pool === 'control-plane' ? 'control-plane' : 'worker', leader: false },
  ...{ connection: 'lab', spec: 'lab.medium', rootDisk: { type: 'default', size: 'default' } },
});
const NAMES = ['cp-1', 'cp-2', 'cp-3', 'w-1', 'w-2'];
const ready = (...nodes: readonly string[]): readonly Fact[] =>
  nodes.map((node) => fact('NodeReady', { node, revision: 1, software: {} }));
const CREATED: readonly Fact[] = [
  CREATE[0]!,
  fact('VmsPlanned', { machines: NAMES.map((name) => machine(name, name.startsWith('cp') ? 'control-plane' : 'web')) }),
  ...ready(...NAMES),
  fact('ClusterReady', {}),
];

const ask = (action: NodeActionKind, select: Partial<NodeSelection>): RequestAction => ({
  type: 'RequestAction',
  data: {
    ...{ namespace: 'default', cluster: 'demo', requestId: 'r2', action, select: { ...NOTHING, ...select } },
    ...{ reason: '', drain: true, drainTimeoutSeconds: 900, maxUnavailable: 1, expiresAt: EXPIRES },
  },
});
const asked = (action: NodeActionKind, nodes: readonly string[], requestId = 'r2'): Fact<'NodeActionRequested'> =>
  fact('NodeActionRequested', {
    ...{ requestId, action, nodes, reason: '', drain: true, drainTimeoutSeconds: 900 },
    ...{ maxUnavailable: 1, expiresAt: EXPIRES },
  }) as Fact<'NodeActionRequested'>;

describe('a request about nodes', () => {
  it('names the nodes that it selects, control planes first', () => {
    given(...CREATED)
      .when(ask('reboot', { all: true }))
      .then(asked('reboot', NAMES));
    given(...CREATED)
      .when(ask('drain', { nodes: ['w-2', 'w-1'] }))
      .then(asked('drain', ['w-1', 'w-2']));
    given(...CREATED)
      .when(ask('cordon', { pools: ['web'] }))
      .then(asked('cordon', ['w-1', 'w-2']));
  });

  it('is refused for what does not exist or is not selected, with the nearest name', () => {
    given()
      .when(ask('reboot', { all: true }))
      .thenRefused('cluster.unknown');
    given(...CREATED)
      .when(ask('reboot', { nodes: ['w-11'] }))
      .thenRefused('node.unknown');
    given(...CREATED)
      .when(ask('reboot', { pools: ['wed'] }))
      .thenRefused('pool.unknown');
    given(...CREATED)
      .when(ask('reboot', {}))
      .thenRefused('node.selection-invalid');
    given(...CREATED)
      .when(ask('reboot', { nodes: ['w-1'], all: true }))
      .thenRefused('node.selection-invalid');
    given(...CREATED)
      .when(ask('reboot', { labels: { tier: 'db' } }))
      .thenRefused('node.none-selected');
  });

  it('waits for the end of another one on the same node, of a pause, and of an upgrade', () => {
    given(...CREATED, asked('drain', ['w-1'], 'r1'))
      .when(ask('reboot', { nodes: ['w-1'] }))
      .thenRefused('node.action-open');
    given(...CREATED, fact('ClusterPaused', { reason: '' }))
      .when(ask('reboot', { nodes: ['w-1'] }))
      .thenRefused('cluster.paused');
    const upgrade = fact('UpgradeRequested', { upgradeId: 'u-1', mode: 'ask', target: {} });
    given(...CREATED, upgrade)
      .when(ask('reboot', { nodes: ['w-1'] }))
      .thenRefused('upgrade.open');
    given(...CREATED, fact('NodeRemovalRequested', { node: 'w-1' }))
      .when(ask('reboot', { nodes: ['w-1'] }))
      .thenRefused('node.leaving');
  });

  it('is refused where etcd would lose its quorum', () => {
    given(...CREATED, fact('NodeLost', { node: 'cp-2', lastSeenAt: null, limitMs: 1 }))
      .when(ask('reboot', { nodes: ['cp-1'] }))
      .thenRefused('node.action-quorum');
    given(...CREATED, fact('NodeLost', { node: 'cp-2', lastSeenAt: null, limitMs: 1 }))
      .when(ask('reboot', { nodes: ['cp-2'] }))
      .then(asked('reboot', ['cp-2']));
  });

  it('to cordon again changes nothing, and to uncordon is refused for what others cordoned', () => {
    const cordoned = fact('NodeActionCordoned', { requestId: 'r1', action: 'cordon', node: 'w-1', byRequest: true });
    given(...CREATED, cordoned)
      .when(ask('cordon', { nodes: ['w-1'] }))
      .thenNothing();
    given(...CREATED, cordoned)
      .when(ask('uncordon', { all: true }))
      .then(asked('uncordon', ['w-1']));
    given(...CREATED)
      .when(ask('uncordon', { nodes: ['w-1'] }))
      .thenRefused('node.not-cordoned');
  });

  it('can be cancelled while a node of it is not through', () => {
    const cancel = (operation: string) =>
      ({ type: 'CancelAction', data: { namespace: 'default', cluster: 'demo', operation, reason: 'x' } }) as const;
    given(...CREATED)
      .when(cancel('nothing'))
      .thenRefused('operation.not-cancellable');
  });
});

describe('a selection of nodes', () => {
  const node = (labels: Readonly<Record<string, string>>): Selectable => ({ role: 'worker', pool: 'web', labels });
  const nodes = { a: node({ tier: 'web', zone: '1' }), b: node({ tier: 'web', zone: '2' }) };
  const of = { namespace: 'default', cluster: 'demo' };

  it('takes nodes with all of its labels', () => {
    expect(selectNodes(nodes, { ...NOTHING, labels: { tier: 'web' } }, of)).toEqual(['a', 'b']);
    expect(selectNodes(nodes, { ...NOTHING, labels: { tier: 'web', zone: '2' } }, of)).toEqual(['b']);
  });

  it('knows no node by a name that every object has', () => {
    const selected = selectNodes(nodes, { ...NOTHING, nodes: ['constructor'] }, of);
    expect(selected).toMatchObject({ code: 'node.unknown' });
  });

  it('says which name was probably meant', () => {
    const known = { 'demo-w-1': node({}) };
    expect(selectNodes(known, { ...NOTHING, nodes: ['demo-w-2'] }, of)).toMatchObject({
      help: 'Did you mean demo-w-1?',
    });
  });
});

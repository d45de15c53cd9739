import type { Fact, NodeSelection } from '@fairlead/contracts';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { CREATE, inLog, plan, rowsOf, uid } from '../story.fixtures.js';
import { holds, type Scope, type SetNodeUpdates, type SetUpdates } from './holds.decider.js';
import { holdOf, holdsProjection } from './holds.projection.js';

const { given } = specification(holds);
const node = (name: string): Scope => ({ kind: 'node', node: name as never });
const pool = (name: string): Scope => ({ kind: 'pool', pool: name });
const set = (scope: Scope, disabled: boolean, reason = ''): SetUpdates => ({
  type: 'SetUpdates',
  data: { namespace: 'default', cluster: 'demo', scope, disabled, reason },
});
const fact = (scope: Scope, disabled: boolean, reason = ''): Fact<'UpdatesDisabledSet'> => ({
  type: 'UpdatesDisabledSet',
  data: { uid, scope, disabled, reason },
});

describe('a hold', () => {
  it('is recorded with its reason, once', () => {
    given(...CREATE)
      .when(set(node('demo-w-1'), true, 'a test runs on it'))
      .then(fact(node('demo-w-1'), true, 'a test runs on it'));
    given(...CREATE, fact(pool('worker-1'), true, 'x'))
      .when(set(pool('worker-1'), true, 'x'))
      .thenNothing();
    given(...CREATE, fact(pool('worker-1'), true, 'x'))
      .when(set(pool('worker-1'), true, 'another'))
      .then(fact(pool('worker-1'), true, 'another'));
  });

  it('ends when it is released, and only if there is one', () => {
    given(...CREATE, fact(node('demo-w-1'), true, 'x'))
      .when(set(node('demo-w-1'), false))
      .then(fact(node('demo-w-1'), false));
    given(...CREATE)
      .when(set(node('demo-w-1'), false))
      .thenNothing();
  });

  it('needs a reason and an existing target', () => {
    given(...CREATE)
      .when(set(node('demo-w-1'), true, ' '))
      .thenRefused('upgrade.reason-missing');
    given(...CREATE)
      .when(set(node('demo-w-9'), true, 'x'))
      .thenRefused('node.unknown');
    given(...CREATE)
      .when(set(pool('gpu'), true, 'x'))
      .thenRefused('pool.unknown');
    given()
      .when(set(pool('gpu'), true, 'x'))
      .thenRefused('cluster.unknown');
  });

  it('of selected nodes is recorded for each that is not held so already [ORBITER 31]', () => {
    const choose = (select: Partial<NodeSelection>, disabled: boolean, reason = ''): SetNodeUpdates => ({
      type: 'SetNodeUpdates',
      data: {
        ...{ namespace: 'default', cluster: 'demo', disabled, reason },
        select: { nodes: [], pools: [], labels: {}, all: false, ...select },
      },
    });
    const names = ['demo-cp-1', 'demo-cp-2', 'demo-cp-3', 'demo-w-1', 'demo-w-2'];
    const holdOn = (name: string): Fact<'UpdatesDisabledSet'> => fact(node(name), true, 'x');
    const [one = '', ...others] = names;
    const [last = ''] = others.slice(-1);
    given(...CREATE)
      .when(choose({ all: true }, true, 'x'))
      .then(...names.map(holdOn));
    given(...CREATE, holdOn(one))
      .when(choose({ all: true }, true, 'x'))
      .then(...others.map(holdOn));
    given(...CREATE, holdOn(last), holdOn(one))
      .when(choose({ pools: ['worker-1'] }, false))
      .then(fact(node(last), false));
    given(...CREATE)
      .when(choose({ nodes: [last] }, false))
      .thenNothing();
    given(...CREATE)
      .when(choose({ nodes: ['demo-w-9'] }, true, 'x'))
      .thenRefused('node.unknown');
    given(...CREATE)
      .when(choose({ labels: { tier: 'db' } }, true, 'x'))
      .thenRefused('node.none-selected');
    given(...CREATE)
      .when(choose({}, true, 'x'))
      .thenRefused('node.selection-invalid');
    given(...CREATE)
      .when(choose({ all: true }, true, ' '))
      .thenRefused('upgrade.reason-missing');
  });

  it('is shown at its node, and at the nodes of its pool, until the cluster is gone', () => {
    const after = (...facts: readonly Fact[]) =>
      [plan('demo-cp-1'), plan('demo-w-1')].map(
        (one) => holdOf(rowsOf(holdsProjection, inLog([...CREATE, ...facts]))[0], one)?.reason,
      );
    expect(after(fact(pool('worker-1'), true, 'x'))).toEqual([undefined, 'x']);
    expect(after(fact(pool('worker-1'), true, 'x'), fact(node('demo-w-1'), true, 'y'))).toEqual([undefined, 'y']);
    expect(after(fact(pool('worker-1'), true, 'x'), fact(pool('worker-1'), false))).toEqual([undefined, undefined]);
    expect(after(fact(pool('worker-1'), true, 'x'), { type: 'ClusterDeleted', data: { uid } })).toEqual([
      undefined,
      undefined,
    ]);
  });
});

import type { Fact, NodeName } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid, vmsCreated } from '../nodes/nodes.fixtures.js';
import { underWay } from './check.planner.js';
import { evolveCluster } from './cluster.evolve.js';
import { newCluster } from './rollout.state.js';

const KNOWN = newCluster((clusterRequested() as Fact<'ClusterRequested'>).data);
const node = 'demo-w-3-aaaaa' as NodeName;
const cause = { operation: 'kubeadm join', target: node, message: 'no' };
const asked: Fact = { type: 'NodesRequested', data: { uid, requestId: 'r1', workers: [] } };
const failed = (onFailure: 'rollback' | 'keep'): Fact => ({
  type: 'NodesFailed',
  data: { uid, requestId: 'r1', nodes: [node], onFailure, step: 'JoinWorker', reason: 'R', cause },
});
const retried: Fact = { type: 'ClusterRetryRequested', data: { uid } };
const ready: Fact = { type: 'ClusterReady', data: { uid } };

const after = (...facts: readonly Fact[]) =>
  [ready, asked, vmsCreated(uid, node), ...facts].map((fact, at) => stored(fact, at + 1)).reduce(evolveCluster, KNOWN);

describe('a request for nodes that fails', () => {
  it('no longer delays an upgrade once its nodes are gone', () => {
    expect(after().life).toBe('building');
    const rolledBack = after(failed('rollback'));
    expect([rolledBack.life, underWay(rolledBack)]).toEqual(['ready', [`${node} is being removed`]]);
    expect(underWay(after(failed('rollback'), { type: 'NodeRemoved', data: { uid, node } }))).toEqual([]);
  });

  it('does not delay an upgrade while its nodes are kept, but does while they are retried', () => {
    expect(underWay(after(failed('keep')))).toEqual([]);
    expect(underWay(after(failed('keep'), retried))).toEqual(['more workers are joining']);
    expect(underWay(after(failed('keep'), retried, ready))).toEqual([]);
    expect(underWay(after(failed('keep'), retried, failed('keep')))).toEqual([]);
  });

  it('whose machines cannot be created does not delay one either', () => {
    const notMade: Fact = {
      type: 'VmsFailed',
      data: { uid, requestId: 'r1', machines: [node], onFailure: 'rollback', reason: 'R', cause },
    };
    const known = [ready, asked, notMade].map((fact, at) => stored(fact, at + 1)).reduce(evolveCluster, KNOWN);
    expect(underWay(known)).toEqual([]);
  });
});

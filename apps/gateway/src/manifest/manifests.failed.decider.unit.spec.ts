import { type DeclaredPool, type DeclaredSpec, type Fact, isRefusal, refuse } from '@fairlead/contracts';
import { changedFields } from '@fairlead/domain';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { isDeclared, manifests, planFor } from './manifests.decider.js';
import { uid, named, machines, pool, declared, Log, provisioned, typesOf } from './manifests.decider.fixtures.js';

const SEEDS = 50;

const APPLIES = 12;

it.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
  'after any sequence of manifests the last one is what is declared, and what the cluster has (seed %i)',
  (seed) => {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const anySpec = (): DeclaredSpec =>
      declared(...['a', 'b', 'c'].filter(() => random() < 0.7).map((name) => pool(name, below(5))));
    const log = provisioned(pool('a', 1));
    for (let count = 0; count < APPLIES; count += 1) {
      const spec = anySpec();
      const equal = isDeclared(log.state, spec);
      const facts = log.carryOut(spec);
      expect(facts.length === 0).toBe(equal);
      const now = log.state.declared!;
      expect(changedFields(now.spec, spec)).toEqual([]);
      const sizes = spec.pools.map(({ name, replicas }) => [name, replicas]);
      const has = spec.pools.map(({ name }) => [name, Object.values(now.nodes).filter((of) => of === name).length]);
      expect(has).toEqual(sizes);
      expect(log.apply(spec)).toEqual([]);
    }
  },
);

describe('a manifest of a cluster whose creation has failed', () => {
  const cause = { operation: 'kubeadm init', target: 'demo-1', message: 'no' };
  const rejected: Fact = { type: 'ClusterRejected', data: { uid, code: 'cluster.spec-cpu', message: 'too small' } };
  const infrastructureFailed: Fact = { type: 'InfrastructureFailed', data: { uid, step: 's', reason: 'r', cause } };
  const failed: Fact = { type: 'ClusterFailed', data: { uid, step: 's', reason: 'r', cause } };
  const web = declared(pool('web', 2));
  const requested = (): Log => {
    const log = new Log();
    return log.say(...(log.apply(web) as readonly Fact[]));
  };
  const planned = (log: Log): Log => {
    const named = ['control-plane', 'web', 'web'].map((name, at) => ({ name: `demo-${at}`, pool: name, ...machines }));
    const data = { uid, machines: named };
    return log.say({ type: 'ClusterAccepted', data: { uid } }, { type: 'VmsPlanned', data } as unknown as Fact);
  };
  const other: DeclaredSpec = {
    ...declared(pool('web', 1), pool('batch', 1)),
    network: { ...web.network, podCidr: '10.200.0.0/16' },
    controlPlane: { ...web.controlPlane, replicas: 3, machineType: 'lab.large' },
  };

  it('corrects the request while nothing was made of it, also what a cluster keeps otherwise: it is checked again', () => {
    for (const stop of [[rejected], [infrastructureFailed, failed]]) {
      const log = requested().say(...stop);
      expect(planFor(log.state, other)[0]).toMatchObject({ action: 'create-cluster', count: 3 });
      const facts = log.apply(other);
      expect(typesOf(facts)).toEqual(['ClusterRetryRequested', 'ClusterSpecChanged']);
      const [retry] = facts as readonly Fact[];
      expect(retry?.data).toMatchObject({
        uid,
        correction: {
          requestHash: 'hash',
          spec: {
            controlPlane: { count: 3, spec: 'lab.large' },
            workers: [{ pool: 'web', count: 1 }, { pool: 'batch' }],
            kubernetes: { podCidr: '10.200.0.0/16', nodeCidrMask: 25 },
          },
        },
      });
      log.say(...(facts as readonly Fact[]));
      expect(log.state.cluster).toMatchObject({
        phase: 'Provisioning',
        unmade: false,
        spec: { controlPlane: { count: 3 } },
      });
      expect(log.apply(web)).toBe('cluster.field-immutable');
      expect(log.apply(other)).toEqual([]);
    }
  });

  it('is refused where a connection has no room for it', () => {
    const full = refuse('connection.unknown', { connection: 'lab' });
    const log = requested().say(rejected);
    expect(log.apply(other, { connectionFaults: [full] })).toBe('connection.unknown');
  });

  it('declares what a failure leads to, without another try', () => {
    const log = requested().say(rejected);
    expect(typesOf(log.apply({ ...web, onFailure: 'cleanup' }))).toEqual(['ClusterSpecChanged']);
  });

  it('resumes a cluster that was paused in the same decision, and pauses none', () => {
    const log = requested().say(rejected, { type: 'ClusterPaused', data: { uid, reason: '' } });
    expect(log.apply({ ...other, paused: true })).toBe('cluster.paused');
    expect(typesOf(log.apply(other))).toEqual(['ClusterResumed', 'ClusterRetryRequested', 'ClusterSpecChanged']);
  });

  it('is refused once machines were named, with both commands that lead on; policies change all the same', () => {
    for (const stop of [[failed], [infrastructureFailed, failed]]) {
      const log = planned(requested()).say(...stop);
      expect(log.apply(other)).toBe('cluster.creation-failed');
      expect(log.apply(declared(pool('web', 3)))).toBe('cluster.creation-failed');
      expect(typesOf(log.apply({ ...web, onFailure: 'cleanup' }))).toEqual(['ClusterSpecChanged']);
    }
    const { message, help } = refuse('cluster.creation-failed', { action: 'apply a manifest', cluster: 'demo' });
    expect(message).toContain("the creation of the cluster 'demo' has failed");
    expect(help).toContain('fairlead cluster retry demo');
    expect(help).toContain('fairlead cluster delete demo --wait');
  });

  it('is refused when it failed without the machines being given up: more may come', () =>
    expect(requested().say(failed).apply(other)).toBe('cluster.creation-failed'));
});

describe('the cancellation of a removal', () => {
  const cancel = (log: Log, node: string) => {
    const data = { ...named, node: node as never, reason: 'a budget allows no eviction' };
    const outcome = manifests.decide(log.state, { type: 'CancelRemoval', data });
    return isRefusal(outcome) ? outcome.message : outcome.map(({ type }) => type);
  };
  const stays = (node: string): Fact => ({
    type: 'NodeRemovalCancelled',
    data: { uid, node: node as never, pool: 'web' },
  });
  const replicas = ({ state }: Log) => state.declared?.spec.pools.map((one) => one.replicas);
  /** A pool of 3 that is scaled to 2; answers the node that leaves. */
  const scaledDown = (...others: readonly DeclaredPool[]): { readonly log: Log; readonly node: string } => {
    const log = provisioned(pool('web', 3), ...others);
    const facts = log.apply(declared(pool('web', 2), ...others)) as readonly Fact[];
    log.say(...facts);
    return {
      log,
      node: facts.flatMap((fact) => (fact.type === 'NodeRemovalRequested' ? [fact.data.node] : []))[0] ?? '',
    };
  };

  it('is one request, and when the node stays its pool has the size that it had before', () => {
    const { log, node } = scaledDown();
    expect(replicas(log)).toEqual([2]);
    expect(cancel(log, node)).toEqual(['NodeRemovalCancellationRequested']);
    log.say({ type: 'NodeRemovalCancellationRequested', data: { uid, node: node as never, reason: '' } });
    expect(cancel(log, node)).toEqual([]);
    log.say(stays(node));
    expect(replicas(log)).toEqual([3]);
    expect(log.apply(declared(pool('web', 3)))).toEqual([]);
    expect(cancel(log, node)).toBe(`The removal of ${node} cannot be cancelled: it is not being removed`);
    expect(typesOf(log.apply(declared(pool('web', 2))))).toEqual(['NodeRemovalRequested', 'ClusterSpecChanged']);
  });

  it('is refused when the node is drained already', () => {
    const { log, node } = scaledDown();
    log.say({ type: 'NodeDrained', data: { uid, node: node as never, evictedPods: 2, dead: false } });
    expect(cancel(log, node)).toContain('its pods are evicted already');
    log.say({ type: 'NodeRemovalRequested', data: { uid, node: node as never } });
    expect(cancel(log, node)).toContain('its pods are evicted already');
  });

  it('is refused when its pool cannot count it again', () => {
    const log = provisioned(pool('web', 1), pool('b', 1));
    const facts = log.apply(declared(pool('b', 1))) as readonly Fact[];
    const [node] = facts.flatMap((fact) => (fact.type === 'NodeRemovalRequested' ? [fact.data.node] : []));
    log.say(...facts);
    expect(cancel(log, node ?? '')).toContain('pool web is not declared any more');
    const full = scaledDown();
    full.log.say(
      ...(full.log.apply(declared({ ...pool('web', 2), autoscaling: { min: 1, max: 2 } })) as readonly Fact[]),
    );
    expect(cancel(full.log, full.node)).toContain('pool web has its maximum of 2 nodes without it');
  });

  it('is none of a node that leaves for another reason, or of a control plane', () => {
    const log = provisioned(pool('web', 1));
    const replacement = { uid, requestId: 'r', node: 'demo-2' as never, order: 'remove-first', reason: '' } as const;
    log.say({ type: 'NodeReplacementRequested', data: replacement });
    expect(cancel(log, 'demo-2')).toContain('another node takes its place');
    log.say({ type: 'NodeRemovalRequested', data: { uid, node: 'demo-1' as never } });
    expect(cancel(log, 'demo-1')).toContain('it is a control plane');
  });
});

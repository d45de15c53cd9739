import type { MachinePlan } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, nodeSet, UID } from '../../test/fixtures.js';
import { planCluster } from './machines.planner.js';
import { capacityRefusal } from './capacity.planner.js';

const cluster = (controlPlanes: number, workers: number, podCidr = '10.244.0.0/16') => {
  const kubernetes = { podCidr, nodeCidrMask: 25 };
  const spec = clusterSpec({ controlPlane: nodeSet(controlPlanes), workers: [nodeSet(workers)], kubernetes });
  return { spec, planned: planCluster(UID, spec, () => []) };
};
const asked = (workers: number, isTransient = false) => ({
  workers: workers === 0 ? [] : [nodeSet(workers)],
  isTransient,
});
const controlPlane = (count: number, isTransient = false) => ({
  workers: [],
  controlPlane: nodeSet(count),
  isTransient,
});

describe('the capacity of a cluster', () => {
  it('is 500 workers, however few control planes it has', () => {
    expect(capacityRefusal(cluster(1, 499), asked(1))).toBeUndefined();
    expect(capacityRefusal(cluster(1, 499), asked(2))).toMatchObject({
      code: 'cluster.too-many-nodes',
      message: 'A cluster may have at most 500 workers, not 501',
    });
    expect(capacityRefusal(cluster(7, 500), asked(0))).toBeUndefined();
  });

  it('is seven control planes, however few workers it has', () => {
    expect(capacityRefusal(cluster(5, 0), controlPlane(2))).toBeUndefined();
    expect(capacityRefusal(cluster(7, 0), controlPlane(1))?.code).toBe('cluster.control-plane-too-many');
  });

  it('allows temporary machines beyond the limit of their role', () => {
    expect(capacityRefusal(cluster(7, 500), asked(1, true))).toBeUndefined();
    expect(capacityRefusal(cluster(7, 500), controlPlane(1, true))).toBeUndefined();
  });

  it('is limited by the ranges of the pod network, also for a surge: a node without one never becomes Ready', () => {
    const small = cluster(1, 3, '10.244.0.0/23');
    expect(capacityRefusal(small, asked(1))?.message).toBe(
      'podCidr 10.244.0.0/23 has room for 4 nodes, not 5: each takes a /25 of it',
    );
    expect(capacityRefusal(small, asked(1, true))?.code).toBe('cluster.pod-cidr-small');
    const smaller = { ...small, planned: small.planned.slice(0, -1) as readonly MachinePlan[] };
    expect(capacityRefusal(smaller, asked(1, true))).toBeUndefined();
  });
});

import {
  CLUSTER_WORKERS_MAX,
  CONTROL_PLANES_MAX,
  nodeMaskOf,
  podRangesOf,
  refuse,
  type Refusal,
} from '@fairlead/contracts';
import type { RequestedNodes } from '../validation/validation.planner.js';
import type { Cluster } from './machines.state.js';

/**
 * Each request of a cluster was checked separately; concurrent ones are checked in the order in which they are planned.
 */
interface RequestedCapacity extends RequestedNodes {
  /**
   * Whether the machines exist only temporarily, before others are deleted: the limits per role apply to permanent
   * ones.
   */
  readonly isTransient: boolean;
}

type Crowded = Pick<Cluster, 'planned' | 'spec'>;

/**
 * Why a cluster has no capacity for more machines: each role has a limit, and a node without a pod CIDR never becomes
 * Ready.
 */
export const capacityRefusal = (
  { planned, spec: { kubernetes } }: Crowded,
  { workers, controlPlane, isTransient }: RequestedCapacity,
): Refusal | undefined => {
  const addedWorkers = workers.reduce((sum, { count }) => sum + count, 0);
  const addedControlPlanes = controlPlane?.count ?? 0;
  const workersNow = planned.filter(({ role, surge }) => role === 'worker' && surge === undefined).length;
  const controlPlanesNow = planned.filter(({ role }) => role === 'control-plane').length;
  const ofRole = workersNow + addedWorkers;
  if (!isTransient && addedWorkers > 0 && ofRole > CLUSTER_WORKERS_MAX)
    return refuse('cluster.too-many-nodes', { max: CLUSTER_WORKERS_MAX, count: ofRole }, 'worker');
  const members = controlPlanesNow + addedControlPlanes;
  if (!isTransient && addedControlPlanes > 0 && members > CONTROL_PLANES_MAX)
    return refuse('cluster.control-plane-too-many', { max: CONTROL_PLANES_MAX, count: members }, 'controlPlane');
  const count = planned.length + addedWorkers + addedControlPlanes;
  const room = podRangesOf(kubernetes);
  if (count <= room) return undefined;
  const values = { value: kubernetes.podCidr, room, count, mask: nodeMaskOf(kubernetes) };
  return refuse('cluster.pod-cidr-small', values, 'worker');
};

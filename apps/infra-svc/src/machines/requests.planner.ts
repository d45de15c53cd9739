import { refuse, type MachinePlan, type Refusal } from '@fairlead/contracts';
import { capacityRefusal } from './capacity.planner.js';
import { downZones, likeOf, planRequest, planSurge, setsOf, type Adopted, type ZonesOf } from './machines.planner.js';
import { stayingOf, unbalancedAddress, type Cluster } from './machines.state.js';
import type { NodesRequest } from './node.requests.js';
import type { SurgeRef } from './surges.js';

/** What providers have answered about machines that are not planned yet. */
export interface Offered {
  /** Zones for them, by connection; absent or empty: the provider chooses. */
  readonly zones: Readonly<Record<string, readonly string[]>>;
  /** The machine that the request adopts; absent: machines are created. */
  readonly adopted?: Adopted | undefined;
}

const zonesIn =
  ({ zones }: Offered): ZonesOf =>
  (connection) =>
    zones[connection] ?? [];

/** The input for choosing zones of more machines. */
const placesOf = (cluster: Cluster) => {
  const { planned, rollouts, sights } = cluster;
  const isDown = downZones({ planned, ready: rollouts.ready, silent: rollouts.lost, gone: sights.lost });
  return { staying: stayingOf(cluster), isDown };
};

/** If the API has the address of a control plane itself, no other one can replace it. */
const controlPlaneRefusal = (cluster: Cluster, request: NodesRequest): Refusal | undefined => {
  const { controlPlane } = setsOf(cluster, request);
  const address = controlPlane === undefined ? undefined : unbalancedAddress(cluster);
  return address === undefined
    ? undefined
    : refuse('cluster.api-unbalanced', { cluster: cluster.spec.name, address }, 'spec.controlPlane.replicas');
};

/** Why the cluster cannot have the machines of a request, whatever providers answer. */
export const requestRefusal = (cluster: Cluster, request: NodesRequest): Refusal | undefined =>
  controlPlaneRefusal(cluster, request) ??
  capacityRefusal(cluster, { ...setsOf(cluster, request), isTransient: request.replaces !== undefined });

/**
 * The machines of a request, or why there is no room for them. Both follow from what is planned now: other requests may
 * have been planned while providers were asked.
 */
export const planOfRequest = (
  cluster: Cluster,
  request: NodesRequest,
  offered: Offered,
): readonly MachinePlan[] | Refusal => {
  const where = { zonesOf: zonesIn(offered), adopted: offered.adopted };
  return requestRefusal(cluster, request) ?? planRequest({ ...cluster, ...placesOf(cluster) }, request, where);
};

/** Why the cluster cannot have more machines of a surge, whatever providers answer. */
export const surgeRefusal = (cluster: Cluster, { pool }: SurgeRef, count: number): Refusal | undefined => {
  const like = likeOf(cluster.planned, pool);
  if (like === undefined) return undefined;
  const { connection, spec, rootDisk } = like;
  return capacityRefusal(cluster, { workers: [{ connection, spec, rootDisk, count }], isTransient: true });
};

/** The same for machines of a surge. */
export const planOfSurge = (
  cluster: Cluster,
  surge: SurgeRef & { readonly count: number },
  offered: Offered,
): readonly MachinePlan[] | Refusal =>
  surgeRefusal(cluster, surge, surge.count) ?? planSurge({ ...cluster, ...placesOf(cluster) }, surge, zonesIn(offered));

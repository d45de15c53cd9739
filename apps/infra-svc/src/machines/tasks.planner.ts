import { needsBootstrapData, type ConnectionName, type NodeName } from '@fairlead/contracts';
import {
  askedAgainAt,
  isHeld,
  isIdentityAwaited,
  isNameAwaited,
  isPublished,
  NO_IDENTITY,
  NO_PUBLICATION,
  realmSelectionOf,
} from '@fairlead/domain';
import type { Task } from '@fairlead/event-sourcing';
import { batchOfRequest, isMadeAgain, isReconsidered, isWaiting, type NodesRequest } from './node.requests.js';
import { withGroups } from './groups.planner.js';
import type { TaskData } from './machines.decider.js';
import { withLocks } from './locks.planner.js';
import { likeOf } from './machines.planner.js';
import { inactiveOf, isStarted, leaseOfCluster, startOf } from './reservations.planner.js';
import {
  isBalancedWrong,
  missingOf,
  type Cluster,
  type Deletion,
  type Machines,
  type PresentMachines,
} from './machines.state.js';
import { availabilitiesOf } from './rollouts.planner.js';
import { surgeKey, surgeLacks, type DesiredSurge } from './surges.js';

interface NamedTask extends Pick<Task, 'type' | 'reason'> {
  /** Distinguishes the task from others of the same type in the cluster. */
  readonly about?: string;
  readonly data?: TaskData;
}

const task = ({ type, about, reason, data = {} }: NamedTask): Task => ({
  type,
  key: about === undefined ? type : `${type}/${about}`,
  reason,
  data,
});

const counted = (count: number): string => (count === 1 ? '1 machine is' : `${count} machines are`);

/** Planned machines are requested per batch: those of the cluster itself, of one request, or of one surge. */
const ensure = (cluster: Cluster, batch: string | null, data: TaskData): readonly Task[] => {
  const { length } = missingOf(cluster, batch);
  if (length === 0) return [];
  const about = batch === null ? {} : { about: batch };
  return [task({ type: 'EnsureMachines', ...about, reason: `${counted(length)} named and not running`, data })];
};

/** A machine is planned before it is requested, so that requesting it twice is safe. */
const ensureCluster = (cluster: Cluster): readonly Task[] => {
  const missing = ensure(cluster, null, {});
  if (missing.length > 0) return missing;
  if (cluster.balancer === null)
    return [task({ type: 'EnsureLoadBalancer', reason: 'its address is needed for certificates and kubeconfigs' })];
  return cluster.rebalance ? [task({ type: 'EnsureLoadBalancer', reason: 'a control plane has a new address' })] : [];
};

/** Failed machines are deleted first: most providers never make one of them run. */
const makeAgain = (cluster: Cluster, { requestId, refusal = '' }: NodesRequest): readonly Task[] =>
  missingOf(cluster, batchOfRequest(requestId)).length === 0
    ? []
    : [task({ type: 'MakeMachinesAgain', about: requestId, reason: `it failed: ${refusal}`, data: { requestId } })];

const ensureRequest = (cluster: Cluster, request: NodesRequest): readonly Task[] => {
  const { requestId, machines, failed, replaces } = request;
  if (isWaiting(request, cluster.planned)) return [];
  const data = { requestId };
  if (isReconsidered(request))
    return [task({ type: 'ReconsiderNodes', about: requestId, reason: `it was refused: ${request.refusal}`, data })];
  if (isMadeAgain(request)) return makeAgain(cluster, request);
  if (failed) return [];
  if (machines.length > 0) return ensure(cluster, batchOfRequest(requestId), data);
  if (awaitsBootstrapData(cluster, poolsOf(request))) return [];
  return [
    task({
      type: 'PlanNodes',
      about: requestId,
      reason: replaces === undefined ? 'more nodes were requested' : `${replaces.machine.name} is to be replaced`,
      data,
    }),
  ];
};

const ensureSurge = (cluster: Cluster, { upgradeId, pool }: DesiredSurge): readonly Task[] => {
  const surge = { upgradeId, pool };
  const about = surgeKey(surge);
  const lacks = surgeLacks(cluster.planned, cluster.surges, surge);
  const isPossible = likeOf(cluster.planned, pool) !== undefined;
  const reason = `the upgrade needs ${lacks} more in ${pool}`;
  return [
    ...(lacks > 0 && isPossible ? [task({ type: 'PlanSurge', about, reason, data: { surge } })] : []),
    ...ensure(cluster, about, { surge }),
  ];
};

/** The time of a retry is part of the key, so that a retry asks the provider again. */
const balance = (cluster: Cluster): readonly Task[] => {
  if (!isBalancedWrong(cluster)) return [];
  const reason = 'control planes came or leave';
  return [task({ type: 'UpdateLoadBalancer', about: cluster.desiredSince, reason, data: { balancing: true } })];
};

const isDue = ({ beginsAt }: Deletion, now: string): boolean => Date.parse(beginsAt) <= Date.parse(now);

const again = ({ failures }: Deletion): string => (failures === 0 ? '' : `; deleting failed ${failures} times`);

const deletionsOf = ({ deletions, announced }: Cluster, now: string): readonly Task[] =>
  Object.entries(deletions)
    .filter(([, deletion]) => isDue(deletion, now))
    .map(([name, deletion]) => {
      const why =
        announced[name] === true ? 'its node has left the cluster' : 'it was given up before it was announced';
      const data = { node: name as NodeName };
      return task({ type: 'DeleteMachine', about: name, reason: `${why}${again(deletion)}`, data });
    });

/** An end that was denied is asked for again; until then, the reservation keeps the end that it has. */
const askableEnd = (
  { declared, reservations = {} }: Cluster,
  { connection, endsAt, now }: { readonly connection: string; readonly endsAt: string; readonly now: string },
): string => {
  const denial = declared?.denied?.[connection];
  const isDenied = denial?.endsAt === endsAt && askedAgainAt(denial) > now;
  return isDenied ? (reservations[connection]?.endsAt ?? endsAt) : endsAt;
};

/** A reservation is made before any machine is, and its end is moved whenever another one is declared. */
const reserve = (cluster: Cluster, now: string): readonly Task[] => {
  const lease = leaseOfCluster(cluster);
  if (lease === undefined) return [];
  return Object.entries(cluster.reservations ?? {}).flatMap(([name, reservation]) => {
    if (reservation.isDenied === true) return [];
    const connection = name as ConnectionName;
    const endsAt = askableEnd(cluster, { connection, endsAt: lease.endsAt, now });
    const data = { reservation: { connection, endsAt } };
    if (reservation.endsAt !== endsAt) {
      const reason = `machines of ${connection} are to be reserved until ${endsAt}`;
      return [task({ type: 'EnsureReservation', about: `${connection}/${endsAt}`, reason, data })];
    }
    if (reservation.sizes !== undefined || !isStarted(cluster, now)) return [];
    const reason = `the reservation on ${connection} has to begin`;
    return [task({ type: 'AwaitReservation', about: connection, reason, data })];
  });
};

/** The end of an active reservation is changed even if its cluster has failed. */
const extend = (cluster: Cluster, now: string): readonly Task[] =>
  inactiveOf(cluster).length > 0 ? [] : reserve(cluster, now);

/** An active reservation has begun, whatever this process's clock shows. */
const isAwaiting = (cluster: Cluster, now: string): boolean =>
  Object.keys(cluster.reservations ?? {}).length === 0 ? !isStarted(cluster, now) : inactiveOf(cluster).length > 0;

/** No machine is requested before the realm and the client for its users are known. */
const awaitsIdentity = ({ declared, identity = NO_IDENTITY }: Cluster): boolean =>
  isIdentityAwaited(identity, realmSelectionOf(declared?.spec.authentication?.oidc));

/** No machine is requested before the name of the API is reserved. */
const awaitsName = ({ declared, publication = NO_PUBLICATION }: Cluster): boolean =>
  isNameAwaited(publication, isPublished(declared?.spec));

/** No machine of a pool is requested before the data exist with which it joins. */
const awaitsBootstrapData = ({ declared }: Cluster, pools: ReadonlySet<string> | 'all'): boolean =>
  declared !== undefined &&
  declared.spec.pools.some(
    (pool) =>
      (pools === 'all' || pools.has(pool.name)) &&
      needsBootstrapData(pool) &&
      declared.bootstrapped?.[pool.name] === undefined,
  );

/** Pools for which a request creates machines. */
const poolsOf = ({ workers, replaces }: NodesRequest): ReadonlySet<string> =>
  new Set([...workers.flatMap(({ pool }) => pool ?? []), ...(replaces === undefined ? [] : [replaces.machine.pool])]);

const creationsOf = (cluster: Cluster, now: string): readonly Task[] => {
  if (cluster.planned.length === 0 && isHeld(cluster.hooks, { point: 'BeforeCreate' })) return [];
  const reservations = reserve(cluster, now);
  if (cluster.planned.length > 0) return [...reservations, ...machinesOf(cluster)];
  if (reservations.length > 0 || isAwaiting(cluster, now) || awaitsIdentity(cluster)) return reservations;
  if (awaitsName(cluster) || awaitsBootstrapData(cluster, 'all')) return reservations;
  return [task({ type: 'PlanMachines', reason: 'the cluster was accepted' })];
};

const machinesOf = (cluster: Cluster): readonly Task[] => [
  ...ensureCluster(cluster),
  ...balance(cluster),
  ...cluster.additions.requests.flatMap((request) => ensureRequest(cluster, request)),
  ...Object.values(cluster.surges.desired).flatMap((surge) => ensureSurge(cluster, surge)),
];

/**
 * The complete order of tasks. Tasks with the same lock are sequential, so a deletion never overlaps the creation of
 * the same machine. Between the request for the cluster's deletion and its dismantling nothing is done, because its
 * nodes still run.
 */
const orderOf = (state: PresentMachines, now: string): readonly Task[] => {
  switch (state.status) {
    case 'rejected':
      return [];
    case 'requested':
      return [task({ type: 'ValidateCluster', reason: 'the cluster was requested' })];
    case 'desired':
      return [...creationsOf(state.cluster, now), ...deletionsOf(state.cluster, now)];
    case 'failed':
      return [...extend(state.cluster, now), ...balance(state.cluster), ...deletionsOf(state.cluster, now)];
    case 'leaving': {
      const { deletion } = state;
      if (deletion === null || !isDue(deletion, now)) return [];
      return [task({ type: 'DeleteCluster', reason: `the cluster is dismantled${again(deletion)}` })];
    }
  }
};

/** The tasks of a cluster that are due now. */
export const tasksOf = (state: Machines, now: string): readonly Task[] =>
  state.status === 'absent' ? [] : orderOf(state, now).map(withGroups(state.cluster)).map(withLocks(state.cluster));

const deletionsIn = (state: Machines): readonly Deletion[] => {
  if (state.status === 'absent') return [];
  if (state.status !== 'leaving') return Object.values(state.cluster.deletions);
  return state.deletion === null ? [] : [state.deletion];
};

/** Only for a cluster whose machines are not planned yet. */
const startIn = (state: Machines): string | null =>
  state.status === 'desired' && state.cluster.planned.length === 0 ? startOf(state.cluster) : null;

/** When the next deletion that failed is due again, the lease begins, or a new node becomes available. */
/** When denied ends of leases are asked for again. */
const askedAgainIn = (state: Machines, now: string): readonly string[] =>
  state.status === 'desired'
    ? Object.values(state.cluster.declared?.denied ?? {})
        .map(askedAgainAt)
        .filter((at) => at > now)
    : [];

export const nextMomentAt = (state: Machines, now: string): string | null => {
  const startsAt = startIn(state);
  const due = [
    ...deletionsIn(state)
      .filter((deletion) => !isDue(deletion, now))
      .map(({ beginsAt }) => Date.parse(beginsAt)),
    ...(startsAt !== null && startsAt > now ? [Date.parse(startsAt)] : []),
    ...(state.status === 'desired' ? availabilitiesOf(state.cluster, now).map((at) => Date.parse(at)) : []),
    ...askedAgainIn(state, now).map((at) => Date.parse(at)),
  ];
  return due.length === 0 ? null : new Date(Math.min(...due)).toISOString();
};

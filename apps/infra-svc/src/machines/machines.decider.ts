import {
  isRefusal,
  type Cause,
  type ClusterUid,
  type ConnectionName,
  type EventData,
  type Fact,
  type Machine,
  type MachinePlan,
  type NodeName,
  type Refusal,
} from '@fairlead/contracts';
import { isHeld, isPublicationHeld, isPublished, NO_PUBLICATION } from '@fairlead/domain';
import { later, nothing, type Command, type Decider, type Task, type TaskFailure } from '@fairlead/event-sourcing';
import { batchOf, batchOfRequest, isMadeAgain, requestOf } from './node.requests.js';
import { ABSENT, evolve } from './machines.evolve.js';
import { likeOf } from './machines.planner.js';
import {
  isBalancedWrong,
  missingOf,
  stayingIn,
  type Cluster,
  type Deletion,
  type Machines,
  type PresentMachines,
} from './machines.state.js';
import { reasonOf } from './reasons.planner.js';
import {
  deniedReservation,
  releaseFacts,
  reservationFacts,
  startOf,
  type AskedReservation,
} from './reservations.planner.js';
import { planOfRequest, planOfSurge, type Offered } from './requests.planner.js';
import { rolloutStep } from './rollouts.planner.js';
import type { PoolRollout } from './rollouts.js';
import type { ReservationReport } from '../providers/provider.ports.js';
import { factsOfLook, type ListedCluster } from './provider.drift.js';
import { isDesiredSurge, surgeLacks, surgeRefused, type SurgeRef } from './surges.js';

/** The delay before the first retry of a deletion; it doubles with each further one. */
export const DELETION_AGAIN_FIRST_MS = 30_000;
export const DELETION_AGAIN_MAX_MS = 3_600_000;

type OfCluster<Data = unknown> = { readonly uid: ClusterUid } & Data;

/** The UID prevents that the result of a task applies to the next incarnation of the same name. */
export type MachinesCommand =
  | Command<'Accept', OfCluster<{ reserves?: readonly ConnectionName[] }>>
  | Command<'Reject', OfCluster<{ refusal: Refusal }>>
  | Command<'RejectNodes', OfCluster<{ requestId: string; refusal: Refusal }>>
  | Command<'FailNodes', OfCluster<{ requestId: string; cause: Cause }>>
  | Command<'Plan', OfCluster<{ machines: readonly MachinePlan[] }>>
  | Command<'PlanNodes', OfCluster<{ requestId: string; offered: Offered }>>
  | Command<'PlanSurge', OfCluster<SurgeRef & { count: number; offered: Offered }>>
  | Command<'FailSurge', OfCluster<SurgeRef & { cause: Cause }>>
  | Command<'RecordMachine', OfCluster<{ machine: Machine }>>
  | Command<'RecordLoadBalancer', OfCluster<Omit<EventData<'LoadBalancerReady'>, 'uid'>>>
  | Command<'RecordLook', OfCluster<ListedCluster>>
  | Command<'RequestSshKeyReplacement', OfCluster<Omit<EventData<'SshKeyReplacementRequested'>, 'uid'>>>
  | Command<'RecordTargets', OfCluster<{ targets: readonly NodeName[] }>>
  | Command<'RecordReservation', OfCluster<AskedReservation & { report: ReservationReport }>>
  | Command<'RecordRemoval', OfCluster<{ name: NodeName }>>
  | Command<'RecordDeletion', OfCluster<{ gone: readonly NodeName[]; nothingLeft: boolean }>>;

export type MachinesFact = Fact<
  | 'ClusterAccepted'
  | 'ReservationConfirmed'
  | 'ReservationActivated'
  | 'ReservationDenied'
  | 'ReservationReleased'
  | 'ClusterRejected'
  | 'NodesRejected'
  | 'SurgeFailed'
  | 'NodeReplacementPlanned'
  | 'PoolRolloutCompleted'
  | 'PoolRolloutFailed'
  | 'VmsFailed'
  | 'VmDeletionFailed'
  | 'VmsPlanned'
  | 'VmCreated'
  | 'VmsCreated'
  | 'VmGone'
  | 'VmsMissing'
  | 'VmReturned'
  | 'VmStopped'
  | 'VmStarted'
  | 'VmAddressChanged'
  | 'VmPowerManaged'
  | 'LoadBalancerReady'
  | 'LoadBalancerUpdated'
  | 'InfrastructureStepFailed'
  | 'InfrastructureFailed'
  | 'LoadBalancerDeleted'
  | 'VmDeleted'
  | 'SshKeyReplacementRequested'
  | 'InfrastructureDeleted'
  | 'ClusterDeleted'
>;

/** The subject of a task besides its cluster: none, a request for more nodes, a surge, or one machine. */
export interface TaskData {
  readonly [key: string]: unknown;
  readonly requestId?: string;
  readonly surge?: SurgeRef;
  readonly node?: NodeName;
  /** The targets of the load balancer are updated to the control planes. */
  readonly balancing?: true;
  /** The reservation to create or change. */
  readonly reservation?: AskedReservation;
}

const rejection = ({ code, message, field }: Refusal) =>
  field === undefined ? { code, message } : { code, message, field };

const plan = (
  { status, cluster }: PresentMachines,
  { uid, machines }: Extract<MachinesCommand, { type: 'Plan' }>['data'],
): readonly MachinesFact[] => {
  if (status !== 'desired' || machines.length === 0 || cluster.planned.length > 0) return nothing;
  return [{ type: 'VmsPlanned', data: { uid, machines: [...machines] } }];
};

/** Names are given here, so that requests are planned independently of each other and no name is given twice. */
const planNodes = (
  state: PresentMachines,
  { uid, requestId, offered }: Extract<MachinesCommand, { type: 'PlanNodes' }>['data'],
): readonly MachinesFact[] => {
  const { status, cluster } = state;
  const request = requestOf(cluster.additions, requestId);
  if (status !== 'desired' || request?.machines.length !== 0) return nothing;
  const machines = planOfRequest(cluster, request, offered);
  if (isRefusal(machines)) return rejectNodes(state, requestId, machines);
  return machines.length === 0 ? nothing : [{ type: 'VmsPlanned', data: { uid, machines: [...machines], requestId } }];
};

/** Never more than desired: the surge may have changed since they were planned. */
const planSurge = (
  state: PresentMachines,
  { uid, count, offered, upgradeId, pool }: Extract<MachinesCommand, { type: 'PlanSurge' }>['data'],
): readonly MachinesFact[] => {
  const { status, cluster } = state;
  const lacks = surgeLacks(cluster.planned, cluster.surges, { upgradeId, pool });
  if (status !== 'desired' || count === 0 || count > lacks) return nothing;
  const machines = planOfSurge(cluster, { upgradeId, pool, count }, offered);
  if (isRefusal(machines))
    return failSurge(state, { upgradeId, pool }, surgeRefused({ upgradeId, pool }, machines.message));
  return machines.length === 0 ? nothing : [{ type: 'VmsPlanned', data: { uid, machines: [...machines] } }];
};

const failSurge = (
  { status, cluster }: PresentMachines,
  { upgradeId, pool }: SurgeRef,
  cause: Cause,
): readonly MachinesFact[] => {
  if (status === 'leaving' || !isDesiredSurge(cluster.surges, { upgradeId, pool })) return nothing;
  return [{ type: 'SurgeFailed', data: { uid: cluster.uid, upgradeId, pool, cause } }];
};

/** Announces the machines of a batch together once all of them run. */
const announcement = (cluster: Cluster, batch: string | null): readonly MachinesFact[] => {
  const isFailed = cluster.additions.requests.some(
    (request) => request.failed && !isMadeAgain(request) && batchOfRequest(request.requestId) === batch,
  );
  if (isFailed || missingOf(cluster, batch).length > 0) return nothing;
  const fresh = stayingIn(cluster, batch).filter(({ name }) => cluster.announced[name] === undefined);
  const running = fresh.flatMap(({ name }) => cluster.created[name] ?? []);
  return running.length === 0 ? nothing : [{ type: 'VmsCreated', data: { uid: cluster.uid, machines: running } }];
};

/** A machine that responds is recorded even if its cluster has failed in the meantime. */
const recordMachine = ({ status, cluster }: PresentMachines, machine: Machine): readonly MachinesFact[] => {
  if (status === 'leaving' || cluster.created[machine.name] !== undefined) return nothing;
  const plan = cluster.planned.find(({ name }) => name === machine.name);
  const isTaken = Object.values(cluster.created).some(({ providerId }) => providerId === machine.providerId);
  if (plan === undefined || isTaken) return nothing;
  const created = { ...cluster.created, [machine.name]: machine };
  const made: MachinesFact = { type: 'VmCreated', data: { uid: cluster.uid, machine } };
  return [made, ...announcement({ ...cluster, created }, batchOf(cluster.additions, plan))];
};

/** Once per key: hosts that appear later with the former key are included. */
const requestReplacement = (
  { status, cluster }: PresentMachines,
  data: EventData<'SshKeyReplacementRequested'>,
): readonly MachinesFact[] => {
  if (status === 'leaving' || cluster.replacements?.[data.connection] === data.keyRef) return nothing;
  return [{ type: 'SshKeyReplacementRequested', data }];
};

const recordRemoval = (state: PresentMachines, name: NodeName): readonly MachinesFact[] => {
  const { cluster } = state;
  const plan = cluster.planned.find((machine) => machine.name === name);
  if (plan === undefined) return nothing;
  const left = { ...cluster, planned: cluster.planned.filter((machine) => machine !== plan) };
  const batch = batchOf(cluster.additions, plan);
  return [{ type: 'VmDeleted', data: { uid: cluster.uid, name } }, ...announcement(left, batch)];
};

const recordDeletion = (
  { status, cluster }: PresentMachines,
  { uid, gone, nothingLeft }: Extract<MachinesCommand, { type: 'RecordDeletion' }>['data'],
): readonly MachinesFact[] => {
  if (status !== 'leaving') return nothing;
  const balancer: readonly MachinesFact[] =
    cluster.balancer !== null ? [{ type: 'LoadBalancerDeleted', data: { uid } }] : [];
  const machines = cluster.planned
    .filter(({ name }) => nothingLeft || gone.includes(name))
    .map(({ name }): MachinesFact => ({ type: 'VmDeleted', data: { uid, name } }));
  const end: MachinesFact = { type: isEndHeld(cluster) ? 'InfrastructureDeleted' : 'ClusterDeleted', data: { uid } };
  return [...balancer, ...machines, ...(nothingLeft ? [...releaseFacts(cluster), end] : [])];
};

/** By hooks, or by what the cluster still has at identity providers or at the tunnel. */
const isEndHeld = ({ hooks, identity, declared, publication = NO_PUBLICATION }: Cluster): boolean =>
  isHeld(hooks, { point: 'AfterClusterDelete' }) ||
  Object.keys(identity?.held ?? {}).length > 0 ||
  isPublicationHeld(publication, isPublished(declared?.spec));

/** Ends the deletion once nothing blocks it. */
export const endDeletion = (state: Machines): readonly MachinesFact[] =>
  state.status === 'leaving' && state.emptied === true && !isEndHeld(state.cluster)
    ? [{ type: 'ClusterDeleted', data: { uid: state.cluster.uid } }]
    : nothing;

/** If the old node is already gone, its vacancy remains open for a retry. */
const rejectNodes = (state: PresentMachines, requestId: string, refusal: Refusal): readonly MachinesFact[] => {
  const { status, cluster } = state;
  const request = requestOf(cluster.additions, requestId);
  if (status !== 'desired' || request === undefined) return nothing;
  if (request.replaces?.order === 'remove-first') {
    const target = request.replaces.machine.pool;
    return failRequest(state, requestId, { operation: 'validate the request', target, message: refusal.message });
  }
  return [{ type: 'NodesRejected', data: { uid: cluster.uid, requestId, ...rejection(refusal) } }];
};

/** Nothing is requested from a provider before the conditions that the cluster waits for. */
const accepted = (cluster: Cluster, reserves: readonly ConnectionName[] = []): MachinesFact => {
  const startsAt = startOf(cluster);
  const waits = reserves.length === 0 && startsAt === null ? {} : { waits: { reserves: [...reserves], startsAt } };
  return { type: 'ClusterAccepted', data: { uid: cluster.uid, ...waits } };
};

const decide = (state: Machines, command: MachinesCommand): readonly MachinesFact[] => {
  const { uid } = command.data;
  if (state.status === 'absent' || state.cluster.uid !== uid) return nothing;
  const { status, cluster } = state;
  switch (command.type) {
    case 'Accept':
      return status === 'requested' ? [accepted(cluster, command.data.reserves)] : nothing;
    case 'Reject':
      if (status !== 'requested') return nothing;
      return [{ type: 'ClusterRejected', data: { uid, ...rejection(command.data.refusal) } }];
    case 'RejectNodes':
      return rejectNodes(state, command.data.requestId, command.data.refusal);
    case 'FailNodes':
      return status === 'desired' ? failRequest(state, command.data.requestId, command.data.cause) : nothing;
    case 'Plan':
      return plan(state, command.data);
    case 'PlanNodes':
      return planNodes(state, command.data);
    case 'PlanSurge':
      return planSurge(state, command.data);
    case 'FailSurge':
      return failSurge(state, command.data, command.data.cause);
    case 'RecordMachine':
      return recordMachine(state, command.data.machine);
    case 'RecordLoadBalancer': {
      if ((cluster.balancer !== null && !cluster.rebalance) || status === 'leaving') return nothing;
      return [{ type: 'LoadBalancerReady', data: command.data }];
    }
    case 'RecordLook':
      return status === 'desired' || status === 'failed' ? factsOfLook(cluster, command.data) : nothing;
    case 'RequestSshKeyReplacement':
      return requestReplacement(state, command.data);
    case 'RecordReservation':
      return status === 'leaving' ? nothing : reservationFacts(cluster, command.data, command.data.report);
    case 'RecordTargets':
      if (!isBalancedWrong(cluster) || status === 'leaving') return nothing;
      return [{ type: 'LoadBalancerUpdated', data: { uid, targets: [...command.data.targets] } }];
    case 'RecordRemoval':
      return recordRemoval(state, command.data.name);
    case 'RecordDeletion':
      return recordDeletion(state, command.data);
  }
};

/** The machines of a cluster: existing ones, ones to create, and ones to delete. */
export const machines: Decider<Machines, MachinesCommand, MachinesFact> = {
  initial: ABSENT,
  reads: 'cluster',
  decide,
  evolve,
};

/** Announces requests whose machines all run, although none of them was recorded last: a retry cleared a failure. */
export const announceRequests = (state: Machines): readonly MachinesFact[] => {
  if (state.status !== 'desired') return nothing;
  const { cluster } = state;
  return cluster.additions.requests
    .filter(({ machines }) => machines.length > 0)
    .flatMap(({ requestId }) => announcement(cluster, batchOfRequest(requestId)));
};

/** Fails surges that cannot be created regardless of a provider's response. */
export const failSurges = (state: Machines): readonly MachinesFact[] => {
  if (state.status === 'absent' || state.status === 'leaving') return nothing;
  const { status, cluster } = state;
  const lacking = Object.values(cluster.surges.desired).filter(
    (surge) => surgeLacks(cluster.planned, cluster.surges, surge) > 0,
  );
  return lacking.flatMap((surge) => {
    if (status !== 'desired')
      return failSurge(state, surge, surgeRefused(surge, 'the machines of the cluster are not in order'));
    if (likeOf(cluster.planned, surge.pool) !== undefined) return nothing;
    return failSurge(state, surge, surgeRefused(surge, 'the pool has no machine that they could be like'));
  });
};

const factsOfRollout = (cluster: Cluster, pool: string, rollout: PoolRollout, now: string): readonly MachinesFact[] => {
  const { uid } = cluster;
  const { requestId, begun, cause } = rollout;
  const step = rolloutStep(cluster, pool, rollout, now);
  switch (step.kind) {
    case 'wait':
      return nothing;
    case 'fail':
      return cause === null ? nothing : [{ type: 'PoolRolloutFailed', data: { uid, requestId, pool, cause } }];
    case 'complete':
      return [{ type: 'PoolRolloutCompleted', data: { uid, requestId, pool, heldBack: [...step.heldBack] } }];
    case 'replace':
      return step.next.map(({ name, order, reason }, at) => ({
        type: 'NodeReplacementPlanned',
        data: { uid, requestId: `${requestId}-${begun + at + 1}`, rollout: requestId, pool, node: name, order, reason },
      }));
  }
};

/** The next facts of the rollouts of pools. */
export const advanceRollouts = (state: Machines, now: string): readonly MachinesFact[] =>
  state.status === 'desired'
    ? Object.entries(state.cluster.rollouts.pools).flatMap(([pool, rollout]) =>
        factsOfRollout(state.cluster, pool, rollout, now),
      )
    : nothing;

/** A request that cannot be met fails alone: the cluster and its other requests are not affected. */
const failRequest = ({ cluster }: PresentMachines, requestId: string, cause: Cause): readonly MachinesFact[] => {
  const request = requestOf(cluster.additions, requestId);
  if (request === undefined) return nothing;
  const { machines, onFailure, failed: hasFailed, refusal } = request;
  // A retried failure is stated again only if its reason differs.
  if (hasFailed && (refusal === undefined || refusal === cause.message)) return nothing;
  const reason = reasonOf(cause.operation);
  return [
    { type: 'VmsFailed', data: { uid: cluster.uid, requestId, machines: [...machines], onFailure, reason, cause } },
  ];
};

/** Every requested deletion is completed eventually: refused ones are retried with increasing backoff. */
const failDeletion = (
  { uid }: Cluster,
  { failures }: Deletion,
  machines: readonly NodeName[],
  { cause, now }: Pick<TaskFailure, 'cause' | 'now'>,
): readonly MachinesFact[] => {
  const attempt = failures + 1;
  const waitMs = Math.min(DELETION_AGAIN_FIRST_MS * 2 ** failures, DELETION_AGAIN_MAX_MS);
  const reason = reasonOf('delete machines');
  const data = { uid, machines: [...machines], reason, cause, attempt, nextAttemptAt: later(now, waitMs) };
  return [{ type: 'VmDeletionFailed', data }];
};

/** The facts of a task's last failed attempt. */
const failed = (
  state: PresentMachines,
  { requestId, surge, node, balancing, reservation }: TaskData,
  failure: TaskFailure,
) => {
  const { cluster } = state;
  const { cause } = failure;
  if (state.status === 'leaving') {
    const names = cluster.planned.map(({ name }) => name);
    return state.deletion === null ? nothing : failDeletion(cluster, state.deletion, names, failure);
  }
  if (node !== undefined) {
    const deletion = cluster.deletions[node];
    return deletion === undefined ? nothing : failDeletion(cluster, deletion, [node], failure);
  }
  // The cluster continues with its current targets; a retry updates them.
  if (balancing === true) return nothing;
  if (reservation !== undefined) return deniedReservation(cluster, reservation, cause);
  if (requestId !== undefined) return failRequest(state, requestId, cause);
  if (surge !== undefined) return failSurge(state, surge, cause);
  const data = { uid: cluster.uid, step: cause.operation, reason: reasonOf(cause.operation), cause };
  return [{ type: 'InfrastructureFailed', data } satisfies MachinesFact];
};

/** The facts of a failed attempt at a task. */
export const failTask = (
  state: Machines,
  { data }: Pick<Task, 'data'>,
  failure: TaskFailure,
): readonly MachinesFact[] => {
  if (state.status === 'absent') return nothing;
  const { cause, attempt, attemptsMax, nextAttemptAt } = failure;
  const { uid } = state.cluster;
  const step: MachinesFact = {
    type: 'InfrastructureStepFailed',
    data: { uid, step: cause.operation, cause, attempt, attemptsMax, nextAttemptAt },
  };
  return nextAttemptAt === null ? [step, ...failed(state, data as TaskData, failure)] : [step];
};

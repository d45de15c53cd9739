import type {
  Cause,
  ClusterSpec,
  ClusterUid,
  EventData,
  Fact,
  Machine,
  MachinePlan,
  NodeName,
  Refusal,
  StoredEvent,
} from '@fairlead/contracts';
import { later, nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import {
  batchOf,
  batchOfRequest,
  NO_ADDITIONS,
  requestOf,
  withAbandoned,
  withAnnounced,
  withFailed,
  withoutMachine,
  withoutRequest,
  withPlannedRequest,
  withRemovalDesired,
  withRequest,
  withRetry,
  type Additions,
} from './additions.js';
import {
  isDesiredSurge,
  NO_SURGES,
  surgeLacks,
  withoutSurge,
  withPlannedSurge,
  withSurge,
  type SurgeRef,
  type Surges,
} from './surges.js';

/** The first deletion after one that failed; each further one waits twice as long as the one before. */
export const DELETION_AGAIN_FIRST_MS = 30_000;
export const DELETION_AGAIN_MAX_MS = 3_600_000;

/** What infra-svc holds of one incarnation of a cluster. */
export interface Held {
  readonly uid: ClusterUid;
  readonly spec: ClusterSpec;
  /** Machines that are named and not deleted. */
  readonly planned: readonly MachinePlan[];
  /** Those of them that run, by name. */
  readonly created: Readonly<Record<string, Machine>>;
  /** Names that a VmsCreated has told the other services. */
  readonly announced: readonly string[];
  readonly additions: Additions;
  readonly surges: Surges;
  readonly balanced: boolean;
  /** An index is never used twice, so that a name never means another machine. */
  readonly workersEver: number;
  readonly poolsEver: number;
  /** When the machines were last desired again (RFC 3339): a provider's deadline counts from here. */
  readonly desiredSince: string;
  /** Someone asked for another try, so machines that failed are to be made again. */
  readonly remake: boolean;
  /** How often the deletion of a machine has failed; of all that is left, under the empty name. */
  readonly undeleted: Readonly<Record<string, number>>;
}

export type Machines =
  | { readonly status: 'absent' }
  | { readonly status: 'requested'; readonly held: Held }
  | { readonly status: 'rejected'; readonly held: Held }
  | { readonly status: 'desired'; readonly held: Held }
  /** `resumesAs`: where a retry takes it up again. */
  | { readonly status: 'failed'; readonly held: Held; readonly resumesAs: 'requested' | 'desired' }
  | { readonly status: 'leaving'; readonly held: Held; readonly dismantled: boolean };

export interface StepFailure {
  readonly step: string;
  readonly cause: Cause;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly nextAttemptAt: string | null;
  /** CB-Ladybug's reason code, for the last attempt. */
  readonly reason: string;
  /** The step is part of a deletion: only a cluster that is leaving can fail at it, and no other can. */
  readonly deleting: boolean;
  /** The step is about extra machines: without them the cluster is as it was, so it never fails. */
  readonly surge?: SurgeRef;
  /** The step is about machines of this request: without them the cluster is as it was, too. */
  readonly requestId?: string;
  /** The step deletes machines, and failed for good at `at` (RFC 3339). */
  readonly deletion?: { readonly machines: readonly NodeName[]; readonly at: string };
}

type About<Data = unknown> = { readonly uid: ClusterUid } & Data;

export type MachinesCommand =
  | Command<'Look', About>
  | Command<'Accept', About>
  | Command<'Reject', About<{ refusal: Refusal }>>
  | Command<'RejectNodes', About<{ requestId: string; refusal: Refusal }>>
  | Command<'Plan', About<{ machines: readonly MachinePlan[]; requestId: string | undefined }>>
  | Command<'PlanSurge', About<SurgeRef & { machines: readonly MachinePlan[] }>>
  | Command<'FailSurge', About<SurgeRef & { cause: Cause }>>
  | Command<'RecordMachine', About<{ machine: Machine }>>
  | Command<'Announce', About<{ requestId: string }>>
  | Command<'RecordLoadBalancer', About<Omit<EventData<'LoadBalancerReady'>, 'uid'>>>
  | Command<'RecordFailure', About<{ failure: StepFailure }>>
  | Command<'RecordRemoval', About<{ name: NodeName }>>
  | Command<'RecordDeletion', About<{ gone: readonly NodeName[]; nothingLeft: boolean }>>;

export type MachinesFact = Fact<
  | 'ClusterAccepted'
  | 'ClusterRejected'
  | 'NodesRejected'
  | 'SurgeFailed'
  | 'VmsFailed'
  | 'VmDeletionFailed'
  | 'VmsPlanned'
  | 'VmCreated'
  | 'VmsCreated'
  | 'LoadBalancerReady'
  | 'InfrastructureStepFailed'
  | 'InfrastructureFailed'
  | 'LoadBalancerDeleted'
  | 'VmDeleted'
  | 'ClusterDeleted'
>;

type Present = Exclude<Machines, { status: 'absent' }>;

const rejection = ({ code, message, field }: Refusal) =>
  field === undefined ? { code, message } : { code, message, field };

const isGivenUp = ({ surges, additions }: Held, name: NodeName): boolean =>
  surges.leaving.includes(name) || additions.leaving.includes(name);

/** Machines that are given up and that no one was told of: no node has to leave before them. */
export const unannouncedOf = (held: Held): readonly MachinePlan[] =>
  held.planned.filter(({ name }) => isGivenUp(held, name) && !held.announced.includes(name));

/** Machines of a batch that are to stay. */
const stayingIn = (held: Held, batch: string | null): readonly MachinePlan[] =>
  held.planned.filter((plan) => batchOf(held.additions, plan) === batch && !isGivenUp(held, plan.name));

/** The machines that still have to be made: of the cluster itself, of one request for more, or of one surge. */
export const missingOf = (held: Held, batch: string | null = null): readonly MachinePlan[] =>
  stayingIn(held, batch).filter(({ name }) => held.created[name] === undefined);

const plan = (
  state: Present,
  { uid, machines, requestId }: Extract<MachinesCommand, { type: 'Plan' }>['data'],
): readonly MachinesFact[] => {
  if (state.status !== 'desired' || machines.length === 0) return nothing;
  if (requestId === undefined) {
    return state.held.planned.length > 0 ? nothing : [{ type: 'VmsPlanned', data: { uid, machines: [...machines] } }];
  }
  if (requestOf(state.held.additions, requestId)?.machines.length !== 0) return nothing;
  return [{ type: 'VmsPlanned', data: { uid, machines: [...machines], requestId } }];
};

/** Never more than are desired: two jobs may have planned at a time. */
const planSurge = (
  { status, held }: Present,
  { uid, machines, upgradeId, pool }: Extract<MachinesCommand, { type: 'PlanSurge' }>['data'],
): readonly MachinesFact[] => {
  const fits = machines.length > 0 && machines.length <= surgeLacks(held.planned, held.surges, { upgradeId, pool });
  return status === 'desired' && fits ? [{ type: 'VmsPlanned', data: { uid, machines: [...machines] } }] : nothing;
};

const failSurge = (
  { status, held }: Present,
  { uid, cause, upgradeId, pool }: Extract<MachinesCommand, { type: 'FailSurge' }>['data'],
): readonly MachinesFact[] => {
  if (status === 'leaving' || !isDesiredSurge(held.surges, { upgradeId, pool })) return nothing;
  return [{ type: 'SurgeFailed', data: { uid, upgradeId, pool, cause } }];
};

/** Once nothing is missing of what was asked for together, the machines that no one was told of are announced together. */
const announcement = (held: Held, batch: string | null): readonly MachinesFact[] => {
  const isFailed = held.additions.requests.some(
    ({ requestId, failed }) => failed && batchOfRequest(requestId) === batch,
  );
  if (isFailed || missingOf(held, batch).length > 0) return nothing;
  const news = stayingIn(held, batch).filter(({ name }) => !held.announced.includes(name));
  const running = news.flatMap(({ name }) => held.created[name] ?? []);
  return running.length === 0 ? nothing : [{ type: 'VmsCreated', data: { uid: held.uid, machines: running } }];
};

/** A machine that answers is a fact also when its cluster has failed meanwhile. */
const recordMachine = ({ status, held }: Present, machine: Machine): readonly MachinesFact[] => {
  if (status === 'leaving' || held.created[machine.name] !== undefined) return nothing;
  const plan = held.planned.find(({ name }) => name === machine.name);
  if (plan === undefined) return nothing;
  const created = { ...held.created, [machine.name]: machine };
  const made: MachinesFact = { type: 'VmCreated', data: { uid: held.uid, machine } };
  return [made, ...announcement({ ...held, created }, batchOf(held.additions, plan))];
};

const recordRemoval = ({ held }: Present, name: NodeName): readonly MachinesFact[] => {
  const plan = held.planned.find((machine) => machine.name === name);
  if (plan === undefined) return nothing;
  const batch = batchOf(held.additions, plan);
  return [{ type: 'VmDeleted', data: { uid: held.uid, name } }, ...announcement(without(held, name), batch)];
};

/** A request that cannot be carried out ends by itself: the cluster, and every other request, is as it was. */
const failRequest = ({ held: { uid, additions } }: Present, { requestId, reason, cause }: StepFailure) => {
  const request = requestId === undefined ? undefined : requestOf(additions, requestId);
  if (request === undefined || request.failed) return nothing;
  const { machines, onFailure } = request;
  const data = { uid, requestId: request.requestId, machines: [...machines], onFailure, reason, cause };
  return [{ type: 'VmsFailed', data } satisfies MachinesFact];
};

/** Every deletion that is asked for is carried out some day: what a provider refuses now it is asked again, less and less often. */
const failDeletion = (
  { uid, undeleted, planned }: Held,
  { reason, cause, deleting }: StepFailure,
  { machines: names, at }: NonNullable<StepFailure['deletion']>,
): readonly MachinesFact[] => {
  const machines = deleting
    ? planned.map(({ name }) => name)
    : names.filter((name) => planned.some((plan) => plan.name === name));
  if (!deleting && machines.length === 0) return nothing;
  const keys = deleting ? [''] : machines;
  const attempt = Math.max(...keys.map((key) => undeleted[key] ?? 0)) + 1;
  const waitMs = Math.min(DELETION_AGAIN_FIRST_MS * 2 ** (attempt - 1), DELETION_AGAIN_MAX_MS);
  const data = { uid, machines, reason, cause, attempt, nextAttemptAt: later(at, waitMs) };
  return [{ type: 'VmDeletionFailed', data }];
};

const isMade = (held: Held): boolean => held.balanced && held.planned.length > 0 && missingOf(held).length === 0;

const recordFailure = (state: Present, failure: StepFailure): readonly MachinesFact[] => {
  const { uid } = state.held;
  const { step, cause, attempt, attemptsMax, nextAttemptAt, reason, deletion } = failure;
  const isBuilding = state.status === 'requested' || state.status === 'desired';
  const isDeletion = failure.deleting || deletion !== undefined;
  const isConcerned = isDeletion ? failure.deleting === (state.status === 'leaving') : isBuilding;
  if (!isConcerned) return nothing;
  const stepFailed: MachinesFact = {
    type: 'InfrastructureStepFailed',
    data: { uid, step, cause, attempt, attemptsMax, nextAttemptAt },
  };
  if (nextAttemptAt !== null) return [stepFailed];
  if (deletion !== undefined) return [stepFailed, ...failDeletion(state.held, failure, deletion)];
  if (failure.requestId !== undefined) return [stepFailed, ...failRequest(state, failure)];
  if (failure.surge !== undefined) return [stepFailed, ...failSurge(state, { uid, cause, ...failure.surge })];
  // What a retry found in order already is not broken by the last attempt to look.
  if (isMade(state.held)) return [stepFailed];
  return [stepFailed, { type: 'InfrastructureFailed', data: { uid, step, reason, cause } }];
};

const recordDeletion = (
  { status, held }: Present,
  { uid, gone, nothingLeft }: Extract<MachinesCommand, { type: 'RecordDeletion' }>['data'],
): readonly MachinesFact[] => {
  if (status !== 'leaving') return nothing;
  const balancer: readonly MachinesFact[] = held.balanced ? [{ type: 'LoadBalancerDeleted', data: { uid } }] : [];
  const machines = held.planned
    .filter(({ name }) => nothingLeft || gone.includes(name))
    .map(({ name }): MachinesFact => ({ type: 'VmDeleted', data: { uid, name } }));
  const end: readonly MachinesFact[] = nothingLeft ? [{ type: 'ClusterDeleted', data: { uid } }] : [];
  return [...balancer, ...machines, ...end];
};

const decide = (state: Machines, command: MachinesCommand): readonly MachinesFact[] => {
  const { uid } = command.data;
  if (state.status === 'absent' || state.held.uid !== uid) return nothing;
  const { status, held } = state;
  switch (command.type) {
    case 'Look':
      return nothing;
    case 'Accept':
      return status === 'requested' ? [{ type: 'ClusterAccepted', data: { uid } }] : nothing;
    case 'Reject':
      if (status !== 'requested') return nothing;
      return [{ type: 'ClusterRejected', data: { uid, ...rejection(command.data.refusal) } }];
    case 'RejectNodes': {
      const { requestId, refusal } = command.data;
      if (status !== 'desired' || requestOf(held.additions, requestId) === undefined) return nothing;
      return [{ type: 'NodesRejected', data: { uid, requestId, ...rejection(refusal) } }];
    }
    case 'Plan':
      return plan(state, command.data);
    case 'PlanSurge':
      return planSurge(state, command.data);
    case 'FailSurge':
      return failSurge(state, command.data);
    case 'RecordMachine':
      return recordMachine(state, command.data.machine);
    case 'Announce':
      return status === 'desired' ? announcement(held, batchOfRequest(command.data.requestId)) : nothing;
    case 'RecordLoadBalancer': {
      if (held.balanced || status === 'leaving') return nothing;
      return [{ type: 'LoadBalancerReady', data: command.data }];
    }
    case 'RecordFailure':
      return recordFailure(state, command.data.failure);
    case 'RecordRemoval':
      return recordRemoval(state, command.data.name);
    case 'RecordDeletion':
      return recordDeletion(state, command.data);
  }
};

const fresh = ({ data, meta }: StoredEvent<'ClusterRequested'>): Machines => ({
  status: 'requested',
  held: {
    uid: data.uid,
    spec: data.spec,
    planned: [],
    created: {},
    announced: [],
    additions: NO_ADDITIONS,
    surges: NO_SURGES,
    balanced: false,
    workersEver: 0,
    poolsEver: 0,
    desiredSince: meta.time,
    remake: false,
    undeleted: {},
  },
});

const resumed = (state: Present, time: string): Machines => {
  switch (state.status) {
    case 'rejected':
      return { status: 'requested', held: { ...state.held, desiredSince: time } };
    case 'failed':
      return { status: state.resumesAs, held: { ...state.held, desiredSince: time, remake: true } };
    case 'desired': {
      const { held } = state;
      const additions = withRetry(held.additions);
      return { ...state, held: { ...held, additions, undeleted: {}, desiredSince: time, remake: true } };
    }
    case 'leaving':
      return { ...state, held: { ...state.held, undeleted: {} } };
    case 'requested':
      return state;
  }
};

const failed = (state: Present): Machines => {
  switch (state.status) {
    case 'requested':
      return { status: 'failed', held: state.held, resumesAs: 'requested' };
    case 'desired':
      return { status: 'failed', held: { ...state.held, remake: false }, resumesAs: 'desired' };
    case 'rejected':
    case 'failed':
    case 'leaving': // A deletion that failed is still a deletion.
      return state;
  }
};

const planned = (held: Held, { data, meta }: StoredEvent<'VmsPlanned'>): Held => {
  const workers = data.machines.filter(({ role }) => role === 'worker');
  const pools = new Set(workers.filter(({ surge }) => surge === undefined).map(({ pool }) => pool));
  return {
    ...held,
    planned: [...held.planned, ...data.machines],
    surges: withPlannedSurge(held.surges, data.machines),
    additions: withPlannedRequest(held.additions, data),
    workersEver: held.workersEver + workers.length,
    poolsEver: held.poolsEver + pools.size,
    desiredSince: meta.time,
  };
};

const without = (held: Held, gone: NodeName): Held => ({
  ...held,
  created: Object.fromEntries(Object.entries(held.created).filter(([name]) => name !== gone)),
  planned: held.planned.filter(({ name }) => name !== gone),
  announced: held.announced.filter((name) => name !== gone),
  surges: { ...held.surges, leaving: held.surges.leaving.filter((name) => name !== gone) },
  additions: withoutMachine(held.additions, gone),
  undeleted: Object.fromEntries(Object.entries(held.undeleted).filter(([name]) => name !== gone)),
});

const notDeleted = (held: Held, { machines, attempt }: EventData<'VmDeletionFailed'>): Held => {
  const names = ['', ...machines].map((name) => [name, attempt] as const);
  return { ...held, undeleted: { ...held.undeleted, ...Object.fromEntries(names) } };
};

/** What requests for more nodes change in what is held. */
const additionsAfter = (additions: Additions, event: StoredEvent): Additions => {
  switch (event.type) {
    case 'NodesRequested':
      return withRequest(additions, event.data);
    case 'NodesRejected':
      return withoutRequest(additions, event.data.requestId);
    case 'VmsFailed':
      return withFailed(additions, event.data);
    case 'NodesAbandoned':
      return withAbandoned(additions, event.data.requestId);
    case 'NodeRemovalRequested':
      return withRemovalDesired(additions, event.data.node);
    case 'VmsCreated':
      return withAnnounced(additions, event.data);
    default:
      return additions;
  }
};

/** What an event changes in what is held, where it is; most events change nothing. */
const heldAfter = (held: Held, event: StoredEvent): Held => {
  switch (event.type) {
    case 'VmDeletionFailed':
      return notDeleted(held, event.data);
    case 'SurgeRequested':
      return { ...held, surges: withSurge(held.surges, event.data) };
    case 'SurgeReleased':
    case 'SurgeFailed':
      return { ...held, surges: withoutSurge(held.surges, held.planned, event.data) };
    case 'VmsPlanned':
      return planned(held, event);
    case 'VmCreated':
      return { ...held, created: { ...held.created, [event.data.machine.name]: event.data.machine } };
    case 'VmsCreated':
      return { ...held, announced: [...held.announced, ...event.data.machines.map(({ name }) => name)] };
    case 'LoadBalancerReady':
      return { ...held, balanced: true };
    case 'LoadBalancerDeleted':
      return { ...held, balanced: false };
    case 'VmDeleted':
      return without(held, event.data.name);
    default:
      return held;
  }
};

/** The events of one incarnation. */
const follow = (state: Present, event: StoredEvent): Machines => {
  const { held } = state;
  switch (event.type) {
    case 'ClusterRetryRequested':
      return resumed(state, event.meta.time);
    case 'ClusterDeletionRequested':
      return { status: 'leaving', held, dismantled: false };
    case 'ClusterDismantled':
      return { status: 'leaving', held, dismantled: true };
    case 'ClusterAccepted':
      return { status: 'desired', held };
    case 'ClusterRejected':
      return { status: 'rejected', held };
    case 'InfrastructureFailed':
      return failed(state);
    case 'ClusterDeleted':
      return { status: 'absent' };
    default: {
      const additions = additionsAfter(held.additions, event);
      const after = heldAfter(additions === held.additions ? held : { ...held, additions }, event);
      return after === held ? state : { ...state, held: after };
    }
  }
};

const uidOf = (event: StoredEvent): string | undefined => ('uid' in event.data ? event.data.uid : undefined);

/**
 * The machines of a cluster. It reads what the other services say about the cluster (the request, the dismantling), and
 * treats a request after a deletion as a fresh start; events of another incarnation do not touch it.
 */
export const machines: Decider<Machines, MachinesCommand, MachinesFact> = {
  initial: { status: 'absent' },
  reads: 'cluster',
  decide,
  evolve: (state, event) => {
    if (event.type === 'ClusterRequested') return state.status === 'absent' ? fresh(event) : state;
    if (state.status === 'absent' || state.held.uid !== uidOf(event)) return state;
    return follow(state, event);
  },
};

import type { ClusterUid, EventData, MachinePlan, NodeName, StoredEvent } from '@fairlead/contracts';
import { job, later, timer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { surgeKey, type SurgeRef } from './surges.js';

/** Machines that a provider still shows so long after their deletion was due are a failure that people must see. */
export const DELETION_TIMEOUT_MS = 15 * 60_000;

/** Machines that were given back are looked for once more after this time: a provider may have made one late. */
const RETURN_AGAIN_AFTER_MS = 10 * 60_000;

const DELETE_AGAIN = 'delete-again';

/** What a retry needs to know: which work is still open. */
export interface Following {
  readonly uid: ClusterUid | null;
  readonly stage: 'validating' | 'desired' | 'leaving';
  /** Requests for more nodes that are not announced yet, with their machines; none: they are not planned. */
  readonly requests: Readonly<Record<string, readonly NodeName[]>>;
  readonly removing: readonly NodeName[];
  /** Machines whose deletion has failed. */
  readonly undeleted: readonly NodeName[];
  /** Surges that are desired. */
  readonly surges: readonly SurgeRef[];
  /** Machines of surges, and which; they are looked after until they are gone. */
  readonly extra: Readonly<Record<string, SurgeRef>>;
}

const ensureAll = ({ uid, requests, removing, undeleted, surges }: Following, time: string): readonly Reaction[] => [
  job('CreateMachines', { uid }),
  ...surges.map((surge) => job('AddSurge', { uid, ...surge })),
  ...Object.keys(requests).map((requestId) => job('AddMachines', { uid, requestId })),
  ...[...new Set([...removing, ...undeleted])].map((node) => removal(uid, node, time)),
];

/** Machines that are given up and that no one was told of. */
const returned = (uid: ClusterUid, time: string): Reaction =>
  job('ReturnMachines', { uid, deadline: later(time, DELETION_TIMEOUT_MS) });

const without = (requests: Following['requests'], gone: (requestId: string) => boolean): Following['requests'] =>
  Object.fromEntries(Object.entries(requests).filter(([requestId]) => !gone(requestId)));

const againKey = (machine: NodeName): string => `${DELETE_AGAIN}/${machine}`;

const removal = (uid: ClusterUid | null, node: NodeName, time: string): Reaction =>
  job('RemoveMachine', { uid, node, deadline: later(time, DELETION_TIMEOUT_MS) });

const deletion = (uid: ClusterUid | null, time: string): Reaction =>
  job('DeleteMachines', { uid, deadline: later(time, DELETION_TIMEOUT_MS) });

const RETURN_AGAIN = 'return-again/';

/** Now, and once more when that should have been enough: an extra machine is nobody's request, so no one would miss its deletion. */
const giveBack = (uid: ClusterUid | null, surge: SurgeRef, time: string): readonly Reaction[] => [
  job('ReturnSurge', { uid, ...surge, deadline: later(time, DELETION_TIMEOUT_MS) }),
  timer(`${RETURN_AGAIN}${surgeKey(surge)}`, later(time, DELETION_TIMEOUT_MS + RETURN_AGAIN_AFTER_MS), { ...surge }),
];

const isSame = (one: SurgeRef, other: SurgeRef): boolean => surgeKey(one) === surgeKey(other);

/** Machines that got their names when their surge or their request was over already. */
const lateOnes = ({ surges, requests }: Following, { data, meta }: StoredEvent<'VmsPlanned'>): readonly Reaction[] => {
  if (data.requestId !== undefined && requests[data.requestId] === undefined) return [returned(data.uid, meta.time)];
  const late = Object.values(extraOf(data.machines)).filter((surge) => !surges.some((one) => isSame(one, surge)));
  const [first] = late;
  return first === undefined ? [] : giveBack(data.uid, first, meta.time);
};

const extraOf = (machines: readonly MachinePlan[]): Readonly<Record<string, SurgeRef>> =>
  Object.fromEntries(
    machines.flatMap(({ name, surge, pool }) => (surge === undefined ? [] : [[name, { upgradeId: surge, pool }]])),
  );

const refOf = ({ upgradeId, pool }: SurgeRef): SurgeRef => ({ upgradeId, pool });

const retry = (state: Following, time: string): readonly Reaction[] => {
  switch (state.stage) {
    case 'validating':
      return [job('ValidateCluster', { uid: state.uid })];
    case 'desired':
      return ensureAll(state, time);
    case 'leaving':
      return [deletion(state.uid, time)];
  }
};

const withoutSurge = (surges: readonly SurgeRef[], surge: SurgeRef): readonly SurgeRef[] =>
  surges.filter((one) => !isSame(one, surge));

/** What requests for more nodes change in what is to be followed. */
const requestsAfter = (requests: Following['requests'], event: StoredEvent): Following['requests'] => {
  switch (event.type) {
    case 'NodesRequested':
      return { ...requests, [event.data.requestId]: [] };
    case 'VmsPlanned': {
      const { requestId, machines } = event.data;
      if (requestId === undefined || requests[requestId] === undefined) return requests;
      return { ...requests, [requestId]: machines.map(({ name }) => name) };
    }
    case 'VmsCreated': {
      const names = new Set(event.data.machines.map(({ name }) => name));
      return without(requests, (requestId) => (requests[requestId] ?? []).some((name) => names.has(name)));
    }
    case 'VmsFailed':
      if (event.data.onFailure === 'keep') return requests;
      return without(requests, (requestId) => requestId === event.data.requestId);
    case 'NodesRejected':
    case 'NodesAbandoned':
      return without(requests, (requestId) => requestId === event.data.requestId);
    default:
      return requests;
  }
};

const follow = (state: Following, event: StoredEvent): Following | undefined => {
  switch (event.type) {
    case 'ClusterAccepted':
      return { ...state, stage: 'desired' };
    case 'VmsPlanned':
      return { ...state, extra: { ...state.extra, ...extraOf(event.data.machines) } };
    case 'VmDeletionFailed':
      return { ...state, undeleted: [...new Set([...state.undeleted, ...event.data.machines])] };
    case 'SurgeRequested':
      return { ...state, surges: [...withoutSurge(state.surges, event.data), refOf(event.data)] };
    case 'SurgeReleased':
    case 'SurgeFailed':
      return { ...state, surges: withoutSurge(state.surges, event.data) };
    case 'NodeRemoved':
      return { ...state, removing: [...state.removing, event.data.node] };
    case 'VmDeleted': {
      const { [event.data.name]: _gone, ...extra } = state.extra;
      const left = (names: readonly NodeName[]) => names.filter((node) => node !== event.data.name);
      return { ...state, extra, removing: left(state.removing), undeleted: left(state.undeleted) };
    }
    case 'ClusterDeletionRequested':
    case 'ClusterDismantled':
      return { ...state, stage: 'leaving' };
    case 'ClusterDeleted':
      return undefined;
    default:
      return state;
  }
};

/** A surge that is over and still has machines. */
const returnAgain = (state: Following, key: string, dueAt: string): readonly Reaction[] => {
  if (state.stage === 'leaving') return [];
  const over = Object.values(state.extra).find((surge) => key === `${RETURN_AGAIN}${surgeKey(surge)}`);
  if (over === undefined || state.surges.some((one) => isSame(one, over))) return [];
  return giveBack(state.uid, over, dueAt);
};

/** Everything of a cluster that leaves together, else each machine by itself. */
const deleteAgain = (
  state: Following,
  { uid, machines, nextAttemptAt }: EventData<'VmDeletionFailed'>,
): readonly Reaction[] =>
  state.stage === 'leaving'
    ? [timer(DELETE_AGAIN, nextAttemptAt, { uid })]
    : machines.map((machine) => timer(againKey(machine), nextAttemptAt, { uid }));

const isOf = (state: Following, event: StoredEvent): boolean => 'uid' in event.data && event.data.uid === state.uid;

/**
 * Turns what is asked of a cluster into infra-svc's jobs: one to validate it, one to make its machines, one to delete them.
 * A retry asks for all work that may have stopped; a job that finds nothing to do ends at once.
 */
export const machinesProcess: Process<Following> = {
  name: 'machines',
  version: 3,
  initial: { uid: null, stage: 'validating', requests: {}, removing: [], undeleted: [], surges: [], extra: {} },

  evolve: (state, event) => {
    if (event.type === 'ClusterRequested') {
      return state.uid === null ? { ...machinesProcess.initial, uid: event.data.uid } : state;
    }
    if (!isOf(state, event)) return state;
    const requests = requestsAfter(state.requests, event);
    return follow(requests === state.requests ? state : { ...state, requests }, event);
  },

  react: (state, event) => {
    if (!isOf(state, event)) return [];
    const { time } = event.meta;
    switch (event.type) {
      case 'ClusterRequested':
        return [job('ValidateCluster', { uid: event.data.uid })];
      case 'ClusterAccepted':
        return [job('CreateMachines', { uid: event.data.uid })];
      case 'ClusterRetryRequested':
        return retry(state, time);
      case 'NodesRequested':
        return [job('AddMachines', { uid: event.data.uid, requestId: event.data.requestId })];
      case 'SurgeRequested':
        return [job('AddSurge', { uid: event.data.uid, ...refOf(event.data) })];
      case 'SurgeReleased':
      case 'SurgeFailed':
        return giveBack(event.data.uid, refOf(event.data), time);
      case 'VmsPlanned':
        return lateOnes(state, event);
      case 'NodeRemoved':
        return [removal(event.data.uid, event.data.node, time)];
      case 'ClusterDismantled':
        return [deletion(event.data.uid, time)];
      case 'VmsFailed':
        return event.data.onFailure === 'rollback' ? [returned(event.data.uid, time)] : [];
      case 'NodesAbandoned':
      case 'NodeRemovalRequested':
        return [returned(event.data.uid, time)];
      case 'VmDeletionFailed':
        return deleteAgain(state, event.data);
      default:
        return [];
    }
  },

  due: (state, { key, dueAt, data }) => {
    if (key.startsWith(RETURN_AGAIN)) return returnAgain(state, key, dueAt);
    if (!key.startsWith(DELETE_AGAIN) || state.uid !== data['uid']) return [];
    if (state.stage === 'leaving') return key === DELETE_AGAIN ? [deletion(state.uid, dueAt)] : [];
    const again = state.undeleted.filter((node) => key === againKey(node));
    return again.map((node) => removal(state.uid, node, dueAt));
  },
};

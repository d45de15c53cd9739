import type { ClusterUid, MachinePlan, NodeName, StoredEvent } from '@fairlead/contracts';
import { job, later, timer, type Process, type Reaction } from '@fairlead/event-sourcing';
import { surgeKey, type SurgeRef } from './surges.js';

/** Machines that a provider still shows so long after their deletion was due are a failure that people must see. */
export const DELETION_TIMEOUT_MS = 15 * 60_000;

/** A deletion that failed is begun again after this time: what was asked to go shall not stay for ever. */
export const DELETION_AGAIN_AFTER_MS = 10 * 60_000;

const DELETE_AGAIN = 'delete-again';

/** What a retry needs to know: which work is still open. */
export interface Following {
  readonly uid: ClusterUid | null;
  readonly stage: 'validating' | 'wanted' | 'leaving';
  readonly requestIds: readonly string[];
  readonly removing: readonly NodeName[];
  /** Surges that are wanted. */
  readonly surges: readonly SurgeRef[];
  /** Machines of surges, and which; they are looked after until they are gone. */
  readonly extra: Readonly<Record<string, SurgeRef>>;
}

const ensureAll = ({ uid, requestIds, removing, surges }: Following, time: string): readonly Reaction[] => [
  job('CreateMachines', { uid }),
  ...surges.map((surge) => job('AddSurge', { uid, ...surge })),
  ...requestIds.map((requestId) => job('AddMachines', { uid, requestId })),
  ...removing.map((node) => removal(uid, node, time)),
];

const removal = (uid: ClusterUid | null, node: NodeName, time: string): Reaction =>
  job('RemoveMachine', { uid, node, deadline: later(time, DELETION_TIMEOUT_MS) });

const deletion = (uid: ClusterUid | null, time: string): Reaction =>
  job('DeleteMachines', { uid, deadline: later(time, DELETION_TIMEOUT_MS) });

const RETURN_AGAIN = 'return-again/';

/** Now, and once more when that should have been enough: an extra machine is nobody's wish, so nobody would miss its deletion. */
const giveBack = (uid: ClusterUid | null, surge: SurgeRef, time: string): readonly Reaction[] => [
  job('ReturnSurge', { uid, ...surge, deadline: later(time, DELETION_TIMEOUT_MS) }),
  timer(`${RETURN_AGAIN}${surgeKey(surge)}`, later(time, DELETION_TIMEOUT_MS + DELETION_AGAIN_AFTER_MS), { ...surge }),
];

const isSame = (one: SurgeRef, other: SurgeRef): boolean => surgeKey(one) === surgeKey(other);

/** Extra machines that got their names when their surge was over already. */
const lateOnes = ({ surges }: Following, { data, meta }: StoredEvent<'VmsPlanned'>): readonly Reaction[] => {
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
    case 'wanted':
      return ensureAll(state, time);
    case 'leaving':
      return [deletion(state.uid, time)];
  }
};

const withoutSurge = (surges: readonly SurgeRef[], surge: SurgeRef): readonly SurgeRef[] =>
  surges.filter((one) => !isSame(one, surge));

const follow = (state: Following, event: StoredEvent): Following | undefined => {
  switch (event.type) {
    case 'ClusterAccepted':
      return { ...state, stage: 'wanted' };
    case 'NodesRequested':
      return { ...state, requestIds: [...state.requestIds, event.data.requestId] };
    case 'NodesRejected':
      return { ...state, requestIds: state.requestIds.filter((id) => id !== event.data.requestId) };
    case 'VmsPlanned':
      return {
        ...state,
        requestIds: state.requestIds.filter((id) => id !== event.data.requestId),
        extra: { ...state.extra, ...extraOf(event.data.machines) },
      };
    case 'SurgeRequested':
      return { ...state, surges: [...withoutSurge(state.surges, event.data), refOf(event.data)] };
    case 'SurgeReturned':
    case 'SurgeFailed':
      return { ...state, surges: withoutSurge(state.surges, event.data) };
    case 'NodeRemoved':
      return { ...state, removing: [...state.removing, event.data.node] };
    case 'VmDeleted': {
      const { [event.data.name]: _gone, ...extra } = state.extra;
      return { ...state, extra, removing: state.removing.filter((node) => node !== event.data.name) };
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

const isOf = (state: Following, event: StoredEvent): boolean => 'uid' in event.data && event.data.uid === state.uid;

/**
 * Turns what is asked of a cluster into infra-svc's jobs: one to validate it, one to make its machines, one to delete them.
 * A retry asks for all work that may have stopped; a job that finds nothing to do ends at once.
 */
export const machinesProcess: Process<Following> = {
  name: 'machines',
  version: 2,
  initial: { uid: null, stage: 'validating', requestIds: [], removing: [], surges: [], extra: {} },

  evolve: (state, event) => {
    if (event.type === 'ClusterRequested') {
      return state.uid === null ? { ...machinesProcess.initial, uid: event.data.uid } : state;
    }
    return isOf(state, event) ? follow(state, event) : state;
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
      case 'SurgeReturned':
      case 'SurgeFailed':
        return giveBack(event.data.uid, refOf(event.data), time);
      case 'VmsPlanned':
        return lateOnes(state, event);
      case 'NodeRemoved':
        return [removal(event.data.uid, event.data.node, time)];
      case 'ClusterDismantled':
        return [deletion(event.data.uid, time)];
      case 'InfrastructureFailed':
        if (state.stage !== 'leaving') return [];
        return [timer(DELETE_AGAIN, later(time, DELETION_AGAIN_AFTER_MS), { uid: event.data.uid })];
      default:
        return [];
    }
  },

  due: (state, { key, dueAt, data }) => {
    if (key.startsWith(RETURN_AGAIN)) return returnAgain(state, key, dueAt);
    if (key !== DELETE_AGAIN || state.stage !== 'leaving' || state.uid !== data['uid']) return [];
    return [deletion(state.uid, dueAt)];
  },
};

import type { ClusterUid, NodeName, StoredEvent } from '@fairlead/contracts';
import { job, later, timer, type Process, type Reaction } from '@fairlead/event-sourcing';

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
}

const ensureAll = ({ uid, requestIds, removing }: Following, time: string): readonly Reaction[] => [
  job('CreateMachines', { uid }),
  ...requestIds.map((requestId) => job('AddMachines', { uid, requestId })),
  ...removing.map((node) => removal(uid, node, time)),
];

const removal = (uid: ClusterUid | null, node: NodeName, time: string): Reaction =>
  job('RemoveMachine', { uid, node, deadline: later(time, DELETION_TIMEOUT_MS) });

const deletion = (uid: ClusterUid | null, time: string): Reaction =>
  job('DeleteMachines', { uid, deadline: later(time, DELETION_TIMEOUT_MS) });

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

const follow = (state: Following, event: StoredEvent): Following | undefined => {
  switch (event.type) {
    case 'ClusterAccepted':
      return { ...state, stage: 'wanted' };
    case 'NodesRequested':
      return { ...state, requestIds: [...state.requestIds, event.data.requestId] };
    case 'NodesRejected':
      return { ...state, requestIds: state.requestIds.filter((id) => id !== event.data.requestId) };
    case 'VmsPlanned':
      return { ...state, requestIds: state.requestIds.filter((id) => id !== event.data.requestId) };
    case 'NodeRemoved':
      return { ...state, removing: [...state.removing, event.data.node] };
    case 'VmDeleted':
      return { ...state, removing: state.removing.filter((node) => node !== event.data.name) };
    case 'ClusterDeletionRequested':
    case 'ClusterDismantled':
      return { ...state, stage: 'leaving' };
    case 'ClusterDeleted':
      return undefined;
    default:
      return state;
  }
};

const isOf = (state: Following, event: StoredEvent): boolean => 'uid' in event.data && event.data.uid === state.uid;

/**
 * Turns what is asked of a cluster into infra-svc's jobs: one to validate it, one to make its machines, one to delete them.
 * A retry asks for all work that may have stopped; a job that finds nothing to do ends at once.
 */
export const machinesProcess: Process<Following> = {
  name: 'machines',
  version: 1,
  initial: { uid: null, stage: 'validating', requestIds: [], removing: [] },

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
    if (key !== DELETE_AGAIN || state.stage !== 'leaving' || state.uid !== data['uid']) return [];
    return [deletion(state.uid, dueAt)];
  },
};

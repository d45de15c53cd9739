import type { ClusterUid, EventData, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { needsSnapshot, NO_SAVES, savesAfter, type EtcdSaves } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type RemovalFact = Fact<
  | 'EtcdSnapshotTaken'
  | 'EtcdLeaderMoved'
  | 'ControlPlaneRemovalPrepared'
  | 'ControlPlaneRemovalBlocked'
  | 'ControlPlaneRemovalUnblocked'
>;

/** The result of an attempt to prepare the removal of a control plane: prepared, with what was done, or blocked. */
export type RecordRemoval = Command<
  'RecordRemoval',
  {
    readonly done: readonly Fact<'EtcdSnapshotTaken' | 'EtcdLeaderMoved'>[];
    readonly outcome: Fact<'ControlPlaneRemovalPrepared' | 'ControlPlaneRemovalBlocked'>;
  }
>;
/** Changes since the removal of a control plane was blocked. */
export type RecordLook = Command<'RecordLook', Fact<'ControlPlaneRemovalBlocked' | 'ControlPlaneRemovalUnblocked'>>;
export type RemovalCommand = RecordRemoval | RecordLook;

/** The control plane to remove next. */
export interface Leaving {
  readonly node: NodeName;
  readonly attempt: number;
}

/** With a recent snapshot for its removal; absent: one is taken. */
interface BegunRemoval extends Leaving {
  readonly snapshot?: string;
}

/** A control plane whose removal is blocked. */
export interface Blocked extends Leaving {
  /** When that was first stated (RFC 3339). */
  readonly since: string;
  /** null: etcd could not be reached. */
  readonly quorum: EventData<'ControlPlaneRemovalBlocked'>['quorum'];
}

export interface Removals {
  readonly uid: ClusterUid | null;
  /** null: no control plane waits for a result. */
  readonly leaving: BegunRemoval | null;
  /** By node. */
  readonly blocked: Readonly<Record<string, Blocked>>;
  readonly saves: EtcdSaves;
}

const NONE: Removals = { uid: null, leaving: null, blocked: {}, saves: NO_SAVES };

const isAnswered = ({ leaving }: Removals, { node, attempt }: Leaving): boolean =>
  leaving?.node === node && leaving.attempt === attempt;

/** The name of a snapshot that is taken before a control plane is removed. */
export const removalSnapshot = (cluster: string, { node, attempt }: Leaving): string =>
  `${cluster}-removal-${node}-${attempt}`;

const isBlocked = ({ blocked }: Removals, { node, attempt }: Leaving): boolean => blocked[node]?.attempt === attempt;

const blockedBy = (state: Removals, { data, meta }: StoredEvent<'ControlPlaneRemovalBlocked'>): Removals => {
  const { node, attempt, quorum } = data;
  if (!isAnswered(state, data) && !isBlocked(state, data)) return state;
  const since = isAnswered(state, data) ? meta.time : (state.blocked[node]?.since ?? meta.time);
  const leaving = isAnswered(state, data) ? null : state.leaving;
  return { ...state, leaving, blocked: { ...state.blocked, [node]: { node, attempt, since, quorum } } };
};

export const controlPlaneRemovals: Decider<Removals, RemovalCommand, RemovalFact> = {
  initial: NONE,
  reads: 'cluster',

  decide: (state, command) => {
    if (command.type === 'RecordLook')
      return command.data.data.uid === state.uid && isBlocked(state, command.data.data) ? [command.data] : nothing;
    const { done, outcome } = command.data;
    return outcome.data.uid === state.uid && isAnswered(state, outcome.data) ? [...done, outcome] : nothing;
  },

  evolve: (before, event: StoredEvent): Removals => {
    if (event.type === 'ClusterRequested') return { ...NONE, uid: event.data.uid };
    if (!('uid' in event.data) || event.data.uid !== before.uid) return before;
    const saves = savesAfter(before.saves, event);
    const state = saves === before.saves ? before : { ...before, saves };
    switch (event.type) {
      case 'ControlPlaneRemovalStarted': {
        const { node, attempt } = event.data;
        const young = needsSnapshot(saves, event.meta.time) ? null : saves.newest;
        const leaving = { node, attempt, ...(young === null ? {} : { snapshot: young.name }) };
        return { ...unblocked(state, node), leaving };
      }
      case 'ControlPlaneRemovalPrepared':
        return isAnswered(state, event.data) ? { ...state, leaving: null } : state;
      case 'ControlPlaneRemovalBlocked':
        return blockedBy(state, event);
      case 'ControlPlaneRemovalUnblocked':
        return isBlocked(state, event.data) ? unblocked(state, event.data.node) : state;
      case 'NodeRemoved':
        return without(state, event.data.node);
      case 'VmDeleted':
        return without(state, event.data.name);
      case 'ClusterDeletionRequested':
        return { ...state, leaving: null, blocked: {} };
      case 'ClusterDeleted':
        return NONE;
      default:
        return state;
    }
  },
};

const unblocked = (state: Removals, node: NodeName): Removals => {
  const { [node]: known, ...blocked } = state.blocked;
  return known === undefined ? state : { ...state, blocked };
};

/** A removed control plane needs no result. */
const without = (state: Removals, node: NodeName): Removals => {
  const others = unblocked(state, node);
  return others.leaving?.node === node ? { ...others, leaving: null } : others;
};

import type { ClusterUid, EventData, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

export type RemovalFact = Fact<'EtcdSnapshotTaken' | 'ControlPlaneRemovalPrepared' | 'ControlPlaneRemovalBlocked'>;

/** What came of an attempt to let a control plane leave: it is prepared, with the snapshot taken for it, or blocked. */
export type RecordRemoval = Command<
  'RecordRemoval',
  {
    readonly snapshot?: Fact<'EtcdSnapshotTaken'>;
    readonly outcome: Fact<'ControlPlaneRemovalPrepared' | 'ControlPlaneRemovalBlocked'>;
  }
>;

/** The control plane whose turn to leave it is. */
export interface Leaving {
  readonly node: NodeName;
  readonly attempt: number;
}

export interface Removals {
  readonly uid: ClusterUid | null;
  /** null: no control plane waits for an answer. */
  readonly leaving: Leaving | null;
}

const NONE: Removals = { uid: null, leaving: null };

const isAnswered = ({ leaving }: Removals, { node, attempt }: Leaving): boolean =>
  leaving?.node === node && leaving.attempt === attempt;

/** The name of a snapshot that is taken before a control plane leaves. */
export const removalSnapshot = (cluster: string, { node, attempt }: Leaving): string =>
  `${cluster}-removal-${node}-${attempt}`;

export const controlPlaneRemovals: Decider<Removals, RecordRemoval, RemovalFact> = {
  initial: NONE,
  reads: 'cluster',

  decide: (state, { data: { snapshot, outcome } }) =>
    outcome.data.uid === state.uid && isAnswered(state, outcome.data)
      ? [...(snapshot === undefined ? [] : [snapshot]), outcome]
      : nothing,

  evolve: (state, event: StoredEvent): Removals => {
    if (event.type === 'ClusterRequested') return { uid: event.data.uid, leaving: null };
    if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
    switch (event.type) {
      case 'ControlPlaneRemovalStarted': {
        const { node, attempt } = event.data;
        return { ...state, leaving: { node, attempt } };
      }
      case 'ControlPlaneRemovalPrepared':
      case 'ControlPlaneRemovalBlocked':
        return isAnswered(state, event.data) ? { ...state, leaving: null } : state;
      case 'NodeRemoved':
        return without(state, event.data.node);
      case 'VmDeleted':
        return without(state, event.data.name);
      case 'ClusterDeletionRequested':
        return { ...state, leaving: null };
      case 'ClusterDeleted':
        return NONE;
      default:
        return state;
    }
  },
};

/** A control plane that is gone needs no answer. */
const without = (state: Removals, node: EventData<'NodeRemoved'>['node']): Removals =>
  state.leaving?.node === node ? { ...state, leaving: null } : state;

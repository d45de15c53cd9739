import type { ClusterUid, Fact, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** What came of a snapshot that a user requested; stated once. */
export type RecordRequested = Command<'RecordRequested', Fact<'EtcdSnapshotTaken'>>;

export type SnapshotFact = Fact<'EtcdSnapshotTaken' | 'EtcdSnapshotFailed'>;

/** Snapshots that users requested, and not a rollout. They are stated in the stream of rollouts. */
export interface Requested {
  readonly uid: ClusterUid | null;
  readonly open: readonly string[];
}

const NONE: Requested = { uid: null, open: [] };

const without = (state: Requested, requestId: string | null): Requested =>
  requestId === null || !state.open.includes(requestId)
    ? state
    : { ...state, open: state.open.filter((known) => known !== requestId) };

export const requestedSnapshots: Decider<Requested, RecordRequested, SnapshotFact> = {
  initial: NONE,
  reads: 'cluster',

  decide: ({ uid, open }, { data: fact }) => {
    const { requestId } = fact.data;
    return requestId !== null && fact.data.uid === uid && open.includes(requestId) ? [fact] : nothing;
  },

  evolve: (state, event: StoredEvent): Requested => {
    switch (event.type) {
      case 'ClusterRequested':
        return { uid: event.data.uid, open: [] };
      case 'EtcdSnapshotRequested':
        return { uid: event.data.uid, open: [...state.open, event.data.requestId] };
      case 'EtcdSnapshotTaken':
      case 'EtcdSnapshotFailed':
        return without(state, event.data.requestId);
      case 'ClusterDeleted':
        return event.data.uid === state.uid ? NONE : state;
      default:
        return state;
    }
  },
};

import type { ClusterUid, Fact, StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** What came of a snapshot that somebody asked for; told once. */
export type RecordRequested = Command<'RecordRequested', Fact<'EtcdSnapshotTaken' | 'EtcdSnapshotFailed'>>;

/** States nothing: it is a look at what is still wanted. */
export type BeginSnapshot = Command<'BeginSnapshot', { readonly uid: ClusterUid; readonly requestId: string }>;

export type RequestedSnapshotCommand = BeginSnapshot | RecordRequested;

/** Snapshots that were asked for by people and not by a roll-out. They are told in the stream of roll-outs. */
export interface Requested {
  readonly uid: ClusterUid | null;
  readonly open: readonly string[];
}

const without = ({ uid, open }: Requested, requestId: string | null): Requested => ({
  uid,
  open: open.filter((known) => known !== requestId),
});

export const requestedSnapshots: Decider<Requested, RequestedSnapshotCommand, RecordRequested['data']> = {
  initial: { uid: null, open: [] },
  reads: 'cluster',

  decide: ({ uid, open }, command) => {
    if (command.type === 'BeginSnapshot') return nothing;
    const { data: fact } = command;
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
      default:
        return state;
    }
  },
};

/** Whether somebody still waits for it. */
export const isOpen = ({ uid, open }: Requested, of: { readonly uid: string; readonly requestId: string }): boolean =>
  uid === of.uid && open.includes(of.requestId);

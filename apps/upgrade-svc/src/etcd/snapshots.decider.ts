import type { ClusterUid, Fact, StoredEvent } from '@fairlead/contracts';
import {
  membersAfter,
  needsSnapshot,
  newMember,
  NO_SAVES,
  savesAfter,
  stepBegunIn,
  type EtcdSaves,
  type Members,
  type NodeStepBegun,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** The result of a requested snapshot; stated once. */
export type RecordRequested = Command<'RecordRequested', Fact<'EtcdSnapshotTaken'>>;

export type SnapshotFact = Fact<'EtcdSnapshotTaken' | 'EtcdSnapshotFailed'>;

/** Snapshots for users or node steps, but not for upgrades. In the stream of rollouts. */
export interface Requested {
  readonly uid: ClusterUid | null;
  /** Requests of users. */
  readonly open: readonly string[];
  /** Steps that change a control plane. */
  readonly steps: readonly NodeStepBegun[];
  readonly saves: EtcdSaves;
  readonly members: Members;
}

const NONE: Requested = { uid: null, open: [], steps: [], saves: NO_SAVES, members: {} };

const without = (state: Requested, requestId: string | null): Requested =>
  requestId === null || !state.open.includes(requestId)
    ? state
    : { ...state, open: state.open.filter((known) => known !== requestId) };

const isAwaited = ({ open, steps }: Requested, requestId: string): boolean =>
  open.includes(requestId) || steps.some((step) => step.requestId === requestId);

const withStep = (state: Requested, event: StoredEvent): Requested => {
  const begun = stepBegunIn(event);
  if (begun === undefined || state.members[begun.node]?.role !== 'control-plane') return state;
  return needsSnapshot(state.saves, event.meta.time) ? { ...state, steps: [...state.steps, begun] } : state;
};

const withoutStep = (state: Requested, requestId: string): Requested => ({
  ...state,
  steps: state.steps.filter((step) => step.requestId !== requestId),
});

const evolveRequested = (state: Requested, event: StoredEvent): Requested => {
  switch (event.type) {
    case 'EtcdSnapshotRequested':
      return { ...state, open: [...state.open, event.data.requestId] };
    // Every waiting step began before it.
    case 'EtcdSnapshotTaken':
      return { ...without(state, event.data.requestId), steps: [] };
    case 'EtcdSnapshotFailed':
      return withoutStep(without(state, event.data.requestId), event.data.requestId);
    case 'ClusterDeletionRequested':
      return { ...state, steps: [] };
    default:
      return withStep(state, event);
  }
};

export const requestedSnapshots: Decider<Requested, RecordRequested, SnapshotFact> = {
  initial: NONE,
  reads: 'cluster',

  decide: (state, { data: fact }) => {
    const { requestId } = fact.data;
    return requestId !== null && fact.data.uid === state.uid && isAwaited(state, requestId) ? [fact] : nothing;
  },

  evolve: (state, event: StoredEvent): Requested => {
    if (event.type === 'ClusterRequested') return { ...NONE, uid: event.data.uid };
    if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
    if (event.type === 'ClusterDeleted') return NONE;
    const entering = event.type === 'VmsPlanned' ? event.data.machines.map((machine) => newMember(machine)) : [];
    const members = membersAfter(state.members, event, entering);
    const saves = savesAfter(state.saves, event);
    const isSame = members === state.members && saves === state.saves;
    return evolveRequested(isSame ? state : { ...state, members, saves }, event);
  },
};

import type { ClusterUid, DeclaredSpec, EtcdBackups, EventData, StoredEvent, UpgradeId } from '@fairlead/contracts';

/** A stored snapshot. */
export interface Saved {
  readonly name: string;
  readonly takenAt: string;
  /** Whether it was scheduled; others are requested, or taken before nodes change. */
  readonly scheduled: boolean;
  readonly upgradeId: UpgradeId | null;
  /** open: its verification is desired; unverified: it was not, or could not be tried. */
  readonly verification: 'open' | 'unverified' | 'verified' | 'invalid';
}

/** The state on which scheduled snapshots and the retention of all snapshots depend. */
export interface Backups {
  readonly uid: ClusterUid | null;
  /** Whether the cluster has been Ready and is not being deleted. */
  readonly serves: boolean;
  /** null: none is scheduled. */
  readonly policy: EtcdBackups | null;
  /** The next run is the first one after this time, so a missed run is made up once. */
  readonly since: string;
  /** Oldest first. */
  readonly snapshots: readonly Saved[];
  /** The snapshot from which etcd is being restored. */
  readonly restoring: string | null;
  readonly rollout: UpgradeId | null;
}

export const NO_BACKUPS: Backups = {
  uid: null,
  serves: false,
  policy: null,
  since: '',
  snapshots: [],
  restoring: null,
  rollout: null,
};

/** A changed schedule does not make up runs from before the change. */
const declared = (state: Backups, { etcdBackups }: DeclaredSpec, since: string): Backups => {
  const policy = etcdBackups ?? null;
  return policy?.schedule === state.policy?.schedule ? { ...state, policy } : { ...state, policy, since };
};

/** Clocks differ: a run must not be repeated because its end seems to precede it. */
const laterOf = (one: string, other: string): string => (one > other ? one : other);

const taken = (state: Backups, data: EventData<'EtcdSnapshotTaken'>, takenAt: string): Backups => {
  const { snapshot: name, upgradeId, scheduledAt, verify } = data;
  const scheduled = scheduledAt !== undefined;
  const saved: Saved = { name, takenAt, scheduled, upgradeId, verification: verify === true ? 'open' : 'unverified' };
  const others = state.snapshots.filter((other) => other.name !== name);
  return { ...state, snapshots: [...others, saved], ...(scheduled ? { since: laterOf(takenAt, scheduledAt) } : {}) };
};

const checked = (state: Backups, snapshot: string, verification: Saved['verification']): Backups => ({
  ...state,
  snapshots: state.snapshots.map((saved) => (saved.name === snapshot ? { ...saved, verification } : saved)),
});

/** A failed attempt at a verification does not invalidate an earlier one. */
const unchecked = (state: Backups, snapshot: string): Backups => ({
  ...state,
  snapshots: state.snapshots.map((saved) =>
    saved.name === snapshot && saved.verification === 'open' ? { ...saved, verification: 'unverified' } : saved,
  ),
});

const evolveSnapshots = (state: Backups, event: StoredEvent): Backups => {
  switch (event.type) {
    case 'EtcdSnapshotTaken':
      return taken(state, event.data, event.meta.time);
    case 'EtcdBackupFailed':
      return { ...state, since: laterOf(event.meta.time, event.data.scheduledAt) };
    case 'EtcdSnapshotVerified':
      return checked(state, event.data.snapshot, 'verified');
    case 'EtcdSnapshotVerificationFailed':
      return event.data.invalid
        ? checked(state, event.data.snapshot, 'invalid')
        : unchecked(state, event.data.snapshot);
    case 'EtcdSnapshotDeleted':
      return { ...state, snapshots: state.snapshots.filter(({ name }) => name !== event.data.snapshot) };
    default:
      return state;
  }
};

/** Applies events that are not about snapshots. */
const evolveCluster = (state: Backups, event: StoredEvent): Backups => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return declared(state, event.data.spec, event.meta.time);
    case 'ClusterReady':
      return state.serves ? state : { ...state, serves: true, since: event.meta.time };
    case 'ClusterDeletionRequested':
      return { ...state, serves: false };
    case 'EtcdRestoreRequested':
      return { ...state, restoring: event.data.snapshot };
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return { ...state, restoring: null };
    case 'RolloutStarted':
      return { ...state, rollout: event.data.upgradeId };
    case 'RolloutCompleted':
    case 'RolloutAborted':
      return { ...state, rollout: null };
    default:
      return evolveSnapshots(state, event);
  }
};

export const evolve = (state: Backups, event: StoredEvent): Backups => {
  if (event.type === 'ClusterRequested') return { ...NO_BACKUPS, uid: event.data.uid };
  if (!('uid' in event.data) || event.data.uid !== state.uid) return state;
  return event.type === 'ClusterDeleted' ? NO_BACKUPS : evolveCluster(state, event);
};

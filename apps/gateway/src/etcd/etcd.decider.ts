import { newestVersion, refuse, type EventData, type Fact, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { refuseWhilePaused } from '../lifecycle/pause.js';
import { isForeign, membershipAfter, type ClusterMembership } from '../lifecycle/membership.js';
import { blocksOthers, latestUpgradeAfter, refuseBeside, type PhasedUpgrade } from '../lifecycle/upgrade.phase.js';

interface NamedCluster {
  readonly namespace: string;
  readonly cluster: string;
}

export type RequestSnapshot = Command<'RequestSnapshot', NamedCluster & { readonly requestId: string }>;
export type RequestRestore = Command<
  'RequestRestore',
  NamedCluster & {
    readonly requestId: string;
    readonly snapshot: string;
    readonly confirm: string;
    readonly confirmVersion: string;
  }
>;
export type RequestVerification = Command<
  'RequestVerification',
  NamedCluster & { readonly requestId: string; readonly snapshot: string }
>;
export type EtcdCommand = RequestSnapshot | RequestRestore | RequestVerification;

type EtcdRequestFact = Fact<'EtcdSnapshotRequested' | 'EtcdRestoreRequested' | 'EtcdSnapshotVerificationRequested'>;

/** A snapshot, as it was stated. */
interface Saved {
  readonly takenAt: string;
  readonly data: EventData<'EtcdSnapshotTaken'>;
}

/** The cluster of a name, and what was saved of its etcd. */
export interface EtcdState {
  readonly cluster: ClusterMembership | undefined;
  readonly upgrade: PhasedUpgrade | undefined;
  readonly snapshots: ReadonlyMap<string, Saved>;
  /** The restore that is under way. */
  readonly restore: string | undefined;
  /** The newest Kubernetes version of its nodes; empty: none is known. */
  readonly version: string;
}

const hindrance = (
  { cluster }: EtcdState,
  { namespace, cluster: name }: NamedCluster,
  action: string,
): Refusal | undefined => {
  if (cluster === undefined) return refuse('cluster.unknown', { namespace, cluster: name });
  if (cluster.phase === 'Deleting') return refuse('cluster.deleting', { cluster: name });
  const paused = refuseWhilePaused(cluster.pause, { namespace, cluster: name }, action);
  if (paused !== undefined) return paused;
  // A cluster that has failed after it was built may well need its snapshot.
  return cluster.phase === 'Provisioned' || cluster.phase === 'Failed'
    ? undefined
    : refuse('cluster.not-ready', { action, phase: cluster.phase });
};

const snapshot = (state: EtcdState, { data }: RequestSnapshot): readonly EtcdRequestFact[] | Refusal => {
  const refused = hindrance(state, data, 'save etcd');
  if (refused !== undefined || state.cluster === undefined) return refused ?? nothing;
  return [{ type: 'EtcdSnapshotRequested', data: { uid: state.cluster.uid, requestId: data.requestId } }];
};

const restore = (state: EtcdState, { data }: RequestRestore): readonly EtcdRequestFact[] | Refusal => {
  const { namespace, cluster: name, requestId, snapshot: asked, confirm } = data;
  const refused = hindrance(state, data, 'restore etcd');
  if (refused !== undefined || state.cluster === undefined) return refused ?? nothing;
  const saved = state.snapshots.get(asked);
  if (saved === undefined)
    return refuse('etcd.snapshot-unknown', { namespace, cluster: name, snapshot: asked }, 'snapshot');
  const taken = saved.data.kubernetesVersion ?? '';
  const running = state.version;
  if (confirm !== name) return refuse('etcd.restore-unconfirmed', { cluster: name, takenAt: saved.takenAt }, 'confirm');
  if (taken !== '' && running !== '' && taken !== running && data.confirmVersion !== taken)
    return refuse('etcd.restore-other-version', { snapshot: asked, taken, cluster: name, running }, 'confirmVersion');
  if (state.upgrade !== undefined && blocksOthers(state.upgrade))
    return refuseBeside(state.upgrade, { namespace, cluster: name }, 'restore etcd');
  if (state.restore !== undefined) return refuse('cluster.busy', { namespace, cluster: name, action: 'restore etcd' });
  return [{ type: 'EtcdRestoreRequested', data: { uid: state.cluster.uid, requestId, snapshot: asked } }];
};

const verification = (state: EtcdState, { data: asked }: RequestVerification): readonly EtcdRequestFact[] | Refusal => {
  const { namespace, cluster: name, requestId, snapshot } = asked;
  const refused = hindrance(state, asked, 'verify a snapshot');
  if (refused !== undefined || state.cluster === undefined) return refused ?? nothing;
  const saved = state.snapshots.get(snapshot);
  if (saved === undefined) return refuse('etcd.snapshot-unknown', { namespace, cluster: name, snapshot });
  if (state.restore !== undefined)
    return refuse('cluster.busy', { namespace, cluster: name, action: 'verify a snapshot' });
  const { sha256, bytes, revision, keys } = saved.data;
  const data = { uid: state.cluster.uid, requestId, snapshot, sha256, bytes, revision, keys };
  return [{ type: 'EtcdSnapshotVerificationRequested', data }];
};

const without = (snapshots: EtcdState['snapshots'], name: string): EtcdState['snapshots'] => {
  const others = new Map(snapshots);
  others.delete(name);
  return others;
};

const evolved = (state: EtcdState, event: StoredEvent): EtcdState => {
  switch (event.type) {
    case 'EtcdSnapshotTaken':
      return {
        ...state,
        snapshots: new Map(state.snapshots).set(event.data.snapshot, { takenAt: event.meta.time, data: event.data }),
      };
    case 'EtcdSnapshotDeleted':
      return { ...state, snapshots: without(state.snapshots, event.data.snapshot) };
    case 'DesiredVersionsSet': {
      const { kubelet } = event.data.software;
      const version = newestVersion([state.version, ...(kubelet === undefined ? [] : [`v${kubelet}`])]) ?? '';
      return version === state.version ? state : { ...state, version };
    }
    case 'EtcdRestoreRequested':
      return { ...state, restore: event.data.requestId };
    case 'EtcdRestored':
    case 'EtcdRestoreFailed':
      return event.data.requestId === state.restore ? { ...state, restore: undefined } : state;
    default:
      return state;
  }
};

/** What people may ask of a cluster's etcd. */
export const etcd: Decider<EtcdState, EtcdCommand, EtcdRequestFact> = {
  initial: { cluster: undefined, upgrade: undefined, snapshots: new Map(), restore: undefined, version: '' },
  reads: 'cluster',

  decide: (state, command) => {
    switch (command.type) {
      case 'RequestSnapshot':
        return snapshot(state, command);
      case 'RequestRestore':
        return restore(state, command);
      case 'RequestVerification':
        return verification(state, command);
    }
  },

  evolve: (state, event) => {
    const cluster = membershipAfter(state.cluster, event);
    if (event.type === 'ClusterRequested' || cluster === undefined) return { ...etcd.initial, cluster };
    if (isForeign(cluster, event)) return state;
    return evolved({ ...state, cluster, upgrade: latestUpgradeAfter(state.upgrade, event) }, event);
  },
};

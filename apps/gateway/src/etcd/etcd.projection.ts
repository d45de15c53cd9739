import {
  sentenceOf,
  type ClusterUid,
  type EventData,
  type EtcdRequestView,
  type EtcdSnapshotView,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

type Snapshot = Omit<EtcdSnapshotView, 'kind' | 'ageSeconds'>;
/** Rows of earlier releases have none of these. */
type Later = 'reason' | 'verification' | 'kubernetesVersion' | 'etcdVersion';
type Kept = Omit<Snapshot, Later> & Partial<Pick<Snapshot, Later>>;

const UNVERIFIED: Snapshot['verification'] = { state: 'unverified', at: null, message: '' };
type Request = Omit<EtcdRequestView, 'kind'>;

/** What was saved of a cluster's etcd, and what became of requests about it; oldest first. */
export interface EtcdDoc {
  readonly uid: ClusterUid;
  readonly snapshots: readonly Kept[];
  readonly requests: readonly Request[];
}

const SNAPSHOTS_MAX = 200;
const REQUESTS_MAX = 50;

type EtcdEvent = StoredEvent<
  | 'EtcdSnapshotRequested'
  | 'EtcdSnapshotTaken'
  | 'EtcdSnapshotFailed'
  | 'EtcdSnapshotDeleted'
  | 'EtcdSnapshotVerificationRequested'
  | 'EtcdSnapshotVerified'
  | 'EtcdSnapshotVerificationFailed'
  | 'EtcdRestoreRequested'
  | 'EtcdRestored'
  | 'EtcdRestoreFailed'
>;

const TYPES: ReadonlySet<string> = new Set<EtcdEvent['type']>([
  'EtcdSnapshotRequested',
  'EtcdSnapshotTaken',
  'EtcdSnapshotFailed',
  'EtcdSnapshotDeleted',
  'EtcdSnapshotVerificationRequested',
  'EtcdSnapshotVerified',
  'EtcdSnapshotVerificationFailed',
  'EtcdRestoreRequested',
  'EtcdRestored',
  'EtcdRestoreFailed',
]);

const isEtcd = (event: StoredEvent): event is EtcdEvent => TYPES.has(event.type);

/** Snapshots before a removal are requested under their own names. */
const reasonOf = ({
  snapshot,
  requestId,
  upgradeId,
  scheduledAt,
  before,
}: EventData<'EtcdSnapshotTaken'>): Snapshot['reason'] => {
  if (scheduledAt !== undefined) return 'schedule';
  if (before !== undefined) return 'change';
  if (upgradeId !== null) return 'upgrade';
  return requestId === snapshot ? 'removal' : 'command';
};

const taken = ({ data, meta }: StoredEvent<'EtcdSnapshotTaken'>): Snapshot => ({
  name: data.snapshot,
  node: data.node,
  takenAt: meta.time,
  bytes: data.bytes,
  revision: data.revision,
  keys: data.keys,
  sha256: data.sha256,
  upgrade: data.upgradeId,
  restorable: data.dataRef !== null,
  kubernetesVersion: data.kubernetesVersion ?? null,
  etcdVersion: data.etcdVersion ?? null,
  reason: reasonOf(data),
  verification: { ...UNVERIFIED, state: data.verify === true ? 'open' : 'unverified' },
});

type Requested = 'EtcdSnapshotRequested' | 'EtcdRestoreRequested' | 'EtcdSnapshotVerificationRequested';

const WHAT: Readonly<Record<Requested, Request['what']>> = {
  EtcdSnapshotRequested: 'snapshot',
  EtcdRestoreRequested: 'restore',
  EtcdSnapshotVerificationRequested: 'verification',
};

const begun = ({ type, data, meta }: StoredEvent<Requested>): Request => ({
  id: data.requestId,
  what: WHAT[type],
  phase: 'Running',
  snapshot: 'snapshot' in data ? data.snapshot : null,
  message: '',
  actor: meta.actor,
  requestedAt: meta.time,
  finishedAt: null,
});

const withRequest = (doc: EtcdDoc, requestId: string | null, change: Partial<Request>): EtcdDoc => ({
  ...doc,
  requests: doc.requests.map((request) => (request.id === requestId ? { ...request, ...change } : request)),
});

const withVerification = (doc: EtcdDoc, name: string, found: Partial<Snapshot['verification']>): EtcdDoc => ({
  ...doc,
  snapshots: doc.snapshots.map((snapshot) =>
    snapshot.name === name
      ? { ...snapshot, verification: { ...UNVERIFIED, ...snapshot.verification, ...found } }
      : snapshot,
  ),
});

/** All requests about a snapshot are answered by one verification of it. */
const answered = (doc: EtcdDoc, snapshot: string, end: Partial<Request>): EtcdDoc => ({
  ...doc,
  requests: doc.requests.map((request) =>
    request.what === 'verification' && request.snapshot === snapshot && request.phase === 'Running'
      ? { ...request, ...end }
      : request,
  ),
});

const verificationFailed = (
  doc: EtcdDoc,
  { snapshot, invalid, cause }: EventData<'EtcdSnapshotVerificationFailed'>,
  at: string,
): EtcdDoc => {
  const message = sentenceOf(cause);
  const found = withVerification(doc, snapshot, { state: invalid ? 'invalid' : 'unverified', at, message });
  return answered(found, snapshot, { phase: 'Failed', message, finishedAt: at });
};

const evolved = (doc: EtcdDoc, event: EtcdEvent): EtcdDoc => {
  const finishedAt = event.meta.time;
  switch (event.type) {
    case 'EtcdSnapshotRequested':
    case 'EtcdRestoreRequested':
    case 'EtcdSnapshotVerificationRequested':
      return { ...doc, requests: [...doc.requests, begun(event)].slice(-REQUESTS_MAX) };
    case 'EtcdSnapshotTaken': {
      const { requestId, snapshot } = event.data;
      const saved = { ...doc, snapshots: [...doc.snapshots, taken(event)].slice(-SNAPSHOTS_MAX) };
      return withRequest(saved, requestId, { phase: 'Succeeded', snapshot, finishedAt });
    }
    case 'EtcdSnapshotDeleted': {
      const { snapshot } = event.data;
      const end = { phase: 'Failed', message: 'the snapshot was deleted', finishedAt } as const;
      return answered({ ...doc, snapshots: doc.snapshots.filter(({ name }) => name !== snapshot) }, snapshot, end);
    }
    case 'EtcdSnapshotVerified': {
      const { snapshot } = event.data;
      const found = withVerification(doc, snapshot, { state: 'verified', at: finishedAt, message: '' });
      return answered(found, snapshot, { phase: 'Succeeded', finishedAt });
    }
    case 'EtcdSnapshotVerificationFailed':
      return verificationFailed(doc, event.data, finishedAt);
    case 'EtcdRestored':
      return withRequest(doc, event.data.requestId, { phase: 'Succeeded', finishedAt });
    case 'EtcdSnapshotFailed':
    case 'EtcdRestoreFailed': {
      const { requestId, cause } = event.data;
      return withRequest(doc, requestId, { phase: 'Failed', message: sentenceOf(cause), finishedAt });
    }
  }
};

/** One row per cluster whose etcd was ever saved. It outlives the cluster; another incarnation begins it again. */
export const etcdProjection: Projection<EtcdDoc> = {
  name: 'etcd',
  table: 'etcd',
  keys: (event) => (isEtcd(event) ? [clusterKey(event.meta.namespace, event.meta.cluster)] : []),
  evolve: (doc, event) => {
    if (!isEtcd(event)) return doc;
    const { uid } = event.data;
    return evolved(doc?.uid === uid ? doc : { uid, snapshots: [], requests: [] }, event);
  },
};

const MS_PER_SECOND = 1_000;

/** Latest first. */
export const snapshotViews = ({ snapshots }: EtcdDoc, nowMs: number): EtcdSnapshotView[] =>
  snapshots
    .map((snapshot) => ({
      reason: snapshot.upgrade === null ? ('command' as const) : ('upgrade' as const),
      verification: UNVERIFIED,
      kubernetesVersion: null,
      etcdVersion: null,
      ...snapshot,
      kind: 'EtcdSnapshot' as const,
      ageSeconds: Math.max(0, Math.floor((nowMs - Date.parse(snapshot.takenAt)) / MS_PER_SECOND)),
    }))
    .reverse();

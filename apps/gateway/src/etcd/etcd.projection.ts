import {
  sentenceOf,
  type ClusterUid,
  type EtcdRequestView,
  type EtcdSnapshotView,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import { clusterKey } from '../common/cluster.address.js';

type Snapshot = Omit<EtcdSnapshotView, 'kind' | 'ageSeconds'>;
type Request = Omit<EtcdRequestView, 'kind'>;

/** What was saved of a cluster's etcd, and what became of requests about it; oldest first. */
export interface EtcdDoc {
  readonly uid: ClusterUid;
  readonly snapshots: readonly Snapshot[];
  readonly requests: readonly Request[];
}

const SNAPSHOTS_MAX = 200;
const REQUESTS_MAX = 50;

type EtcdEvent = StoredEvent<
  | 'EtcdSnapshotRequested'
  | 'EtcdSnapshotTaken'
  | 'EtcdSnapshotFailed'
  | 'EtcdRestoreRequested'
  | 'EtcdRestored'
  | 'EtcdRestoreFailed'
>;

const TYPES: ReadonlySet<string> = new Set<EtcdEvent['type']>([
  'EtcdSnapshotRequested',
  'EtcdSnapshotTaken',
  'EtcdSnapshotFailed',
  'EtcdRestoreRequested',
  'EtcdRestored',
  'EtcdRestoreFailed',
]);

const isEtcd = (event: StoredEvent): event is EtcdEvent => TYPES.has(event.type);

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
});

const begun = ({ type, data, meta }: StoredEvent<'EtcdSnapshotRequested' | 'EtcdRestoreRequested'>): Request => ({
  id: data.requestId,
  what: type === 'EtcdSnapshotRequested' ? 'snapshot' : 'restore',
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

const evolved = (doc: EtcdDoc, event: EtcdEvent): EtcdDoc => {
  const finishedAt = event.meta.time;
  switch (event.type) {
    case 'EtcdSnapshotRequested':
    case 'EtcdRestoreRequested':
      return { ...doc, requests: [...doc.requests, begun(event)].slice(-REQUESTS_MAX) };
    case 'EtcdSnapshotTaken': {
      const { requestId, snapshot } = event.data;
      const saved = { ...doc, snapshots: [...doc.snapshots, taken(event)].slice(-SNAPSHOTS_MAX) };
      return withRequest(saved, requestId, { phase: 'Succeeded', snapshot, finishedAt });
    }
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
      ...snapshot,
      kind: 'EtcdSnapshot' as const,
      ageSeconds: Math.max(0, Math.floor((nowMs - Date.parse(snapshot.takenAt)) / MS_PER_SECOND)),
    }))
    .reverse();

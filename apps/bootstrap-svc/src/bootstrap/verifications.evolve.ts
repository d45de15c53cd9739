import type { StoredEvent } from '@fairlead/contracts';
import type { Cluster, DesiredVerification } from './bootstrap.state.js';

const VERIFICATIONS_MAX = 100;

/** A snapshot that is requested twice is verified once. */
const withVerification = (
  cluster: Cluster,
  { snapshot, sha256, bytes, revision, keys }: DesiredVerification,
): Cluster => {
  const { verifications = [] } = cluster;
  const isKnown = verifications.some((one) => one.snapshot === snapshot);
  if (isKnown || verifications.length >= VERIFICATIONS_MAX) return cluster;
  return { ...cluster, verifications: [...verifications, { snapshot, sha256, bytes, revision, keys }] };
};

const withoutVerification = (cluster: Cluster, snapshot: string): Cluster => {
  const { verifications = [], ...others } = cluster;
  const left = verifications.filter((one) => one.snapshot !== snapshot);
  if (left.length === verifications.length) return cluster;
  return left.length === 0 ? others : { ...others, verifications: left };
};

/** Snapshots of etcd that are not verified yet. */
export const evolveVerifications = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'EtcdSnapshotTaken':
      return event.data.verify === true ? withVerification(cluster, event.data) : cluster;
    case 'EtcdSnapshotVerificationRequested':
      return withVerification(cluster, event.data);
    case 'EtcdSnapshotVerified':
    case 'EtcdSnapshotVerificationFailed':
    case 'EtcdSnapshotDeleted':
      return withoutVerification(cluster, event.data.snapshot);
    default:
      return cluster;
  }
};

import { ClusterName, Namespace, NONE, PARTITION_COUNT, partitionOf } from '@fairlead/contracts';

/** Commands in one partition of the log. */
export interface Writes {
  readonly partition: number;
  /** Subjects of their events. */
  readonly filter: string;
}

const NOTHING: readonly Writes[] = [];

const everywhere = (subject: string): readonly Writes[] =>
  Array.from({ length: PARTITION_COUNT }, (_, partition) => ({ partition, filter: `evt.${partition}.${subject}` }));

const about = (namespace: string, cluster: string): readonly Writes[] => {
  const partition = partitionOf(namespace, cluster);
  return [{ partition, filter: `evt.${partition}.${namespace}.${cluster}.request.>` }];
};

/** Answered from the log itself. */
const FROM_LOG: ReadonlySet<string | undefined> = new Set(['events', 'audit']);

const ofClusters = (namespace: string, [cluster, part]: readonly string[]): readonly Writes[] => {
  if (FROM_LOG.has(part)) return NOTHING;
  if (cluster === undefined) return everywhere(`${namespace}.*.request.>`);
  return ClusterName.safeParse(cluster).success ? about(namespace, cluster) : NOTHING;
};

const inNamespace = ([namespace, kind, ...rest]: readonly string[], isRead: boolean): readonly Writes[] => {
  if (namespace === undefined) return isRead ? everywhere(`*.${NONE}.request.>`) : NOTHING;
  if (!Namespace.safeParse(namespace).success) return NOTHING;
  switch (kind) {
    case undefined:
      // A namespace with clusters is not deleted, so deleting one reads its clusters.
      return isRead ? about(namespace, NONE) : everywhere(`${namespace}.*.request.>`);
    case 'clusters':
      return isRead ? ofClusters(namespace, rest) : NOTHING;
    case 'addon-secrets':
    case 'hook-secrets':
      return isRead ? about(namespace, NONE) : NOTHING;
    case 'cluster-templates':
      // Its deletion is decided by the log itself.
      return isRead ? everywhere(`${namespace}.*.request.>`) : NOTHING;
    case 'realms':
      // One that clusters name is not removed.
      return everywhere(`${namespace}.*.request.>`);
    default:
      return NOTHING;
  }
};

/** The commands that a request has to see in our rows. `segments` are those of its path, without CB-Ladybug's base. */
export const writesBehind = (method: string, segments: readonly string[]): readonly Writes[] => {
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead && method !== 'DELETE') return NOTHING;
  switch (segments[0]) {
    case 'ns':
      return inNamespace(segments.slice(1), isRead);
    case 'fleet':
      // What happened when is counted in the log.
      return isRead && segments[1] === undefined ? everywhere('*.*.request.>') : NOTHING;
    case 'mcir':
    case 'applications':
      return about(NONE, NONE);
    case 'connections':
      // A connection that is in use is not removed, so removing one reads all clusters.
      return isRead ? about(NONE, NONE) : everywhere('*.*.request.>');
    case 'quarantine':
      return everywhere('*.*.audit.ClusterQuarantineReleased');
    default:
      return NOTHING;
  }
};

import type { NodeName, StoredEvent } from '@fairlead/contracts';
import type { Cluster, Departure, Host } from './bootstrap.state.js';

const withDeparture = (cluster: Cluster, node: NodeName, departure: Departure): Cluster => {
  const host = cluster.hosts[node];
  return host === undefined ? cluster : { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, departure } } };
};

/** The answer of upgrade-svc about a leaving control plane. An answer about an earlier attempt is ignored. */
const answered = (
  cluster: Cluster,
  {
    type,
    data: { node, attempt },
    meta: { time },
  }: StoredEvent<'ControlPlaneRemovalPrepared' | 'ControlPlaneRemovalBlocked'>,
): Cluster => {
  const { departure } = cluster.hosts[node] ?? {};
  if (departure?.attempt !== attempt || departure.status !== 'started') return cluster;
  return withDeparture(
    cluster,
    node,
    type === 'ControlPlaneRemovalPrepared'
      ? { attempt, status: 'prepared', againAt: time }
      : { attempt, status: 'blocked', againAt: null },
  );
};

/** Its removal may be retried. */
const unblocked = (
  cluster: Cluster,
  { data: { node, attempt }, meta: { time } }: StoredEvent<'ControlPlaneRemovalUnblocked'>,
): Cluster => {
  const { departure } = cluster.hosts[node] ?? {};
  if (departure?.attempt !== attempt || departure.status !== 'blocked') return cluster;
  return withDeparture(cluster, node, { ...departure, againAt: time });
};

/** Its turn is over: others may leave, and a retry checks etcd again. */
export const stuck = (host: Host | undefined, time: string): Pick<Host, 'removal' | 'departure'> => ({
  removal: 'stuck',
  ...(host?.departure === undefined ? {} : { departure: { ...host.departure, status: 'blocked', againAt: time } }),
});

/** The removal of a drained node continues: its pods run elsewhere, and its host is reset. */
const cancelled = (cluster: Cluster, node: NodeName): Cluster => {
  const host = cluster.hosts[node];
  if (host?.removal !== 'desired' && host?.removal !== 'stuck') return cluster;
  return { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, removal: 'cancelled' } } };
};

const kept = (cluster: Cluster, node: NodeName): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined) return cluster;
  const { drainingSince: _ended, drainBlockedBy: _reasons, ...stays } = host;
  return { ...cluster, hosts: { ...cluster.hosts, [node]: { ...stays, removal: 'none' } } };
};

/** The progress of leaving control planes, and workers whose removal is cancelled. */
export const evolveDepartures = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ControlPlaneRemovalStarted': {
      const { node, attempt } = event.data;
      return withDeparture(cluster, node, { attempt, status: 'started', againAt: event.meta.time });
    }
    case 'ControlPlaneRemovalPrepared':
    case 'ControlPlaneRemovalBlocked':
      return answered(cluster, event);
    case 'ControlPlaneRemovalUnblocked':
      return unblocked(cluster, event);
    case 'NodeRemovalCancellationRequested':
      return cancelled(cluster, event.data.node);
    case 'NodeRemovalCancelled':
      return kept(cluster, event.data.node);
    case 'InitialControlPlaneChanged': {
      const { controlPlane } = cluster;
      return controlPlane === null ? cluster : { ...cluster, controlPlane: { ...controlPlane, node: event.data.to } };
    }
    default:
      return cluster;
  }
};

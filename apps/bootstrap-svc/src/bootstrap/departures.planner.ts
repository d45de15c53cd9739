import {
  controlPlanesOf,
  isBehindBalancer,
  newHostsOf,
  isControlPlane,
  type Bootstrap,
  type Cluster,
  type Host,
} from './bootstrap.state.js';

/** It was never verified, so etcd has no member there. */
const hasNoMember = ({ bootstrapped, joinedAt }: Host): boolean => !bootstrapped && joinedAt === null;

/** It is leaving now: nothing else changes the members of etcd until it is removed or blocked. */
const isLeavingNow = ({ removal, departure }: Host): boolean =>
  removal === 'drained' || (removal === 'desired' && departure !== undefined && departure.status !== 'blocked');

/** Control planes join and leave one at a time. */
export const isAnyLeaving = (cluster: Cluster): boolean =>
  controlPlanesOf(cluster).some((host) => isLeavingNow(host) && !hasNoMember(host));

const isJoining = ({ status, cluster }: Exclude<Bootstrap, { status: 'absent' }>): boolean =>
  status === 'building' &&
  newHostsOf(cluster).some((host) => isControlPlane(host) && host.bootstrapped && host.joinedAt === null);

/** Control planes that wait to leave: those that are not Ready first, then by name. */
const waiting = (cluster: Cluster): readonly Host[] =>
  controlPlanesOf(cluster)
    .filter((host) => host.removal === 'desired' && !hasNoMember(host))
    .toSorted((one, other) => Number(one.ready) - Number(other.ready));

const isDue = ({ departure }: Host, now: string): boolean =>
  departure === undefined || (departure.againAt !== null && departure.againAt <= now);

/** The next control plane to leave, with the number of attempts; undefined: none can start now. */
export const nextToLeave = (
  state: Bootstrap,
  now: string,
): { readonly host: Host; readonly attempt: number } | undefined => {
  if (state.status === 'absent' || state.status === 'deleting' || state.status === 'dismantled') return undefined;
  const { cluster } = state;
  if (cluster.controlPlane === null || isAnyLeaving(cluster) || isJoining(state)) return undefined;
  const host = waiting(cluster).find((one) => isDue(one, now));
  return host === undefined ? undefined : { host, attempt: (host.departure?.attempt ?? 0) + 1 };
};

/** When a blocked control plane is checked again; null: none waits. */
export const nextLookAt = (state: Bootstrap, now: string): string | null => {
  if (state.status === 'absent') return null;
  return (
    waiting(state.cluster)
      .flatMap(({ departure }) => departure?.againAt ?? [])
      .filter((dueAt) => dueAt > now)
      .toSorted()[0] ?? null
  );
};

/** The successor of the initial control plane if that leaves, or is gone; undefined: none is needed. */
export const successor = ({ hosts, ...cluster }: Cluster): Host | undefined => {
  if (cluster.controlPlane === null) return undefined;
  const initial = hosts[cluster.controlPlane.node];
  if (
    initial !== undefined &&
    (initial.removal === 'none' || !isLeavingNow(initial) || initial.departure?.status === 'started')
  )
    return undefined;
  const staying = controlPlanesOf({ hosts, ...cluster }).filter(
    ({ joinedAt, removal }) => joinedAt !== null && removal === 'none',
  );
  return staying.find(({ ready }) => ready) ?? staying[0];
};

/** Whether it may be drained, or is drained and may be removed from etcd and Kubernetes. */
export const mayBeRemoved = (cluster: Cluster, host: Host): boolean => {
  // Also one that never joined: it receives requests as soon as its machine runs.
  if (host.removal === 'drained') return !isBehindBalancer(cluster, host);
  if (hasNoMember(host)) return true;
  return host.departure?.status === 'prepared' && cluster.controlPlane?.node !== host.machine.name;
};

import {
  controlPlanesOf,
  isBehindBalancer,
  newHostsOf,
  isControlPlane,
  type Bootstrap,
  type Cluster,
  type Host,
} from './bootstrap.state.js';

/** It was never fit to join, so etcd has no member there. */
const hasNoMember = ({ bootstrapped, joinedAt }: Host): boolean => !bootstrapped && joinedAt === null;

/** It leaves now: nothing else changes the members of etcd until it has gone, or cannot. */
const isLeavingNow = ({ removal, departure }: Host): boolean =>
  removal === 'drained' || (removal === 'desired' && departure !== undefined && departure.status !== 'blocked');

/** One control plane comes or goes at a time. */
export const isAnyLeaving = (cluster: Cluster): boolean =>
  controlPlanesOf(cluster).some((host) => isLeavingNow(host) && !hasNoMember(host));

const isJoining = ({ status, cluster }: Exclude<Bootstrap, { status: 'absent' }>): boolean =>
  status === 'building' &&
  newHostsOf(cluster).some((host) => isControlPlane(host) && host.bootstrapped && host.joinedAt === null);

/** Those that are asked to go and have to wait for their turn: not Ready first, then by name. */
const waiting = (cluster: Cluster): readonly Host[] =>
  controlPlanesOf(cluster)
    .filter((host) => host.removal === 'desired' && !hasNoMember(host))
    .toSorted((one, other) => Number(one.ready) - Number(other.ready));

const isDue = ({ departure }: Host, now: string): boolean =>
  departure === undefined || (departure.againAt !== null && departure.againAt <= now);

/** The control plane whose turn to leave it is, and how often it was tried; undefined: none can begin now. */
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

/** When a control plane that could not leave is looked at again; null: none waits. */
export const nextLookAt = (state: Bootstrap, now: string): string | null => {
  if (state.status === 'absent') return null;
  return (
    waiting(state.cluster)
      .flatMap(({ departure }) => departure?.againAt ?? [])
      .filter((dueAt) => dueAt > now)
      .toSorted()[0] ?? null
  );
};

/** Who takes the part of the initial control plane when that leaves, or is gone; undefined: it need not be given away. */
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

/** Whether it may be drained, or is drained and may be taken out of etcd and Kubernetes. */
export const mayBeRemoved = (cluster: Cluster, host: Host): boolean => {
  // Also one that never joined: requests are balanced over it as soon as its machine runs.
  if (host.removal === 'drained') return !isBehindBalancer(cluster, host);
  if (hasNoMember(host)) return true;
  return host.departure?.status === 'prepared' && cluster.controlPlane?.node !== host.machine.name;
};

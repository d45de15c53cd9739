import {
  without,
  type ClusterName,
  type Namespace,
  type NodeName,
  type RotationHost,
  type StoredEvent,
} from '@fairlead/contracts';
import type { Fold } from '@fairlead/event-sourcing/jetstream';

interface Machine {
  readonly connection: string;
  /**
   * The position in the log at which it was planned: from there on it may be created with the key that was current at
   * that time.
   */
  readonly plannedSeq: number;
  /** The key with which it was created; absent: it does not exist yet. */
  readonly createdWith?: string;
}

/** The result of bootstrap-svc on a host. */
interface Replaced {
  /** The key with which it is accessed. */
  readonly key: string;
  /** Keys that it still accepts, but must not. */
  readonly former: readonly string[];
  /** Keys that it accepted before. */
  readonly gone: readonly string[];
}

interface Cluster {
  readonly namespace: Namespace;
  readonly name: ClusterName;
  readonly machines: Readonly<Record<string, Machine>>;
  readonly replaced: Readonly<Record<string, Replaced>>;
}

/** The SSH keys that hosts of all clusters accept, by the UID of the cluster. */
export type RotationHosts = ReadonlyMap<string, Cluster>;

const NEW: Replaced = { key: '', former: [], gone: [] };

const planned = (machines: Cluster['machines'], { data, meta }: StoredEvent<'VmsPlanned'>): Cluster['machines'] => ({
  ...machines,
  ...Object.fromEntries(data.machines.map(({ name, connection }) => [name, { connection, plannedSeq: meta.seq }])),
});

const created = (machines: Cluster['machines'], { data, meta }: StoredEvent<'VmCreated'>): Cluster['machines'] => {
  const { name, connection, ssh } = data.machine;
  const machine = machines[name] ?? { connection, plannedSeq: meta.seq };
  return { ...machines, [name]: { ...machine, createdWith: ssh.keyRef } };
};

const replacedAfter = (
  replaced: Cluster['replaced'],
  event: StoredEvent<'AuthorizedKeyAdded' | 'AuthorizedKeyRemoved'>,
): Cluster['replaced'] => {
  const { node, keyRef } = event.data;
  const before = replaced[node] ?? NEW;
  if (event.type === 'AuthorizedKeyAdded') {
    const former = [...new Set([...before.former, event.data.former.keyRef])];
    return { ...replaced, [node]: { ...before, key: keyRef, former } };
  }
  const former = before.former.filter((key) => key !== keyRef);
  return { ...replaced, [node]: { ...before, former, gone: [...before.gone, keyRef] } };
};

const clusterAfter = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'VmsPlanned':
      return { ...cluster, machines: planned(cluster.machines, event) };
    case 'VmCreated':
      return { ...cluster, machines: created(cluster.machines, event) };
    case 'VmDeleted': {
      const { name } = event.data;
      return { ...cluster, machines: without(cluster.machines, name), replaced: without(cluster.replaced, name) };
    }
    case 'AuthorizedKeyAdded':
    case 'AuthorizedKeyRemoved':
      return { ...cluster, replaced: replacedAfter(cluster.replaced, event) };
    default:
      return cluster;
  }
};

export const rotationHostsAfter = (hosts: RotationHosts, event: StoredEvent): RotationHosts => {
  if (!('uid' in event.data)) return hosts;
  const { uid } = event.data;
  if (event.type === 'ClusterDeleted') return new Map([...hosts].filter(([key]) => key !== uid));
  const namespace = event.meta.namespace as Namespace;
  const before = hosts.get(uid) ?? { namespace, name: event.meta.cluster as ClusterName, machines: {}, replaced: {} };
  const after = clusterAfter(before, event);
  return after === before ? hosts : new Map(hosts).set(uid, after);
};

export const ROTATION_HOSTS: Fold<RotationHosts> = {
  filters: [
    'evt.*.*.*.machines.VmsPlanned',
    'evt.*.*.*.machines.VmCreated',
    'evt.*.*.*.bootstrap.AuthorizedKeyAdded',
    'evt.*.*.*.bootstrap.AuthorizedKeyRemoved',
    'evt.*.*.*.machines.VmDeleted',
    'evt.*.*.*.machines.ClusterDeleted',
  ],
  initial: new Map(),
  evolve: rotationHostsAfter,
};

/** The replacement of a key on every host of a connection. */
export interface Replacement {
  readonly connection: string;
  readonly former: string;
  /** The position in the log at which the new key became current. */
  readonly since: number;
}

export interface Progress {
  /** Hosts that accept only the new key. */
  readonly replaced: number;
  readonly pending: readonly PendingHost[];
}

export interface PendingHost extends RotationHost {
  readonly uid: string;
}

const isPending = ({ machines, replaced }: Cluster, node: string, { former, since }: Replacement): boolean => {
  const machine = machines[node];
  if (machine === undefined) return false;
  // Its creation with the former key may be in progress. After `since`, every creation finds the new one in the log.
  if (machine.createdWith === undefined) return machine.plannedSeq < since;
  const { key, former: accepted } = replaced[node] ?? { ...NEW, key: machine.createdWith };
  return key === former || accepted.includes(former);
};

/**
 * The progress of the replacement. Hosts without the former key do not count: they were left out of an earlier
 * rotation, or are new.
 */
export const progressOf = (hosts: RotationHosts, replacement: Replacement): Progress => {
  const { connection, former } = replacement;
  const ofConnection = [...hosts].flatMap(([uid, cluster]) =>
    Object.entries(cluster.machines)
      .filter(([, machine]) => machine.connection === connection)
      .map(([node]) => ({ uid, cluster, node })),
  );
  const isReplaced = ({ cluster, node }: (typeof ofConnection)[number]): boolean =>
    cluster.replaced[node]?.gone.includes(former) === true;
  const pending = ofConnection
    .filter(({ cluster, node }) => isPending(cluster, node, replacement))
    .map(({ uid, cluster: { namespace, name: cluster }, node }) => ({
      uid,
      namespace,
      cluster,
      node: node as NodeName,
    }));
  const order = (host: PendingHost): string => `${host.namespace}/${host.cluster}/${host.node}`;
  return {
    replaced: ofConnection.filter(isReplaced).length,
    pending: pending.toSorted((one, other) => (order(one) < order(other) ? -1 : 1)),
  };
};

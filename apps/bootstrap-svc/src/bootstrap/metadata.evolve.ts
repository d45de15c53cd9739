import {
  nodeMetadata,
  POOL_LABEL,
  taintKey,
  type DeclaredSpec,
  type NodeMetadata,
  type StoredEvent,
} from '@fairlead/contracts';
import { isControlPlane, type Cluster, type Host } from './bootstrap.state.js';
import { servesSnapshot } from './restored.evolve.js';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

/** The labels and taints of kubeadm on a control plane. A kubelet may not set them itself. */
const ofControlPlane = ({ spec }: Cluster): NodeMetadata =>
  nodeMetadata({
    labels: { [CONTROL_PLANE]: '', 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
    taints: spec.singleNode ? [] : [{ key: CONTROL_PLANE, effect: 'NoSchedule' }],
  });

/** The name of its pool, for a node that joined before kubelets set it. */
const ofEarlierJoin = ({ machine: { labels = {}, pool } }: Host): Readonly<Record<string, string>> =>
  labels[POOL_LABEL] === undefined ? { [POOL_LABEL]: pool } : {};

/** The labels and taints of the node are unknown, and may include removed ones of its pool. */
const mayHaveObsolete = ({ metadata }: Host): boolean =>
  metadata !== undefined && metadata.set === null && metadata.ours.labels.length + metadata.ours.taints.length > 0;

/** The labels and taints of the pool on its nodes, and of kubeadm on control planes. */
export const desiredMetadata = (cluster: Cluster, host: Host): NodeMetadata => {
  const given: Partial<NodeMetadata> = isControlPlane(host)
    ? ofControlPlane(cluster)
    : (cluster.pools?.[host.machine.pool] ?? {});
  return nodeMetadata({ ...given, labels: { ...given.labels, ...ofEarlierJoin(host) } });
};

/**
 * Nothing needs to be set on the node since it joined; a control plane has kubeadm's labels and taints until it
 * registers again.
 */
const isAsJoined = (cluster: Cluster, host: Host): boolean =>
  host.metadata === undefined &&
  Object.keys(ofEarlierJoin(host)).length === 0 &&
  (isControlPlane(host) || cluster.pools?.[host.machine.pool] === undefined);

/** Whether the node has the labels and taints of its pool. */
export const hasMetadata = (cluster: Cluster, host: Host): boolean =>
  !mayHaveObsolete(host) &&
  (isAsJoined(cluster, host) ||
    JSON.stringify(nodeMetadata(host.metadata?.set ?? {})) === JSON.stringify(desiredMetadata(cluster, host)));

const keysOf = ({ labels, taints }: NodeMetadata): { labels: readonly string[]; taints: readonly string[] } => ({
  labels: Object.keys(labels),
  taints: taints.map(taintKey),
});

const union = (one: readonly string[], other: readonly string[]): readonly string[] => [...new Set([...one, ...other])];

const NOTHING: NonNullable<Host['metadata']> = { set: null, ours: { labels: [], taints: [] } };

/** Labels and taints may exist from the time they become desired, even if that was never recorded. */
const withDesired = (cluster: Cluster, host: Host): Host => {
  const desired = keysOf(desiredMetadata(cluster, host));
  if (isControlPlane(host) || desired.labels.length + desired.taints.length === 0) return host;
  const { set, ours } = host.metadata ?? NOTHING;
  const labels = union(ours.labels, desired.labels);
  const taints = union(ours.taints, desired.taints);
  const isKnown = labels.length === ours.labels.length && taints.length === ours.taints.length;
  return isKnown ? host : { ...host, metadata: { set, ours: { labels, taints } } };
};

const withAllDesired = (cluster: Cluster): Cluster => ({
  ...cluster,
  hosts: Object.fromEntries(
    Object.entries(cluster.hosts).map(([name, host]) => [name, withDesired(cluster, host)] as const),
  ),
});

/** Pools without labels and taints are omitted to save space. */
const poolsOf = ({ pools }: DeclaredSpec): NonNullable<Cluster['pools']> =>
  Object.fromEntries(
    pools
      .map((pool) => [pool.name, nodeMetadata(pool)] as const)
      .filter(([, { labels, taints }]) => Object.keys(labels).length + taints.length > 0),
  );

/** Former keys are kept: a node that registers again, or that a snapshot of etcd restores, may have them. */
const poolKeysOf = (
  before: NonNullable<Cluster['poolKeys']>,
  pools: NonNullable<Cluster['pools']>,
): NonNullable<Cluster['poolKeys']> => ({
  ...before,
  ...Object.fromEntries(
    Object.entries(pools).map(([name, metadata]) => {
      const { labels, taints } = keysOf(metadata);
      const known = before[name] ?? NOTHING.ours;
      return [name, { labels: union(known.labels, labels), taints: union(known.taints, taints) }] as const;
    }),
  ),
});

const withPools = (cluster: Cluster, spec: DeclaredSpec): Cluster => {
  const pools = poolsOf(spec);
  const poolKeys = poolKeysOf(cluster.poolKeys ?? {}, pools);
  return { ...cluster, pools, ...(Object.keys(poolKeys).length === 0 ? {} : { poolKeys }) };
};

/** How nodes are drained before they leave. */
const withDrain = ({ drain: _before, ...cluster }: Cluster, { drain }: DeclaredSpec): Cluster =>
  drain === undefined ? cluster : { ...cluster, drain };

const recorded = (cluster: Cluster, { node, labels, taints }: StoredEvent<'NodeLabelsSet'>['data']): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined) return cluster;
  const set = { labels, taints };
  const after = withDesired(cluster, { ...host, metadata: { set, ours: keysOf(set) } });
  return { ...cluster, hosts: { ...cluster.hosts, [node]: after } };
};

/** A kubelet that registers again sets the labels and taints of its join, but not those set later or by kubeadm. */
const registeredAgain = (cluster: Cluster, node: string): Cluster => {
  const host = cluster.hosts[node];
  return host === undefined ? cluster : { ...cluster, hosts: { ...cluster.hosts, [node]: unknownOn(cluster, host) } };
};

/** Its labels and taints may be those of any earlier time. */
const unknownOn = (cluster: Cluster, host: Host): Host => {
  const had = isControlPlane(host) ? undefined : cluster.poolKeys?.[host.machine.pool];
  if (host.metadata === undefined && had === undefined && !isControlPlane(host)) return host;
  const { ours } = host.metadata ?? NOTHING;
  const { labels, taints } = had ?? NOTHING.ours;
  return {
    ...host,
    metadata: { set: null, ours: { labels: union(ours.labels, labels), taints: union(ours.taints, taints) } },
  };
};

const restored = (cluster: Cluster): Cluster => ({
  ...cluster,
  hosts: Object.fromEntries(
    Object.entries(cluster.hosts).map(([name, host]) => [
      name,
      // Labels and taints of control planes are kubeadm's and the operators' own; one that registers again gets
      // kubeadm's.
      host.joinedAt === null || isControlPlane(host) ? host : unknownOn(cluster, host),
    ]),
  ),
});

/** Applies an event to the labels and taints of nodes. */
export const evolveMetadata = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return withAllDesired(withDrain(withPools(cluster, event.data.spec), event.data.spec));
    case 'VmsCreated':
      return withAllDesired(cluster);
    case 'NodeLabelsSet':
      return recorded(cluster, event.data);
    case 'EtcdRestoreAdvanced':
      return servesSnapshot(event) ? restored(cluster) : cluster;
    case 'NodeReturned':
      return registeredAgain(cluster, event.data.node);
    default:
      return cluster;
  }
};

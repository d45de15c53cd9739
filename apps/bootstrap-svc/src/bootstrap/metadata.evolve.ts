import { nodeMetadata, taintKey, type DeclaredSpec, type NodeMetadata, type StoredEvent } from '@fairlead/contracts';
import { isControlPlane, type Cluster, type Host } from './bootstrap.state.js';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';

/** What kubeadm gives to a control plane. A kubelet may not give it to itself. */
const ofControlPlane = ({ spec }: Cluster): NodeMetadata =>
  nodeMetadata({
    labels: { [CONTROL_PLANE]: '', 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
    taints: spec.singleNode ? [] : [{ key: CONTROL_PLANE, effect: 'NoSchedule' }],
  });

/** The labels and taints that a pool gives to its nodes, and kubeadm to control planes. */
export const desiredMetadata = (cluster: Cluster, host: Host): NodeMetadata =>
  isControlPlane(host) ? ofControlPlane(cluster) : nodeMetadata(cluster.pools?.[host.machine.pool] ?? {});

/** Whether the node has the labels and taints of its pool; a control plane has kubeadm's until it registers again. */
export const hasMetadata = (cluster: Cluster, host: Host): boolean =>
  (host.metadata === undefined && (isControlPlane(host) || cluster.pools?.[host.machine.pool] === undefined)) ||
  JSON.stringify(nodeMetadata(host.metadata?.set ?? {})) === JSON.stringify(desiredMetadata(cluster, host));

const keysOf = ({ labels, taints }: NodeMetadata): { labels: readonly string[]; taints: readonly string[] } => ({
  labels: Object.keys(labels),
  taints: taints.map(taintKey),
});

const union = (one: readonly string[], other: readonly string[]): readonly string[] => [...new Set([...one, ...other])];

const NOTHING: NonNullable<Host['metadata']> = { set: null, ours: { labels: [], taints: [] } };

/** From the moment that something is desired of a node it may be there, also if that was never recorded. */
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

/** Pools without labels and taints are left out, so that they take no room. */
const poolsOf = ({ pools }: DeclaredSpec): NonNullable<Cluster['pools']> =>
  Object.fromEntries(
    pools
      .map((pool) => [pool.name, nodeMetadata(pool)] as const)
      .filter(([, { labels, taints }]) => Object.keys(labels).length + taints.length > 0),
  );

/** How nodes are emptied before they leave. */
const withDrain = ({ drain: _before, ...cluster }: Cluster, { drain }: DeclaredSpec): Cluster =>
  drain === undefined ? cluster : { ...cluster, drain };

const recorded = (cluster: Cluster, { node, labels, taints }: StoredEvent<'NodeLabelsSet'>['data']): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined) return cluster;
  const set = { labels, taints };
  const after = withDesired(cluster, { ...host, metadata: { set, ours: keysOf(set) } });
  return { ...cluster, hosts: { ...cluster.hosts, [node]: after } };
};

/** A kubelet that registers again gives itself what it had when it joined, and nothing that was set later, or by kubeadm. */
const registeredAgain = (cluster: Cluster, node: string): Cluster => {
  const host = cluster.hosts[node];
  if (host === undefined || (host.metadata === undefined && !isControlPlane(host))) return cluster;
  const metadata = { ...(host.metadata ?? NOTHING), set: null };
  return { ...cluster, hosts: { ...cluster.hosts, [node]: { ...host, metadata } } };
};

/** What an event changes in the labels and taints of nodes. */
export const evolveMetadata = (cluster: Cluster, event: StoredEvent): Cluster => {
  switch (event.type) {
    case 'ClusterSpecChanged':
      return withAllDesired(withDrain({ ...cluster, pools: poolsOf(event.data.spec) }, event.data.spec));
    case 'VmsCreated':
      return withAllDesired(cluster);
    case 'NodeLabelsSet':
      return recorded(cluster, event.data);
    case 'NodeReturned':
      return registeredAgain(cluster, event.data.node);
    default:
      return cluster;
  }
};

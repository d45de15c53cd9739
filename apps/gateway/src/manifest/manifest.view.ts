import {
  CONTROL_PLANE_POOL,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  type ClusterManifestView,
  type ClusterView,
  type Declared,
  type ScaleView,
} from '@fairlead/contracts';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { AppliedManifest } from './manifest.commands.js';

const TYPE = { apiVersion: MANIFEST_API_VERSION, kind: MANIFEST_KIND } as const;

/** Nodes that leave, and surge nodes, are not counted: the spec does not count them either. */
const statusOf = (nodes: ClusterView['nodes'], pool: string): { replicas: number; readyReplicas: number } => {
  const counted = nodes.filter(
    (node) => node.pool === pool && node.phase !== 'Removing' && node.extraFor === undefined,
  );
  return { replicas: counted.length, readyReplicas: counted.filter(({ ready }) => ready).length };
};

/** The desired state of a cluster, with how it is. */
export const manifestView = ({ uid, spec, seq, revision }: Declared, cluster: ClusterView): ClusterManifestView => ({
  ...TYPE,
  metadata: {
    name: cluster.name,
    namespace: cluster.namespace,
    uid,
    resourceVersion: String(seq),
    creationTimestamp: cluster.createdTime,
  },
  spec,
  status: {
    phase: cluster.status.phase,
    endpoint: cluster.endpoint,
    revision,
    controlPlane: statusOf(cluster.nodes, CONTROL_PLANE_POOL),
    pools: spec.pools.map(({ name }) => ({ name, ...statusOf(cluster.nodes, name) })),
  },
});

/** The answer to a change: the spec as it is from here on, or would be, and what is done for it. */
export const appliedView = (
  { namespace, cluster: name }: ClusterAddress,
  { decided: { state, events }, spec, plan }: AppliedManifest,
): ClusterManifestView => ({
  ...TYPE,
  metadata: {
    name,
    namespace,
    uid: state.declared?.uid ?? '',
    resourceVersion: state.declared === undefined ? '' : String(state.declared.seq),
  },
  spec,
  plan: [...plan],
  operations: events.filter(({ type }) => type !== 'ClusterSpecChanged').map(({ meta }) => meta.id),
});

/** The size of a pool, with how many nodes it has; undefined: there is no such pool. */
export const scaleView = (
  { metadata, spec, status, plan, operations }: ClusterManifestView,
  pool: string,
): ScaleView | undefined => {
  const isControlPlane = pool === CONTROL_PLANE_POOL;
  const declared = isControlPlane ? spec.controlPlane : spec.pools.find(({ name }) => name === pool);
  if (declared === undefined) return undefined;
  const found = isControlPlane ? status?.controlPlane : status?.pools.find(({ name }) => name === pool);
  const { replicas = 0, readyReplicas = 0 } = found ?? {};
  const { namespace, name: cluster, resourceVersion } = metadata;
  return {
    kind: 'Scale',
    metadata: { name: pool, namespace, cluster, resourceVersion },
    spec: { replicas: declared.replicas },
    ...(status === undefined ? {} : { status: { replicas, readyReplicas } }),
    ...(plan === undefined ? {} : { plan }),
    ...(operations === undefined ? {} : { operations }),
  };
};

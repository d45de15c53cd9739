import {
  CONTROL_PLANE_POOL,
  DeclaredSpec,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  type ClusterManifestView,
  apiAccessOf,
  apiAccessText,
  completeSpec,
  nodeMetadata,
  type ClusterView,
  type PoolStatus,
  type ReplicaCounts,
  type ScaleView,
  type StoredEvent,
} from '@fairlead/contracts';
import {
  countsOf,
  desiredVersion,
  poolStatuses,
  type Declared,
  type PoolMembers,
  type PoolNode,
} from '@fairlead/domain';
import type { ClusterAddress } from '../common/cluster.address.js';
import { readySinceOf, type NodeDoc } from '../nodes/nodes.projection.js';
import { versionOf } from '../nodes/nodes.view.js';
import type { AppliedManifest } from './manifest.commands.js';

const TYPE = { apiVersion: MANIFEST_API_VERSION, kind: MANIFEST_KIND } as const;

const poolNode = (doc: NodeDoc): PoolNode => ({
  name: doc.name,
  pool: doc.pool,
  connection: doc.connection,
  machineType: doc.spec,
  rootDisk: doc.rootDisk,
  providerId: doc.machine?.providerId ?? null,
  readySince: readySinceOf(doc),
  wasReady: doc.milestones.ready !== undefined,
  version: versionOf(doc),
  metadata: doc.metadata ?? nodeMetadata({}),
  failed: doc.isKept === true,
});

/** The nodes of a pool that its size counts, and those that leave. Surge nodes are neither. */
const membersIn =
  ({ nodes: counted }: Declared, docs: readonly NodeDoc[]) =>
  (pool: string): PoolMembers => {
    const own = docs.filter((doc) => doc.pool === pool && doc.surge === undefined);
    const [members, leaving] = [
      own.filter(({ name }) => name in counted),
      own.filter(({ name }) => !(name in counted)),
    ];
    return { members: members.map(poolNode), leaving: leaving.map(poolNode) };
  };

/** What is known of a cluster, at a time. */
export interface ManifestRows {
  readonly cluster: ClusterView;
  readonly nodes: readonly NodeDoc[];
  readonly now: string;
  /** Of its template. */
  readonly isDeprecated: boolean;
}

const poolsOf = (declared: Declared, { cluster, nodes, now }: ManifestRows): PoolStatus[] => {
  const known = nodes.flatMap(({ pool, role }) => (role === 'worker' ? [pool] : []));
  const spec = { ...declared.spec, version: desiredVersion(declared) };
  return poolStatuses(spec, membersIn(declared, nodes), known, {
    ...{ cluster: cluster.status.phase, now },
    bootstrapped: Object.keys(declared.bootstrapped ?? {}),
  });
};

const controlPlaneOf = (declared: Declared, { nodes, now }: ManifestRows): ReplicaCounts => {
  const { rollout: _pace, ...controlPlane } = declared.spec.controlPlane;
  const pool = { name: CONTROL_PLANE_POOL, ...controlPlane };
  const { members } = membersIn(declared, nodes)(CONTROL_PLANE_POOL);
  return countsOf(members, { pool, version: desiredVersion(declared), now });
};

/** The host of the API's load balancer; undefined: unknown, or the API is published under another name. */
const balancerOf = ({ endpoint: declared }: DeclaredSpec, endpoint: string): string | undefined =>
  declared?.publish === true ? undefined : /^https:\/\/\[?([^\]]+?)\]?:\d+$/.exec(endpoint)?.[1];

/** The desired state of a cluster, with how it is. */
export const manifestView = (declared: Declared, rows: ManifestRows): ClusterManifestView => {
  const { cluster } = rows;
  const { uid, spec, seq, revision, labels, template } = declared;
  return {
    ...TYPE,
    metadata: {
      name: cluster.name,
      namespace: cluster.namespace,
      uid,
      resourceVersion: String(seq),
      creationTimestamp: cluster.createdTime,
      ...(labels === undefined ? {} : { labels }),
    },
    // Rows have their keys in the order of the database.
    spec: completeSpec(DeclaredSpec.parse(spec)),
    status: {
      phase: cluster.status.phase,
      state: cluster.status.state,
      conditions: cluster.conditions,
      endpoint: cluster.endpoint,
      apiAccess: apiAccessText(apiAccessOf(spec.firewall, balancerOf(spec, cluster.endpoint))),
      ...(template === undefined ? {} : { template: { ...template, deprecated: rows.isDeprecated } }),
      revision,
      controlPlane: controlPlaneOf(declared, rows),
      pools: poolsOf(declared, rows),
      ...(cluster.addons === undefined ? {} : { addons: cluster.addons }),
      ...(cluster.virtualAddresses === undefined ? {} : { virtualAddresses: cluster.virtualAddresses }),
    },
  };
};

const AT_ONCE: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterSpecChanged',
  'ClusterTemplateChosen',
  'ClusterPaused',
  'ClusterResumed',
]);

/** Whether something has to be done after the event of a change. */
export const isOperation = ({ type }: StoredEvent): boolean => !AT_ONCE.has(type);

/** The answer to a change: the spec as it is from here on, or would be, and what is done for it. */
export const appliedView = (
  { namespace, cluster: name }: ClusterAddress,
  { decided: { state, events }, spec, labels, plan, warnings }: AppliedManifest,
): ClusterManifestView => ({
  ...TYPE,
  metadata: {
    name,
    namespace,
    uid: state.declared?.uid ?? '',
    resourceVersion: state.declared === undefined ? '' : String(state.declared.seq),
    ...(labels === undefined ? {} : { labels }),
  },
  spec: completeSpec(spec),
  plan: [...plan],
  ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  operations: events.filter(isOperation).map(({ meta }) => meta.id),
});

const withoutName = ({ name: _name, ...status }: PoolStatus): NonNullable<ScaleView['status']> => status;

/** The size of a pool, with how many nodes it has; undefined: there is no such pool. */
export const scaleView = (
  { metadata, spec, status, plan, operations }: ClusterManifestView,
  pool: string,
): ScaleView | undefined => {
  const isControlPlane = pool === CONTROL_PLANE_POOL;
  const declared = isControlPlane ? spec.controlPlane : spec.pools.find(({ name }) => name === pool);
  if (declared === undefined) return undefined;
  const own = status?.pools.find(({ name }) => name === pool);
  const counts = isControlPlane ? status?.controlPlane : own === undefined ? undefined : withoutName(own);
  const { namespace, name: cluster, resourceVersion } = metadata;
  return {
    kind: 'Scale',
    metadata: { name: pool, namespace, cluster, resourceVersion },
    spec: { replicas: declared.replicas },
    ...(counts === undefined ? {} : { status: counts }),
    ...(plan === undefined ? {} : { plan }),
    ...(operations === undefined ? {} : { operations }),
  };
};

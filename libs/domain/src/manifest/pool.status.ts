import {
  type ClusterPhase,
  type PoolPhase,
  type PoolStatus,
  type ReplicaCounts,
  completePool,
  type DeclaredPool,
  type DeclaredSpec,
  needsBootstrapData,
  nodeMetadata,
  type NodeMetadata,
} from '@fairlead/contracts';
import { differences, type MachineTemplate } from './machine.template.js';

/** A node, as far as the status of its pool depends on it. */
export interface PoolNode extends MachineTemplate {
  readonly name: string;
  readonly pool: string;
  /** null: the machine is not running yet. */
  readonly providerId: string | null;
  /** RFC 3339; null: not Ready, or lost. */
  readonly readySince: string | null;
  /** Whether it was ever Ready. */
  readonly wasReady: boolean;
  /** `v1.34.4`; empty: not reported yet. */
  readonly version: string;
  /** Labels and taints that were set on it. */
  readonly metadata: NodeMetadata;
  /** It failed permanently and was kept. */
  readonly failed: boolean;
}

/** A pool with its nodes. */
export interface PoolMembers {
  /** Nodes that the pool's size counts. */
  readonly members: readonly PoolNode[];
  /** Nodes that are leaving. */
  readonly leaving: readonly PoolNode[];
}

const isReady = ({ readySince }: PoolNode): boolean => readySince !== null;

const isAvailable = ({ readySince }: PoolNode, minReadySeconds: number, now: string): boolean =>
  readySince !== null && Date.parse(readySince) + minReadySeconds * 1_000 <= Date.parse(now);

/** Whether a node matches its pool's declaration, so that it needs neither an update nor a replacement. */
const isUpdated = (node: PoolNode, pool: DeclaredPool, version: string): boolean =>
  node.version === version &&
  differences(node, pool).length === 0 &&
  JSON.stringify(nodeMetadata(node.metadata)) === JSON.stringify(nodeMetadata(pool));

export const countsOf = (
  members: readonly PoolNode[],
  { pool, version, now }: { readonly pool: DeclaredPool; readonly version: string; readonly now: string },
): ReplicaCounts => {
  const { minReadySeconds } = completePool(pool);
  const replicas = members.length;
  const availableReplicas = members.filter((node) => isAvailable(node, minReadySeconds, now)).length;
  return {
    replicas,
    readyReplicas: members.filter(isReady).length,
    availableReplicas,
    unavailableReplicas: replicas - availableReplicas,
    updatedReplicas: members.filter((node) => isUpdated(node, pool, version)).length,
  };
};

interface Sized extends PoolMembers {
  /** The declared number of nodes. */
  readonly desired: number;
  readonly available: number;
  readonly cluster: ClusterPhase;
  /** An autoscaler chooses its size. */
  readonly autoscaled?: boolean;
}

/**
 * The phase of a declared pool. A pool is being provisioned until one of its nodes was Ready; afterwards it is scaling,
 * in the direction in which nodes change, until as many nodes are available as declared. It is Scaling for both
 * directions, and for an autoscaler in either direction.
 */
export const poolPhase = ({ members, leaving, desired, available, cluster, autoscaled }: Sized): PoolPhase => {
  if (cluster === 'Deleting') return 'Deleting';
  if (cluster === 'Failed' || members.some(({ failed }) => failed)) return 'Failed';
  const shrinks = leaving.length > 0 || members.length > desired;
  const grows = available < desired;
  const scales = (phase: PoolPhase): PoolPhase => (autoscaled === true ? 'Scaling' : phase);
  if (shrinks) return grows ? 'Scaling' : scales('ScalingDown');
  if (!grows) return 'Running';
  if (members.some(({ wasReady }) => wasReady)) return scales('ScalingUp');
  if (members.length === 0) return 'Pending';
  return members.length < desired || members.some(({ providerId }) => providerId === null)
    ? 'Provisioning'
    : 'Provisioned';
};

const providerIDsOf = (members: readonly PoolNode[]): string[] => members.flatMap(({ providerId }) => providerId ?? []);

/** The state of a pool of a cluster. */
export const poolStatus = (
  pool: DeclaredPool,
  { members, leaving }: PoolMembers,
  at: {
    readonly cluster: ClusterPhase;
    readonly version: string;
    readonly now: string;
    /** Pools with bootstrap data. */
    readonly bootstrapped: readonly string[];
  },
): PoolStatus => {
  const counts = countsOf(members, { pool, ...at });
  const available = counts.availableReplicas;
  const autoscaled = pool.autoscaling !== undefined;
  const phase = poolPhase({ members, leaving, desired: pool.replicas, available, cluster: at.cluster, autoscaled });
  return {
    name: pool.name,
    phase,
    ...counts,
    ...(needsBootstrapData(pool) ? { bootstrapReady: at.bootstrapped.includes(pool.name) } : {}),
    providerIDs: providerIDsOf(members),
  };
};

const NO_REPLICAS: ReplicaCounts = {
  replicas: 0,
  readyReplicas: 0,
  availableReplicas: 0,
  unavailableReplicas: 0,
  updatedReplicas: 0,
};

/** The pools of a cluster: the declared ones, then those that are no longer declared and whose nodes are leaving. */
export const poolStatuses = (
  { pools, version }: Pick<DeclaredSpec, 'pools' | 'version'>,
  membersOf: (pool: string) => PoolMembers,
  known: readonly string[],
  {
    cluster,
    now,
    bootstrapped,
  }: { readonly cluster: ClusterPhase; readonly now: string; readonly bootstrapped: readonly string[] },
): PoolStatus[] => {
  const gone = [...new Set(known)].filter((name) => !pools.some((pool) => pool.name === name));
  return [
    ...pools.map((pool) => poolStatus(pool, membersOf(pool.name), { cluster, version, now, bootstrapped })),
    ...gone.map((name): PoolStatus => ({ name, phase: 'Deleting', ...NO_REPLICAS, providerIDs: [] })),
  ];
};

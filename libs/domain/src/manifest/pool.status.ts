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

/** A node, as far as its pool is concerned. */
export interface PoolNode extends MachineTemplate {
  readonly name: string;
  readonly pool: string;
  /** null: the machine does not run yet. */
  readonly providerId: string | null;
  /** RFC 3339; null: it is not Ready now, or lost. */
  readonly readySince: string | null;
  /** It was Ready once. */
  readonly wasReady: boolean;
  /** `v1.34.4`; empty: not reported yet. */
  readonly version: string;
  /** Labels and taints that were set on it. */
  readonly metadata: NodeMetadata;
  /** It failed for good, and is kept. */
  readonly failed: boolean;
}

/** A pool with its nodes. */
export interface PoolMembers {
  /** Those that its size counts. */
  readonly members: readonly PoolNode[];
  /** Those that leave it. */
  readonly leaving: readonly PoolNode[];
}

const isReady = ({ readySince }: PoolNode): boolean => readySince !== null;

const isAvailable = ({ readySince }: PoolNode, minReadySeconds: number, now: string): boolean =>
  readySince !== null && Date.parse(readySince) + minReadySeconds * 1_000 <= Date.parse(now);

/** Whether a node has what its pool declares, so that nothing has to be changed or replaced. */
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
  /** How many nodes are declared. */
  readonly desired: number;
  readonly available: number;
  readonly cluster: ClusterPhase;
  /** An autoscaler chooses its size. */
  readonly autoscaled?: boolean;
}

/**
 * The phase of a pool that is declared. A pool none of whose nodes was ever Ready is being provisioned; afterwards it scales until as many
 * nodes are available as declared, in the direction in which nodes move. Scaling is both, and what an autoscaler does, in whichever direction.
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
    /** Pools whose bootstrap data exist. */
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

/** The pools of a cluster: those that are declared, then those whose nodes leave because they are declared no longer. */
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

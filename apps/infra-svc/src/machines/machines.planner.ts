import {
  CONTROL_PLANE_POOL,
  controlPlaneSetOf,
  fnv1a32,
  nodeSetOf,
  POOL_LABEL,
  shortened,
  type AdoptedMachine,
  type ClusterSpec,
  type ClusterUid,
  type ConnectionName,
  type Machine,
  type MachinePlan,
  type NodeName,
  type NodeRole,
  type NodeSet,
  type PoolName,
  type SecretRef,
  type UpgradeId,
} from '@fairlead/contracts';
import type { Declared } from '@fairlead/domain';
import { groupOf, type ClusterRef } from '../providers/group.names.js';
import type { RequestedNodes } from '../validation/validation.planner.js';
import type { NodesRequest } from './node.requests.js';
import type { LoadBalancerSpec, MachineAnswer, DesiredMachine } from '../providers/provider.ports.js';

const SUFFIX_LENGTH = 5;
const SUFFIX_COUNT = 36 ** SUFFIX_LENGTH;

const SHORT_ROLES = { 'control-plane': 'cp', worker: 'w' } as const satisfies Record<NodeRole, string>;

/** With role, index and suffix, a name of a machine remains a DNS label of 63 characters. */
const CLUSTER_PART_MAX = 40;

const API_PORT = 6443;
const API_HEALTH_PATH = '/readyz';

/** The name contains the incarnation, so that a reservation of a predecessor is never used. */
export const reservationName = (cluster: ClusterRef, connection: ConnectionName): string =>
  `${groupOf(cluster, connection).name}.${cluster.uid}`;

export const loadBalancerName = ({ namespace, spec }: ClusterRef): string => `${namespace}.${spec.name}`;

/** The load balancer of the API servers, on the connection of the control planes. */
export const loadBalancerOf = (cluster: ClusterRef, targets: readonly string[]): LoadBalancerSpec => ({
  name: loadBalancerName(cluster),
  group: groupOf(cluster, cluster.spec.controlPlane.connection),
  kind: cluster.spec.kubernetes.loadbalancer,
  targetPort: API_PORT,
  healthPath: API_HEALTH_PATH,
  targets,
});

/** The zones of a connection for machines; empty: the provider chooses. */
export type ZonesOf = (connection: ConnectionName) => readonly string[];

/**
 * `<cluster>-<cp|w>-<index>-<suffix>`, with a long name of the cluster shortened. The suffix derives from the incarnation, the role and the index: a replay
 * requests the same machine, and a cluster with a reused name never finds its predecessor's machines.
 */
export const machineName = (cluster: string, uid: ClusterUid, role: NodeRole, index: number): NodeName => {
  const suffix = (fnv1a32(`${uid}/${role}/${index}`) % SUFFIX_COUNT).toString(36).padStart(SUFFIX_LENGTH, '0');
  return `${shortened(cluster, CLUSTER_PART_MAX)}-${SHORT_ROLES[role]}-${index}-${suffix}` as NodeName;
};

/** A machine without a zone yet, and the zones that its pool is limited to; empty: every zone of its connection. */
interface Unplaced {
  readonly machine: MachinePlan;
  readonly zones: readonly string[];
}

/** Whether no machine of the cluster in this zone responds. */
export type IsDown = (connection: ConnectionName, zone: string) => boolean;

/** The input for choosing zones of new machines. */
interface Present {
  readonly existing: readonly MachinePlan[];
  readonly isDown: IsDown;
}

/** The known state of a cluster's machines. */
interface Seen {
  readonly planned: readonly MachinePlan[];
  /** Nodes that are Ready. */
  readonly ready: Readonly<Record<string, true>>;
  /** Nodes that send no heartbeats. */
  readonly silent: Readonly<Record<string, unknown>>;
  /** Machines that the provider no longer has, which are not considered. */
  readonly gone: Readonly<Record<string, unknown>>;
}

/**
 * A zone is down if all machines there are silent and others of the connection are not, i.e. the cluster itself is
 * reachable.
 */
export const downZones = ({ planned, ready, silent, gone }: Seen): IsDown => {
  const isSilent = ({ name }: MachinePlan): boolean => silent[name] !== undefined;
  return (connection, zone) => {
    const peers = planned.filter((plan) => plan.connection === connection && gone[plan.name] === undefined);
    const there = peers.filter((plan) => plan.zone === zone);
    const isAnyWell = peers.some((plan) => plan.zone !== zone && ready[plan.name] === true && !isSilent(plan));
    return isAnyWell && there.length > 0 && there.every(isSilent);
  };
};

const NONE_DOWN: IsDown = () => false;

/**
 * Assigns each machine the zone of its connection with the fewest machines of its pool; among equals the one with the
 * fewest of its role, then the first in the region's order. With equal zones the counts of a pool differ by at most
 * one, also after removals. A zone that is down is the last choice, however few machines it has.
 */
const spread = (
  unplaced: readonly Unplaced[],
  { existing, isDown }: Present,
  zonesOf: ZonesOf,
): readonly MachinePlan[] =>
  unplaced.reduce<readonly MachinePlan[]>((placed, { machine, zones }) => {
    const peers = [...existing, ...placed].filter(
      ({ connection, role }) => connection === machine.connection && role === machine.role,
    );
    const [zone] = zonesOf(machine.connection)
      .filter((name) => zones.length === 0 || zones.includes(name))
      .map((name) => {
        const there = peers.filter((peer) => peer.zone === name);
        const pool = there.filter((peer) => peer.pool === machine.pool).length;
        return { name, down: Number(isDown(machine.connection, name)), pool, role: there.length };
      })
      .sort((first, second) => first.down - second.down || first.pool - second.pool || first.role - second.role);
    return [...placed, zone === undefined ? machine : { ...machine, zone: zone.name }];
  }, []);

interface Numbered {
  readonly set: NodeSet;
  readonly pool: string;
  readonly index: number;
}

/** One entry per machine of the sets; indexes continue across sets. A set without a pool name starts a pool. */
const number = (sets: readonly NodeSet[], after: { workers: number; pools: number }): readonly Numbered[] =>
  sets
    .flatMap((set, at) =>
      Array.from({ length: set.count }, () => ({ set, pool: set.pool ?? `worker-${after.pools + at + 1}` })),
    )
    .map((entry, at) => ({ ...entry, index: after.workers + at + 1 }));

/** Absent: that of the connection. */
const ofImage = ({ image }: { readonly image?: string | undefined }): { readonly image?: string } =>
  image === undefined ? {} : { image };

const worker =
  (cluster: string, uid: ClusterUid) =>
  ({ set, pool, index }: Numbered): Unplaced => ({
    zones: set.zones ?? [],
    machine: {
      name: machineName(cluster, uid, 'worker', index),
      role: 'worker',
      pool,
      leader: false,
      connection: set.connection,
      spec: set.spec,
      rootDisk: set.rootDisk,
      ...ofImage(set),
    },
  });

/** The control planes of a set; `ever`: how many existed before. The very first one is the leader. */
const controlPlanesOf = (
  { uid, spec }: Pick<ClusterRef, 'uid' | 'spec'>,
  { count, connection, spec: size, rootDisk, image, zones = [] }: NodeSet,
  ever: number,
): readonly Unplaced[] =>
  Array.from({ length: count }, (_, at): Unplaced => ({
    zones,
    machine: {
      name: machineName(spec.name, uid, 'control-plane', ever + at + 1),
      role: 'control-plane',
      pool: CONTROL_PLANE_POOL,
      leader: ever + at === 0,
      connection,
      spec: size,
      rootDisk,
      ...ofImage({ image }),
    },
  }));

/** The machines of a new cluster: control planes first, then the workers set by set. */
export const planCluster = (uid: ClusterUid, spec: ClusterSpec, zonesOf: ZonesOf): readonly MachinePlan[] => {
  const controlPlanes = controlPlanesOf({ uid, spec }, spec.controlPlane, 0);
  const workers = number(spec.workers, { workers: 0, pools: 0 }).map(worker(spec.name, uid));
  return spread([...controlPlanes, ...workers], { existing: [], isDown: NONE_DOWN }, zonesOf);
};

/** The highest number among pools with default names, which a manifest may also have used. */
const highestPool = (planned: readonly MachinePlan[]): number =>
  Math.max(0, ...planned.map(({ pool }) => Number(/^worker-(\d{1,9})$/.exec(pool)?.[1] ?? 0)));

const presentIn = ({
  planned,
  staying = planned,
  isDown = NONE_DOWN,
}: Pick<Parameters<typeof planNodes>[0], 'planned' | 'staying' | 'isDown'>): Present => ({ existing: staying, isDown });

/** More nodes of a cluster: indexes and pools continue from the highest ever used. */
export const planNodes = (
  cluster: {
    readonly uid: ClusterUid;
    readonly spec: ClusterSpec;
    readonly planned: readonly MachinePlan[];
    readonly workersEver: number;
    readonly poolsEver: number;
    readonly controlPlanesEver: number;
    /** The remaining machines, over which zones are balanced; absent: all. */
    readonly staying?: readonly MachinePlan[];
    /** Absent: no zone is known to be down. */
    readonly isDown?: IsDown;
  },
  { workers: sets, controlPlane }: Pick<NodesRequest, 'workers' | 'controlPlane'>,
  zonesOf: ZonesOf,
): readonly MachinePlan[] => {
  const pools = Math.max(cluster.poolsEver, highestPool(cluster.planned));
  const after = { workers: cluster.workersEver, pools };
  const workers = number(sets, after).map(worker(cluster.spec.name, cluster.uid));
  const controlPlanes =
    controlPlane === undefined ? [] : controlPlanesOf(cluster, controlPlane, cluster.controlPlanesEver);
  return spread([...controlPlanes, ...workers], presentIn(cluster), zonesOf);
};

/**
 * A set for one machine of the same role and pool, as currently declared; if the pool is not declared, a copy of the
 * machine.
 */
const setLike = ({ pool, connection, spec, rootDisk, image }: MachinePlan, declared: Declared | undefined): NodeSet => {
  const { controlPlane, pools = [] } = declared?.spec ?? {};
  if (pool === CONTROL_PLANE_POOL && controlPlane !== undefined) return controlPlaneSetOf(controlPlane, 1);
  const now = pools.find(({ name }) => name === pool);
  return now === undefined
    ? { connection, spec, rootDisk, ...ofImage({ image }), pool: pool as PoolName, count: 1 }
    : nodeSetOf(now, 1);
};

type Request = Pick<NodesRequest, 'workers' | 'controlPlane' | 'replaces'>;

/** The machines of a request as sets, for capacity and quota checks. */
export const setsOf = (
  { declared }: { readonly declared: Declared | undefined },
  { workers, controlPlane, replaces }: Request,
): RequestedNodes => {
  if (replaces === undefined) return { workers, controlPlane };
  const set = setLike(replaces.machine, declared);
  return replaces.machine.role === 'worker' ? { workers: [set] } : { workers: [], controlPlane: set };
};

/**
 * The planned machines of a request. A replaced node no longer counts in its zone; an adopted machine already has one.
 */
export const planRequest = (
  cluster: Parameters<typeof planNodes>[0] & { readonly declared: Declared | undefined },
  request: Request,
  where: { readonly zonesOf: ZonesOf; readonly adopted?: Adopted | undefined },
): readonly MachinePlan[] => {
  const { zonesOf, adopted } = where;
  const old = request.replaces?.machine.name;
  const staying = (cluster.staying ?? cluster.planned).filter(({ name }) => name !== old);
  const sets = setsOf(cluster, request);
  if (adopted === undefined) return planNodes({ ...cluster, staying }, sets, zonesOf);
  const { zone, ...adopts } = adopted;
  return planNodes({ ...cluster, staying }, sets, () => [zone]).map((plan) => ({ ...plan, adopts }));
};

/** A machine that can be adopted, with its zone. */
export interface Adopted extends AdoptedMachine {
  readonly zone: string;
}

/** The machine of a pool that surge machines copy: one of its requested size. */
export const likeOf = (planned: readonly MachinePlan[], pool: string): MachinePlan | undefined =>
  planned.find((plan) => plan.role === 'worker' && plan.pool === pool && plan.surge === undefined);

/** The zones of a pool's machines. */
const zonesLike = (planned: readonly MachinePlan[], pool: string): string[] => [
  ...new Set(planned.flatMap((plan) => (plan.role === 'worker' && plan.pool === pool ? (plan.zone ?? []) : []))),
];

/** Surge machines for a pool during an upgrade, named like its other workers; empty if there is none to copy. */
export const planSurge = (
  cluster: Pick<Parameters<typeof planNodes>[0], 'uid' | 'spec' | 'planned' | 'workersEver' | 'staying' | 'isDown'>,
  { pool, upgradeId, count }: { readonly pool: string; readonly upgradeId: UpgradeId; readonly count: number },
  zonesOf: ZonesOf,
): readonly MachinePlan[] => {
  const like = likeOf(cluster.planned, pool);
  if (like === undefined) return [];
  const { connection, spec, rootDisk, image } = like;
  const zones = zonesLike(cluster.planned, pool);
  const machines = number([{ connection, spec, rootDisk, ...ofImage({ image }), zones, count }], {
    workers: cluster.workersEver,
    pools: 0,
  })
    .map((entry) => ({ ...entry, pool }))
    .map(worker(cluster.spec.name, cluster.uid));
  return spread(machines, presentIn(cluster), zonesOf).map((plan) => ({ ...plan, surge: upgradeId }));
};

/** The machine to request from a provider. */
export const desiredMachine =
  ({ namespace, spec: { name: cluster } }: ClusterRef) =>
  ({ name, spec, zone, rootDisk, image, role, pool, surge, adopts }: MachinePlan): DesiredMachine => ({
    name,
    spec,
    zone,
    rootDisk,
    ...ofImage({ image }),
    ...(adopts === undefined ? {} : { adopts }),
    labels: {
      'fairlead.dev/namespace': namespace,
      'fairlead.dev/cluster': cluster,
      'fairlead.dev/role': role,
      [POOL_LABEL]: pool,
      ...(surge === undefined ? {} : { 'fairlead.dev/surge': surge }),
    },
  });

type Running = Extract<MachineAnswer, { status: 'running' }>;

/** A running planned machine, as known to other services. */
export const machineOf = (
  plan: MachinePlan,
  answer: Running,
  by: { readonly provider: string; readonly keyRef: SecretRef },
): Machine => ({
  name: plan.name,
  role: plan.role,
  pool: plan.pool,
  leader: plan.leader,
  connection: plan.connection,
  spec: plan.spec,
  providerId: `${by.provider}://${answer.id}`,
  publicIp: answer.publicIp,
  privateIp: answer.privateIp,
  ssh: endpointOf(answer.ssh, by.keyRef),
  ...(answer.reach === undefined ? {} : { reach: answer.reach }),
  csp: by.provider,
  region: answer.region,
  zone: answer.zone,
  ...(answer.profile === undefined ? {} : { profile: answer.profile }),
  labels: { ...answer.labels, [POOL_LABEL]: plan.pool },
  ...(plan.surge === undefined ? {} : { surge: plan.surge }),
});

const endpointOf = ({ jump, ...ssh }: Running['ssh'], keyRef: SecretRef): Machine['ssh'] => ({
  keyRef,
  ...ssh,
  ...(jump === undefined ? {} : { jump: { keyRef, ...jump } }),
});

/** The provider's ID of a machine. */
export const providerIdOf = ({ providerId }: Machine): string => providerId.slice(providerId.indexOf('://') + 3);

import * as z from 'zod';
import {
  CloudController,
  Cni,
  ETCDS,
  ImageName,
  KubernetesVersion,
  LOAD_BALANCERS,
  OnCreationFailure,
  RootDisk,
  ServiceType,
  type ClusterSpec,
  type NodeSet,
} from '../cluster-spec.js';
import { ConnectionName, PoolName, type ClusterName } from '../ids.js';
import { Authentication } from '../authentication.js';
import { JOINED_MACHINE_TYPE, PoolBootstrap } from '../joins/bootstrap.data.js';
import { HostSelector } from '../joins/join.tokens.js';
import { Addons } from './addons.js';
import { Autoscaling } from './autoscaling.js';
import { DriftPolicy } from './drift.policy.js';
import { DrainPolicy } from './drain.policy.js';
import { Hooks } from './hooks.js';
import { Duration } from '../durations.js';
import { EtcdBackups, SNAPSHOT_MAX_AGE_DEFAULT } from './etcd.backups.js';
import { HealthCheck } from './health.check.js';
import { ClusterLease } from '../lease.js';
import { Firewall } from '../network/firewall.js';
import { Sshd } from '../network/sshd.js';
import { nodeMetadata, poolFields } from './pool.fields.js';
import { ControlPlaneRollout, controlPlaneRolloutOf, PoolRollout, rolloutOf } from './pool.rollout.js';
import { TemplateName } from './template.use.js';
import { VirtualAddresses } from '../network/virtual.addresses.js';

/** Maximum pools per cluster: the same as its maximum of nodes. */
export const POOLS_MAX = 500;

const machines = {
  replicas: z.int().min(0),
  connection: ConnectionName,
  machineType: z.string().min(1),
  rootDisk: RootDisk,
  /** Absent: that of the connection. */
  image: ImageName.optional(),
};

/** Absent, as in every spec from before health checks: no automatic repair. */
const health = HealthCheck.optional();

export const DeclaredPool = z.strictObject({
  name: PoolName,
  ...machines,
  rollout: PoolRollout.optional().describe('Absent in events from before there was one: its default'),
  health,
  autoscaling: Autoscaling.optional().describe('Absent: the size is declared'),
  bootstrap: PoolBootstrap.optional().describe('Absent: its bootstrap data are generated, where its hosts need any'),
  hostSelector: HostSelector.optional().describe('Registered hosts that it claims; absent: none'),
  ...z.strictObject(poolFields).partial().shape,
});
export type DeclaredPool = z.infer<typeof DeclaredPool>;

type OptionalField = 'health' | 'autoscaling' | 'bootstrap' | 'hostSelector' | 'image';

type CompletePool = Pick<DeclaredPool, OptionalField> & {
  readonly [Field in Exclude<keyof DeclaredPool, OptionalField>]-?: Exclude<DeclaredPool[Field], undefined>;
};

/** Whether new machines of the pool get its bootstrap data as user data. */
export const bootsFromUserData = ({ bootstrap }: { readonly bootstrap?: PoolBootstrap | undefined }): boolean =>
  bootstrap?.by === 'userData';

/** Whether its nodes join by themselves. */
export const needsBootstrapData = (pool: Pick<DeclaredPool, 'machineType' | 'bootstrap'>): boolean =>
  pool.machineType === JOINED_MACHINE_TYPE || bootsFromUserData(pool);

/** Zones are a set. */
const inOrder = (zones: readonly string[] | undefined): string[] => [...new Set(zones)].sort();

/** A pool with every default, sorted where order has no meaning: equal pools are equal as JSON. */
export const completePool = (pool: DeclaredPool): CompletePool => ({
  ...pool,
  rollout: rolloutOf(pool),
  minReadySeconds: pool.minReadySeconds ?? 0,
  deletePolicy: pool.deletePolicy ?? 'Newest',
  zones: inOrder(pool.zones),
  updatesDisabled: pool.updatesDisabled ?? false,
  ...nodeMetadata(pool),
});

/** The desired cluster with every default filled in: the `spec` of its manifest. */
export const DeclaredSpec = z
  .strictObject({
    template: TemplateName.optional().describe('The template that it was declared with; absent: none'),
    version: KubernetesVersion,
    serviceType: ServiceType,
    loadBalancer: z.enum(LOAD_BALANCERS),
    cloudController: CloudController.optional().describe('Whose cloud controller runs in it; absent: none'),
    network: z.strictObject({ podCidr: z.string(), serviceCidr: z.string(), dnsDomain: z.string(), cni: Cni }),
    storage: z.strictObject({ nfs: z.strictObject({ server: z.string(), path: z.string() }) }).optional(),
    controlPlane: z.strictObject({
      ...machines,
      etcd: z.enum(ETCDS),
      schedulable: z.boolean(),
      rollout: ControlPlaneRollout.optional().describe('Absent in events from before there was one: its default'),
      health,
      zones: poolFields.zones.optional(),
    }),
    pools: z.array(DeclaredPool).max(POOLS_MAX),
    hooks: Hooks.optional().describe('Absent: none'),
    addons: Addons.optional().describe('Absent: none'),
    drain: DrainPolicy.optional().describe('Absent: nodes are emptied as without rules'),
    virtualAddresses: VirtualAddresses.optional().describe('Absent: none'),
    etcdBackups: EtcdBackups.optional().describe('Absent: no snapshots of etcd are taken by schedule'),
    etcdSnapshotMaxAge: Duration.optional().describe(
      `How old the newest snapshot of etcd may be when a step begins that changes a control plane; absent: ${SNAPSHOT_MAX_AGE_DEFAULT}`,
    ),
    authentication: Authentication.optional().describe('Absent: users sign in with client certificates only'),
    firewall: Firewall.optional().describe('Absent: the firewalls of nodes are not touched'),
    sshd: Sshd.optional().describe('Absent: the SSH servers of nodes are not touched'),
    drift: DriftPolicy.optional().describe('What happens when a node differs from what is desired; absent: repair'),
    paused: z.boolean().optional().describe('true: no service acts on the cluster; absent: false'),
    onFailure: OnCreationFailure.optional().describe('What becomes of it if its creation fails; absent: keep'),
    lease: ClusterLease.optional().describe('Absent: it has no end, and nothing is reserved'),
    endpoint: z
      .strictObject({ publish: z.literal(true) })
      .optional()
      .describe('Absent: the API is reached at its own address only'),
  })
  .meta({ id: 'DeclaredSpec' });
export type DeclaredSpec = z.infer<typeof DeclaredSpec>;

type CompleteControlPlane = DeclaredSpec['controlPlane'] & {
  readonly rollout: ControlPlaneRollout;
  readonly zones: string[];
};

export const completeControlPlane = (controlPlane: DeclaredSpec['controlPlane']): CompleteControlPlane => ({
  ...controlPlane,
  rollout: controlPlaneRolloutOf(controlPlane),
  zones: inOrder(controlPlane.zones),
});

interface CompleteSpec extends Omit<DeclaredSpec, 'controlPlane' | 'pools'> {
  readonly controlPlane: CompleteControlPlane;
  readonly pools: CompletePool[];
}

/** A spec with every default, including fields that are newer than its event. */
export const completeSpec = (spec: DeclaredSpec): CompleteSpec => ({
  ...spec,
  controlPlane: completeControlPlane(spec.controlPlane),
  pools: spec.pools.map(completePool),
});

/** The pool of control planes. No worker pool may have this name. */
export const CONTROL_PLANE_POOL = 'control-plane';

const machinesOf = ({ count, connection, spec, rootDisk, image, zones }: NodeSet) => ({
  replicas: count,
  connection,
  machineType: spec,
  rootDisk,
  ...(image === undefined ? {} : { image }),
  ...(zones === undefined ? {} : { zones }),
});

/**
 * The manifest spec for a request to CB-Ladybug's routes: unnamed worker sets become the pools worker-1, worker-2, …
 */
export const declaredOf = ({
  controlPlane,
  workers,
  serviceType,
  singleNode,
  kubernetes,
  cloudController,
  onFailure,
  lease,
}: ClusterSpec): DeclaredSpec => {
  const { version, podCidr, serviceCidr, serviceDnsDomain: dnsDomain, networkCni: cni, storageclass } = kubernetes;
  return {
    version,
    serviceType,
    loadBalancer: kubernetes.loadbalancer,
    ...(cloudController === undefined ? {} : { cloudController }),
    network: { podCidr, serviceCidr, dnsDomain, cni },
    ...(storageclass?.nfs === undefined ? {} : { storage: { nfs: storageclass.nfs } }),
    controlPlane: { ...machinesOf(controlPlane), etcd: kubernetes.etcd, schedulable: singleNode },
    pools: workers.map((set, at) => ({
      name: set.pool ?? `worker-${at + 1}`,
      ...machinesOf(set),
    })),
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(lease === undefined ? {} : { lease }),
  };
};

/** Absent: all zones of the connection. */
const limitedTo = (zones: readonly string[] = []): Pick<NodeSet, 'zones'> =>
  zones.length === 0 ? {} : { zones: [...zones] };

/** Absent: that of the connection. */
const ofImage = ({ image }: Pick<DeclaredPool, 'image'>): Pick<NodeSet, 'image'> =>
  image === undefined ? {} : { image };

/** The machines of a pool, or additional ones, in the form that services are asked for them. */
export const nodeSetOf = (
  { name, connection, machineType, rootDisk, image, zones }: DeclaredPool,
  count: number,
): NodeSet => ({
  connection,
  count,
  spec: machineType,
  rootDisk,
  pool: name,
  ...ofImage({ image }),
  ...limitedTo(zones),
});

/** Additional control planes with the settings of the existing ones. */
export const controlPlaneSetOf = (
  { connection, machineType, rootDisk, image, zones }: DeclaredSpec['controlPlane'],
  count: number,
): NodeSet => ({
  connection,
  count,
  spec: machineType,
  rootDisk,
  pool: CONTROL_PLANE_POOL as PoolName,
  ...ofImage({ image }),
  ...limitedTo(zones),
});

/** The ClusterSpec for a manifest. A pool of 0 replicas needs no machines, so only the manifest contains it. */
export const clusterSpecOf = (name: ClusterName, declared: DeclaredSpec): ClusterSpec => {
  const { controlPlane, network, pools, storage, cloudController, onFailure, lease } = declared;
  const { connection, machineType: spec, rootDisk, image, replicas: count, zones } = controlPlane;
  return {
    name,
    controlPlane: { connection, count, spec, rootDisk, ...ofImage({ image }), ...limitedTo(zones) },
    workers: pools.filter(({ replicas }) => replicas > 0).map((pool) => nodeSetOf(pool, pool.replicas)),
    serviceType: declared.serviceType,
    singleNode: controlPlane.schedulable,
    ...(cloudController === undefined ? {} : { cloudController }),
    kubernetes: {
      version: declared.version,
      networkCni: network.cni,
      podCidr: network.podCidr,
      serviceCidr: network.serviceCidr,
      serviceDnsDomain: network.dnsDomain,
      loadbalancer: declared.loadBalancer,
      etcd: controlPlane.etcd,
      ...(storage === undefined ? {} : { storageclass: storage }),
    },
    installMonAgent: 'no',
    label: '',
    description: '',
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(lease === undefined ? {} : { lease }),
  };
};

import * as z from 'zod';
import { POOL_NODES_MAX } from '../cluster.limits.js';
import {
  CloudController,
  CNIS,
  Cni,
  ETCDS,
  LOAD_BALANCERS,
  OnCreationFailure,
  RootDiskRequest,
  ServiceType,
  ImageName,
} from '../cluster-spec.js';
import { ClusterName, ConnectionName, Namespace, NodeName, PoolName } from '../ids.js';
import { CLUSTER_DEFAULTS, serviceTypeWith } from '../requests.js';
import { DEFAULT_KUBERNETES_VERSION } from '../software.js';
import { TEXT_LENGTH_MAX } from '../text.limits.js';
import { AddonView, ClusterLifeState, ClusterPhase, ConditionView } from '../views/cluster.views.js';
import { VirtualAddressView } from '../views/address.views.js';
import { PlanStep } from '../views/plan.views.js';
import { PoolStatus, ReplicaCounts } from '../views/pool.views.js';
import { time } from '../views/time.js';
import { completeOidc, ManifestAuthentication } from '../authentication.js';
import { JOINED_MACHINE_TYPE, PoolBootstrap } from '../joins/bootstrap.data.js';
import { HostSelector } from '../joins/join.tokens.js';
import { Addons } from './addons.js';
import { Autoscaling, sizeOf } from './autoscaling.js';
import { DeclaredSpec, POOLS_MAX } from './declared.js';
import { DriftPolicy } from './drift.policy.js';
import { DrainPolicy } from './drain.policy.js';
import { EtcdSnapshotMaxAge, ManifestEtcdBackups } from './etcd.backups.js';
import { healthCheckOf, ManifestHealthCheck } from './health.check.js';
import { Hooks } from './hooks.js';
import { leaseOf, ManifestLease } from '../lease.js';
import { EVERYONE, Firewall } from '../network/firewall.js';
import { Sshd } from '../network/sshd.js';
import { Labels } from '../labels.js';
import { controlPlaneReplicas, poolFields } from './pool.fields.js';
import { ControlPlaneRollout, PoolRollout } from './pool.rollout.js';
import { TemplateName, TemplateUse } from './template.use.js';
import { VirtualAddresses } from '../network/virtual.addresses.js';

export const MANIFEST_API_VERSION = 'fairlead.dev/v1alpha1';
export const MANIFEST_KIND = 'Cluster';

const text = z.string().max(TEXT_LENGTH_MAX);

const machines = {
  connection: ConnectionName.describe('Name of a registered connection'),
  machineType: z.string().min(1).max(TEXT_LENGTH_MAX).describe("Machine size, by the provider's name for it"),
  rootDisk: RootDiskRequest.prefault({}).describe('Of each machine'),
  image: ImageName.optional().describe(
    "The image of its machines, by the provider's name for it; another one replaces them. Left out: that of the connection",
  ),
};

const ManifestPool = z.strictObject({
  name: PoolName.describe('A DNS label (RFC 1123), unique in the cluster'),
  replicas: z
    .int()
    .min(0)
    .max(POOL_NODES_MAX)
    .optional()
    .describe('How many workers; a pool of 0 stays declared. Left out: as many as it has; a new pool has 1'),
  autoscaling: Autoscaling.optional().describe('Bounds of its size, in place of replicas'),
  ...machines,
  rollout: PoolRollout.prefault({}).describe('How its nodes change to another version, and how they are replaced'),
  health: ManifestHealthCheck.optional(),
  bootstrap: PoolBootstrap.optional().describe(
    'Only where hosts join by themselves. Left out: its bootstrap data are generated',
  ),
  hostSelector: HostSelector.optional().describe(
    'Only where hosts join by themselves: it claims hosts that were registered before it. Left out: none',
  ),
  zones: poolFields.zones
    .default([])
    .describe('Zones of the connection that nodes are spread over, with a difference of at most 1; empty: all'),
  labels: poolFields.labels.default({}).describe('Labels of its nodes, given at join and changed on existing nodes'),
  taints: poolFields.taints.default([]).describe('Taints of its nodes, given at join and changed on existing nodes'),
  minReadySeconds: poolFields.minReadySeconds
    .default(0)
    .describe('How long a node must be Ready without interruption to be available'),
  deletePolicy: poolFields.deletePolicy
    .default('Newest')
    .describe('Which of the nodes that are equally healthy is removed first'),
  updatesDisabled: poolFields.updatesDisabled.default(false).describe('No upgrade changes its nodes'),
});

const Network = z.strictObject({
  podCidr: text
    .default(CLUSTER_DEFAULTS.podCidr)
    .describe('Network of pods; each node takes a /24 of it, or a /25 if it is smaller than a /15'),
  serviceCidr: text.default(CLUSTER_DEFAULTS.serviceCidr),
  dnsDomain: text.default(CLUSTER_DEFAULTS.serviceDnsDomain),
  cni: Cni.optional()
    .describe(
      'calico, flannel or cilium for serviceType single (default flannel); canal or kilo for multi (default kilo)',
    )
    .meta({ enum: CNIS }),
});

export const ManifestSpec = z.strictObject({
  template: TemplateName.optional().describe(
    'A ClusterTemplate of the namespace. What it declares may be left out, and cannot be declared otherwise. Left out: none',
  ),
  version: text
    .optional()
    .describe(
      `A Kubernetes version, with or without the "v". A change of it is an upgrade. Left out: as it is; of a new cluster: ${DEFAULT_KUBERNETES_VERSION}`,
    ),
  serviceType: ServiceType.optional().describe(
    'single: all nodes on one connection; multi: they may be on several. Left out: as it is; of a new cluster: single, or multi with a network.cni of multi',
  ),
  loadBalancer: z.enum(LOAD_BALANCERS).default(CLUSTER_DEFAULTS.loadbalancer),
  cloudController: CloudController.optional().describe(
    'The provider of its connection, whose cloud controller manager and storage driver are installed: load balancers for services, and volumes. It cannot be changed later. Left out: none',
  ),
  network: Network.prefault({}),
  storage: z
    .strictObject({ nfs: z.strictObject({ server: text.min(1), path: text.min(1) }) })
    .optional()
    .describe('An NFS storage class is installed'),
  controlPlane: z.strictObject({
    replicas: controlPlaneReplicas,
    ...machines,
    etcd: z.enum(ETCDS).default(CLUSTER_DEFAULTS.etcd),
    schedulable: z
      .boolean()
      .default(false)
      .describe('Workloads run on the only control plane of a new cluster without workers'),
    rollout: ControlPlaneRollout.prefault({}).describe(
      'How control planes change to another version, and how they are replaced, one at a time',
    ),
    health: ManifestHealthCheck.optional(),
    zones: poolFields.zones
      .default([])
      .describe('Zones of the connection that control planes are spread over; empty: all'),
  }),
  pools: z.array(ManifestPool).max(POOLS_MAX).default([]),
  drain: DrainPolicy.optional(),
  virtualAddresses: VirtualAddresses.optional().describe(
    'Addresses for services, held by one node at a time, whose connections go to nodes of pools. Only for own hosts. Left out: none',
  ),
  hooks: Hooks.optional().describe('What is asked by HTTP before and after steps of its life'),
  addons: Addons.optional().describe('What is installed into the cluster by Helm. Left out: none'),
  etcdBackups: ManifestEtcdBackups.optional(),
  etcdSnapshotMaxAge: EtcdSnapshotMaxAge.optional(),
  authentication: ManifestAuthentication.optional(),
  firewall: Firewall.optional().describe(
    'Left out: as it is. Of a new cluster: only the Kubernetes API is closed (scope api), to all but nodes, pods and Fairlead; to no one with loadBalancer nlb, serviceType multi or hosts that join by themselves',
  ),
  sshd: Sshd.optional().describe('Left out: the SSH servers of nodes are not touched'),
  lease: ManifestLease.optional(),
  endpoint: z
    .strictObject({
      publish: z
        .boolean()
        .default(false)
        .describe(
          'true: the API is reached by a name, through a tunnel that the control planes open. It cannot be changed later',
        ),
    })
    .optional()
    .describe('Left out: the API is reached at its own address only'),
  drift: DriftPolicy.optional().describe(
    'What happens when a node differs from what is desired of it. repair: what needs no drain is repaired at once; report: it is only reported. Left out: repair',
  ),
  paused: z
    .boolean()
    .optional()
    .describe(
      'true: no service acts on the cluster until it is resumed. Left out: as it is; a new cluster is not paused',
    ),
  onFailure: OnCreationFailure.optional().describe(
    'If the creation fails for good. keep: everything stays for a retry; cleanup: everything that was created is deleted, as by a deletion. A cluster that was Ready once is not concerned. Left out: as it is; of a new cluster: keep',
  ),
});
export type ManifestSpec = z.infer<typeof ManifestSpec>;

const readOnly = z.unknown().optional().describe('Read-only: ignored in requests');

/** A declared cluster, with the values of its template merged in. */
export const ClusterManifest = z.strictObject({
  apiVersion: z.literal(MANIFEST_API_VERSION),
  kind: z.literal(MANIFEST_KIND),
  metadata: z.strictObject({
    name: ClusterName,
    namespace: Namespace.optional().describe('Left out: that of the request'),
    resourceVersion: z
      .string()
      .max(20)
      .optional()
      .describe(
        'The one that was read: refused when the cluster has changed since. Empty: refused when there is such a cluster. Left out: whatever it is',
      ),
    uid: z.uuid().optional().describe('The incarnation that is meant; left out: whichever has the name'),
    creationTimestamp: readOnly,
    labels: Labels.optional().describe('Of the cluster in Fairlead. Left out: as they are'),
  }),
  spec: ManifestSpec,
  status: readOnly,
  plan: readOnly,
  operations: readOnly,
});
export type ClusterManifest = z.infer<typeof ClusterManifest>;

const ofTemplate = {
  connection: ConnectionName.optional().describe(
    'Name of a registered connection. Only a template can give it instead',
  ),
  machineType: machines.machineType
    .optional()
    .describe("Machine size, by the provider's name for it. Only a template can give it instead"),
};

const DraftPool = ManifestPool.extend(ofTemplate).meta({ id: 'ManifestPool', description: 'Workers of one kind' });

const DraftSpec = ManifestSpec.extend({
  controlPlane: ManifestSpec.shape.controlPlane
    .extend({ ...ofTemplate, replicas: ManifestSpec.shape.controlPlane.shape.replicas.optional() })
    .optional()
    .describe('Only a template can give its replicas, connection and machineType instead'),
  pools: z.array(DraftPool).max(POOLS_MAX).default([]),
}).meta({ id: 'ManifestSpec', description: 'What the cluster must be' });

/**
 * The manifest that a user writes: values that a template provides may be missing. Fields that a GET adds are accepted,
 * so that its response can be sent back.
 */
export const ClusterDraft = ClusterManifest.extend({ spec: DraftSpec }).meta({
  id: 'ClusterManifest',
  description: 'The desired state of a cluster',
  examples: [
    {
      apiVersion: MANIFEST_API_VERSION,
      kind: MANIFEST_KIND,
      metadata: { name: 'demo' },
      spec: {
        controlPlane: { replicas: 3, connection: 'lab', machineType: 'lab.medium' },
        pools: [{ name: 'web', replicas: 2, connection: 'lab', machineType: 'lab.medium' }],
      },
    },
  ],
});
export type ClusterDraft = z.infer<typeof ClusterDraft>;

/** Versions are stored with a leading v; users may omit it. */
export const withV = (version: string): string => (version.startsWith('v') ? version : `v${version}`);

const withHealth = <Of extends { readonly health?: ManifestHealthCheck | undefined }>({ health, ...of }: Of) => ({
  ...of,
  ...(health === undefined ? {} : { health: healthCheckOf(health) }),
});

/** The service type of a new cluster. */
export const serviceTypeOf = ({ serviceType, network: { cni } }: ManifestSpec): z.infer<typeof ServiceType> =>
  serviceType ?? serviceTypeWith(cni);

/**
 * The firewall of a new cluster that declares none. Fairlead does not know from which addresses the balancer of a
 * provider, nodes on several networks and hosts behind NAT connect, so the API of such clusters stays open, which is
 * then part of their manifest.
 */
const firewallOfNew = (spec: ManifestSpec): Firewall => {
  const isReachedFromUnknown =
    spec.loadBalancer === 'nlb' ||
    serviceTypeOf(spec) === 'multi' ||
    spec.pools.some(({ machineType }) => machineType === JOINED_MACHINE_TYPE);
  return { enabled: true, scope: 'api', ...(isReachedFromUnknown ? { api: EVERYONE } : {}) };
};

/**
 * The spec with every default filled in; throws unless the spec passed the rules of a cluster. Pause, versions and
 * failure policies that a manifest does not mention are left unchanged: applying a manifest from a repository does not
 * resume a paused cluster, and the defaults of a newer Fairlead release upgrade no cluster.
 */
export const specOfManifest = (
  {
    paused,
    version,
    onFailure,
    virtualAddresses = [],
    addons = [],
    authentication,
    lease,
    drift,
    endpoint,
    ...spec
  }: ManifestSpec,
  current?: DeclaredSpec,
): DeclaredSpec => {
  const serviceType = spec.serviceType ?? current?.serviceType ?? serviceTypeOf(spec);
  const firewall = spec.firewall ?? (current === undefined ? firewallOfNew(spec) : current.firewall);
  return DeclaredSpec.parse({
    ...spec,
    serviceType,
    ...(firewall === undefined ? {} : { firewall }),
    ...(virtualAddresses.length === 0 ? {} : { virtualAddresses }),
    ...(addons.length === 0 ? {} : { addons }),
    ...(authentication?.oidc === undefined ? {} : { authentication: { oidc: completeOidc(authentication.oidc) } }),
    ...(lease === undefined ? {} : { lease: leaseOf(lease) }),
    ...(drift === 'report' ? { drift } : {}),
    ...(endpoint?.publish === true ? { endpoint: { publish: true } } : {}),
    ...((paused ?? current?.paused) === true ? { paused: true } : {}),
    ...((onFailure ?? current?.onFailure) === 'cleanup' ? { onFailure: 'cleanup' } : {}),
    version: version === undefined ? (current?.version ?? DEFAULT_KUBERNETES_VERSION) : withV(version),
    network: { ...spec.network, cni: spec.network.cni ?? CLUSTER_DEFAULTS.cniOf[serviceType] },
    controlPlane: withHealth(spec.controlPlane),
    pools: spec.pools.map((pool) => ({
      ...withHealth(pool),
      replicas: sizeOf(pool, current?.pools.find(({ name }) => name === pool.name)?.replicas),
    })),
  });
};

const changes = {
  plan: z.array(PlanStep).optional().describe('Of a change: what is done for it, or would be (dryRun=All)'),
  warnings: z.array(z.string()).optional().describe('Of a change: what is accepted and does not work as it is'),
  operations: z.array(z.string()).optional().describe('Of a change: the ids of the operations that were requested'),
};

export const ClusterManifestView = z
  .strictObject({
    apiVersion: z.literal(MANIFEST_API_VERSION),
    kind: z.literal(MANIFEST_KIND),
    metadata: z.strictObject({
      name: z.string(),
      namespace: z.string(),
      uid: z.string().describe('Empty: there is no such cluster yet (a dry run)'),
      resourceVersion: z.string().describe('Changes with the spec; empty: there is no such cluster yet (a dry run)'),
      creationTimestamp: time.optional(),
      labels: Labels.optional(),
    }),
    spec: DeclaredSpec,
    status: z
      .strictObject({
        phase: ClusterPhase,
        state: ClusterLifeState.describe('How the cluster is now'),
        conditions: z.array(ConditionView),
        endpoint: z.string().describe('https://host:port of the Kubernetes API; empty until it is known'),
        apiAccess: z.string().describe('Who may connect to the Kubernetes API, in words'),
        template: TemplateUse.extend({ deprecated: z.boolean() })
          .optional()
          .describe('The template, and its values, that the spec was resolved from; absent: none'),
        revision: z.int().describe('How many manifests were applied; 0: the cluster was made by other routes alone'),
        controlPlane: ReplicaCounts,
        pools: z.array(PoolStatus),
        addons: z.array(AddonView).optional().describe('Absent: the cluster was requested from an earlier release'),
        virtualAddresses: z.array(VirtualAddressView).optional().describe('Absent: none is declared'),
      })
      .optional()
      .describe('Absent in the answer to a change: see GET'),
    ...changes,
  })
  .meta({ id: 'ClusterManifestView', description: 'The desired state of a cluster, with how it is' });
export type ClusterManifestView = z.infer<typeof ClusterManifestView>;

/** The size of a pool. */
export const ScaleRequest = z
  .strictObject({
    spec: z
      .strictObject({
        replicas: z.int().min(0).max(POOL_NODES_MAX).optional().describe('Its size; or add, and not both'),
        add: z
          .int()
          .min(1)
          .max(POOL_NODES_MAX)
          .optional()
          .describe(
            'So many more than are declared when it is decided; repeated with the same key, they are added once',
          ),
        remove: z
          .array(NodeName)
          .max(POOL_NODES_MAX)
          .optional()
          .describe('Nodes that are removed first, whatever the delete policy is'),
      })
      .refine(({ replicas, add }) => (replicas === undefined) !== (add === undefined), {
        error: 'must have replicas or add, and not both',
      }),
    metadata: z.strictObject({ resourceVersion: z.string().max(20).optional() }).optional(),
  })
  .meta({ id: 'ScaleRequest', examples: [{ spec: { replicas: 3 } }] });
export type ScaleRequest = z.infer<typeof ScaleRequest>;

export const ScaleView = z
  .strictObject({
    kind: z.literal('Scale'),
    metadata: z.strictObject({
      name: z.string(),
      namespace: z.string(),
      cluster: z.string(),
      resourceVersion: z.string(),
    }),
    spec: z.strictObject({ replicas: z.int() }),
    status: PoolStatus.omit({ name: true })
      .partial({ phase: true, providerIDs: true })
      .optional()
      .describe('Of the pool control-plane, without phase and providerIDs'),
    ...changes,
  })
  .meta({ id: 'Scale', description: 'The size of a pool' });
export type ScaleView = z.infer<typeof ScaleView>;

export const ManifestQuery = z.strictObject({
  dryRun: z.literal('All').optional().describe('All: answer what the change would do, and change nothing'),
});
export type ManifestQuery = z.infer<typeof ManifestQuery>;

/** A JSON merge patch (RFC 7386): objects are merged, null removes a field, lists are replaced. */
export const ManifestPatch = z
  .record(z.string(), z.unknown())
  .meta({ id: 'ManifestPatch', description: 'A JSON merge patch (RFC 7386) of the manifest' });
export type ManifestPatch = z.infer<typeof ManifestPatch>;

/** JSON Schema of the manifest that users write, for editors and for validation before apply. */
export const manifestJsonSchema = (): object =>
  z.toJSONSchema(ClusterDraft, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });

import * as z from 'zod';
import { ClusterName, ConnectionName, PoolName } from './ids.js';
import { ClusterLease } from './lease.js';

/** CB-Ladybug's root disk: `default` leaves the choice to the provider. */
export const RootDisk = z.strictObject({
  type: z.string().default('default').describe('Disk type of the provider, or "default"'),
  size: z.string().default('default').describe('Size in GB, or "default"'),
});
export type RootDisk = z.infer<typeof RootDisk>;

/** The form in requests. Empty: the default. */
export const RootDiskText = {
  type: z
    .string()
    .regex(/^([A-Za-z0-9][\w ./-]{0,62})?$/, 'must be the name of a disk type: letters, digits and _ . / -')
    .describe('Disk type of the provider, or "default"'),
  size: z
    .string()
    .regex(/^([1-9]\d{0,5}|default)?$/, 'must be a number of GB, or "default"')
    .describe('Size in GB, or "default"'),
};
export const RootDiskRequest = z.strictObject({
  type: RootDiskText.type.default('default'),
  size: RootDiskText.size.default('default'),
});

/** What happens to the machines when a request for nodes fails. */
export const ON_FAILURES = ['rollback', 'keep'] as const;
export const OnFailure = z.enum(ON_FAILURES);
export type OnFailure = z.infer<typeof OnFailure>;

/** What happens to a cluster whose creation fails permanently. Clusters that were Ready once are not affected. */
export const ON_CREATION_FAILURES = ['keep', 'cleanup'] as const;
export const OnCreationFailure = z.enum(ON_CREATION_FAILURES);
export type OnCreationFailure = z.infer<typeof OnCreationFailure>;

/** A name or an ID, as the provider knows it. */
export const IMAGE_LENGTH_MAX = 255;
export const ImageName = z.string().min(1).max(IMAGE_LENGTH_MAX);

/** A number of machines with the same settings. */
export const NodeSet = z.strictObject({
  connection: ConnectionName,
  count: z.int().min(1),
  spec: z.string().min(1),
  rootDisk: RootDisk,
  image: ImageName.optional().describe('Absent: that of the connection'),
  role: z.string().optional().describe('IAM role of the provider, for its cloud controller'),
  pool: PoolName.optional().describe('The pool that workers belong to; absent: worker-<number>, counted on'),
  zones: z.array(z.string()).optional().describe('Zones that they are spread over; absent: all of the connection'),
});
export type NodeSet = z.infer<typeof NodeSet>;

export const SERVICE_TYPES = ['multi', 'single'] as const;
export const CNIS = ['canal', 'kilo', 'flannel', 'calico', 'cilium'] as const;
/** CB-Ladybug's CNIs by service type, plus Cilium within one cloud. */
export const CNIS_OF = { multi: ['canal', 'kilo'], single: ['calico', 'flannel', 'cilium'] } as const;
export const LOAD_BALANCERS = ['haproxy', 'nlb'] as const;
export const ETCDS = ['local', 'external'] as const;

/** Clouds whose cloud controller manager and storage driver Fairlead installs into clusters. `lab` is a simulation. */
export const CLOUD_CONTROLLERS = ['aws', 'lab', 'openstack'] as const;
export const CloudController = z.enum(CLOUD_CONTROLLERS);
export type CloudController = z.infer<typeof CloudController>;

export const ServiceType = z.enum(SERVICE_TYPES);
export const Cni = z.enum(CNIS);
export type Cni = z.infer<typeof Cni>;

/** Default of kube-controller-manager's --node-cidr-mask-size for IPv4: each node gets 256 pod addresses. */
export const NODE_CIDR_MASK = 24;

/** `v1.34.4`, the form that kubelets report, so that desired and observed versions compare as text. */
export const KubernetesVersion = z
  .string()
  .regex(/^v\d+\.\d+\.\d+$/)
  .brand<'KubernetesVersion'>();
export type KubernetesVersion = z.infer<typeof KubernetesVersion>;

/** The desired cluster with every default filled in, as recorded by `ClusterRequested`. */
export const ClusterSpec = z.strictObject({
  name: ClusterName,
  controlPlane: NodeSet,
  workers: z.array(NodeSet).max(50),
  serviceType: ServiceType,
  singleNode: z.boolean().describe('One control plane, no workers, workloads allowed on it (our extension)'),
  cloudController: CloudController.optional().describe('Whose cloud controller runs in it; absent: none'),
  kubernetes: z.strictObject({
    version: KubernetesVersion,
    networkCni: Cni,
    podCidr: z.string(),
    nodeCidrMask: z
      .int()
      .min(NODE_CIDR_MASK)
      .max(NODE_CIDR_MASK + 1)
      .optional()
      .describe(`Prefix length of each node's range of the pod network; absent: ${NODE_CIDR_MASK}`),
    serviceCidr: z.string(),
    serviceDnsDomain: z.string(),
    loadbalancer: z.enum(LOAD_BALANCERS),
    etcd: z.enum(ETCDS),
    storageclass: z
      .strictObject({ nfs: z.strictObject({ server: z.string(), path: z.string() }).optional() })
      .optional(),
  }),
  installMonAgent: z.enum(['yes', 'no']),
  label: z.string(),
  description: z.string(),
  onFailure: OnCreationFailure.optional().describe('What becomes of it if its creation fails; absent: keep'),
  lease: ClusterLease.optional().describe('Absent: it has no end, and nothing is reserved'),
});
export type ClusterSpec = z.infer<typeof ClusterSpec>;

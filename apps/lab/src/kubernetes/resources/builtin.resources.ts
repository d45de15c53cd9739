import type {
  ClusterEvent,
  ConfigMap,
  Endpoints,
  EndpointSlice,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
  ServiceAccount,
  StorageClass,
} from '../objects/core.types.js';
import type { KubeObject } from '../objects/kube.object.js';
import type {
  ControllerRevision,
  DaemonSet,
  Deployment,
  Job,
  ReplicaSet,
  StatefulSet,
} from '../objects/workload.types.js';
import { REVIEW_RESOURCES } from './review.resources.js';
import { ALL_VERBS, type Resource, type ResourceDefinition } from './resource.js';

type Details = Partial<
  Pick<
    ResourceDefinition,
    'shortNames' | 'categories' | 'subresources' | 'verbs' | 'otherVersions' | 'deprecated' | 'singular'
  >
>;

const define =
  (namespaced: boolean) =>
  <T extends KubeObject = KubeObject>(
    apiVersion: string,
    kind: string,
    plural: string,
    details: Details = {},
  ): Resource<T> => {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    return {
      group: group ?? '',
      version: version ?? '',
      otherVersions: [],
      deprecated: [],
      plural,
      singular: kind.toLowerCase(),
      kind,
      namespaced,
      shortNames: [],
      categories: [],
      subresources: [],
      verbs: ALL_VERBS,
      custom: false,
      ...details,
    };
  };

const namespaced = define(true);
const clusterWide = define(false);
const ALL = ['all'];
const WORKLOAD: Details = { categories: ALL, subresources: ['status', 'scale'] };

export const NODES = clusterWide<Node>('v1', 'Node', 'nodes', {
  shortNames: ['no'],
  subresources: ['status', 'proxy'],
});
export const NAMESPACES = clusterWide<Namespace>('v1', 'Namespace', 'namespaces', {
  shortNames: ['ns'],
  subresources: ['status', 'finalize'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
});
export const PODS = namespaced<Pod>('v1', 'Pod', 'pods', {
  shortNames: ['po'],
  categories: ALL,
  subresources: ['status', 'eviction', 'binding', 'log', 'exec', 'proxy'],
});
export const SERVICES = namespaced<Service>('v1', 'Service', 'services', {
  shortNames: ['svc'],
  categories: ALL,
  subresources: ['status'],
});
export const ENDPOINTS = namespaced<Endpoints>('v1', 'Endpoints', 'endpoints', {
  deprecated: [{ version: 'v1', since: '1.33', removed: '', use: 'discovery.k8s.io/v1 EndpointSlice' }],
  shortNames: ['ep'],
  singular: 'endpoints',
});
export const CONFIG_MAPS = namespaced<ConfigMap>('v1', 'ConfigMap', 'configmaps', { shortNames: ['cm'] });
export const SECRETS = namespaced<Secret>('v1', 'Secret', 'secrets');
export const SERVICE_ACCOUNTS = namespaced<ServiceAccount>('v1', 'ServiceAccount', 'serviceaccounts', {
  shortNames: ['sa'],
});
export const EVENTS = namespaced<ClusterEvent>('v1', 'Event', 'events', { shortNames: ['ev'] });
export const PERSISTENT_VOLUMES = clusterWide<PersistentVolume>('v1', 'PersistentVolume', 'persistentvolumes', {
  shortNames: ['pv'],
  subresources: ['status'],
});
export const PERSISTENT_VOLUME_CLAIMS = namespaced<PersistentVolumeClaim>(
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
  {
    shortNames: ['pvc'],
    subresources: ['status'],
  },
);
const REPLICATION_CONTROLLERS = namespaced('v1', 'ReplicationController', 'replicationcontrollers', {
  shortNames: ['rc'],
  categories: ALL,
});
export const DEPLOYMENTS = namespaced<Deployment>('apps/v1', 'Deployment', 'deployments', {
  ...WORKLOAD,
  shortNames: ['deploy'],
});
export const REPLICA_SETS = namespaced<ReplicaSet>('apps/v1', 'ReplicaSet', 'replicasets', {
  ...WORKLOAD,
  shortNames: ['rs'],
});
export const STATEFUL_SETS = namespaced<StatefulSet>('apps/v1', 'StatefulSet', 'statefulsets', {
  ...WORKLOAD,
  shortNames: ['sts'],
});
export const DAEMON_SETS = namespaced<DaemonSet>('apps/v1', 'DaemonSet', 'daemonsets', {
  shortNames: ['ds'],
  categories: ALL,
  subresources: ['status'],
});
export const CONTROLLER_REVISIONS = namespaced<ControllerRevision>(
  'apps/v1',
  'ControllerRevision',
  'controllerrevisions',
);
export const JOBS = namespaced<Job>('batch/v1', 'Job', 'jobs', { categories: ALL, subresources: ['status'] });
const CRON_JOBS = namespaced('batch/v1', 'CronJob', 'cronjobs', {
  shortNames: ['cj'],
  categories: ALL,
  subresources: ['status'],
});
export const POD_DISRUPTION_BUDGETS = namespaced<PodDisruptionBudget>(
  'policy/v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
  {
    shortNames: ['pdb'],
    subresources: ['status'],
    otherVersions: ['v1beta1'],
    deprecated: [{ version: 'v1beta1', since: '1.21', removed: '1.25' }],
  },
);
export const LEASES = namespaced<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');
export const STORAGE_CLASSES = clusterWide<StorageClass>('storage.k8s.io/v1', 'StorageClass', 'storageclasses', {
  shortNames: ['sc'],
});
export const ENDPOINT_SLICES = namespaced<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
export const CUSTOM_RESOURCE_DEFINITIONS = clusterWide<KubeObject>(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  { shortNames: ['crd', 'crds'], categories: ['api-extensions'], subresources: ['status'] },
);

export const CLUSTER_ROLE_BINDINGS = clusterWide(
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding',
  'clusterrolebindings',
);
export const CERTIFICATE_SIGNING_REQUESTS = clusterWide(
  'certificates.k8s.io/v1',
  'CertificateSigningRequest',
  'certificatesigningrequests',
  { shortNames: ['csr'], subresources: ['status', 'approval'] },
);

/** Resources that are stored but not acted on. */
const STORED_ONLY: readonly ResourceDefinition[] = [
  REPLICATION_CONTROLLERS,
  CRON_JOBS,
  namespaced('v1', 'LimitRange', 'limitranges', { shortNames: ['limits'] }),
  namespaced('v1', 'ResourceQuota', 'resourcequotas', { shortNames: ['quota'], subresources: ['status'] }),
  namespaced('v1', 'PodTemplate', 'podtemplates'),
  namespaced('autoscaling/v2', 'HorizontalPodAutoscaler', 'horizontalpodautoscalers', {
    shortNames: ['hpa'],
    categories: ALL,
    subresources: ['status'],
  }),
  namespaced('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  namespaced('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  clusterWide('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles'),
  namespaced('networking.k8s.io/v1', 'Ingress', 'ingresses', { shortNames: ['ing'], subresources: ['status'] }),
  clusterWide('networking.k8s.io/v1', 'IngressClass', 'ingressclasses'),
  namespaced('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', { shortNames: ['netpol'] }),
  clusterWide('storage.k8s.io/v1', 'CSIDriver', 'csidrivers'),
  clusterWide('storage.k8s.io/v1', 'CSINode', 'csinodes'),
  namespaced('storage.k8s.io/v1', 'CSIStorageCapacity', 'csistoragecapacities'),
  clusterWide('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments', { subresources: ['status'] }),
  clusterWide('scheduling.k8s.io/v1', 'PriorityClass', 'priorityclasses', { shortNames: ['pc'] }),
  clusterWide('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses'),
  clusterWide('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', {
    categories: ['api-extensions'],
  }),
  clusterWide('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    categories: ['api-extensions'],
  }),
  clusterWide('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    categories: ['api-extensions'],
    subresources: ['status'],
  }),
  clusterWide(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
    {
      categories: ['api-extensions'],
    },
  ),
  clusterWide('apiregistration.k8s.io/v1', 'APIService', 'apiservices', {
    categories: ['api-extensions'],
    subresources: ['status'],
  }),
];

/** Every type that the simulated API server serves without a CustomResourceDefinition. */
export const BUILTIN_RESOURCES: readonly ResourceDefinition[] = [
  NODES,
  NAMESPACES,
  PODS,
  SERVICES,
  ENDPOINTS,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_ACCOUNTS,
  EVENTS,
  PERSISTENT_VOLUMES,
  PERSISTENT_VOLUME_CLAIMS,
  DEPLOYMENTS,
  REPLICA_SETS,
  STATEFUL_SETS,
  DAEMON_SETS,
  CONTROLLER_REVISIONS,
  JOBS,
  POD_DISRUPTION_BUDGETS,
  LEASES,
  STORAGE_CLASSES,
  ENDPOINT_SLICES,
  CUSTOM_RESOURCE_DEFINITIONS,
  CLUSTER_ROLE_BINDINGS,
  CERTIFICATE_SIGNING_REQUESTS,
  ...STORED_ONLY,
  ...REVIEW_RESOURCES,
];

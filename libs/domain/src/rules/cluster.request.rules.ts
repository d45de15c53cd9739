import {
  CLUSTER_DEFAULTS,
  ClusterSpec,
  ConnectionName,
  DEFAULT_KUBERNETES_VERSION,
  NODE_SETS_MAX,
  NodeSet,
  refuse,
  serviceTypeWith,
  withV,
  type ClusterRequest,
  type NodeSetRequest,
  type NodesRequest,
  type Refusal,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES, type OwnReleases } from '../releases.fold.js';
import {
  controlPlaneFaults,
  shapeFaults,
  totalFaults,
  type ClusterFields,
  type ClusterShape,
  type MachineFields,
  type NewCluster,
} from './cluster.rules.js';

const fine: readonly Refusal[] = [];
const when = (wrong: boolean, refusal: () => Refusal): readonly Refusal[] => (wrong ? [refusal()] : fine);

const kubernetesOf = (request: ClusterRequest) => request.config?.kubernetes ?? {};
const serviceTypeOf = (request: ClusterRequest): string =>
  request.serviceType ?? serviceTypeWith(kubernetesOf(request).networkCni);
const controlPlanesOf = (request: ClusterRequest): readonly NodeSetRequest[] => request.controlPlane ?? [];
const workersOf = (request: ClusterRequest): readonly NodeSetRequest[] => request.worker ?? [];

/** Field names of a set of machines, such as `worker[0].count`. */
export const setFields = (field: 'controlPlane' | 'worker', index: number): MachineFields => {
  const set = `${field}[${index}]`;
  return { count: `${set}.count`, connection: `${set}.connection`, spec: `${set}.spec`, zones: `${set}.zones` };
};

const KUBERNETES = 'config.kubernetes';

const FIELDS: ClusterFields = {
  name: 'name',
  serviceType: 'serviceType',
  version: `${KUBERNETES}.version`,
  cni: `${KUBERNETES}.networkCni`,
  podCidr: `${KUBERNETES}.podCidr`,
  serviceCidr: `${KUBERNETES}.serviceCidr`,
  dnsDomain: `${KUBERNETES}.serviceDnsDomain`,
  loadBalancer: `${KUBERNETES}.loadbalancer`,
  etcd: `${KUBERNETES}.etcd`,
  nfs: `${KUBERNETES}.storageclass.nfs`,
  controlPlane: setFields('controlPlane', 0),
  workers: 'worker',
};

/** The request as a manifest spec, with every default filled in. */
const shapeOf = (request: ClusterRequest): ClusterShape => {
  const kubernetes = kubernetesOf(request);
  const [controlPlane] = controlPlanesOf(request);
  const { nfs } = kubernetes.storageclass ?? {};
  return {
    version: kubernetes.version,
    serviceType: request.serviceType,
    loadBalancer: kubernetes.loadbalancer ?? CLUSTER_DEFAULTS.loadbalancer,
    network: {
      cni: kubernetes.networkCni,
      podCidr: kubernetes.podCidr ?? CLUSTER_DEFAULTS.podCidr,
      serviceCidr: kubernetes.serviceCidr ?? CLUSTER_DEFAULTS.serviceCidr,
      dnsDomain: kubernetes.serviceDnsDomain ?? CLUSTER_DEFAULTS.serviceDnsDomain,
    },
    storage: nfs === undefined ? undefined : { nfs },
    controlPlane: {
      replicas: controlPlane?.count ?? 0,
      connection: controlPlane?.connection,
      etcd: kubernetes.etcd ?? CLUSTER_DEFAULTS.etcd,
      schedulable: request.singleNode ?? false,
    },
  };
};

const newClusterOf = (request: ClusterRequest): NewCluster => ({
  name: request.name ?? '',
  spec: shapeOf(request),
  workers: workersOf(request).map(({ count = 0, connection }, index) => ({
    replicas: count,
    connection,
    fields: setFields('worker', index),
  })),
  fields: FIELDS,
});

const controlPlaneSetFaults = (request: ClusterRequest): readonly Refusal[] => {
  const sets = controlPlanesOf(request).length;
  if (sets === 0) return [refuse('cluster.control-plane-missing', {}, 'controlPlane')];
  return when(sets > 1, () => refuse('cluster.control-plane-sets', {}, 'controlPlane'));
};

const MONITORING = ['yes', 'no'];

const monitoringFaults = (request: ClusterRequest): readonly Refusal[] => {
  const given = request.config?.installMonAgent ?? CLUSTER_DEFAULTS.installMonAgent;
  const field = 'config.installMonAgent';
  if (!MONITORING.includes(given)) return [refuse('cluster.mon-agent', {}, field)];
  return when(given === 'yes', () => refuse('cluster.mon-agent-unsupported', {}, field));
};

const setFaults = (set: NodeSetRequest, path: string): readonly Refusal[] => {
  const connection = set.connection ?? '';
  return [
    ...when(connection === '', () => refuse('cluster.connection-empty', {}, `${path}.connection`)),
    ...when(connection !== '' && !ConnectionName.safeParse(connection).success, () =>
      refuse('connection.name-invalid', { name: connection }, `${path}.connection`),
    ),
    ...when((set.spec ?? '') === '', () => refuse('cluster.spec-empty', {}, `${path}.spec`)),
  ];
};

const nodeSetFaults = (request: ClusterRequest): readonly Refusal[] => [
  ...controlPlanesOf(request).flatMap((set, index) => setFaults(set, `controlPlane[${index}]`)),
  ...workersOf(request).flatMap((set, index) => setFaults(set, `worker[${index}]`)),
];

const workerCountFaults = (sets: readonly NodeSetRequest[]): readonly Refusal[] =>
  sets.flatMap((set, index) =>
    when((set.count ?? 0) < 1, () =>
      refuse('cluster.worker-count', { connection: set.connection ?? '' }, `worker[${index}].count`),
    ),
  );

/**
 * All faults of a request for a cluster, in CB-Ladybug's order; `namespace` has the faults of its namespace. `own`: the
 * releases of the installation; if omitted, only the built-in ones are known.
 */
export const faultsOfCluster = (
  request: ClusterRequest,
  namespace: readonly Refusal[],
  own: OwnReleases = NO_OWN_RELEASES,
): readonly Refusal[] => {
  const cluster = newClusterOf(request);
  return [
    ...controlPlaneSetFaults(request),
    ...shapeFaults(cluster, own),
    ...monitoringFaults(request),
    ...nodeSetFaults(request),
    ...namespace,
    ...(controlPlanesOf(request).length === 1 ? controlPlaneFaults(cluster) : []),
    ...workerCountFaults(workersOf(request)),
    ...totalFaults(cluster, own),
  ];
};

/** All faults of a request for more workers that can be found without knowing the cluster. */
export const faultsOfNodes = (request: NodesRequest): readonly Refusal[] => {
  const workers = request.worker ?? [];
  return [
    ...when((request.controlPlane ?? []).length > 0, () =>
      refuse('node.control-plane-unsupported', {}, 'controlPlane'),
    ),
    ...when(workers.length === 0, () => refuse('cluster.worker-missing', {}, 'worker')),
    ...when(workers.length > NODE_SETS_MAX, () =>
      refuse('cluster.too-many-sets', { max: NODE_SETS_MAX, count: workers.length }, 'worker'),
    ),
    ...workers.flatMap((set, index) => setFaults(set, `worker[${index}]`)),
    ...workerCountFaults(workers),
  ];
};

export const toNodeSet = (set: NodeSetRequest): NodeSet =>
  NodeSet.parse({
    connection: set.connection,
    count: set.count,
    spec: set.spec,
    rootDisk: {
      type: set.rootDisk?.type ?? CLUSTER_DEFAULTS.rootDisk,
      size: set.rootDisk?.size ?? CLUSTER_DEFAULTS.rootDisk,
    },
    ...(set.role === undefined ? {} : { role: set.role }),
  });

/** The request with every default filled in; throws if the request has faults. */
export const toClusterSpec = (request: ClusterRequest): ClusterSpec => {
  const { network, version = DEFAULT_KUBERNETES_VERSION, loadBalancer, controlPlane, storage } = shapeOf(request);
  const type = serviceTypeOf(request) === 'single' ? 'single' : 'multi';
  const share = storage?.nfs;
  return ClusterSpec.parse({
    name: request.name,
    controlPlane: controlPlanesOf(request).map(toNodeSet)[0],
    workers: workersOf(request).map(toNodeSet),
    serviceType: type,
    singleNode: controlPlane.schedulable,
    kubernetes: {
      version: withV(version),
      networkCni: network.cni ?? CLUSTER_DEFAULTS.cniOf[type],
      podCidr: network.podCidr,
      serviceCidr: network.serviceCidr,
      serviceDnsDomain: network.dnsDomain,
      loadbalancer: loadBalancer,
      etcd: controlPlane.etcd,
      // Like CB-Ladybug, installs the class only if both are given.
      ...(share?.server && share.path ? { storageclass: { nfs: { server: share.server, path: share.path } } } : {}),
    },
    installMonAgent: request.config?.installMonAgent ?? CLUSTER_DEFAULTS.installMonAgent,
    label: request.label ?? '',
    description: request.description ?? '',
    // Requests with and without the explicit default must be equal.
    ...(request.onFailure === 'cleanup' ? { onFailure: request.onFailure } : {}),
  });
};

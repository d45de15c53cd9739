import {
  CNIS_OF,
  ClusterSpec,
  ETCDS,
  LOAD_BALANCERS,
  NodeSet,
  SERVICE_TYPES,
  CLUSTER_WORKERS_MAX,
  CONTROL_PLANES_MAX,
  EXTERNAL_ETCD_COUNTS,
  CLUSTER_NAME,
  CLUSTER_NAME_LENGTH_MAX,
  ClusterName,
  ConnectionName,
  withV,
  refuse,
  type Refusal,
  CLUSTER_DEFAULTS,
  serviceTypeWith,
  NODE_SETS_MAX,
  type ClusterRequest,
  type NodeSetRequest,
  type NodesRequest,
  DEFAULT_KUBERNETES_VERSION,
  versionRanges,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES, offeredReleases, type OwnReleases } from '../releases.fold.js';
import { isHost, isPath } from './nfs.js';
import {
  maskBits,
  nodeCidrMaskFor,
  overlap,
  parseNetwork,
  podRoomFault,
  specialRangeOf,
  type Network,
} from './cidrs.js';

/** Looks at one thing; answers with everything that is wrong about it. */
type Rule = (request: ClusterRequest, own: OwnReleases) => readonly Refusal[];

const fine: readonly Refusal[] = [];
const when = (wrong: boolean, refusal: () => Refusal): readonly Refusal[] => (wrong ? [refusal()] : fine);
const oneOf = (values: readonly string[], value: string): boolean => values.includes(value);

const kubernetesOf = (request: ClusterRequest) => request.config?.kubernetes ?? {};
const serviceTypeOf = (request: ClusterRequest): string =>
  request.serviceType ?? serviceTypeWith(kubernetesOf(request).networkCni);
const controlPlanesOf = (request: ClusterRequest): readonly NodeSetRequest[] => request.controlPlane ?? [];
const workersOf = (request: ClusterRequest): readonly NodeSetRequest[] => request.worker ?? [];
const isSingleNode = (request: ClusterRequest): boolean => request.singleNode ?? false;
const controlPlaneCountOf = (request: ClusterRequest): number => controlPlanesOf(request)[0]?.count ?? 0;
const etcdOf = (request: ClusterRequest): string => kubernetesOf(request).etcd ?? CLUSTER_DEFAULTS.etcd;
const podCidrOf = (request: ClusterRequest): string => kubernetesOf(request).podCidr ?? CLUSTER_DEFAULTS.podCidr;
const serviceCidrOf = (request: ClusterRequest): string =>
  kubernetesOf(request).serviceCidr ?? CLUSTER_DEFAULTS.serviceCidr;
const sum = (sets: readonly NodeSetRequest[]): number => sets.reduce((total, set) => total + (set.count ?? 0), 0);

const KUBERNETES = 'config.kubernetes';

const controlPlaneSets: Rule = (request) => {
  const sets = controlPlanesOf(request).length;
  if (sets === 0) return [refuse('cluster.control-plane-missing', {}, 'controlPlane')];
  return when(sets > 1, () => refuse('cluster.control-plane-sets', {}, 'controlPlane'));
};

const workerSets: Rule = (request) => {
  const count = workersOf(request).length;
  if (isSingleNode(request)) return when(count > 0, () => refuse('cluster.single-node', {}, 'worker'));
  return [
    ...when(count === 0, () => refuse('cluster.worker-missing', {}, 'worker')),
    ...when(count > NODE_SETS_MAX, () => refuse('cluster.too-many-sets', { max: NODE_SETS_MAX, count }, 'worker')),
  ];
};

const serviceType: Rule = (request) =>
  when(!oneOf(SERVICE_TYPES, serviceTypeOf(request)), () => refuse('cluster.service-type', {}, 'serviceType'));

const cni: Rule = (request) => {
  const type = serviceTypeOf(request);
  const asked = kubernetesOf(request).networkCni;
  if (asked === undefined || (type !== 'multi' && type !== 'single')) return fine;
  return when(!oneOf(CNIS_OF[type], asked), () => refuse(`cluster.cni-${type}`, {}, `${KUBERNETES}.networkCni`));
};

const loadBalancer: Rule = (request) =>
  when(!oneOf(LOAD_BALANCERS, kubernetesOf(request).loadbalancer ?? CLUSTER_DEFAULTS.loadbalancer), () =>
    refuse('cluster.loadbalancer', {}, `${KUBERNETES}.loadbalancer`),
  );

const etcd: Rule = (request) =>
  when(!oneOf(ETCDS, etcdOf(request)), () => refuse('cluster.etcd', {}, `${KUBERNETES}.etcd`));

const externalEtcd: Rule = (request) => {
  const isWrong = etcdOf(request) === 'external' && !EXTERNAL_ETCD_COUNTS.includes(controlPlaneCountOf(request));
  return when(isWrong, () => refuse('cluster.etcd-external-count', {}, 'controlPlane[0].count'));
};

const name: Rule = (request) => {
  const given = request.name ?? '';
  if (given === '') return [refuse('cluster.name-empty', {}, 'name')];
  const [length, max] = [given.length, CLUSTER_NAME_LENGTH_MAX];
  if (length > max && CLUSTER_NAME.test(given))
    return [refuse('cluster.name-too-long', { name: given, length, max }, 'name')];
  return when(!ClusterName.safeParse(given).success, () =>
    refuse('cluster.name-invalid', { name: given, max: CLUSTER_NAME_LENGTH_MAX }, 'name'),
  );
};

/** What is wrong with a network that can be read. */
const networkFaults = (name: 'podCidr' | 'serviceCidr', value: string, network: Network): readonly Refusal[] => {
  const field = `${KUBERNETES}.${name}`;
  const special = specialRangeOf(network);
  const masked = maskBits(network);
  return [
    ...(special === undefined
      ? fine
      : [
          refuse(
            'cluster.cidr-special',
            { network: `${name} ${value}`, range: special.range, purpose: special.purpose },
            field,
          ),
        ]),
    ...when(masked !== value, () => refuse('cluster.cidr-host-bits', { network: `${name} ${value}`, masked }, field)),
  ];
};

const podNetwork: Rule = (request) => {
  const value = podCidrOf(request);
  const network = parseNetwork(value);
  if (network === undefined) return [refuse('cluster.pod-cidr', { value }, `${KUBERNETES}.podCidr`)];
  return networkFaults('podCidr', value, network);
};

/** Bounds of kubeadm's own validation: at most 20 host bits, at least ten addresses. */
const SERVICE_PREFIX_MIN = 12;
const SERVICE_PREFIX_MAX = 28;

const serviceNetwork: Rule = (request) => {
  const value = serviceCidrOf(request);
  const field = `${KUBERNETES}.serviceCidr`;
  const network = parseNetwork(value);
  if (network === undefined) return [refuse('cluster.service-cidr', { value }, field)];
  return [
    ...networkFaults('serviceCidr', value, network),
    ...when(network.prefix < SERVICE_PREFIX_MIN || network.prefix > SERVICE_PREFIX_MAX, () =>
      refuse('cluster.service-cidr-size', { value }, field),
    ),
  ];
};

const networksApart: Rule = (request) => {
  const pods = parseNetwork(podCidrOf(request));
  const services = parseNetwork(serviceCidrOf(request));
  if (pods === undefined || services === undefined) return fine;
  return when(overlap(pods, services), () =>
    refuse(
      'cluster.cidr-overlap',
      { first: `podCidr ${podCidrOf(request)}`, second: `serviceCidr ${serviceCidrOf(request)}` },
      `${KUBERNETES}.podCidr`,
    ),
  );
};

const podCapacity: Rule = (request) => {
  const pods = parseNetwork(podCidrOf(request));
  if (pods === undefined) return fine;
  const count = sum(controlPlanesOf(request)) + sum(workersOf(request));
  const network = { podCidr: podCidrOf(request), nodeCidrMask: nodeCidrMaskFor(pods) };
  const fault = podRoomFault(network, count, `${KUBERNETES}.podCidr`);
  return fault === undefined ? fine : [fault];
};

/** RFC 1123 subdomain, which is what kubeadm asks of networking.dnsDomain. */
const DNS_DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

const dnsDomain: Rule = (request) => {
  const value = kubernetesOf(request).serviceDnsDomain ?? CLUSTER_DEFAULTS.serviceDnsDomain;
  return when(!DNS_DOMAIN.test(value), () => refuse('cluster.dns-domain', { value }, `${KUBERNETES}.serviceDnsDomain`));
};

const nfs: Rule = (request) => {
  const { server = '', path = '' } = kubernetesOf(request).storageclass?.nfs ?? {};
  const field = `${KUBERNETES}.storageclass.nfs`;
  return [
    ...when(server !== '' && !isHost(server), () => refuse('cluster.nfs-server', {}, `${field}.server`)),
    ...when(path !== '' && !isPath(path), () => refuse('cluster.nfs-path', {}, `${field}.path`)),
  ];
};

/** Why nothing can be built with this version. `version`: with or without the v. */
export const releaseFaults = (version: string, own: OwnReleases, field: string): readonly Refusal[] => {
  const offered = offeredReleases(own).map((release) => release.version);
  if (offered.includes(withV(version))) return fine;
  const [known, reason] = [versionRanges(offered), own.withdrawn.get(withV(version))];
  return reason === undefined
    ? [refuse('cluster.version-unknown', { version, known }, field)]
    : [refuse('cluster.version-withdrawn', { version, reason, known }, field)];
};

const version: Rule = (request, own) =>
  releaseFaults(kubernetesOf(request).version ?? DEFAULT_KUBERNETES_VERSION, own, `${KUBERNETES}.version`);

const MONITORING = ['yes', 'no'];

const monitoring: Rule = (request) => {
  const given = request.config?.installMonAgent ?? CLUSTER_DEFAULTS.installMonAgent;
  const field = 'config.installMonAgent';
  if (!oneOf(MONITORING, given)) return [refuse('cluster.mon-agent', {}, field)];
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

const nodeSets: Rule = (request) => [
  ...controlPlanesOf(request).flatMap((set, index) => setFaults(set, `controlPlane[${index}]`)),
  ...workersOf(request).flatMap((set, index) => setFaults(set, `worker[${index}]`)),
];

const controlPlaneCount: Rule = (request) => {
  if (controlPlanesOf(request).length !== 1) return fine;
  const count = controlPlaneCountOf(request);
  const field = 'controlPlane[0].count';
  if (count < 1) return [refuse('cluster.control-plane-count', {}, field)];
  if (isSingleNode(request)) return when(count > 1, () => refuse('cluster.single-node', {}, field));
  if (count > CONTROL_PLANES_MAX) return [refuse('cluster.control-plane-too-many', { count }, field)];
  return when(count % 2 === 0, () => refuse('cluster.control-plane-even', { count }, field));
};

const workerCountFaults = (sets: readonly NodeSetRequest[]): readonly Refusal[] =>
  sets.flatMap((set, index) =>
    when((set.count ?? 0) < 1, () =>
      refuse('cluster.worker-count', { connection: set.connection ?? '' }, `worker[${index}].count`),
    ),
  );

const workerCounts: Rule = (request) => workerCountFaults(workersOf(request));

const workersInAll: Rule = (request) => {
  const count = sum(workersOf(request));
  return when(count > CLUSTER_WORKERS_MAX, () =>
    refuse('cluster.too-many-nodes', { max: CLUSTER_WORKERS_MAX, count }, 'worker'),
  );
};

const oneConnection: Rule = (request) => {
  if (serviceTypeOf(request) !== 'single') return fine;
  const first = controlPlanesOf(request)[0]?.connection;
  return workersOf(request).flatMap((set, index) =>
    when(set.connection !== first, () =>
      refuse('cluster.single-connection', { connection: set.connection ?? '' }, `worker[${index}].connection`),
    ),
  );
};

/** What can be said about a request alone, in CB-Ladybug's order. */
const SHAPE_RULES: readonly Rule[] = [
  controlPlaneSets,
  workerSets,
  serviceType,
  cni,
  loadBalancer,
  etcd,
  externalEtcd,
  name,
  podNetwork,
  serviceNetwork,
  networksApart,
  dnsDomain,
  nfs,
  version,
  monitoring,
  nodeSets,
];

/** What CB-Ladybug checks after it has looked for the namespace. */
const COUNT_RULES: readonly Rule[] = [controlPlaneCount, workerCounts, workersInAll, podCapacity, oneConnection];

/**
 * Everything that is wrong with the request, in order; `namespace` is what is wrong with its namespace, if anything. `own`: the releases
 * of the installation; left out, only the built-in ones are known.
 */
export const faultsOfCluster = (
  request: ClusterRequest,
  namespace: readonly Refusal[],
  own: OwnReleases = NO_OWN_RELEASES,
): readonly Refusal[] => [
  ...SHAPE_RULES.flatMap((rule) => rule(request, own)),
  ...namespace,
  ...COUNT_RULES.flatMap((rule) => rule(request, own)),
];

/** Everything that is wrong with a request for more workers, without knowing the cluster. */
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

/** The request with every default filled in. Only for a request without faults: anything else throws. */
export const toClusterSpec = (request: ClusterRequest): ClusterSpec => {
  const kubernetes = kubernetesOf(request);
  const type = serviceTypeOf(request) === 'single' ? 'single' : 'multi';
  const { nfs: share } = kubernetes.storageclass ?? {};
  return ClusterSpec.parse({
    name: request.name,
    controlPlane: controlPlanesOf(request).map(toNodeSet)[0],
    workers: workersOf(request).map(toNodeSet),
    serviceType: type,
    singleNode: isSingleNode(request),
    kubernetes: {
      version: withV(kubernetes.version ?? DEFAULT_KUBERNETES_VERSION),
      networkCni: kubernetes.networkCni ?? CLUSTER_DEFAULTS.cniOf[type],
      podCidr: podCidrOf(request),
      serviceCidr: serviceCidrOf(request),
      serviceDnsDomain: kubernetes.serviceDnsDomain ?? CLUSTER_DEFAULTS.serviceDnsDomain,
      loadbalancer: kubernetes.loadbalancer ?? CLUSTER_DEFAULTS.loadbalancer,
      etcd: etcdOf(request),
      // CB-Ladybug installs the class only when both are given.
      ...(share?.server && share.path ? { storageclass: { nfs: { server: share.server, path: share.path } } } : {}),
    },
    installMonAgent: request.config?.installMonAgent ?? CLUSTER_DEFAULTS.installMonAgent,
    label: request.label ?? '',
    description: request.description ?? '',
    // Equal requests are equal, whether they name the default or not.
    ...(request.onFailure === 'cleanup' ? { onFailure: request.onFailure } : {}),
  });
};

import {
  CNIS_OF,
  ETCDS,
  LOAD_BALANCERS,
  SERVICE_TYPES,
  CLUSTER_WORKERS_MAX,
  EXTERNAL_ETCD_COUNTS,
  CLUSTER_NAME,
  CLUSTER_NAME_LENGTH_MAX,
  ClusterName,
  withV,
  refuse,
  type Refusal,
  serviceTypeWith,
  NODE_SETS_MAX,
  DEFAULT_KUBERNETES_VERSION,
  versionRanges,
} from '@fairlead/contracts';
import { offeredReleases, type OwnReleases } from '../releases.fold.js';
import { controlPlaneCountFaults } from '../manifest/control-plane.rules.js';
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

/** An API's field names for a set of machines. */
export interface MachineFields {
  readonly count: string;
  readonly connection: string;
  readonly spec: string;
  readonly zones: string;
}

/** An API's field names for a new cluster, used in its refusals. */
export interface ClusterFields {
  readonly name: string;
  readonly serviceType: string;
  readonly version: string;
  readonly cni: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
  readonly dnsDomain: string;
  readonly loadBalancer: string;
  readonly etcd: string;
  readonly nfs: string;
  readonly controlPlane: MachineFields;
  readonly workers: string;
}

/** The parts of a manifest's spec that the rules read. Values may be texts that no schema has validated. */
export interface ClusterShape {
  readonly version?: string | undefined;
  readonly serviceType?: string | undefined;
  readonly loadBalancer: string;
  readonly network: {
    readonly cni?: string | undefined;
    readonly podCidr: string;
    readonly serviceCidr: string;
    readonly dnsDomain: string;
  };
  readonly storage?:
    { readonly nfs: { readonly server?: string | undefined; readonly path?: string | undefined } } | undefined;
  readonly controlPlane: {
    readonly replicas: number;
    readonly connection?: string | undefined;
    readonly etcd: string;
    readonly schedulable: boolean;
  };
}

export interface WorkersShape {
  readonly replicas: number;
  readonly connection: string | undefined;
  readonly fields: MachineFields;
}

/** A new cluster, with the field names of the API that requested it. */
export interface NewCluster {
  readonly name: string;
  readonly spec: ClusterShape;
  /** Pools that get machines. */
  readonly workers: readonly WorkersShape[];
  readonly fields: ClusterFields;
}

/** Checks one aspect and returns all of its faults. */
type Rule = (cluster: NewCluster, own: OwnReleases) => readonly Refusal[];

const fine: readonly Refusal[] = [];
const when = (wrong: boolean, refusal: () => Refusal): readonly Refusal[] => (wrong ? [refusal()] : fine);
const oneOf = (values: readonly string[], value: string): boolean => values.includes(value);

const serviceTypeOf = ({ spec }: NewCluster): string => spec.serviceType ?? serviceTypeWith(spec.network.cni);
const sum = (workers: readonly WorkersShape[]): number => workers.reduce((total, { replicas }) => total + replicas, 0);

const workerSets: Rule = ({ spec, workers, fields }) => {
  const count = workers.length;
  if (spec.controlPlane.schedulable) return when(count > 0, () => refuse('cluster.single-node', {}, fields.workers));
  return [
    ...when(count === 0, () => refuse('cluster.worker-missing', {}, fields.workers)),
    ...when(count > NODE_SETS_MAX, () =>
      refuse('cluster.too-many-sets', { max: NODE_SETS_MAX, count }, fields.workers),
    ),
  ];
};

const serviceType: Rule = (cluster) =>
  when(!oneOf(SERVICE_TYPES, serviceTypeOf(cluster)), () =>
    refuse('cluster.service-type', {}, cluster.fields.serviceType),
  );

const cni: Rule = (cluster) => {
  const type = serviceTypeOf(cluster);
  const { cni: asked } = cluster.spec.network;
  if (asked === undefined || (type !== 'multi' && type !== 'single')) return fine;
  return when(!oneOf(CNIS_OF[type], asked), () => refuse(`cluster.cni-${type}`, {}, cluster.fields.cni));
};

const loadBalancer: Rule = ({ spec, fields }) =>
  when(!oneOf(LOAD_BALANCERS, spec.loadBalancer), () => refuse('cluster.loadbalancer', {}, fields.loadBalancer));

const etcd: Rule = ({ spec, fields }) =>
  when(!oneOf(ETCDS, spec.controlPlane.etcd), () => refuse('cluster.etcd', {}, fields.etcd));

const externalEtcd: Rule = ({ spec: { controlPlane }, fields }) =>
  when(controlPlane.etcd === 'external' && !EXTERNAL_ETCD_COUNTS.includes(controlPlane.replicas), () =>
    refuse('cluster.etcd-external-count', {}, fields.controlPlane.count),
  );

const name: Rule = ({ name: given, fields }) => {
  if (given === '') return [refuse('cluster.name-empty', {}, fields.name)];
  const [length, max] = [given.length, CLUSTER_NAME_LENGTH_MAX];
  if (length > max && CLUSTER_NAME.test(given))
    return [refuse('cluster.name-too-long', { name: given, length, max }, fields.name)];
  return when(!ClusterName.safeParse(given).success, () =>
    refuse('cluster.name-invalid', { name: given, max: CLUSTER_NAME_LENGTH_MAX }, fields.name),
  );
};

/** Faults of a parsed network. */
const networkFaults = (
  { spec, fields }: NewCluster,
  name: 'podCidr' | 'serviceCidr',
  network: Network,
): readonly Refusal[] => {
  const [value, field] = [spec.network[name], fields[name]];
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

const podNetwork: Rule = (cluster) => {
  const { podCidr: value } = cluster.spec.network;
  const network = parseNetwork(value);
  if (network === undefined) return [refuse('cluster.pod-cidr', { value }, cluster.fields.podCidr)];
  return networkFaults(cluster, 'podCidr', network);
};

/** Bounds of kubeadm's own validation: at most 20 host bits, at least ten addresses. */
const SERVICE_PREFIX_MIN = 12;
const SERVICE_PREFIX_MAX = 28;

const serviceNetwork: Rule = (cluster) => {
  const { serviceCidr: value } = cluster.spec.network;
  const field = cluster.fields.serviceCidr;
  const network = parseNetwork(value);
  if (network === undefined) return [refuse('cluster.service-cidr', { value }, field)];
  return [
    ...networkFaults(cluster, 'serviceCidr', network),
    ...when(network.prefix < SERVICE_PREFIX_MIN || network.prefix > SERVICE_PREFIX_MAX, () =>
      refuse('cluster.service-cidr-size', { value }, field),
    ),
  ];
};

const networksApart: Rule = ({ spec: { network }, fields }) => {
  const pods = parseNetwork(network.podCidr);
  const services = parseNetwork(network.serviceCidr);
  if (pods === undefined || services === undefined) return fine;
  const values = { first: `podCidr ${network.podCidr}`, second: `serviceCidr ${network.serviceCidr}` };
  return when(overlap(pods, services), () => refuse('cluster.cidr-overlap', values, fields.podCidr));
};

const podCapacity: Rule = ({ spec, workers, fields }) => {
  const { podCidr } = spec.network;
  const pods = parseNetwork(podCidr);
  if (pods === undefined) return fine;
  const count = spec.controlPlane.replicas + sum(workers);
  const fault = podRoomFault({ podCidr, nodeCidrMask: nodeCidrMaskFor(pods) }, count, fields.podCidr);
  return fault === undefined ? fine : [fault];
};

/** An RFC 1123 subdomain, as kubeadm requires for networking.dnsDomain. */
const DNS_DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

const dnsDomain: Rule = ({ spec, fields }) => {
  const { dnsDomain: value } = spec.network;
  return when(!DNS_DOMAIN.test(value), () => refuse('cluster.dns-domain', { value }, fields.dnsDomain));
};

const nfs: Rule = ({ spec, fields }) => {
  const { server = '', path = '' } = spec.storage?.nfs ?? {};
  return [
    ...when(server !== '' && !isHost(server), () => refuse('cluster.nfs-server', {}, `${fields.nfs}.server`)),
    ...when(path !== '' && !isPath(path), () => refuse('cluster.nfs-path', {}, `${fields.nfs}.path`)),
  ];
};

/** Why this version cannot be built. `version`: with or without the v. */
export const releaseFaults = (version: string, own: OwnReleases, field: string): readonly Refusal[] => {
  const offered = offeredReleases(own).map((release) => release.version);
  if (offered.includes(withV(version))) return fine;
  const [known, reason] = [versionRanges(offered), own.withdrawn.get(withV(version))];
  return reason === undefined
    ? [refuse('cluster.version-unknown', { version, known }, field)]
    : [refuse('cluster.version-withdrawn', { version, reason, known }, field)];
};

const version: Rule = ({ spec, fields }, own) =>
  releaseFaults(spec.version ?? DEFAULT_KUBERNETES_VERSION, own, fields.version);

const SHAPE_RULES: readonly Rule[] = [
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
];

/** Faults of a new cluster regardless of its sizes, in CB-Ladybug's order. */
export const shapeFaults: Rule = (cluster, own) => SHAPE_RULES.flatMap((rule) => rule(cluster, own));

export const controlPlaneFaults = ({ spec: { controlPlane }, fields }: NewCluster): readonly Refusal[] => {
  const { replicas: count, schedulable } = controlPlane;
  const field = fields.controlPlane.count;
  if (schedulable && count > 0) return when(count > 1, () => refuse('cluster.single-node', {}, field));
  return controlPlaneCountFaults(controlPlane, field);
};

const workersInAll: Rule = ({ workers, fields }) => {
  const count = sum(workers);
  return when(count > CLUSTER_WORKERS_MAX, () =>
    refuse('cluster.too-many-nodes', { max: CLUSTER_WORKERS_MAX, count }, fields.workers),
  );
};

const oneConnection: Rule = (cluster) => {
  if (serviceTypeOf(cluster) !== 'single') return fine;
  const { connection: first } = cluster.spec.controlPlane;
  return cluster.workers.flatMap(({ connection, fields }) =>
    when(connection !== first, () =>
      refuse('cluster.single-connection', { connection: connection ?? '' }, fields.connection),
    ),
  );
};

/** Faults of a new cluster's machines as a whole. */
export const totalFaults: Rule = (cluster, own) =>
  [workersInAll, podCapacity, oneConnection].flatMap((rule) => rule(cluster, own));

import {
  AGENT_PATHS,
  isKubeletLabel,
  isOfficial,
  isUrl,
  releaseOf,
  usesCatalogue,
  ExternalFailure,
  type CloudController,
  type HostProfile,
  type Machine,
  type NodeMetadata,
  type SoftwareSource,
} from '@fairlead/contracts';
import { isIP } from 'node:net';
import {
  authenticationConfig,
  LOCAL_ETCD,
  type ClusterSettings,
  type NodeSettings,
  type Tuning,
} from '@fairlead/node-scripts';
import { controlPlanesOf, initialControlPlane, type Cluster, type Host } from '../bootstrap/bootstrap.state.js';

/**
 * Labels that a kubelet may set itself; `kubernetes.io/cluster` is not one of them (NodeRestriction admission), so the
 * administrator sets that one.
 */
export const nodeLabels = (machine: Machine): Readonly<Record<string, string>> => ({
  ...machine.labels,
  'topology.cloud-barista.github.io/csp': machine.csp,
  'topology.kubernetes.io/region': machine.region,
  'topology.kubernetes.io/zone': machine.zone,
});

/** CB-Ladybug's label with the name of the cluster. */
export const clusterLabel = (cluster: string): Readonly<Record<string, string>> => ({
  'kubernetes.io/cluster': cluster,
});

/** The host profile of its provider overrides the configuration of this service. */
export const tuningOf = (configured: Tuning, profile: HostProfile | undefined): Tuning => {
  const { source: _source, nodeBinary: _nodeBinary, ...said } = profile ?? {};
  const given = Object.entries(said).filter(([, value]) => value !== undefined);
  return { ...configured, ...(Object.fromEntries(given) as Partial<Tuning>) };
};

/** The form in which the controller of a cloud finds the machine of a Node. `recordedProviderId` reverses it. */
const cloudProviderId = (cloud: CloudController, { providerId, zone }: Machine): string => {
  switch (cloud) {
    case 'aws':
      return providerId.replace(/^aws:\/\//u, `aws:///${zone}/`);
    case 'openstack':
      return providerId.replace(/^openstack:\/\//u, 'openstack:///');
    case 'lab':
      return providerId;
  }
};

/**
 * `metadata`: the labels and taints of its pool. The private address is that of the machine itself; a public one may be
 * translated by NAT.
 */
export const nodeSettings = (
  { machine }: Host,
  configured: Tuning,
  {
    metadata,
    cloudController,
  }: { readonly metadata?: NodeMetadata; readonly cloudController?: CloudController | undefined } = {},
): NodeSettings => {
  const { labels = {}, taints = [] } = metadata ?? {};
  const ofPool = Object.entries(labels).filter(([key]) => isKubeletLabel(key));
  return {
    name: machine.name,
    address: machine.privateIp,
    ...(cloudController === undefined
      ? { providerId: machine.providerId }
      : { providerId: cloudProviderId(cloudController, machine), hasCloudController: true as const }),
    labels: { ...Object.fromEntries(ofPool), ...nodeLabels(machine) },
    ...(taints.length === 0 ? {} : { taints }),
    tuning: tuningOf(configured, machine.profile),
  };
};

/** The Kubernetes version of the host: that of the request for its cluster, or of the latest upgrade since. */
export const versionOn = ({ spec }: Cluster, { desired }: Host): string => {
  const kubelet = desired?.software['kubelet'];
  return kubelet === undefined ? spec.kubernetes.version : `v${kubelet}`;
};

/**
 * Each API server uses the local member, as with kubeadm's own etcd: members are added and removed without changing the
 * others.
 */
const endpointsOf = ({ etcd }: Cluster): readonly string[] | null => (etcd === null ? null : [LOCAL_ETCD]);

/** A cluster created without the file also has none on its later control planes. */
const authenticationOf = ({
  controlPlane,
  authenticationFile,
  authentication,
}: Cluster): Pick<ClusterSettings, 'authentication'> =>
  controlPlane === null || authenticationFile === true
    ? { authentication: authenticationConfig(authentication?.oidc) }
    : {};

/**
 * Addresses of own hosts whose SSH address differs from the node address: users outside of their network connect there
 * as well.
 */
const publicAddressesOf = (cluster: Cluster): Pick<ClusterSettings, 'publicAddresses'> => {
  const addresses = controlPlanesOf(cluster)
    .filter(({ machine }) => machine.publicIp !== machine.privateIp && isIP(machine.publicIp) !== 0)
    .map(({ machine }) => machine.publicIp);
  return addresses.length === 0 ? {} : { publicAddresses: addresses };
};

/** `version`: that of the host; by default that of the request for the cluster. */
export const clusterSettings = (
  cluster: Cluster,
  configured: Tuning,
  version: string = cluster.spec.kubernetes.version,
): ClusterSettings => {
  const { name, kubernetes } = cluster.spec;
  const release = releaseOf(version, cluster.releases);
  if (release === undefined)
    throw new ExternalFailure({
      operation: 'configure kubeadm',
      target: name,
      message: `Kubernetes ${version} is not among the supported releases`,
      retryable: false,
    });
  if (cluster.endpoint === null)
    throw new Error(`the plan does nothing to ${name}'s control plane without its address`);
  return {
    api: release.kubeadmApi,
    kubernetesVersion: version,
    clusterName: name,
    endpoint: cluster.endpoint,
    ...publicAddressesOf(cluster),
    ...(cluster.published === undefined ? {} : { publishedName: cluster.published.name }),
    podCidr: kubernetes.podCidr,
    ...(kubernetes.nodeCidrMask === undefined ? {} : { nodeCidrMask: kubernetes.nodeCidrMask }),
    serviceCidr: kubernetes.serviceCidr,
    dnsDomain: kubernetes.serviceDnsDomain,
    etcdEndpoints: endpointsOf(cluster),
    ...authenticationOf(cluster),
    tuning: tuningOf(configured, initialControlPlane(cluster)?.machine.profile),
  };
};

/**
 * When the agent starts, a bundle is a folder of its host, unpacked from the archive with the pinned checksum. Machines
 * from before sources had digests or signers have neither: a folder of the host is then used unsigned, and a mirror at
 * a URL only if one of the instance's own signers has signed it.
 */
export const agentSource = (source: SoftwareSource, signers: readonly string[]): SoftwareSource => {
  if (source.kind === 'bundle') return { kind: 'files', location: AGENT_PATHS.mirror, unsigned: true };
  if (source.kind === 'packages' || source.digests !== undefined || usesCatalogue(source)) return source;
  if (!isUrl(source.location)) return { ...source, unsigned: true };
  return signers.length === 0 || isOfficial(source.location) ? source : { ...source, signedBy: [...signers] };
};

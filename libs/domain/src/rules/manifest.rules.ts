import {
  KubernetesVersion,
  authenticationFaults,
  sizeOf,
  serviceTypeOf,
  withV,
  type ClusterManifest,
  type ManifestSpec,
  CONTROL_PLANE_POOL,
  drainFaults,
  etcdBackupsFaults,
  healthCheckFaults,
  hookFaults,
  metadataFaults,
  isBlocked,
  firewallFaults,
  refuse,
  type Refusal,
  type RefusalCode,
  type ClusterRequest,
  type NodeSetRequest,
  DEFAULT_KUBERNETES_VERSION,
  type ClusterName,
  type Namespace,
} from '@fairlead/contracts';

type Machines = Pick<ManifestSpec['controlPlane'], 'replicas' | 'connection' | 'machineType' | 'rootDisk'>;

const setOf = ({ replicas: count, connection, machineType: spec, rootDisk }: Machines): NodeSetRequest => ({
  count,
  connection,
  spec,
  rootDisk,
});

const sized = (pool: ManifestSpec['pools'][number]) => ({ ...pool, replicas: sizeOf(pool) });

/** A new cluster by its manifest, as CB-Ladybug's routes ask for one: so that the same rules judge both. */
export const requestOfManifest = ({ metadata, spec }: ClusterManifest): ClusterRequest => {
  const { controlPlane, network, pools, storage } = spec;
  return {
    name: metadata.name,
    controlPlane: [setOf(controlPlane)],
    worker: pools
      .map(sized)
      .filter(({ replicas }) => replicas > 0)
      .map(setOf),
    serviceType: serviceTypeOf(spec),
    singleNode: controlPlane.schedulable,
    config: {
      kubernetes: {
        version: spec.version ?? DEFAULT_KUBERNETES_VERSION,
        ...(network.cni === undefined ? {} : { networkCni: network.cni }),
        podCidr: network.podCidr,
        serviceCidr: network.serviceCidr,
        serviceDnsDomain: network.dnsDomain,
        loadbalancer: spec.loadBalancer,
        etcd: controlPlane.etcd,
        ...(storage === undefined ? {} : { storageclass: storage }),
      },
    },
  };
};

const FIELDS: Readonly<Record<string, string>> = {
  name: 'metadata.name',
  serviceType: 'spec.serviceType',
  'config.kubernetes.version': 'spec.version',
  'config.kubernetes.networkCni': 'spec.network.cni',
  'config.kubernetes.podCidr': 'spec.network.podCidr',
  'config.kubernetes.serviceCidr': 'spec.network.serviceCidr',
  'config.kubernetes.serviceDnsDomain': 'spec.network.dnsDomain',
  'config.kubernetes.loadbalancer': 'spec.loadBalancer',
  'config.kubernetes.etcd': 'spec.controlPlane.etcd',
  'config.kubernetes.storageclass.nfs.server': 'spec.storage.nfs.server',
  'config.kubernetes.storageclass.nfs.path': 'spec.storage.nfs.path',
};

const OF_A_SET: Readonly<Record<string, string>> = { count: 'replicas', spec: 'machineType', zones: 'zones' };

const HELP: { readonly [Code in RefusalCode]?: string } = {
  'cluster.worker-missing':
    'Give spec.pools a pool with replicas; for a cluster of a single node, set spec.controlPlane.schedulable to true.',
  'cluster.single-node':
    'Give spec.controlPlane.replicas a 1 and leave spec.pools empty; or set spec.controlPlane.schedulable to false.',
};

/** The path in the manifest of a field of CB-Ladybug's request. `sets`: which pools the worker sets are, by their index. */
const fieldInManifest = (field: string, sets: readonly number[]): string => {
  const set = /^(controlPlane|worker)(?:\[(\d+)\](?:\.(\w+))?)?$/.exec(field);
  if (set === null) return FIELDS[field] ?? field;
  const [, role, index, name] = set;
  const at = role === 'controlPlane' ? '' : index === undefined ? '' : `[${sets[Number(index)] ?? index}]`;
  const path = `spec.${role === 'controlPlane' ? 'controlPlane' : 'pools'}${at}`;
  return name === undefined ? path : `${path}.${OF_A_SET[name] ?? name}`;
};

/** Refusals of CB-Ladybug's request in the words of the manifest. */
export const inManifest = (refusals: readonly Refusal[], sets: readonly number[]): readonly Refusal[] =>
  refusals.map((refusal) => ({
    ...refusal,
    ...(HELP[refusal.code] === undefined ? {} : { help: HELP[refusal.code] }),
    ...(refusal.field === undefined ? {} : { field: fieldInManifest(refusal.field, sets) }),
  }));

/** Which pools of a manifest are the worker sets of a new cluster. */
export const poolsOfSets = ({ pools }: Pick<ManifestSpec, 'pools'>): readonly number[] =>
  pools.flatMap((pool, index) => (sizeOf(pool) > 0 ? [index] : []));

const nameFaults = ({ pools }: ManifestSpec): readonly Refusal[] =>
  pools.flatMap(({ name: pool }, index) => {
    const field = `spec.pools[${index}].name`;
    if (pool === CONTROL_PLANE_POOL) return [refuse('pool.name-reserved', { pool }, field)];
    const isTaken = pools.findIndex(({ name }) => name === pool) < index;
    return isTaken ? [refuse('pool.name-taken', { pool }, field)] : [];
  });

/** Of a cluster that there is: which versions a new one may have is a rule of its own. */
export const versionFaults = ({ version }: ManifestSpec): readonly Refusal[] =>
  version === undefined || KubernetesVersion.safeParse(withV(version)).success
    ? []
    : [refuse('upgrade.version-invalid', { version }, 'spec.version')];

const rolloutFaults = ({ pools }: ManifestSpec): readonly Refusal[] =>
  pools.flatMap(({ name: pool, rollout }, index) =>
    isBlocked(rollout) ? [refuse('pool.rollout-blocked', { pool }, `spec.pools[${index}].rollout`)] : [],
  );

const healthFaults = ({ controlPlane, pools }: ManifestSpec): readonly Refusal[] =>
  [
    { health: controlPlane.health, path: 'spec.controlPlane.health' },
    ...pools.map(({ health }, index) => ({ health, path: `spec.pools[${index}].health` })),
  ].flatMap(({ health, path }) => (health === undefined ? [] : healthCheckFaults(health, path)));

/** An API server does not start with a certificate that it cannot read. */
export const issuerCertificateFaults = (
  { authentication }: Pick<ManifestSpec, 'authentication'>,
  certificateFault: (pem: string) => string | undefined,
): readonly Refusal[] => {
  const { ca } = authentication?.oidc ?? {};
  const reason = ca === undefined ? undefined : certificateFault(ca);
  return reason === undefined ? [] : [refuse('cluster.oidc-ca', { reason }, 'spec.authentication.oidc.ca')];
};

/** What can be said of a manifest without knowing whether there is such a cluster. */
export const faultsOfManifest = (
  manifest: ClusterManifest,
  address: { readonly namespace: Namespace; readonly cluster: ClusterName },
): readonly Refusal[] => {
  const { name, namespace = address.namespace } = manifest.metadata;
  const misplaced = (field: 'name' | 'namespace', given: string, expected: string): readonly Refusal[] =>
    given === expected
      ? []
      : [refuse('cluster.manifest-address', { field: `metadata.${field}`, given, expected }, `metadata.${field}`)];
  return [
    ...misplaced('name', name, address.cluster),
    ...misplaced('namespace', namespace, address.namespace),
    ...nameFaults(manifest.spec),
    ...rolloutFaults(manifest.spec),
    ...healthFaults(manifest.spec),
    ...hookFaults(manifest.spec.hooks ?? []),
    ...drainFaults(
      manifest.spec.drain ?? {},
      manifest.spec.pools.map((pool) => pool.name),
    ),
    ...(manifest.spec.etcdBackups === undefined ? [] : etcdBackupsFaults(manifest.spec.etcdBackups)),
    ...authenticationFaults(manifest.spec.authentication ?? {}, manifest.spec.network.dnsDomain),
    ...firewallFaults(
      manifest.spec.firewall ?? {},
      manifest.spec.pools.map((pool) => pool.name),
    ),
    ...manifest.spec.pools.flatMap((pool, at) => metadataFaults(pool, `spec.pools[${at}]`)),
  ];
};

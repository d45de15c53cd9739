import {
  cloudFaults,
  serviceTypeOf,
  KubernetesVersion,
  addonFaults,
  authenticationFaults,
  sizeOf,
  withV,
  type ClusterManifest,
  type ManifestSpec,
  CONTROL_PLANE_POOL,
  drainFaults,
  etcdBackupsFaults,
  healthCheckFaults,
  hookFaults,
  JOINED_MACHINE_TYPE,
  needsBootstrapData,
  metadataFaults,
  isBlocked,
  firewallFaults,
  refuse,
  type Refusal,
  type RefusalCode,
  type ClusterName,
  type Namespace,
} from '@fairlead/contracts';
import { NO_OWN_RELEASES, type OwnReleases } from '../releases.fold.js';
import {
  controlPlaneFaults,
  shapeFaults,
  totalFaults,
  type ClusterFields,
  type MachineFields,
} from './cluster.rules.js';

/** Field names of the control planes in a manifest. */
export const CONTROL_PLANE_FIELDS: MachineFields = {
  count: 'spec.controlPlane.replicas',
  connection: 'spec.controlPlane.connection',
  spec: 'spec.controlPlane.machineType',
  zones: 'spec.controlPlane.zones',
};

/** Field names of a pool in a manifest, by index. */
export const poolFields = (index: number): MachineFields => {
  const pool = `spec.pools[${index}]`;
  return {
    count: `${pool}.replicas`,
    connection: `${pool}.connection`,
    spec: `${pool}.machineType`,
    zones: `${pool}.zones`,
  };
};

const FIELDS: ClusterFields = {
  name: 'metadata.name',
  serviceType: 'spec.serviceType',
  version: 'spec.version',
  cni: 'spec.network.cni',
  podCidr: 'spec.network.podCidr',
  serviceCidr: 'spec.network.serviceCidr',
  dnsDomain: 'spec.network.dnsDomain',
  loadBalancer: 'spec.loadBalancer',
  etcd: 'spec.controlPlane.etcd',
  nfs: 'spec.storage.nfs',
  controlPlane: CONTROL_PLANE_FIELDS,
  workers: 'spec.pools',
};

const HELP: { readonly [Code in RefusalCode]?: string } = {
  'cluster.worker-missing':
    'Give spec.pools a pool with replicas; for a cluster of a single node, set spec.controlPlane.schedulable to true.',
  'cluster.single-node':
    'Give spec.controlPlane.replicas a 1 and leave spec.pools empty; or set spec.controlPlane.schedulable to false.',
};

/** All faults of a new cluster's manifest. `namespace` and `own`: as for a request of CB-Ladybug. */
export const newClusterFaults = (
  { metadata, spec }: ClusterManifest,
  namespace: readonly Refusal[],
  own: OwnReleases = NO_OWN_RELEASES,
): readonly Refusal[] => {
  const workers = spec.pools
    .map((pool, index) => ({ replicas: sizeOf(pool), connection: pool.connection, fields: poolFields(index) }))
    .filter(({ replicas }) => replicas > 0);
  const cluster = { name: metadata.name, spec, workers, fields: FIELDS };
  return [...shapeFaults(cluster, own), ...namespace, ...controlPlaneFaults(cluster), ...totalFaults(cluster, own)].map(
    (refusal) => {
      const help = HELP[refusal.code];
      return help === undefined ? refusal : { ...refusal, help };
    },
  );
};

const nameFaults = ({ pools }: ManifestSpec): readonly Refusal[] =>
  pools.flatMap(({ name: pool }, index) => {
    const field = `spec.pools[${index}].name`;
    if (pool === CONTROL_PLANE_POOL) return [refuse('pool.name-reserved', { pool }, field)];
    const isTaken = pools.findIndex(({ name }) => name === pool) < index;
    return isTaken ? [refuse('pool.name-taken', { pool }, field)] : [];
  });

/** For an existing cluster: the versions available to new clusters have a separate rule. */
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

/** Bootstrap data would never run if Fairlead creates the machines. */
const bootstrapFaults = ({ pools }: ManifestSpec): readonly Refusal[] =>
  pools.flatMap((pool, at) =>
    pool.bootstrap === undefined || needsBootstrapData(pool)
      ? []
      : [
          refuse(
            'pool.bootstrap-unused',
            { pool: pool.name, machineType: pool.machineType },
            `spec.pools[${at}].bootstrap`,
          ),
        ],
  );

/** Only hosts that join by themselves are registered. */
const hostSelectorFaults = ({ pools }: ManifestSpec): readonly Refusal[] =>
  pools.flatMap(({ name: pool, machineType, hostSelector }, at) =>
    hostSelector === undefined || machineType === JOINED_MACHINE_TYPE
      ? []
      : [refuse('pool.host-selector', { pool, machineType }, `spec.pools[${at}].hostSelector`)],
  );

/** An API server does not start with an unreadable certificate. */
export const issuerCertificateFaults = (
  { authentication }: Pick<ManifestSpec, 'authentication'>,
  certificateFault: (pem: string) => string | undefined,
): readonly Refusal[] => {
  const { ca } = authentication?.oidc ?? {};
  const reason = ca === undefined ? undefined : certificateFault(ca);
  return reason === undefined ? [] : [refuse('cluster.oidc-ca', { reason }, 'spec.authentication.oidc.ca')];
};

/** Faults of a manifest that can be found without knowing whether the cluster exists. */
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
    ...bootstrapFaults(manifest.spec),
    ...hostSelectorFaults(manifest.spec),
    ...hookFaults(manifest.spec.hooks ?? []),
    ...addonFaults(manifest.spec.addons ?? []),
    ...cloudFaults({ ...manifest.spec, serviceType: serviceTypeOf(manifest.spec) }),
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

import type { ManifestDocument } from '../document/manifest.document.js';
import { usageFailure } from '../failures.js';
import type { ClusterFlags } from './cluster.request.js';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Only fields that were given override the manifest. */
const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** A mapping with its overrides; an absent mapping is created only if there are overrides. */
const merged = (name: string, before: unknown, overrides: Fields): Fields =>
  Object.keys(overrides).length === 0 ? {} : { [name]: { ...fieldsOf(before), ...overrides } };

/**
 * Applies the options of the command line to a manifest; each option overrides a field. The server validates the rest.
 */
export const manifestWith = (manifest: ManifestDocument, flags: ClusterFlags): ManifestDocument => {
  if (flags.description !== undefined)
    throw usageFailure('--description cannot be given with a manifest', 'Set a label of the cluster: metadata.labels.');
  const spec = fieldsOf(manifest['spec']);
  const overridden = {
    ...spec,
    ...given({ version: flags.kubernetesVersion, serviceType: flags.serviceType, onFailure: flags.onFailure }),
    ...merged(
      'network',
      spec['network'],
      given({ cni: flags.cni, podCidr: flags.podCidr, serviceCidr: flags.serviceCidr }),
    ),
    ...merged('controlPlane', spec['controlPlane'], controlPlaneOverrides(flags)),
    ...poolsWith(spec['pools'], flags),
  };
  return Object.keys(overridden).length === 0 ? manifest : { ...manifest, spec: overridden };
};

const controlPlaneOverrides = ({ controlPlanes, connection, machineType, etcd, workers }: ClusterFlags): Fields =>
  given({
    ...{ replicas: controlPlanes, connection, machineType, etcd },
    schedulable: workers === 0 ? true : undefined,
  });

const poolsWith = (pools: unknown, flags: ClusterFlags): Fields => {
  if (flags.workers === 0) return { pools: [] };
  const overrides = given({
    ...{ replicas: flags.workers, connection: flags.connection },
    machineType: flags.workerMachineType ?? flags.machineType,
  });
  if (Object.keys(overrides).length === 0 || !Array.isArray(pools)) return {};
  if (flags.workers !== undefined && pools.length !== 1)
    throw usageFailure(
      `--workers needs one pool, and the manifest has ${pools.length}`,
      'Change their replicas in the manifest.',
    );
  return { pools: pools.map((pool) => ({ ...fieldsOf(pool), ...overrides })) };
};

import type { ClusterRequest, NodeSetRequest, OnCreationFailure } from '@fairlead/contracts';
import { parseYaml } from '@fairlead/parsers';

import { usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';

/** The options of `cluster create` that override fields of the file. */
export interface ClusterFlags {
  readonly controlPlanes?: number;
  readonly workers?: number;
  readonly connection?: string;
  readonly machineType?: string;
  readonly workerMachineType?: string;
  readonly kubernetesVersion?: string;
  readonly cni?: string;
  readonly serviceType?: string;
  readonly etcd?: string;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  readonly description?: string;
  readonly onFailure?: OnCreationFailure;
}

/** The body of the request. The server validates it and reports its own codes. */
export const clusterRequest = (
  name: string | undefined,
  document: ClusterRequest | undefined,
  flags: ClusterFlags,
): ClusterRequest => {
  const base: ClusterRequest = { ...(document ?? defaultsOf(flags)), ...(name === undefined ? {} : { name }) };
  if (base.name === undefined || base.name === '')
    throw usageFailure('A cluster needs a name', 'fairlead cluster create <name>, or a name in the file.');
  return {
    ...base,
    ...controlPlaneOf(base, flags),
    ...workersOf(base, flags),
    ...pick('serviceType', flags.serviceType),
    ...pick('description', flags.description),
    ...pick('onFailure', flags.onFailure),
    ...configOf(base, flags),
  };
};

/**
 * Defaults without a file: three control planes and two workers on one connection, or a single node if there are no
 * workers.
 */
const defaultsOf = ({ workers = 2, controlPlanes = controlPlanesBeside(workers) }: ClusterFlags): ClusterRequest => ({
  controlPlane: [{ count: controlPlanes }],
  ...workersBeside(controlPlanes, workers, { count: workers }),
});

/** The default number of control planes: only a single node has no workers. */
export const controlPlanesBeside = (workers: number): number => (workers === 0 ? 1 : 3);

/** Several control planes without workers are refused by the server. */
export const workersBeside = (
  controlPlanes: number,
  workers: number,
  set: NodeSetRequest,
): Pick<ClusterRequest, 'singleNode' | 'worker'> => {
  if (workers > 0) return { worker: [set] };
  return controlPlanes === 1 ? { singleNode: true } : {};
};

const pick = <Name extends string, Value>(name: Name, value: Value | undefined): { readonly [K in Name]?: Value } =>
  (value === undefined ? {} : { [name]: value }) as { readonly [K in Name]?: Value };

const controlPlaneOf = (
  { controlPlane }: ClusterRequest,
  flags: ClusterFlags,
): Pick<ClusterRequest, 'controlPlane'> => {
  const overrides = {
    ...pick('count', flags.controlPlanes),
    ...pick('connection', flags.connection),
    ...pick('spec', flags.machineType),
  };
  return controlPlane === undefined && Object.keys(overrides).length === 0
    ? {}
    : { controlPlane: (controlPlane ?? [{}]).map((set) => ({ ...set, ...overrides })) };
};

const workersOf = ({ worker }: ClusterRequest, flags: ClusterFlags): Pick<ClusterRequest, 'worker'> => {
  if (flags.workers === 0) return worker === undefined ? {} : { worker: [] };
  if (worker !== undefined && worker.length > 1 && flags.workers !== undefined) {
    throw usageFailure(
      '--workers cannot be divided over the worker sets of the file',
      'Change their counts in the file.',
    );
  }
  const overrides = {
    ...pick('count', flags.workers),
    ...pick('connection', flags.connection),
    ...pick('spec', flags.workerMachineType ?? flags.machineType),
  };
  if (worker === undefined) return flags.workers === undefined ? {} : { worker: [overrides] };
  return { worker: worker.map((set) => ({ ...set, ...overrides })) };
};

const configOf = ({ config }: ClusterRequest, flags: ClusterFlags): Pick<ClusterRequest, 'config'> => {
  const kubernetes = {
    ...pick('version', flags.kubernetesVersion),
    ...pick('networkCni', flags.cni),
    ...pick('etcd', flags.etcd),
    ...pick('podCidr', flags.podCidr),
    ...pick('serviceCidr', flags.serviceCidr),
  };
  if (Object.keys(kubernetes).length === 0) return config === undefined ? {} : { config };
  return { config: { ...config, kubernetes: { ...config?.kubernetes, ...kubernetes } } };
};

/** Parses a request from YAML or JSON. `source` is its name in error messages. */
export const parseClusterDocument = (text: string, source: string): ClusterRequest => {
  const document = parsedYaml(text, source);
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw usageFailure(
      `${source} does not hold a request for CB-Ladybug`,
      'It is a mapping with name, controlPlane and worker; ClusterRequest in docs/openapi.json describes it.',
    );
  }
  if ('apiVersion' in document || 'kind' in document)
    throw usageFailure(`${source} holds a manifest, not a request for CB-Ladybug`, 'Leave --ladybug out.');
  return document;
};

const parsedYaml = (text: string, source: string): unknown => {
  try {
    return parseYaml(text, FILE_LIMITS);
  } catch (error) {
    throw usageFailure(`${source} is not YAML: ${wordsOf(error).split('\n')[0] ?? ''}`);
  }
};

import { wordsOf } from '@fairlead/contracts';
import { parseYamlDocuments } from '@fairlead/parsers';
import { posix } from 'node:path';
import * as z from 'zod';
import { CommandFault } from '../commands/command.js';
import type { Taint } from '../kubernetes/index.js';

/** The node's part of a kubeadm configuration. */
export interface NodeRequest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly providerId: string | undefined;
  /** Its kubelet keeps pods away until a cloud controller has initialized the node. */
  readonly hasCloudController?: true;
  /** undefined: kubeadm's default taint of control planes. */
  readonly taints: readonly Taint[] | undefined;
  readonly ignoredChecks: readonly string[];
}

/** The parameters of `kubeadm init`, from a configuration file, from flags or from a light host's step. */
export interface InitRequest {
  readonly node: NodeRequest;
  readonly clusterName: string;
  /** For example `v1.34.4`; undefined: the version of kubeadm. */
  readonly kubernetesVersion: string | undefined;
  /** `host:port`; undefined: the node's own address. */
  readonly endpoint: string | undefined;
  readonly podCidr: string;
  /** undefined: the default of Kubernetes. */
  readonly nodeCidrMask: number | undefined;
  readonly serviceCidr: string;
  readonly sans: readonly string[];
  readonly failSwapOn: boolean;
  /** undefined: kubeadm runs etcd itself. */
  readonly externalEtcd: ExternalEtcd | undefined;
  /** Flags of API servers in addition to those of kubeadm. */
  readonly apiServerFlags: readonly string[];
}

export interface JoinRequest {
  readonly node: NodeRequest;
  readonly endpoint: string;
  readonly token: string;
  readonly caCertHashes: readonly string[];
  readonly unsafeSkipCaVerification: boolean;
  /** undefined: a worker. */
  readonly controlPlane: { readonly certificateKey: string } | undefined;
}

/** v1beta4 uses a list of names and values, v1beta3 a map (kubernetes.io, kubeadm configuration). */
const ExtraArguments = z
  .union([z.array(z.object({ name: z.string(), value: z.coerce.string() })), z.record(z.string(), z.coerce.string())])
  .transform((given) =>
    Array.isArray(given) ? Object.fromEntries(given.map(({ name, value }) => [name, value])) : given,
  );

const TaintOptions = z.object({
  key: z.string(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
});

const NodeRegistrationOptions = z.object({
  name: z.string().optional(),
  taints: z.array(TaintOptions).nullish(),
  kubeletExtraArgs: ExtraArguments.optional(),
  ignorePreflightErrors: z.array(z.string()).optional(),
});

const InitConfiguration = z.object({ nodeRegistration: NodeRegistrationOptions.optional() });

const ExternalEtcd = z.object({
  endpoints: z.array(z.string()).min(1),
  caFile: z.string(),
  certFile: z.string(),
  keyFile: z.string(),
});
export type ExternalEtcd = z.infer<typeof ExternalEtcd>;

const ClusterConfiguration = z.object({
  clusterName: z.string().optional(),
  kubernetesVersion: z.string().optional(),
  controlPlaneEndpoint: z.string().optional(),
  networking: z.object({ podSubnet: z.string().optional(), serviceSubnet: z.string().optional() }).optional(),
  apiServer: z
    .object({
      certSANs: z.array(z.string()).optional(),
      extraArgs: ExtraArguments.optional(),
      extraVolumes: z.array(z.object({ hostPath: z.string(), mountPath: z.string() })).optional(),
    })
    .optional(),
  etcd: z.object({ external: ExternalEtcd.optional() }).optional(),
  controllerManager: z.object({ extraArgs: ExtraArguments.optional() }).optional(),
});

const JoinConfiguration = z.object({
  discovery: z.object({
    bootstrapToken: z.object({
      apiServerEndpoint: z.string(),
      token: z.string(),
      caCertHashes: z.array(z.string()).optional(),
      unsafeSkipCAVerification: z.boolean().optional(),
    }),
  }),
  nodeRegistration: NodeRegistrationOptions.optional(),
  controlPlane: z.object({ certificateKey: z.string().optional() }).optional(),
});

const KubeletConfiguration = z.object({ failSwapOn: z.boolean().optional() });

const nodeCidrMaskOf = (flags: Readonly<Record<string, string>> | undefined): number | undefined => {
  const given = flags?.['node-cidr-mask-size'];
  if (given === undefined) return undefined;
  const mask = Number(given);
  if (!Number.isInteger(mask) || mask < 1 || mask > 32) throw new CommandFault(`invalid node-cidr-mask-size: ${given}`);
  return mask;
};

/**
 * A real API server sees only files mounted into its container. The simulation reads them on the host, so their folder
 * must be mounted at the same path.
 */
const apiServerFlagsOf = ({
  extraArgs = {},
  extraVolumes = [],
}: NonNullable<z.output<typeof ClusterConfiguration>['apiServer']>): readonly string[] => {
  const file = extraArgs['authentication-config'];
  const isMounted = extraVolumes.some(
    ({ hostPath, mountPath }) => hostPath === mountPath && mountPath === posix.dirname(file ?? ''),
  );
  if (file !== undefined && !isMounted)
    throw new CommandFault(`the API server would not find ${file}: its folder is not mounted at the same path`);
  return Object.entries(extraArgs).map(([name, value]) => `--${name}=${value}`);
};

const DEFAULT_POD_CIDR = '10.244.0.0/16';
const DEFAULT_SERVICE_CIDR = '10.96.0.0/12';

/** Parses a configuration for `kubeadm init`, which consists of several YAML documents. */
export const parseInitConfiguration = (text: string, hostname: string): InitRequest => {
  const documents = documentsByKind(text);
  const init = read('InitConfiguration', InitConfiguration, documents);
  const cluster = read('ClusterConfiguration', ClusterConfiguration, documents);
  const kubelet = read('KubeletConfiguration', KubeletConfiguration, documents);
  return {
    node: nodeRequest(init.nodeRegistration, hostname),
    clusterName: cluster.clusterName ?? 'kubernetes',
    kubernetesVersion: cluster.kubernetesVersion,
    endpoint: cluster.controlPlaneEndpoint,
    podCidr: cluster.networking?.podSubnet ?? DEFAULT_POD_CIDR,
    nodeCidrMask: nodeCidrMaskOf(cluster.controllerManager?.extraArgs),
    serviceCidr: cluster.networking?.serviceSubnet ?? DEFAULT_SERVICE_CIDR,
    sans: cluster.apiServer?.certSANs ?? [],
    failSwapOn: kubelet.failSwapOn ?? true,
    externalEtcd: cluster.etcd?.external,
    apiServerFlags: apiServerFlagsOf(cluster.apiServer ?? {}),
  };
};

export const parseJoinConfiguration = (text: string, hostname: string): JoinRequest => {
  const documents = documentsByKind(text);
  if (!documents.has('JoinConfiguration')) {
    throw new CommandFault('no InitConfiguration or JoinConfiguration kind was found in the YAML file');
  }
  const join = read('JoinConfiguration', JoinConfiguration, documents);
  const { bootstrapToken } = join.discovery;
  return {
    node: nodeRequest(join.nodeRegistration, hostname),
    endpoint: bootstrapToken.apiServerEndpoint,
    token: bootstrapToken.token,
    caCertHashes: bootstrapToken.caCertHashes ?? [],
    unsafeSkipCaVerification: bootstrapToken.unsafeSkipCAVerification ?? false,
    controlPlane:
      join.controlPlane === undefined ? undefined : { certificateKey: join.controlPlane.certificateKey ?? '' },
  };
};

const nodeRequest = (options: z.output<typeof NodeRegistrationOptions> | undefined, hostname: string): NodeRequest => {
  const kubelet = options?.kubeletExtraArgs ?? {};
  return {
    name: options?.name ?? hostname,
    labels: parseLabels(kubelet['node-labels'] ?? ''),
    providerId: kubelet['provider-id'],
    ...(kubelet['cloud-provider'] === 'external' ? { hasCloudController: true as const } : {}),
    taints: options?.taints?.map(({ key, effect, value }) => ({
      key,
      effect,
      ...(value === undefined ? {} : { value }),
    })),
    ignoredChecks: options?.ignorePreflightErrors ?? [],
  };
};

/** For example `a=b,c=d`. */
const parseLabels = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [key = '', ...value] = pair.split('=');
        return [key, value.join('=')] as const;
      }),
  );

const API_VERSIONS =
  /^(kubeadm\.k8s\.io\/v1beta[34]|kubelet\.config\.k8s\.io\/v1beta1|kubeproxy\.config\.k8s\.io\/v1alpha1)$/;

const Header = z.object({ apiVersion: z.string(), kind: z.string() });

const CONFIG_LENGTH_MAX = 1_048_576;

const documentsIn = (text: string): readonly unknown[] => {
  try {
    return parseYamlDocuments(text, { lengthMax: CONFIG_LENGTH_MAX });
  } catch (error) {
    throw new CommandFault(`error converting YAML to JSON: ${wordsOf(error)}`);
  }
};

const documentsByKind = (text: string): ReadonlyMap<string, unknown> => {
  const documents = new Map<string, unknown>();
  for (const value of documentsIn(text)) {
    if (value === null) continue;
    const header = Header.safeParse(value);
    if (!header.success)
      throw new CommandFault(
        'invalid configuration: kind and apiVersion is mandatory information that must be specified',
      );
    if (!API_VERSIONS.test(header.data.apiVersion)) {
      throw new CommandFault(
        `your configuration file uses an unsupported API spec: "${header.data.apiVersion}" (kind: "${header.data.kind}")`,
      );
    }
    documents.set(header.data.kind, value);
  }
  return documents;
};

const read = <T>(kind: string, schema: z.ZodType<T>, documents: ReadonlyMap<string, unknown>): T => {
  const result = schema.safeParse(documents.get(kind) ?? {});
  if (result.success) return result.data;
  throw new CommandFault(`error unmarshaling ${kind}: ${z.prettifyError(result.error)}`);
};

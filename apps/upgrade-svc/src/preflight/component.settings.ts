import { ParseFailure, parseKubeletConfiguration, parseYaml } from '@fairlead/parsers';
import * as z from 'zod';
import { ExternalFailure } from '@fairlead/contracts';
import type {
  Component,
  ComponentSettings,
  KubeadmAddon,
  KubeadmExtras,
  KubeadmInstalls,
} from '../rules/cluster.facts.js';

/** Longest accepted ConfigMap of kubeadm. */
const TEXT_LENGTH_MAX = 256 * 1_024;

const Scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** A map up to v1beta3 of the kubeadm API, a list since v1beta4. */
const ExtraArgs = z
  .union([
    z.record(z.string(), Scalar).transform((args) => Object.entries(args)),
    z
      .array(z.object({ name: z.string(), value: Scalar.default('') }))
      .transform((args) => args.map(({ name, value }) => [name, value] as const)),
  ])
  .nullish();
const Named = z.array(z.object({ name: z.string() })).nullish();
const Extras = z.object({ extraArgs: ExtraArgs, extraVolumes: Named, extraEnvs: Named }).nullish();
type Extras = z.infer<typeof Extras>;

/** kubeadm's default image repository. */
const DEFAULT_REPOSITORY = 'registry.k8s.io';

const Disabled = z.boolean().nullish();
const Gates = z.record(z.string(), z.boolean()).nullish();

const ClusterConfiguration = z.object({
  controlPlaneEndpoint: z.string().nullish(),
  imageRepository: z.string().nullish(),
  dns: z
    .object({ imageRepository: z.string().nullish(), imageTag: z.string().nullish(), disabled: Disabled })
    .nullish(),
  proxy: z.object({ disabled: Disabled }).nullish(),
  featureGates: Gates,
  apiServer: Extras,
  controllerManager: Extras,
  scheduler: Extras,
  etcd: z.object({ local: Extras }).nullish(),
});

const WithFeatureGates = z.object({ featureGates: Gates });

const parsed = <T>(schema: z.ZodType<T>, text: string, target: string): T => {
  const operation = 'read the configuration of components';
  try {
    return schema.parse(parseYaml(text, { lengthMax: TEXT_LENGTH_MAX, aliases: 'allowed' }));
  } catch (error) {
    if (error instanceof ParseFailure) throw new ExternalFailure({ operation, target, message: error.message });
    if (!(error instanceof z.ZodError)) throw error;
    const [at] = error.issues;
    const message = `${at?.path.join('.') ?? ''}: ${at?.message ?? 'it is not as kubeadm writes it'}`;
    throw new ExternalFailure({ operation, target, message });
  }
};

const KUBEADM_CONFIG = 'ConfigMap kube-system/kubeadm-config';

/** The component settings in kubeadm-config. */
export interface KubeadmConfig {
  readonly settings: readonly ComponentSettings[];
  readonly extras: KubeadmExtras;
  readonly installs: KubeadmInstalls;
}

const installsOf = (configuration: z.infer<typeof ClusterConfiguration>): KubeadmInstalls => {
  const { controlPlaneEndpoint, dns, proxy, featureGates } = configuration;
  const imageRepository = configuration.imageRepository || DEFAULT_REPOSITORY;
  const ofDns = dns?.imageRepository || imageRepository;
  const disabled: readonly (readonly [KubeadmAddon, boolean])[] = [
    ['coredns', dns?.disabled === true],
    ['kube-proxy', proxy?.disabled === true],
  ];
  return {
    imageRepository,
    // In the default registry, the CoreDNS image is one level deeper.
    dns: {
      imageRepository: ofDns === DEFAULT_REPOSITORY ? `${ofDns}/coredns` : ofDns,
      imageTag: dns?.imageTag || null,
    },
    disabled: disabled.flatMap(([addon, is]) => (is ? [addon] : [])),
    controlPlaneEndpoint: controlPlaneEndpoint || null,
    featureGates: featureGates ?? {},
  };
};

/** `text`: its ClusterConfiguration. Throws ExternalFailure if it cannot be parsed. */
export const kubeadmConfigOf = (text: string): KubeadmConfig => {
  const configuration = parsed(ClusterConfiguration, text, KUBEADM_CONFIG);
  const { apiServer, controllerManager, scheduler, etcd } = configuration;
  const extras: readonly (readonly [Component, Extras])[] = [
    ['kube-apiserver', apiServer],
    ['kube-controller-manager', controllerManager],
    ['kube-scheduler', scheduler],
    ['etcd', etcd?.local],
  ];
  return {
    installs: installsOf(configuration),
    settings: extras.map(([component, given]) => ({
      component,
      where: KUBEADM_CONFIG,
      args: (given?.extraArgs ?? []).map(([name, value]) => `--${name}=${value}`),
    })),
    extras: {
      extraArgs: Object.fromEntries(
        extras.map(([component, given]) => [component, (given?.extraArgs ?? []).map(([name]) => name)]),
      ),
      extraVolumes: Object.fromEntries(
        extras.map(([component, given]) => [component, (given?.extraVolumes ?? []).map(({ name }) => name)]),
      ),
      extraEnvs: Object.fromEntries(
        extras.map(([component, given]) => [component, (given?.extraEnvs ?? []).map(({ name }) => name)]),
      ),
    },
  };
};

/** Formatted as a flag, so that feature gates have one format wherever they are set. */
export const gatesArg = (gates: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(gates).length === 0
    ? []
    : [
        `--feature-gates=${Object.entries(gates)
          .map(([gate, value]) => `${gate}=${value}`)
          .join(',')}`,
      ];

/** Feature gates in a component's own configuration. Throws ExternalFailure if it cannot be parsed. */
export const configurationSettings = (component: Component, where: string, text: string): ComponentSettings => ({
  component,
  where,
  args: gatesArg(parsed(WithFeatureGates, text, where).featureGates ?? {}),
});

const KUBEADM_KUBECONFIG = z.object({
  clusters: z.array(z.object({ cluster: z.object({ server: z.string() }) })).min(1),
});

/** The API server used by kubeadm's kube-proxy. Throws ExternalFailure if the text is not a kubeconfig. */
export const kubeProxyServerOf = (text: string): string | null =>
  parsed(KUBEADM_KUBECONFIG, text, 'ConfigMap kube-system/kube-proxy').clusters[0]?.cluster.server ?? null;

/** Digests of the fields of kubelet-config. Throws ExternalFailure if it cannot be parsed. */
export const kubeletFieldsOf = (text: string): Readonly<Record<string, string>> => {
  try {
    return parseKubeletConfiguration(text, { lengthMax: TEXT_LENGTH_MAX, aliases: 'allowed' }).fields;
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    const target = 'ConfigMap kube-system/kubelet-config';
    throw new ExternalFailure({ operation: 'read the configuration of components', target, message: error.message });
  }
};

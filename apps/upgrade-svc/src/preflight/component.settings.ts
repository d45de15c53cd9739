import { parseYaml, ParseFailure } from '@fairlead/parsers';
import * as z from 'zod';
import { WorldFailure } from '@fairlead/contracts';
import type { Component, ComponentSettings, KubeadmExtras } from '../rules/cluster.facts.js';

/** As long as a ConfigMap of kubeadm is let in. */
const TEXT_LENGTH_MAX = 256 * 1_024;

const Scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);
/** A map until v1beta3 of kubeadm's API, a list since v1beta4. */
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

const ClusterConfiguration = z.object({
  apiServer: Extras,
  controllerManager: Extras,
  scheduler: Extras,
  etcd: z.object({ local: Extras }).nullish(),
});

const WithFeatureGates = z.object({ featureGates: z.record(z.string(), z.boolean()).nullish() });

const parsed = <T>(schema: z.ZodType<T>, text: string, target: string): T => {
  const operation = 'read the configuration of components';
  try {
    return schema.parse(parseYaml(text, { lengthMax: TEXT_LENGTH_MAX, aliases: 'allowed' }));
  } catch (error) {
    if (error instanceof ParseFailure) throw new WorldFailure({ operation, target, message: error.message });
    if (!(error instanceof z.ZodError)) throw error;
    const [at] = error.issues;
    const message = `${at?.path.join('.') ?? ''}: ${at?.message ?? 'it is not as kubeadm writes it'}`;
    throw new WorldFailure({ operation, target, message });
  }
};

const KUBEADM_CONFIG = 'ConfigMap kube-system/kubeadm-config';

/** What kubeadm-config adds to the components. */
export interface KubeadmConfig {
  readonly settings: readonly ComponentSettings[];
  readonly extras: KubeadmExtras;
}

/** `text`: its ClusterConfiguration. Throws WorldFailure where it is none. */
export const kubeadmConfigOf = (text: string): KubeadmConfig => {
  const { apiServer, controllerManager, scheduler, etcd } = parsed(ClusterConfiguration, text, KUBEADM_CONFIG);
  const extras: readonly (readonly [Component, Extras])[] = [
    ['kube-apiserver', apiServer],
    ['kube-controller-manager', controllerManager],
    ['kube-scheduler', scheduler],
    ['etcd', etcd?.local],
  ];
  return {
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

/** As a flag, so that every place of feature gates reads the same. */
export const gatesArg = (gates: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.keys(gates).length === 0
    ? []
    : [
        `--feature-gates=${Object.entries(gates)
          .map(([gate, value]) => `${gate}=${value}`)
          .join(',')}`,
      ];

/** Feature gates of a component's own configuration. Throws WorldFailure where the text is none. */
export const configurationSettings = (component: Component, where: string, text: string): ComponentSettings => ({
  component,
  where,
  args: gatesArg(parsed(WithFeatureGates, text, where).featureGates ?? {}),
});

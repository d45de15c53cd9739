import * as z from 'zod';

/** Lifetime of an operator's client certificate, in seconds. Kubernetes signs none for less than ten minutes. */
export const KUBECONFIG_TTL_SECONDS = { min: 600, max: 86_400, default: 28_800 } as const;

/**
 * The Kubernetes user of an API token: the common name `fairlead:token:<id>` of its client certificate. The actor of
 * the token's events, `user/<name>#<id>`, ends with the same id.
 */
export const KubernetesUser = z
  .string()
  .regex(/^fairlead:token:[0-9a-z]{1,64}$/)
  .brand<'KubernetesUser'>();
export type KubernetesUser = z.infer<typeof KubernetesUser>;

export const kubernetesUserOf = (tokenId: string): KubernetesUser => KubernetesUser.parse(`fairlead:token:${tokenId}`);

/**
 * The group (organization) in operators' client certificates; a ClusterRoleBinding of the same name grants it
 * `cluster-admin`.
 */
export const OPERATORS_GROUP = 'fairlead:operators';

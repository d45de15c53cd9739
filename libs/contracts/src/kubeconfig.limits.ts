import * as z from 'zod';

/** How long an operator's client certificate may be valid, in seconds. Kubernetes signs none for less than ten minutes. */
export const KUBECONFIG_TTL_SECONDS = { min: 600, max: 86_400, default: 28_800 } as const;

/**
 * Whom Kubernetes sees behind the client certificate of an API token: the common name `fairlead:token:<id>`. The same id ends the actor of
 * the token's events, `user/<name>#<id>`.
 */
export const KubernetesUser = z
  .string()
  .regex(/^fairlead:token:[0-9a-z]{1,64}$/)
  .brand<'KubernetesUser'>();
export type KubernetesUser = z.infer<typeof KubernetesUser>;

export const kubernetesUserOf = (tokenId: string): KubernetesUser => KubernetesUser.parse(`fairlead:token:${tokenId}`);

/** The group (organization) in operators' client certificates; a ClusterRoleBinding of the same name gives it `cluster-admin`. */
export const OPERATORS_GROUP = 'fairlead:operators';

import { API_ROLES, EVERY_NAMESPACE, type ApiRole, type RoleGrant } from '@fairlead/contracts';

/** Who asks. */
export interface Identity {
  readonly tokenId: string;
  /** user/<name of the token>. */
  readonly actor: string;
  readonly roles: readonly RoleGrant[];
}

const atLeast = (role: ApiRole, needed: ApiRole): boolean => API_ROLES.indexOf(role) >= API_ROLES.indexOf(needed);

/** Whether the identity has the role, or a higher one, in the namespace. */
export const mayIn = (identity: Identity, needed: ApiRole, namespace: string): boolean =>
  identity.roles.some(
    (grant) => atLeast(grant.role, needed) && (grant.namespace === EVERY_NAMESPACE || grant.namespace === namespace),
  );

/** Whether the identity has the role in all namespaces. */
export const mayEverywhere = (identity: Identity, needed: ApiRole): boolean =>
  identity.roles.some((grant) => atLeast(grant.role, needed) && grant.namespace === EVERY_NAMESPACE);

import { API_ROLES, EVERY_NAMESPACE, refuse, type ApiRole, type Refusal, type RoleGrant } from '@fairlead/contracts';

/** Who asks. */
export interface Identity {
  readonly tokenId: string;
  /** user/<name of the token>#<its id>: names may be equal, ids are not. */
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

/** Whether the identity has the role in any namespace. */
export const mayInSome = (identity: Identity, needed: ApiRole): boolean =>
  identity.roles.some((grant) => atLeast(grant.role, needed));

/** The first role that the identity may not give to others or take from them: only administrators of its namespace may. */
export const beyondOf = (identity: Identity, roles: readonly RoleGrant[]): RoleGrant | undefined =>
  roles.find(({ namespace }) => !mayIn(identity, 'admin', namespace));

/** Whether the roles are those of an administrator of everything. */
export const isAdministrator = (roles: readonly RoleGrant[]): boolean =>
  roles.some(({ namespace, role }) => namespace === EVERY_NAMESPACE && role === 'admin');

/** A role is granted in a namespace that there is, or in all. */
export const grantFaults = (
  roles: readonly RoleGrant[],
  namespaces: Pick<ReadonlySet<string>, 'has'>,
): readonly Refusal[] =>
  roles.flatMap(({ namespace }, index) =>
    namespace === EVERY_NAMESPACE || namespaces.has(namespace)
      ? []
      : [refuse('token.namespace-unknown', { namespace }, `roles[${index}].namespace`)],
  );

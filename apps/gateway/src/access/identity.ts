import {
  API_ROLES,
  EVERY_NAMESPACE,
  refuse,
  TOKEN_LIFETIME_MAX_DAYS,
  type ApiRole,
  type Refusal,
  type RoleGrant,
} from '@fairlead/contracts';

/** A role as it was given. `since` distinguishes the namespace from others of its name; absent: it is in all, or of an earlier release. */
export interface Grant extends RoleGrant {
  readonly since?: number;
}

/** Who asks. */
export interface Identity {
  /** Of a user of the identity provider: that of the user. */
  readonly tokenId: string;
  /** user/<name of the token or user>#<its id>: names may be equal, ids are not. */
  readonly actor: string;
  /** Those in namespaces that there are. */
  readonly roles: readonly Grant[];
  /** When its token ends; absent: not by itself. */
  readonly expiresAt?: Date;
  /** A user of the identity provider, whose tokens follow each other. */
  readonly isUser?: true;
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

/** Whether a token is the identity's to see and to revoke: one with roles of namespaces that are gone is of those who may do all. */
export const mayManage = (
  identity: Identity,
  { roles, ended }: { readonly roles: readonly RoleGrant[]; readonly ended: boolean },
): boolean => beyondOf(identity, roles) === undefined && (!ended || mayEverywhere(identity, 'admin'));

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

const DAY_MS = 24 * 60 * 60 * 1000;

/** Why a token of the identity's making cannot end then; `desired` undefined: it is not to end by itself. */
export const expiryFaults = (
  { expiresAt: own, isUser }: Pick<Identity, 'expiresAt' | 'isUser'>,
  desired: Date | undefined,
  now: Date,
): readonly Refusal[] => {
  const field = 'expiresAt';
  if (isUser !== true && own !== undefined && (desired === undefined || desired > own))
    return [refuse('token.outlives-caller', { expiresAt: own.toISOString() }, field)];
  if (desired === undefined) return [];
  const aheadMs = desired.getTime() - now.getTime();
  if (aheadMs > 0 && aheadMs <= TOKEN_LIFETIME_MAX_DAYS * DAY_MS) return [];
  return [refuse('token.expiry-invalid', { expiresAt: desired.toISOString(), days: TOKEN_LIFETIME_MAX_DAYS }, field)];
};

/** What is known of a namespace now. */
export interface Standing {
  /** null: of an earlier release. */
  readonly since: number | null;
  readonly createdAt: string;
}

/** Whether a role is in a namespace that there is: one that was deleted took its roles with it, also when its name returns. */
export const stands = (
  { namespace, since }: Grant,
  grantedAt: Date,
  namespaces: Readonly<Record<string, Standing>>,
): boolean => {
  if (namespace === EVERY_NAMESPACE) return true;
  const standing = namespaces[namespace];
  if (standing === undefined) return false;
  return since === undefined || standing.since === null
    ? grantedAt.getTime() >= Date.parse(standing.createdAt)
    : since === standing.since;
};

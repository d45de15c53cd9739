import * as z from 'zod';
import { Namespace, RealmName, SecretRef } from './ids.js';
import { ClaimName, IssuerAuthorities, IssuerUrl, RealmServices } from './authentication.js';
import { paged } from './views/list.views.js';
import { time } from './views/time.js';

/** Owner of the key that seals credentials of realms. Only infra-svc opens them. */
export const REALM_SECRETS_OWNER = 'realms';
/** Per namespace. */
export const REALMS_MAX = 20;

/** Identity providers whose clients Fairlead manages. */
export const REALM_PROVIDERS = ['keycloak'] as const;
export const RealmProvider = z.enum(REALM_PROVIDERS).describe('The kind of the identity provider');
export type RealmProvider = z.infer<typeof RealmProvider>;

const SECRET_LENGTH_MAX = 1_024;
const GROUP_LENGTH_MAX = 253;

export const realmSecretRef = (namespace: string, realm: string): SecretRef =>
  SecretRef.parse(`gateway.realm.${namespace}.${realm}`);

const KEYCLOAK_ISSUER = /^(.*)\/realms\/([^/]+)$/;
const MASTER = 'master';
/** Names that Fairlead gives to realms: they are the same in a path. */
const CREATABLE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

export interface KeycloakUrls {
  /** The Admin API of the realm. */
  readonly admin: string;
  /** The Admin API of all realms. */
  readonly realms: string;
  /** The issuer of the realm whose clients may create others. */
  readonly masterIssuer: string;
  /** The name of the realm, if Fairlead may create one of that name. */
  readonly creatable: string | undefined;
}

/** The URLs of a Keycloak realm; undefined: the issuer is not a Keycloak realm. */
export const keycloakUrlsOf = (issuerUrl: string): KeycloakUrls | undefined => {
  const [, base, realm] = KEYCLOAK_ISSUER.exec(issuerUrl) ?? [];
  if (base === undefined || realm === undefined) return undefined;
  return {
    admin: `${base}/admin/realms/${realm}`,
    realms: `${base}/admin/realms`,
    masterIssuer: `${base}/realms/${MASTER}`,
    creatable: realm !== MASTER && CREATABLE.test(realm) ? realm : undefined,
  };
};

/** The group of a realm that Fairlead created whose members use every cluster. */
export const PLATFORM_USERS = '/platform-users';
/** The group of a realm that Fairlead created whose members manage its users and groups. */
export const REALM_ADMINS = '/admins';
const GROUP_PATH = /^\/[^\x00-\x1f\x7f-\x9f]+$/;
const GroupPath = z
  .string()
  .max(GROUP_LENGTH_MAX)
  .regex(GROUP_PATH, 'must be the path of a group, such as /platform-users');

/** The settings of a realm, without its credential. */
export const RealmSettings = z.strictObject({
  provider: RealmProvider,
  issuerUrl: IssuerUrl,
  ca: IssuerAuthorities.optional(),
  clientId: ClaimName.describe('The client with a service account by which Fairlead manages clients and groups'),
  create: z
    .literal(true)
    .optional()
    .describe(
      'Fairlead creates the realm, with the groups platform-users and admins. The client is one of the realm master with the role create-realm',
    ),
  usersGroup: GroupPath.optional().describe(
    'The group whose members have the access role on every cluster of the realm. Left out: /platform-users with create, otherwise none',
  ),
});
export type RealmSettings = z.infer<typeof RealmSettings>;

export const REALM_PROBLEMS = ['RealmUnreachable', 'RealmInvalid', 'RealmTaken', 'CredentialRefused'] as const;
/** Why a realm is not ready. */
export const RealmProblem = z
  .enum(REALM_PROBLEMS)
  .describe(
    'RealmUnreachable: it does not answer; RealmInvalid: it answers with something else than a realm does; RealmTaken: it was to be created, and is there; CredentialRefused: it does not let Fairlead manage clients and groups',
  );
export type RealmProblem = z.infer<typeof RealmProblem>;

export const IDENTITY_BLOCKS = ['RealmNotFound', ...REALM_PROBLEMS, 'ClientTaken', 'GroupTaken'] as const;
/** Why a cluster's client cannot be created or deleted. */
export const IdentityBlock = z
  .enum(IDENTITY_BLOCKS)
  .describe('ClientTaken, GroupTaken: the realm has one of this name that is not of this cluster');
export type IdentityBlock = z.infer<typeof IdentityBlock>;

/** A cluster's client at a realm. */
export const RealmClient = z.strictObject({
  realm: RealmName,
  issuerUrl: IssuerUrl,
  ca: IssuerAuthorities.optional(),
  clientId: ClaimName.describe('The client that users of the cluster sign in with'),
  group: z.string().min(1).max(GROUP_LENGTH_MAX).describe('The group with access to the cluster, as tokens name it'),
  groupsClaim: ClaimName.describe('The claim by which tokens for the client list the groups of their user'),
  usersGroup: GroupPath.optional().describe('The group of the realm with access to every cluster; absent: none'),
  services: RealmServices.optional().describe('Services with a client and a group of their own; absent: none'),
});
export type RealmClient = z.infer<typeof RealmClient>;

/** The client of a service of a cluster: no name has a dot. */
export const serviceClientOf = ({ clientId }: Pick<RealmClient, 'clientId'>, service: string): string =>
  `${clientId}.${service}`;

export const RealmPath = z.object({ namespace: Namespace, realm: RealmName });
export type RealmPath = z.infer<typeof RealmPath>;

export const RealmRequest = z
  .strictObject({
    ...RealmSettings.shape,
    provider: RealmProvider.default('keycloak'),
    clientSecret: z
      .string()
      .min(1)
      .max(SECRET_LENGTH_MAX)
      .optional()
      .describe('Its secret: sealed, and never returned. Left out: the one there is stays')
      .meta({ writeOnly: true }),
  })
  .meta({ id: 'RealmRequest', description: 'How an identity provider is reached' });
export type RealmRequest = z.infer<typeof RealmRequest>;

export const RealmDeletionQuery = z.strictObject({
  force: z
    .enum(['true', 'false'])
    .optional()
    .describe('true: delete it even if clusters use it. Their clients and groups are kept at the identity provider'),
});
export type RealmDeletionQuery = z.infer<typeof RealmDeletionQuery>;

export const RealmView = z
  .strictObject({
    kind: z.literal('Realm'),
    namespace: z.string(),
    name: z.string(),
    ...RealmSettings.shape,
    registeredTime: time.describe('When it was registered first'),
    state: z
      .enum(['Unknown', 'Ready', 'NotReady'])
      .describe('As infra-svc found it last; Unknown: it has not looked yet since it was registered'),
    reason: z.string().describe('Why it is not ready; empty: it is, or that is not known'),
    message: z.string().describe('The same in words'),
    changedTime: time.nullable().describe('Since when; null: it has not been looked at'),
    clusters: z.array(z.string()).describe('Clusters of the namespace that use it'),
  })
  .meta({ id: 'Realm', description: 'An identity realm of a namespace, without its credential' });
export type RealmView = z.infer<typeof RealmView>;

export const RealmCredentialView = z
  .strictObject({
    kind: z.literal('RealmCredential'),
    namespace: z.string(),
    name: z.string(),
    clientId: z.string(),
    clientSecret: z.string(),
  })
  .meta({ id: 'RealmCredential', description: 'The client with which Fairlead administers a realm' });
export type RealmCredentialView = z.infer<typeof RealmCredentialView>;

export const RealmList = z
  .strictObject({ kind: z.literal('RealmList'), items: z.array(RealmView), ...paged })
  .meta({ id: 'RealmList' });
export type RealmList = z.infer<typeof RealmList>;

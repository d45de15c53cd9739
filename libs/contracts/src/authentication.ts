import * as z from 'zod';
import { RealmName } from './ids.js';
import { limitedRecord } from './limited.record.js';
import { refuse, type Refusal } from './refusals.js';

const ISSUER_LENGTH_MAX = 512;
const NAME_LENGTH_MAX = 253;
const PREFIX_LENGTH_MAX = 64;
const REQUIRED_CLAIMS_MAX = 32;
const ROLE_BINDINGS_MAX = 20;
const GROUPS_MAX = 50;
const SCOPES_MAX = 20;
/** Of one cluster: declared ones and published ones. */
export const REALM_SERVICES_MAX = 50;
/** Fits a chain of certificates with large keys. */
const CA_LENGTH_MAX = 32_768;

/** URLs that Go and browsers parse alike; kube-apiserver accepts no user, query or fragment. */
const ISSUER = /^https:\/\/([A-Za-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~!$&'()*+,;=:@/-]*)?$/;
/**
 * No control characters and no leading or trailing spaces. Without Unicode classes, which some readers of the API
 * document do not support.
 */
const PLAIN = /^[^\x00-\x1f\x7f-\x9f\s]([^\x00-\x1f\x7f-\x9f]*[^\x00-\x1f\x7f-\x9f\s])?$/u;
/** A scope-token of OAuth 2.0 (RFC 6749) that no program could parse as an option. */
const SCOPE = /^[\x21\x23-\x2c\x2e-\x5b\x5d-\x7e][\x21\x23-\x5b\x5d-\x7e]*$/;
const LABEL = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
const CERTIFICATES = /^\s*(-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/;

const plain = (max: number) =>
  z.string().min(1).max(max).regex(PLAIN, 'must have no control characters, and no spaces at its ends');
const prefix = z.string().min(1).max(PREFIX_LENGTH_MAX).regex(/^\S+$/, 'must have no spaces');

const clusterRole = z
  .string()
  .min(1)
  .max(NAME_LENGTH_MAX)
  .regex(/^[^\s/%]+$/, 'must be the name of a ClusterRole');

const RoleBinding = z.strictObject({
  clusterRole: clusterRole.describe('Name of a ClusterRole, such as cluster-admin, edit or view'),
  groups: z
    .array(plain(NAME_LENGTH_MAX))
    .min(1)
    .max(GROUPS_MAX)
    .describe('Groups as the provider names them, without groupsPrefix'),
});

export const IssuerUrl = z
  .string()
  .max(ISSUER_LENGTH_MAX)
  .regex(ISSUER, 'must be an https URL without user, query and fragment')
  .describe('The issuer, exactly as its tokens name it (iss)')
  .meta({ examples: ['https://id.example.org/realms/team'] });

export const IssuerAuthorities = z
  .string()
  .max(CA_LENGTH_MAX)
  .regex(CERTIFICATES, 'must be certificates in PEM, and nothing else')
  .describe('Authorities that the certificate of the issuer is checked with, in PEM. Left out: those of the hosts');

export const ClaimName = plain(NAME_LENGTH_MAX);

/** A service whose users sign in at the realm of its cluster. */
export const RealmService = z.strictObject({
  name: z
    .string()
    .regex(LABEL, 'must be lowercase letters, digits and -, at most 40')
    .describe('Its client is kube-<namespace>.<cluster>.<name>, its group /kube-<namespace>.<cluster>/<name>'),
  url: z
    .string()
    .max(ISSUER_LENGTH_MAX)
    .regex(ISSUER, 'must be an https URL without user, query and fragment')
    .describe('Where browsers find it, and return to after the sign-in'),
});
export type RealmService = z.infer<typeof RealmService>;
export const RealmServices = z.array(RealmService).max(REALM_SERVICES_MAX);

/** The identity provider that issues the tokens. */
const source = {
  issuerUrl: IssuerUrl,
  clientId: plain(NAME_LENGTH_MAX).describe('The client that tokens must be issued for (aud)'),
  ca: IssuerAuthorities.optional(),
};

/** Fields that a realm may provide instead. */
const declaredSource = {
  realm: RealmName.optional().describe(
    'The realm of the namespace that has issuer and client. With neither a realm nor an issuer: the realm of the namespace that was registered first',
  ),
  accessRole: clusterRole
    .optional()
    .describe('With a realm: the ClusterRole of the group of the cluster. Left out: cluster-admin'),
  services: RealmServices.optional().describe(
    'With a realm: services that sign users in. Each gets a client, and a group below that of the cluster',
  ),
  issuerUrl: source.issuerUrl.optional(),
  clientId: source.clientId.optional(),
  ca: source.ca,
};

/** How tokens are read, and what users may do. */
const fields = {
  usernameClaim: ClaimName.describe('The claim that names the user'),
  usernamePrefix: prefix.describe('Put before it, so that no user has a name of Kubernetes'),
  groupsClaim: ClaimName.describe("The claim that lists the user's groups"),
  groupsPrefix: prefix.describe('Put before each, so that no group has a name of Kubernetes'),
  requiredClaims: limitedRecord(plain(NAME_LENGTH_MAX), plain(NAME_LENGTH_MAX), REQUIRED_CLAIMS_MAX)
    .optional()
    .describe('Claims that a token must have with these values'),
  scopes: z
    .array(z.string().max(NAME_LENGTH_MAX).regex(SCOPE, 'must be a scope of OAuth 2.0'))
    .max(SCOPES_MAX)
    .optional()
    .describe('What the kubeconfig of users asks for besides openid'),
  roleBindings: z
    .array(RoleBinding)
    .max(ROLE_BINDINGS_MAX)
    .optional()
    .describe('What groups may do in the cluster. Left out: nothing until someone binds a role to them'),
};

/** How users of a cluster sign in by OpenID Connect, with every default filled in. */
export const Oidc = z.strictObject({ ...source, ...fields });
export type Oidc = z.infer<typeof Oidc>;

/** The declared form: issuer and client may come from a realm. */
export const DeclaredOidc = z.strictObject({ ...declaredSource, ...fields }).meta({ id: 'Oidc' });
export type DeclaredOidc = z.infer<typeof DeclaredOidc>;

export const Authentication = z.strictObject({ oidc: DeclaredOidc.optional() }).meta({ id: 'Authentication' });
export type Authentication = z.infer<typeof Authentication>;

/** The form that users write. */
export const ManifestAuthentication = z
  .strictObject({
    oidc: z
      .strictObject({
        ...declaredSource,
        ...fields,
        usernameClaim: fields.usernameClaim.default('sub'),
        usernamePrefix: fields.usernamePrefix.default('oidc:'),
        groupsClaim: fields.groupsClaim.default('groups'),
        groupsPrefix: fields.groupsPrefix.default('oidc:'),
      })
      .optional(),
  })
  .meta({
    id: 'ManifestAuthentication',
    description: 'How users sign in by OpenID Connect. Left out: only with client certificates',
  });
export type ManifestAuthentication = z.infer<typeof ManifestAuthentication>;

/** Prefixes of names to which Kubernetes, kubeadm or Fairlead grant rights. */
const RESERVED = ['system:', 'kubeadm:', 'fairlead:'];

/** The token determines what follows the prefix: the result must never be a reserved name. */
const isReserved = (given: string): boolean =>
  RESERVED.some((reserved) => reserved.startsWith(given) || given.startsWith(reserved));

const prefixFaults = (oidc: Pick<Oidc, 'usernamePrefix' | 'groupsPrefix'>): readonly Refusal[] =>
  (['usernamePrefix', 'groupsPrefix'] as const).flatMap((field) =>
    isReserved(oidc[field])
      ? [refuse('cluster.oidc-prefix', { field, prefix: oidc[field] }, `spec.authentication.oidc.${field}`)]
      : [],
  );

const repeatedFaults = ({ roleBindings = [] }: Pick<Oidc, 'roleBindings'>): readonly Refusal[] =>
  roleBindings.flatMap(({ clusterRole }, at) =>
    roleBindings.findIndex((other) => other.clusterRole === clusterRole) < at
      ? [refuse('cluster.oidc-role-repeated', { clusterRole }, `spec.authentication.oidc.roleBindings[${at}]`)]
      : [],
  );

const repeatedServiceFaults = ({ services = [] }: Pick<DeclaredOidc, 'services'>): readonly Refusal[] =>
  services.flatMap(({ name }, at) =>
    services.findIndex((other) => other.name === name) < at
      ? [refuse('cluster.oidc-service-repeated', { name }, `spec.authentication.oidc.services[${at}]`)]
      : [],
  );

type Source = Pick<DeclaredOidc, 'realm' | 'accessRole' | 'services' | 'issuerUrl' | 'clientId' | 'ca'>;

/** Issuer and client are either declared or taken from a realm. */
const sourceFaults = ({ realm, accessRole, services, issuerUrl, clientId, ca }: Source): readonly Refusal[] => {
  const at = (field: string): string => `spec.authentication.oidc.${field}`;
  const [one] = Object.entries({ issuerUrl, clientId, ca }).filter(([, value]) => value !== undefined);
  if (one === undefined) return [];
  const [ofRealm] = Object.entries({ realm, accessRole, services }).filter(([, value]) => value !== undefined);
  if (ofRealm !== undefined) return [refuse('cluster.oidc-realm', { field: one[0], other: ofRealm[0] }, at(one[0]))];
  const missing = issuerUrl === undefined ? 'issuerUrl' : clientId === undefined ? 'clientId' : undefined;
  return missing === undefined ? [] : [refuse('cluster.oidc-incomplete', { field: missing }, at(missing))];
};

/**
 * Faults across fields that are well-formed by themselves. `dnsDomain` is the cluster's own, whose issuer signs service
 * accounts.
 */
export const authenticationFaults = (
  { oidc }: Pick<ManifestAuthentication, 'oidc'>,
  dnsDomain: string,
): readonly Refusal[] => {
  if (oidc === undefined) return [];
  const own = `https://kubernetes.default.svc.${dnsDomain}`;
  const issuer =
    oidc.issuerUrl === own
      ? [refuse('cluster.oidc-issuer', { issuerUrl: own }, 'spec.authentication.oidc.issuerUrl')]
      : [];
  return [
    ...sourceFaults(oidc),
    ...issuer,
    ...prefixFaults(oidc),
    ...repeatedFaults(oidc),
    ...repeatedServiceFaults(oidc),
  ];
};

const sameGroups = (groups: readonly string[]): readonly string[] => [...new Set(groups)].toSorted();

/** Sorts what has no order, so that equal settings are equal as JSON. */
export const completeOidc = ({
  requiredClaims,
  scopes,
  roleBindings,
  services,
  ...oidc
}: DeclaredOidc): DeclaredOidc => ({
  ...oidc,
  ...(services === undefined || services.length === 0
    ? {}
    : { services: services.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }),
  ...(requiredClaims === undefined || Object.keys(requiredClaims).length === 0
    ? {}
    : { requiredClaims: Object.fromEntries(Object.entries(requiredClaims).toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
  ...(scopes === undefined || scopes.length === 0 ? {} : { scopes: [...new Set(scopes)].toSorted() }),
  ...(roleBindings === undefined || roleBindings.length === 0
    ? {}
    : {
        roleBindings: roleBindings
          .map(({ clusterRole, groups }) => ({ clusterRole, groups: [...sameGroups(groups)] }))
          .toSorted((a, b) => (a.clusterRole < b.clusterRole ? -1 : 1)),
      }),
});

import { serviceClientOf, type RealmService } from '@fairlead/contracts';
import type { DesiredIdentity } from '../../realms/realm.ports.js';
import type { Client, ProtocolMapper } from './keycloak.answers.js';
import { marksOf } from './keycloak.marks.js';

export const GROUPS_MAPPER = 'groups';
/** The redirect URIs of kubelogin's authorization code flow. */
const REDIRECTS = ['http://localhost:8000', 'http://localhost:18000'];

/** Public clients have no secret, which someone would have to keep. */
const PUBLIC = {
  description: 'Made by Fairlead, and deleted with its cluster',
  enabled: true,
  protocol: 'openid-connect',
  publicClient: true,
  standardFlowEnabled: true,
  implicitFlowEnabled: false,
  directAccessGrantsEnabled: false,
  serviceAccountsEnabled: false,
  fullScopeAllowed: false,
  webOrigins: [] as readonly string[],
};

export interface ClientSettings {
  readonly clientId: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/**
 * kubelogin uses PKCE if the realm offers it. It is not enforced, because Keycloak would then require it in the device
 * flow too, in which kubelogin sends none.
 */
export const clusterClient = (desired: DesiredIdentity): ClientSettings => ({
  ...PUBLIC,
  clientId: desired.clientId,
  name: `Kubernetes cluster ${desired.namespace}/${desired.cluster}`,
  redirectUris: REDIRECTS,
  attributes: { 'oauth2.device.authorization.grant.enabled': 'true', ...marksOf(desired) },
});

export const serviceClient = (desired: DesiredIdentity, { name, url }: RealmService): ClientSettings => ({
  ...PUBLIC,
  clientId: serviceClientOf(desired, name),
  name: `Service ${name} of the cluster ${desired.namespace}/${desired.cluster}`,
  baseUrl: url,
  redirectUris: [`${url.replace(/\/$/, '')}/*`],
  attributes: { 'pkce.code.challenge.method': 'S256', ...marksOf(desired) },
});

/** Keycloak returns lists in any order. */
const isSame = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other)
    ? JSON.stringify(one.toSorted()) === JSON.stringify(other.toSorted())
    : one === other;

/** Whether it is still as Fairlead made it. */
export const isClientRight = (found: Client, { attributes, ...fields }: ClientSettings): boolean =>
  Object.entries(fields).every(([name, value]) => isSame(found[name], value)) &&
  Object.entries(attributes).every(([name, value]) => found.attributes?.[name] === value);

/** Uses the full path of a group, so that a nested group of the same name does not match. */
export const groupsMapper = ({ groupsClaim }: DesiredIdentity) => ({
  name: GROUPS_MAPPER,
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: {
    // An unescaped dot in a claim name would nest the claim.
    'claim.name': groupsClaim.replaceAll('.', String.raw`\.`),
    'full.path': 'true',
    'id.token.claim': 'true',
    'access.token.claim': 'true',
    'userinfo.token.claim': 'true',
  },
});

export const isMapperRight = (mapper: ProtocolMapper, desired: ReturnType<typeof groupsMapper>): boolean =>
  mapper.protocolMapper === desired.protocolMapper &&
  Object.entries(desired.config).every(([key, value]) => mapper.config[key] === value);

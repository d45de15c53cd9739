import { RealmFailure, type DesiredIdentity, type RealmSession } from '../../realms/realm.ports.js';
import { type Client, Clients, Group, type ProtocolMapper } from './keycloak.answers.js';
import type { KeycloakCall, KeycloakHttp } from './keycloak.client.js';

const NOT_FOUND = 404;
const CONFLICT = 409;

/** The attribute that marks a client or a group as a cluster's own. */
const OWNER = 'fairlead.dev/cluster-uid';
const CLUSTER = 'fairlead.dev/cluster';

const GROUPS_MAPPER = 'groups';
/** The redirect URIs of kubelogin's authorization code flow. */
const REDIRECTS = ['http://localhost:8000', 'http://localhost:18000'];

type Attributes = Readonly<Record<string, unknown>> | undefined;

/** Attributes of clients are strings, those of groups lists of strings. */
const ownerIn = (attributes: Attributes): unknown => {
  const owner = attributes?.[OWNER];
  return Array.isArray(owner) ? owner[0] : owner;
};

const isOwn = (found: { readonly attributes?: Attributes }, { uid }: DesiredIdentity): boolean =>
  ownerIn(found.attributes) === uid;

/**
 * kubelogin uses PKCE if the realm offers it. It is not enforced, because Keycloak would then require it in the device
 * flow too, in which kubelogin sends none.
 */
const clientOf = ({ namespace, cluster, uid, clientId }: DesiredIdentity) => ({
  clientId,
  name: `Kubernetes cluster ${namespace}/${cluster}`,
  description: 'Made by Fairlead, and deleted with its cluster',
  enabled: true,
  protocol: 'openid-connect',
  publicClient: true,
  standardFlowEnabled: true,
  implicitFlowEnabled: false,
  directAccessGrantsEnabled: false,
  serviceAccountsEnabled: false,
  fullScopeAllowed: false,
  redirectUris: REDIRECTS,
  webOrigins: [],
  attributes: {
    'oauth2.device.authorization.grant.enabled': 'true',
    [CLUSTER]: `${namespace}/${cluster}`,
    [OWNER]: uid,
  },
});

/** Uses the full path of a group, so that a nested group of the same name does not match. */
const mapperOf = ({ groupsClaim }: DesiredIdentity) => ({
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

const isMappedRight = (mapper: ProtocolMapper, desired: ReturnType<typeof mapperOf>): boolean =>
  mapper.protocolMapper === desired.protocolMapper &&
  Object.entries(desired.config).every(([key, value]) => mapper.config[key] === value);

/** A Keycloak realm, used through its Admin API with an access token of the service account. */
export class KeycloakRealm implements RealmSession {
  constructor(
    private readonly http: KeycloakHttp,
    /** `https://<host>/admin/realms/<realm>` */
    private readonly admin: string,
    private readonly token: string,
  ) {}

  async ensureClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const found = (await this.client(desired, signal)) ?? (await this.createClient(desired, signal));
    if (!isOwn(found, desired)) throw taken('ClientTaken', `client ${desired.clientId}`, found.attributes);
    // Reverts manual changes.
    const call = this.call('PUT', `clients/${found.id}`, { json: { ...clientOf(desired), id: found.id } });
    await this.http.send(call, signal);
    await this.ensureMapper(found, desired, signal);
  }

  async ensureGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const found = (await this.group(desired, signal)) ?? (await this.createGroup(desired, signal));
    if (!isOwn(found, desired)) throw taken('GroupTaken', `group ${desired.group}`, found.attributes);
  }

  async deleteClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const found = await this.client(desired, signal);
    if (found !== undefined && isOwn(found, desired)) await this.delete(`clients/${found.id}`, signal);
  }

  async deleteGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const found = await this.group(desired, signal);
    if (found !== undefined && isOwn(found, desired)) await this.delete(`groups/${found.id}`, signal);
  }

  /**
   * Returns the existing client after a concurrent creation: Keycloak rejects the second of two requests for one name.
   */
  private async createClient(desired: DesiredIdentity, signal: AbortSignal): Promise<Client> {
    const json = { ...clientOf(desired), protocolMappers: [mapperOf(desired)] };
    await this.http.send(this.call('POST', 'clients', { json, alsoTakes: [CONFLICT] }), signal);
    return foundAgain(await this.client(desired, signal), `client ${desired.clientId}`);
  }

  private async createGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<Group> {
    const { namespace, cluster, uid, group } = desired;
    const attributes = { [CLUSTER]: [`${namespace}/${cluster}`], [OWNER]: [uid] };
    const json = { name: group.slice(1), attributes };
    await this.http.send(this.call('POST', 'groups', { json, alsoTakes: [CONFLICT] }), signal);
    return foundAgain(await this.group(desired, signal), `group ${group}`);
  }

  private async ensureMapper({ id, protocolMappers }: Client, desired: DesiredIdentity, signal: AbortSignal) {
    const json = mapperOf(desired);
    const models = `clients/${id}/protocol-mappers/models`;
    const before = protocolMappers.find(({ name }) => name === GROUPS_MAPPER);
    if (before !== undefined && isMappedRight(before, json)) return;
    const call =
      before === undefined
        ? this.call('POST', models, { json })
        : this.call('PUT', `${models}/${before.id}`, { json: { ...json, id: before.id } });
    await this.http.send(call, signal);
  }

  private async client({ clientId }: DesiredIdentity, signal: AbortSignal): Promise<Client | undefined> {
    const call = this.call('GET', `clients?${new URLSearchParams({ clientId }).toString()}`);
    return (await this.http.read(call, Clients, signal)).find((client) => client.clientId === clientId);
  }

  private async group({ group }: DesiredIdentity, signal: AbortSignal): Promise<Group | undefined> {
    const call = this.call('GET', `group-by-path${group}`, { alsoTakes: [NOT_FOUND] });
    const { status } = await this.http.send(call, signal);
    if (status === NOT_FOUND) return undefined;
    return this.http.read(call, Group, signal);
  }

  private async delete(path: string, signal: AbortSignal): Promise<void> {
    await this.http.send(this.call('DELETE', path, { alsoTakes: [NOT_FOUND] }), signal);
  }

  private call(
    method: KeycloakCall['method'],
    path: string,
    more: Pick<KeycloakCall, 'json' | 'alsoTakes'> = {},
  ): KeycloakCall {
    return { method, url: `${this.admin}/${path}`, token: this.token, ...more };
  }
}

const taken = (reason: 'ClientTaken' | 'GroupTaken', what: string, attributes: Attributes): RealmFailure => {
  const named = attributes?.[CLUSTER];
  const whose: unknown = Array.isArray(named) ? named[0] : named;
  const of = ownerIn(attributes) === undefined ? 'was not made by Fairlead' : `is of the cluster ${plain(whose)}`;
  return new RealmFailure(reason, `the realm has a ${what} already, which ${of}. Rename or delete it there`);
};

const PLAIN = /^[a-z0-9/-]{1,110}$/;
const plain = (text: unknown): string =>
  typeof text === 'string' && PLAIN.test(text) ? text : 'of another installation';

const foundAgain = <Found>(found: Found | undefined, what: string): Found => {
  if (found !== undefined) return found;
  throw new RealmFailure('RealmInvalid', `the realm does not show the ${what} that was made`);
};

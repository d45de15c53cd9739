import { serviceClientOf } from '@fairlead/contracts';
import { RealmFailure, type DesiredIdentity, type RealmSession } from '../../realms/realm.ports.js';
import { Clients, Group, Groups, ManyClients, type Client } from './keycloak.answers.js';
import type { KeycloakCall, KeycloakHttp } from './keycloak.client.js';
import {
  clusterClient,
  GROUPS_MAPPER,
  groupsMapper,
  isClientRight,
  isMapperRight,
  serviceClient,
  type ClientSettings,
} from './keycloak.client.settings.js';
import { failIfTaken, isOwn, marksOf } from './keycloak.marks.js';

const NOT_FOUND = 404;
const CONFLICT = 409;
/** More than Fairlead makes for a cluster; without a number, Keycloak lists 10 groups, or 100 clients. */
const LISTED_MAX = 1_000;

/** A Keycloak realm, used through its Admin API with an access token of the service account. */
export class KeycloakRealm implements RealmSession {
  constructor(
    private readonly http: KeycloakHttp,
    /** `https://<host>/admin/realms/<realm>` */
    private readonly admin: string,
    private readonly token: string,
  ) {}

  ensureClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    return this.ensure(clusterClient(desired), desired, signal);
  }

  async ensureGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const { group } = desired;
    const find = () => this.groupAt(group, signal);
    await this.ensureMarked({ find, path: 'groups', name: group.slice(1), what: `group ${group}` }, desired, signal);
  }

  async ensureServices(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const root = foundAgain(await this.groupAt(desired.group, signal), `group ${desired.group}`);
    const path = `groups/${root.id}/children`;
    let children = await this.childrenOf(root, signal);
    for (const service of desired.services) {
      const { name } = service;
      const named = (child: Group): boolean => child.name === name;
      const find = async () => children.find(named) ?? (children = await this.childrenOf(root, signal)).find(named);
      await this.ensureMarked({ find, path, name, what: `group ${desired.group}/${name}` }, desired, signal);
      await this.ensure(serviceClient(desired, service), desired, signal);
    }
    await this.deleteServices(desired, signal);
    const names = new Set<string>(desired.services.map(({ name }) => name));
    for (const child of children)
      if (isOwn(child, desired) && !names.has(child.name)) await this.delete(`groups/${child.id}`, signal);
  }

  async deleteClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    await this.deleteServices({ ...desired, services: [] }, signal);
    const found = await this.client(desired.clientId, signal);
    if (found !== undefined && isOwn(found, desired)) await this.delete(`clients/${found.id}`, signal);
  }

  async deleteGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const found = await this.groupAt(desired.group, signal);
    if (found !== undefined && isOwn(found, desired)) await this.delete(`groups/${found.id}`, signal);
  }

  /** Reverts manual changes, and writes nothing where there are none. */
  private async ensure(settings: ClientSettings, desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const { clientId } = settings;
    const found =
      (await this.client(clientId, signal)) ?? (await this.createClient(settings, groupsMapper(desired), signal));
    failIfTaken({ reason: 'ClientTaken', what: `client ${clientId}` }, found, desired);
    if (!isClientRight(found, settings))
      await this.http.send(this.call('PUT', `clients/${found.id}`, { json: { ...settings, id: found.id } }), signal);
    await this.ensureMapper(found, desired, signal);
  }

  /** Deletes the clients of services that are not desired. */
  private async deleteServices(desired: DesiredIdentity, signal: AbortSignal): Promise<void> {
    const kept = new Set<string>(desired.services.map(({ name }) => serviceClientOf(desired, name)));
    const prefix = serviceClientOf(desired, '');
    const query = new URLSearchParams({ clientId: prefix, search: 'true', max: String(LISTED_MAX) }).toString();
    const found = await this.http.read(this.call('GET', `clients?${query}`), ManyClients, signal);
    for (const client of found)
      if (client.clientId.startsWith(prefix) && isOwn(client, desired) && !kept.has(client.clientId))
        await this.delete(`clients/${client.id}`, signal);
  }

  /**
   * Returns the existing client after a concurrent creation: Keycloak rejects the second of two requests for one name.
   */
  private async createClient(settings: ClientSettings, mapper: object, signal: AbortSignal): Promise<Client> {
    const json = { ...settings, protocolMappers: [mapper] };
    await this.http.send(this.call('POST', 'clients', { json, alsoTakes: [CONFLICT] }), signal);
    return foundAgain(await this.client(settings.clientId, signal), `client ${settings.clientId}`);
  }

  private async ensureMarked(
    { find, path, name, what }: DesiredGroup,
    desired: DesiredIdentity,
    signal: AbortSignal,
  ): Promise<void> {
    const marks = Object.fromEntries(Object.entries(marksOf(desired)).map(([key, value]) => [key, [value]]));
    const before = await find();
    if (before === undefined)
      await this.http.send(
        this.call('POST', path, { json: { name, attributes: marks }, alsoTakes: [CONFLICT] }),
        signal,
      );
    const found = before ?? foundAgain(await find(), what);
    failIfTaken({ reason: 'GroupTaken', what }, found, desired);
    if (isOwn(found, desired)) return;
    const json = { id: found.id, name, attributes: { ...found.attributes, ...marks } };
    await this.http.send(this.call('PUT', `groups/${found.id}`, { json }), signal);
  }

  private async ensureMapper({ id, protocolMappers }: Client, desired: DesiredIdentity, signal: AbortSignal) {
    const json = groupsMapper(desired);
    const models = `clients/${id}/protocol-mappers/models`;
    const before = protocolMappers.find(({ name }) => name === GROUPS_MAPPER);
    if (before !== undefined && isMapperRight(before, json)) return;
    const call =
      before === undefined
        ? this.call('POST', models, { json })
        : this.call('PUT', `${models}/${before.id}`, { json: { ...json, id: before.id } });
    await this.http.send(call, signal);
  }

  private async client(clientId: string, signal: AbortSignal): Promise<Client | undefined> {
    const call = this.call('GET', `clients?${new URLSearchParams({ clientId }).toString()}`);
    return (await this.http.read(call, Clients, signal)).find((client) => client.clientId === clientId);
  }

  private async groupAt(path: string, signal: AbortSignal): Promise<Group | undefined> {
    const call = this.call('GET', `group-by-path${path}`, { alsoTakes: [NOT_FOUND] });
    const { status } = await this.http.send(call, signal);
    if (status === NOT_FOUND) return undefined;
    return this.http.read(call, Group, signal);
  }

  private childrenOf({ id }: Group, signal: AbortSignal): Promise<readonly Group[]> {
    const call = this.call('GET', `groups/${id}/children?briefRepresentation=false&max=${LISTED_MAX}`);
    return this.http.read(call, Groups, signal);
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

interface DesiredGroup {
  readonly find: () => Promise<Group | undefined>;
  /** Where groups are created. */
  readonly path: string;
  readonly name: string;
  readonly what: string;
}

const foundAgain = <Found>(found: Found | undefined, what: string): Found => {
  if (found !== undefined) return found;
  throw new RealmFailure('RealmInvalid', `the realm does not show the ${what} that was made`);
};

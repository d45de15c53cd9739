import { randomBytes, randomUUID } from 'node:crypto';
import { conflict, notFound, RealmProblem } from './realm.problem.js';
import { RealmSessions, type CodeRedemption, type CodeRequest, type RealmSession } from './realm.sessions.js';
import { Client, Group, Mapper, User, type RealmState } from './realm.state.js';

const DEVICE_ENABLED = 'oauth2.device.authorization.grant.enabled';
const GROUPS_MAPPER = 'oidc-group-membership-mapper';
const AUDIENCE_MAPPER = 'oidc-audience-mapper';
const DEVICE_SECONDS = 600;
const DEVICES_MAX = 1_000;
const MS_PER_SECOND = 1_000;

interface Device {
  readonly clientId: string;
  readonly userCode: string;
  readonly untilMs: number;
  /** The user who signed in; absent while the device is waiting. */
  userId?: string;
}

export interface TokenClaims {
  readonly subject: string;
  readonly audience: string;
  /** Of access tokens. */
  readonly accessAudiences: readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  /** The answer of the UserInfo endpoint. */
  readonly userInfo: Readonly<Record<string, unknown>>;
}

/** A grant, and the session that it is of. */
export interface Grant extends TokenClaims {
  readonly session: RealmSession;
  readonly nonce?: string | undefined;
}

/** Whether the URI is registered: exactly, with any port of a loopback address, or with a * at its end. */
const isRegistered = (registered: string, uri: string): boolean =>
  registered === uri ||
  (registered.endsWith('*') && uri.startsWith(registered.slice(0, -1))) ||
  (/^http:\/\/(127\.0\.0\.1|localhost)(\/|$)/.test(registered) && uri.replace(/:\d+(?=\/|$)/, '') === registered);

/** A simulation of one realm of Keycloak: its clients, groups and users, the device flow and the authorization code flow. Users have no passwords. */
export class SimulatedRealm {
  private readonly devices = new Map<string, Device>();
  private readonly sessions: RealmSessions;

  constructor(
    private readonly state: RealmState,
    private readonly changed: () => void,
    private readonly now: () => Date,
  ) {
    this.sessions = new RealmSessions(now);
  }

  clients(clientId: string | null, isSearch = false): readonly Client[] {
    return this.state.clients.filter(
      (client) => clientId === null || client.clientId === clientId || (isSearch && client.clientId.includes(clientId)),
    );
  }

  createClient(body: unknown): Client {
    const client = Client.parse({ ...(body as object), id: randomUUID() });
    if (this.clients(client.clientId).length > 0) throw conflict(`Client ${client.clientId}`);
    const protocolMappers = client.protocolMappers.map((mapper) => ({ ...mapper, id: randomUUID() }));
    return this.add(this.state.clients, { ...client, protocolMappers });
  }

  /** Keeps the mappers, which have their own routes. */
  updateClient(id: string, body: unknown): void {
    const before = found(this.state.clients, id);
    const { protocolMappers } = before;
    const client = Client.parse({ ...before, ...(body as object), id, protocolMappers });
    this.replace(this.state.clients, client);
  }

  deleteClient(id: string): void {
    this.remove(this.state.clients, id);
  }

  createMapper(id: string, body: unknown): void {
    const client = found(this.state.clients, id);
    const mapper = { ...Mapper.parse(body), id: randomUUID() };
    if (client.protocolMappers.some(({ name }) => name === mapper.name)) throw conflict('Protocol mapper');
    this.replace(this.state.clients, { ...client, protocolMappers: [...client.protocolMappers, mapper] });
  }

  updateMapper(id: string, mapperId: string, body: unknown): void {
    const client = found(this.state.clients, id);
    if (!client.protocolMappers.some((mapper) => mapper.id === mapperId)) throw notFound();
    const mapper = { ...Mapper.parse(body), id: mapperId };
    const protocolMappers = client.protocolMappers.map((one) => (one.id === mapperId ? mapper : one));
    this.replace(this.state.clients, { ...client, protocolMappers });
  }

  /** Those below a group; undefined: those at the top. */
  groups(parentId?: string): readonly Group[] {
    if (parentId !== undefined) found(this.state.groups, parentId);
    return this.state.groups.filter((group) => group.parentId === parentId);
  }

  groupNamed(name: string): Group {
    const group = this.groups().find((one) => one.name === name);
    if (group === undefined) throw notFound();
    return group;
  }

  createGroup(body: unknown, parentId?: string): Group {
    const group = Group.parse({ ...(body as object), id: randomUUID(), parentId, roles: [] });
    if (this.groups(parentId).some(({ name }) => name === group.name))
      throw conflict(parentId === undefined ? `Top level group ${group.name}` : `Sibling group ${group.name}`);
    return this.add(this.state.groups, group);
  }

  /** Replaces its attributes. */
  updateGroup(id: string, body: unknown): void {
    const { parentId, roles } = found(this.state.groups, id);
    this.replace(this.state.groups, Group.parse({ ...(body as object), id, parentId, roles }));
  }

  rolesOf(id: string): readonly string[] {
    return found(this.state.groups, id).roles;
  }

  addRoles(id: string, names: readonly string[]): void {
    const group = found(this.state.groups, id);
    this.replace(this.state.groups, { ...group, roles: [...new Set([...group.roles, ...names])] });
  }

  deleteGroup(id: string): void {
    for (const child of this.groups(id)) this.deleteGroup(child.id);
    this.remove(this.state.groups, id);
    this.state.users.forEach((user) => this.leave(user.id, id));
  }

  createUser(body: unknown): User {
    const user = User.parse({ ...(body as object), id: randomUUID(), groups: [] });
    if (this.state.users.some(({ username }) => username === user.username)) throw conflict('User');
    return this.add(this.state.users, user);
  }

  /** One that is disabled signs in no more, and its sessions end. */
  updateUser(id: string, body: unknown): void {
    const user = User.parse({ ...found(this.state.users, id), ...(body as object), id });
    if (!user.enabled) this.sessions.endAllOf(id);
    this.replace(this.state.users, user);
  }

  signOutEverywhere(id: string): void {
    this.sessions.endAllOf(found(this.state.users, id).id);
  }

  join(userId: string, groupId: string): void {
    const user = found(this.state.users, userId);
    found(this.state.groups, groupId);
    this.replace(this.state.users, { ...user, groups: [...new Set([...user.groups, groupId])] });
  }

  leave(userId: string, groupId: string): void {
    const user = found(this.state.users, userId);
    this.replace(this.state.users, { ...user, groups: user.groups.filter((id) => id !== groupId) });
  }

  /** The device authorization request (RFC 8628, 3.1). */
  beginDevice(clientId: string) {
    const client = this.publicClient(clientId);
    if (client.attributes[DEVICE_ENABLED] !== 'true')
      throw new RealmProblem(400, 'unauthorized_client: the client has no device flow');
    this.forgetDevices();
    const deviceCode = randomBytes(24).toString('base64url');
    const userCode = randomBytes(4).toString('hex').toUpperCase();
    const untilMs = this.now().getTime() + DEVICE_SECONDS * MS_PER_SECOND;
    this.devices.set(deviceCode, { clientId, userCode, untilMs });
    return { deviceCode, userCode, expiresIn: DEVICE_SECONDS };
  }

  /** Approves a device without authentication, because this is a simulation. */
  approve(userCode: string, username: string): void {
    const device = [...this.devices.values()].find((one) => one.userCode === userCode);
    if (device === undefined) throw notFound();
    device.userId = this.userNamed(username).id;
  }

  private userNamed(username: string): User {
    const user = this.state.users.find((one) => one.username === username) ?? this.createUser({ username });
    if (!user.enabled) throw new RealmProblem(400, 'Account is disabled, contact your administrator.');
    return user;
  }

  /** Rejects what no registered client may ask for (RFC 6749, 4.1.2.1). */
  checkCodeRequest({ clientId, redirectUri, challenge }: CodeRequest): void {
    const [client] = this.clients(clientId);
    if (client?.enabled !== true) throw new RealmProblem(400, 'Client not found.');
    if (!client.redirectUris.some((registered) => isRegistered(registered, redirectUri)))
      throw new RealmProblem(400, 'Invalid parameter: redirect_uri');
    if (challenge === '') throw new RealmProblem(400, 'Missing parameter: code_challenge_method');
  }

  /** Signs a user in without authentication, because this is a simulation. */
  codeFor(request: CodeRequest, username: string): string {
    this.checkCodeRequest(request);
    return this.sessions.codeFor(request, this.userNamed(username).id);
  }

  redeemCode(code: string, redemption: CodeRedemption): Grant {
    const { session, nonce } = this.sessions.redeem(code, redemption);
    return { ...this.grantIn(session), nonce };
  }

  refresh(refreshToken: string, clientId: string): Grant {
    return this.grantIn(this.sessions.refresh(refreshToken, clientId));
  }

  revoke(refreshToken: string, clientId: string): void {
    this.sessions.end(refreshToken, clientId);
  }

  /** The user and the client of a session as they are now; undefined: it has ended. */
  grantOf(sessionId: string): Grant | undefined {
    const session = this.sessions.open(sessionId);
    return session === undefined ? undefined : this.grantIn(session);
  }

  /** The client that authenticates itself with its secret; a public one has none. */
  authenticated(clientId: string, secret: string | undefined): Client {
    const [client] = this.clients(clientId);
    const isAuthentic = client?.publicClient === true || (secret !== undefined && client?.secret === secret);
    if (client?.enabled !== true || !isAuthentic) throw new RealmProblem(401, 'invalid_client');
    return client;
  }

  private grantIn(session: RealmSession): Grant {
    const [client] = this.clients(session.clientId);
    if (client?.enabled !== true) throw new RealmProblem(401, 'invalid_client');
    return { session, ...this.claimsOf(found(this.state.users, session.userId), client) };
  }

  /** The device access token request (RFC 8628, 3.4). */
  redeem(deviceCode: string, clientId: string): Grant {
    this.forgetDevices();
    const device = this.devices.get(deviceCode);
    if (device?.clientId !== clientId) throw new RealmProblem(400, 'invalid_grant');
    if (device.userId === undefined) throw new RealmProblem(400, 'authorization_pending');
    this.devices.delete(deviceCode);
    this.publicClient(clientId);
    return this.grantIn(this.sessions.begin(device.userId, clientId));
  }

  private claimsOf({ id, username, groups }: User, client: Client): TokenClaims {
    const mapper = client.protocolMappers.find((one) => one.protocolMapper === GROUPS_MAPPER);
    const isPath = mapper?.config['full.path'] === 'true';
    const own = this.state.groups.filter((group) => groups.includes(group.id));
    const named = own.map((group) => (isPath ? this.pathOf(group) : group.name));
    const claim = mapper?.config['claim.name']?.replaceAll(String.raw`\.`, '.');
    // Keycloak leaves out a claim without values.
    const groupsClaim = claim === undefined || named.length === 0 ? {} : { [claim]: named };
    const isInUserInfo = mapper?.config['userinfo.token.claim'] === 'true';
    return {
      subject: id,
      audience: client.clientId,
      accessAudiences: client.protocolMappers
        .filter((one) => one.protocolMapper === AUDIENCE_MAPPER)
        .flatMap(({ config }) => config['included.client.audience'] ?? []),
      claims: { preferred_username: username, ...groupsClaim },
      userInfo: { sub: id, preferred_username: username, ...(isInUserInfo ? groupsClaim : {}) },
    };
  }

  private pathOf({ name, parentId }: Group): string {
    const parent = this.state.groups.find(({ id }) => id === parentId);
    return `${parent === undefined ? '' : this.pathOf(parent)}/${name}`;
  }

  private publicClient(clientId: string): Client {
    const [client] = this.clients(clientId);
    if (client?.enabled !== true || !client.publicClient) throw new RealmProblem(401, 'invalid_client');
    return client;
  }

  private forgetDevices(): void {
    const now = this.now().getTime();
    for (const [code, { untilMs }] of this.devices)
      if (untilMs <= now || this.devices.size > DEVICES_MAX) this.devices.delete(code);
  }

  private add<Item>(items: Item[], item: Item): Item {
    items.push(item);
    this.changed();
    return item;
  }

  private replace<Item extends { readonly id: string }>(items: Item[], item: Item): void {
    items[items.findIndex(({ id }) => id === item.id)] = item;
    this.changed();
  }

  private remove(items: { readonly id: string }[], id: string): void {
    found(items, id);
    items.splice(
      items.findIndex((item) => item.id === id),
      1,
    );
    this.changed();
  }
}

const found = <Item extends { readonly id: string }>(items: readonly Item[], id: string): Item => {
  const item = items.find((one) => one.id === id);
  if (item === undefined) throw notFound();
  return item;
};

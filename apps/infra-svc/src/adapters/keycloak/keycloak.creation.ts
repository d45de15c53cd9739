import { PLATFORM_USERS, REALM_ADMINS, type KeycloakUrls } from '@fairlead/contracts';
import type { z } from 'zod';
import { RealmFailure, type RealmAccess } from '../../realms/realm.ports.js';
import { Clients, Group, Realm, Role, Roles } from './keycloak.answers.js';
import type { KeycloakCall, KeycloakHttp } from './keycloak.client.js';

const FORBIDDEN = 403;
const NOT_FOUND = 404;
const CONFLICT = 409;

/** The attribute that marks a realm as a namespace's own. */
const NAMESPACE = 'fairlead.dev/namespace';
const MANAGEMENT = 'realm-management';
/** What the administrators of a realm need to manage its users and their groups in the console of Keycloak. */
const ROLES_OF_ADMINS = ['manage-users', 'query-users', 'query-groups', 'view-realm'];

interface Creation {
  readonly http: KeycloakHttp;
  readonly urls: KeycloakUrls;
  readonly access: RealmAccess;
  readonly signal: AbortSignal;
}

type Call = Omit<KeycloakCall, 'url' | 'token'>;

/** The requests of one token: one that was made before the realm was has no rights there. */
const requests = ({ http, urls, signal }: Creation, token: string) => {
  const call = (url: string, more: Call): KeycloakCall => ({ url, token, ...more });
  return {
    createRealm: (json: object) =>
      http.send(call(urls.realms, { method: 'POST', json, alsoTakes: [CONFLICT] }), signal),
    realm: () => http.send(call(urls.admin, { method: 'GET', alsoTakes: [FORBIDDEN, NOT_FOUND] }), signal),
    send: (path: string, more: Call) => http.send(call(`${urls.admin}/${path}`, more), signal),
    read: <Answer>(path: string, schema: z.ZodType<Answer>) =>
      http.read(call(`${urls.admin}/${path}`, { method: 'GET' }), schema, signal),
  };
};
type Requests = ReturnType<typeof requests>;

const ensureGroup = async ({ send, read }: Requests, path: string): Promise<Group> => {
  const { status } = await send(`group-by-path${path}`, { method: 'GET', alsoTakes: [NOT_FOUND] });
  if (status === NOT_FOUND)
    await send('groups', { method: 'POST', json: { name: path.slice(1) }, alsoTakes: [CONFLICT] });
  return read(`group-by-path${path}`, Group);
};

const ensureAdmins = async (calls: Requests): Promise<void> => {
  const { id } = await ensureGroup(calls, REALM_ADMINS);
  const [management] = await calls.read(`clients?clientId=${MANAGEMENT}`, Clients);
  if (management === undefined)
    throw new RealmFailure('RealmInvalid', `the realm that was created has no client ${MANAGEMENT}`);
  const mappings = `groups/${id}/role-mappings/clients/${management.id}`;
  const has = new Set((await calls.read(mappings, Roles)).map(({ name }) => name));
  const missing = ROLES_OF_ADMINS.filter((name) => !has.has(name));
  const roles = [];
  for (const name of missing) roles.push(await calls.read(`clients/${management.id}/roles/${name}`, Role));
  if (roles.length > 0) await calls.send(mappings, { method: 'POST', json: roles });
};

const taken = ({ access }: Creation): RealmFailure =>
  new RealmFailure(
    'RealmTaken',
    `realm ${access.name}: ${access.issuerUrl} is there already, and was not made for the namespace ${access.namespace}. Choose another name for it, or register it without create by a client of its own`,
  );

/**
 * A realm of the namespace with its groups. Resolves to a token with rights there. One of the same name that someone
 * else made is not touched.
 */
export const ensureRealm = async (creation: Creation, tokenOf: () => Promise<string>): Promise<string> => {
  const { access, urls } = creation;
  const first = await tokenOf();
  const found = await requests(creation, first).realm();
  if (found.status === NOT_FOUND)
    await requests(creation, first).createRealm({
      realm: urls.creatable,
      enabled: true,
      displayName: `${access.namespace}: ${access.name}`,
      attributes: { [NAMESPACE]: access.namespace },
    });
  const token = found.status === NOT_FOUND ? await tokenOf() : first;
  const calls = requests(creation, token);
  if ((await calls.realm()).status !== 200) throw taken(creation);
  const realm = await creation.http.read({ method: 'GET', url: urls.admin, token }, Realm, creation.signal);
  if (realm.attributes?.[NAMESPACE] !== access.namespace) throw taken(creation);
  await ensureGroup(calls, PLATFORM_USERS);
  await ensureAdmins(calls);
  return token;
};

import { decodeJwt, exportJWK, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import { randomBytes } from 'node:crypto';
import type { ApiAnswer, ApiRequest, Route } from '../api/api.router.js';
import * as z from 'zod';
import { RealmProblem } from './realm.problem.js';
import type { CodeRequest } from './realm.sessions.js';
import type { Client, CreatedRealm } from './realm.state.js';
import type { Grant, SimulatedRealm } from './simulated.realm.js';

export const REALM = 'lab';
export const MASTER = 'master';
/** The client of a realm whose roles are rights in its administration. */
export const MANAGEMENT = 'realm-management';
export const ALGORITHM = 'ES256';
export const KEY_ID = 'lab';
export const TOKEN_SECONDS = 300;
/** The audience of Keycloak's access tokens that no mapper gives another one. */
const ACCOUNT = 'account';
const POLL_SECONDS = 1;
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** The client with which Fairlead manages the others. */
export interface Administrator {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface RealmParts {
  readonly name: string;
  readonly realm: SimulatedRealm;
  readonly issuerUrl: string;
  readonly administrator: Administrator;
  readonly keys: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
  now(): Date;
  /** How long tokens of users are good for. */
  tokenSeconds(): number;
}

const ok = (body: unknown): ApiAnswer => ({ status: 200, body });
const CREATED: ApiAnswer = { status: 201 };
const DONE: ApiAnswer = { status: 204 };

type Form = Readonly<Record<string, string>>;
const Roles = z.array(z.object({ name: z.string() })).max(100);

const oidcOf = (name: string): string => `/realms/${name}/protocol/openid-connect`;
const ADMIN = '/admin/realms';
const adminOf = (name: string): string => `${ADMIN}/${name}`;

/** The Admin API requires an access token; all other routes are public. */
export const isAdministration = (path: string): boolean => path === ADMIN || path.startsWith(`${ADMIN}/`);

const discovery = (issuerUrl: string) => ({
  issuer: issuerUrl,
  authorization_endpoint: `${issuerUrl}/protocol/openid-connect/auth`,
  token_endpoint: `${issuerUrl}/protocol/openid-connect/token`,
  device_authorization_endpoint: `${issuerUrl}/protocol/openid-connect/auth/device`,
  userinfo_endpoint: `${issuerUrl}/protocol/openid-connect/userinfo`,
  introspection_endpoint: `${issuerUrl}/protocol/openid-connect/token/introspect`,
  revocation_endpoint: `${issuerUrl}/protocol/openid-connect/revoke`,
  jwks_uri: `${issuerUrl}/protocol/openid-connect/certs`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [ALGORITHM],
  code_challenge_methods_supported: ['S256'],
});

const PAGE = (userCode: string): string => `<!doctype html>
<title>Simulated sign-in</title>
<h1>Simulated sign-in</h1>
<p>This identity provider is a simulation of Fairlead's lab: its users have no passwords.</p>
<form method="post"><label>Code <input name="user_code" value="${userCode}"></label>
<label>User <input name="username"></label> <button>Sign in</button></form>`;

const SIGN_IN_PAGE = `<!doctype html>
<title>Simulated sign-in</title>
<h1>Simulated sign-in</h1>
<p>This identity provider is a simulation of Fairlead's lab: its users have no passwords.</p>
<form method="post"><label>User <input name="username"></label> <button>Sign in</button></form>`;

const codeRequestOf = (query: URLSearchParams): CodeRequest => ({
  clientId: query.get('client_id') ?? '',
  redirectUri: query.get('redirect_uri') ?? '',
  challenge: query.get('code_challenge_method') === 'S256' ? (query.get('code_challenge') ?? '') : '',
  nonce: query.get('nonce') ?? undefined,
});

/** The browser goes back to the client. */
const backTo = (query: URLSearchParams, parameters: Readonly<Record<string, string>>, issuerUrl: string): ApiAnswer => {
  const url = new URL(query.get('redirect_uri') ?? '');
  const state = query.get('state');
  const all = { ...parameters, iss: issuerUrl, ...(state === null ? {} : { state }) };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return { status: 302, location: url.href };
};

/** The authorization code flow, introspection, UserInfo and revocation. */
const codeFlowRoutes = ({ name, realm, issuerUrl }: RealmParts): readonly Route[] => [
  {
    method: 'GET',
    path: `${oidcOf(name)}/auth`,
    handle: ({ query }) => {
      realm.checkCodeRequest(codeRequestOf(query));
      return ok(SIGN_IN_PAGE);
    },
  },
  {
    method: 'POST',
    path: `${oidcOf(name)}/auth`,
    handle: ({ query, body }) => {
      const { username = '' } = body as Form;
      const request = codeRequestOf(query);
      realm.checkCodeRequest(request);
      // As a user who cancels.
      if (username === '') return backTo(query, { error: 'access_denied' }, issuerUrl);
      return backTo(query, { code: realm.codeFor(request, username) }, issuerUrl);
    },
  },
  {
    method: 'POST',
    path: `${oidcOf(name)}/token/introspect`,
    handle: ({ body }) => {
      const { client_id: clientId = '', client_secret: secret, token = '' } = body as Form;
      if (realm.authenticated(clientId, secret).publicClient) throw new RealmProblem(403, 'invalid_request');
      // As Keycloak: groups are those with which the token was issued.
      const claims = claimsIn(token);
      const grant = grantOfToken(claims, realm);
      if (grant === undefined) return ok({ active: false });
      return ok({ active: true, ...claims, client_id: grant.session.clientId });
    },
  },
  {
    method: 'GET',
    path: `${oidcOf(name)}/userinfo`,
    handle: ({ bearer }) => {
      const grant = grantOfToken(claimsIn(bearer ?? ''), realm);
      if (grant === undefined) throw new RealmProblem(401, 'invalid_token');
      return ok(grant.userInfo);
    },
  },
  {
    method: 'POST',
    path: `${oidcOf(name)}/revoke`,
    handle: ({ body }) => {
      const { client_id: clientId = '', client_secret: secret, token = '' } = body as Form;
      realm.revoke(token, realm.authenticated(clientId, secret).clientId);
      return ok({});
    },
  },
];

/** Without a look at the signature: who introspects verifies it. */
const claimsIn = (token: string): JWTPayload => {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
};

const grantOfToken = ({ sid }: JWTPayload, realm: SimulatedRealm): Grant | undefined =>
  typeof sid === 'string' ? realm.grantOf(sid) : undefined;

/** OpenID Connect routes for users. */
const publicRoutes = ({ name, ...parts }: RealmParts, sessions: AccessTokens): readonly Route[] => [
  {
    method: 'GET',
    path: `/realms/${name}/.well-known/openid-configuration`,
    handle: () => ok(discovery(parts.issuerUrl)),
  },
  {
    method: 'GET',
    path: `${oidcOf(name)}/certs`,
    handle: async () => {
      const key = await exportJWK(parts.keys.publicKey);
      return ok({ keys: [{ ...key, kid: KEY_ID, use: 'sig', alg: ALGORITHM }] });
    },
  },
  {
    method: 'POST',
    path: `${oidcOf(name)}/auth/device`,
    handle: ({ body }) => {
      const { deviceCode, userCode, expiresIn } = parts.realm.beginDevice((body as Form)['client_id'] ?? '');
      const uri = `${parts.issuerUrl}/device`;
      return ok({
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: uri,
        verification_uri_complete: `${uri}?user_code=${userCode}`,
        expires_in: expiresIn,
        interval: POLL_SECONDS,
      });
    },
  },
  {
    method: 'GET',
    path: `/realms/${name}/device`,
    handle: ({ query }) => ok(PAGE((query.get('user_code') ?? '').replaceAll(/[^0-9A-F]/g, ''))),
  },
  {
    method: 'POST',
    path: `/realms/${name}/device`,
    handle: ({ body }) => {
      const { user_code: userCode = '', username = '' } = body as Form;
      parts.realm.approve(userCode, username);
      return ok('<!doctype html><title>Signed in</title><p>Signed in: go back to the terminal.</p>');
    },
  },
  {
    method: 'POST',
    path: `${oidcOf(name)}/token`,
    handle: ({ body }) => tokenFor(body as Form, { name, ...parts }, sessions),
  },
];

const tokenFor = async (form: Form, parts: RealmParts, sessions: AccessTokens): Promise<ApiAnswer> => {
  const { grant_type: grant, client_id: clientId = '', client_secret: secret, device_code: deviceCode = '' } = form;
  if (grant === 'client_credentials') {
    const { administrator } = parts;
    if (clientId !== administrator.clientId || secret !== administrator.clientSecret)
      throw new RealmProblem(401, 'unauthorized_client');
    return ok({ access_token: sessions.begin(), token_type: 'Bearer', expires_in: TOKEN_SECONDS });
  }
  const granted = grantOf(grant, { form, deviceCode }, parts.realm);
  const idToken = await tokenOf(parts, granted, { aud: granted.audience, typ: 'ID', nonce: granted.nonce });
  const audiences = granted.accessAudiences.length === 0 ? ACCOUNT : [...granted.accessAudiences];
  const accessToken = await tokenOf(parts, granted, { aud: audiences, typ: 'Bearer', azp: granted.audience });
  return ok({
    id_token: idToken,
    access_token: accessToken,
    refresh_token: granted.session.id,
    token_type: 'Bearer',
    expires_in: parts.tokenSeconds(),
  });
};

const grantOf = (
  grant: string | undefined,
  { form, deviceCode }: { readonly form: Form; readonly deviceCode: string },
  realm: SimulatedRealm,
): Grant => {
  const { client_id: clientId = '', client_secret: secret, code = '', refresh_token: refreshToken = '' } = form;
  const { redirect_uri: redirectUri = '', code_verifier: verifier = '' } = form;
  if (grant === DEVICE_GRANT) return realm.redeem(deviceCode, clientId);
  if (grant !== 'authorization_code' && grant !== 'refresh_token')
    throw new RealmProblem(400, 'unsupported_grant_type');
  realm.authenticated(clientId, secret);
  return grant === 'refresh_token'
    ? realm.refresh(refreshToken, clientId)
    : realm.redeemCode(code, { clientId, redirectUri, verifier });
};

const tokenOf = (
  { issuerUrl, keys, now, tokenSeconds }: RealmParts,
  { subject, claims, session }: Grant,
  own: JWTPayload,
): Promise<string> => {
  const issuedAt = Math.floor(now().getTime() / 1_000);
  return new SignJWT({ ...claims, ...own, sid: session.id })
    .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID, typ: 'JWT' })
    .setIssuer(issuerUrl)
    .setSubject(subject)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + tokenSeconds())
    .sign(keys.privateKey);
};

const done =
  (work: (request: ApiRequest) => void): Route['handle'] =>
  (request) => {
    work(request);
    return DONE;
  };
const created =
  (work: (body: unknown) => { readonly id: string }): Route['handle'] =>
  ({ body }) => ({ ...CREATED, body: { id: work(body).id } });

const userRoutes = ({ name, realm }: RealmParts): readonly Route[] => {
  const membership = `${adminOf(name)}/users/:id/groups/:group`;
  return [
    { method: 'POST', path: `${adminOf(name)}/users`, handle: created((body) => realm.createUser(body)) },
    {
      method: 'PUT',
      path: `${adminOf(name)}/users/:id`,
      handle: done(({ parameters: { id = '' }, body }) => realm.updateUser(id, body)),
    },
    {
      method: 'POST',
      path: `${adminOf(name)}/users/:id/logout`,
      handle: done(({ parameters: { id = '' } }) => realm.signOutEverywhere(id)),
    },
    {
      method: 'PUT',
      path: membership,
      handle: done(({ parameters: { id = '', group = '' } }) => realm.join(id, group)),
    },
    {
      method: 'DELETE',
      path: membership,
      handle: done(({ parameters: { id = '', group = '' } }) => realm.leave(id, group)),
    },
  ];
};

/** A list of Keycloak has any order. */
const shownClient = ({ redirectUris, ...client }: Client): object => ({
  ...client,
  redirectUris: redirectUris.toReversed(),
});

const groupRoutes = ({ name, realm }: RealmParts): readonly Route[] => {
  const groups = `${adminOf(name)}/groups`;
  return [
    { method: 'GET', path: groups, handle: () => ok(realm.groups()) },
    { method: 'POST', path: groups, handle: created((body) => realm.createGroup(body)) },
    {
      method: 'GET',
      path: `${adminOf(name)}/group-by-path/:name`,
      handle: ({ parameters: { name: group = '' } }) => ok(realm.groupNamed(group)),
    },
    {
      method: 'PUT',
      path: `${groups}/:id`,
      handle: done(({ parameters: { id = '' }, body }) => realm.updateGroup(id, body)),
    },
    { method: 'DELETE', path: `${groups}/:id`, handle: done(({ parameters: { id = '' } }) => realm.deleteGroup(id)) },
    { method: 'GET', path: `${groups}/:id/children`, handle: ({ parameters: { id = '' } }) => ok(realm.groups(id)) },
    {
      method: 'POST',
      path: `${groups}/:id/children`,
      handle: ({ parameters: { id = '' }, body }) => ({ ...CREATED, body: realm.createGroup(body, id) }),
    },
  ];
};

/** Roles of the client realm-management, which have no other id than their name. */
const roleRoutes = ({ name, realm }: RealmParts): readonly Route[] => {
  const mappings = `${adminOf(name)}/groups/:id/role-mappings/clients/:client`;
  const roleOf = (role: string) => ({ id: role, name: role, clientRole: true });
  return [
    {
      method: 'GET',
      path: `${adminOf(name)}/clients/:id/roles/:role`,
      handle: ({ parameters: { role = '' } }) => ok(roleOf(role)),
    },
    { method: 'GET', path: mappings, handle: ({ parameters: { id = '' } }) => ok(realm.rolesOf(id).map(roleOf)) },
    {
      method: 'POST',
      path: mappings,
      handle: done(({ parameters: { id = '' }, body }) =>
        realm.addRoles(
          id,
          Roles.parse(body).map((one) => one.name),
        ),
      ),
    },
  ];
};

/** The part of Keycloak's Admin API that Fairlead uses, plus users and their groups for tests and demonstrations. */
const administrationRoutes = (parts: RealmParts): readonly Route[] => {
  const { name, realm } = parts;
  const models = `${adminOf(name)}/clients/:id/protocol-mappers/models`;
  return [
    {
      method: 'GET',
      path: `${adminOf(name)}/clients`,
      handle: ({ query }) => ok(realm.clients(query.get('clientId'), query.get('search') === 'true').map(shownClient)),
    },
    { method: 'POST', path: `${adminOf(name)}/clients`, handle: created((body) => realm.createClient(body)) },
    {
      method: 'PUT',
      path: `${adminOf(name)}/clients/:id`,
      handle: done(({ parameters: { id = '' }, body }) => realm.updateClient(id, body)),
    },
    {
      method: 'DELETE',
      path: `${adminOf(name)}/clients/:id`,
      handle: done(({ parameters: { id = '' } }) => realm.deleteClient(id)),
    },
    {
      method: 'POST',
      path: models,
      handle: ({ parameters: { id = '' }, body }) => {
        realm.createMapper(id, body);
        return CREATED;
      },
    },
    {
      method: 'PUT',
      path: `${models}/:mapper`,
      handle: done(({ parameters: { id = '', mapper = '' }, body }) => realm.updateMapper(id, mapper, body)),
    },
    ...groupRoutes(parts),
    ...roleRoutes(parts),
    ...userRoutes(parts),
  ];
};

/** Valid access tokens of the administrator. */
export class AccessTokens {
  private readonly untilMs = new Map<string, number>();

  constructor(private readonly now: () => Date) {}

  begin(): string {
    const now = this.now().getTime();
    for (const [token, until] of this.untilMs) if (until <= now) this.untilMs.delete(token);
    const token = randomBytes(24).toString('base64url');
    this.untilMs.set(token, now + TOKEN_SECONDS * 1_000);
    return token;
  }

  isInForce(token: string): boolean {
    return (this.untilMs.get(token) ?? 0) > this.now().getTime();
  }
}

export const realmRoutes = (parts: RealmParts, sessions: AccessTokens): readonly Route[] => [
  ...publicRoutes(parts, sessions),
  ...codeFlowRoutes(parts),
  ...administrationRoutes(parts),
];

/** The realm `master`, whose clients create others. */
export const masterRoutes = (
  parts: RealmParts,
  sessions: AccessTokens,
  { create, get }: { readonly create: (body: unknown) => void; readonly get: (name: string) => CreatedRealm },
): readonly Route[] => [
  ...publicRoutes(parts, sessions),
  {
    method: 'POST',
    path: ADMIN,
    handle: ({ body }) => {
      create(body);
      return CREATED;
    },
  },
  {
    method: 'GET',
    path: `${ADMIN}/:realm`,
    handle: ({ parameters: { realm = '' } }) => {
      const { state: _state, ...shown } = get(realm);
      return ok(shown);
    },
  },
];

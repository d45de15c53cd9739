import { request } from 'node:https';
import { startTestIdentity, type TestIdentity } from './identity.js';

/** An identity provider with the clients of Fairlead, whose users a spec plays. A user has the password `pw-<name>` if users have any. */
export interface TestIssuer {
  readonly issuerUrl: string;
  readonly ca: string;
  /** Of the gateway; its redirect URI is `PAGE_URL/sign-in/issuer/callback`. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Public, with the device flow; its access tokens are for the gateway. */
  readonly cliClientId: string;
  /** Makes the user a member of the group, or not; both are made if they are missing. */
  setMember(user: string, group: string, isMember: boolean): Promise<void>;
  setEnabled(user: string, isEnabled: boolean): Promise<void>;
  stop(): Promise<void>;
}

export const PAGE_URL = 'https://fairlead.example.test';

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

export interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Keycloak on a machine that others use takes its time. */
const TIMEOUT_MS = 120_000;

export const askOver = (
  ca: string,
  url: string,
  { method = 'GET', headers, form, json }: Sent = {},
): Promise<Received> =>
  new Promise((resolve, reject) => {
    const sent =
      form === undefined ? (json === undefined ? '' : JSON.stringify(json)) : new URLSearchParams(form).toString();
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const all = { ...(sent === '' ? {} : { 'content-type': type }), 'content-length': String(Buffer.byteLength(sent)) };
    const asked = request(url, { method, ca, headers: { ...all, ...headers }, timeout: TIMEOUT_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    asked.on('timeout', () => asked.destroy(new Error(`${url} does not answer`)));
    asked.on('error', reject);
    asked.end(sent);
  });

const unescaped = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&#x2F;', '/');

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];
  return found === undefined ? undefined : unescaped(found);
};

interface Form {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

const formIn = (page: string, url: string): Form | undefined => {
  const [, opening, content = ''] = /(<form[^>]*>)([\s\S]*?)<\/form>/.exec(page) ?? [];
  if (opening === undefined) return undefined;
  const inputs = [...content.matchAll(/<(?:input|button)[^>]*>/g)].map(([tag]) => tag);
  const fields = inputs.flatMap((tag) => {
    const name = attribute(tag, 'name');
    return name === undefined || name === 'cancel' ? [] : [[name, attribute(tag, 'value') ?? '']];
  });
  return {
    action: new URL(attribute(opening, 'action') ?? url, url).href,
    fields: Object.fromEntries(fields) as Form['fields'],
  };
};

const STEPS_MAX = 12;

/** A browser of one user, who fills in every form until there is none, or until the address begins with `until`. Returns the last address. */
export const signInAt = async (ca: string, start: string, user: string, until = PAGE_URL): Promise<URL> => {
  const cookies = new Map<string, string>();
  let url = start;
  let sent: Sent = {};
  for (let steps = 0; steps < STEPS_MAX && !url.startsWith(until); steps += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await askOver(ca, url, { ...sent, headers: cookie === '' ? {} : { cookie } });
    for (const text of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    const { location } = answer.headers;
    if (typeof location === 'string') {
      [url, sent] = [new URL(location, url).href, {}];
      continue;
    }
    const form = formIn(answer.text, url);
    if (form === undefined) return new URL(url);
    const known = { username: user, password: `pw-${user}`, accept: 'Yes' };
    const filled = Object.fromEntries(
      Object.entries(form.fields).map(([name, value]) => [name, known[name as keyof typeof known] ?? value]),
    );
    [url, sent] = [form.action, { method: 'POST', form: filled }];
  }
  return new URL(url);
};

export interface IssuedTokens {
  readonly id_token: string;
  readonly access_token: string;
  readonly refresh_token: string;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const AGAIN_MS = 1_000;

/** Tokens of a user, from the device flow of the command line. */
export const tokensOf = async (issuer: TestIssuer, user: string): Promise<IssuedTokens> => {
  const { issuerUrl, ca, cliClientId } = issuer;
  const post = async <Body>(path: string, form: Readonly<Record<string, string>>) => {
    const { status, text } = await askOver(ca, `${issuerUrl}/protocol/openid-connect/${path}`, {
      method: 'POST',
      form,
    });
    return { status, body: JSON.parse(text) as Body };
  };
  const { body: device } = await post<{ device_code: string; verification_uri_complete: string }>('auth/device', {
    client_id: cliClientId,
    scope: 'openid profile',
  });
  await signInAt(ca, device.verification_uri_complete, user);
  for (;;) {
    const form = { grant_type: DEVICE_GRANT, device_code: device.device_code, client_id: cliClientId };
    const { status, body } = await post<IssuedTokens & { readonly error?: string }>('token', form);
    if (status === 200) return body;
    if (body.error !== 'authorization_pending' && body.error !== 'slow_down') throw new Error(JSON.stringify(body));
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
};

interface Named {
  readonly id: string;
  readonly name?: string;
  readonly username?: string;
}

const SECRET = 'secret-of-the-gateway';
const MAPPERS = [
  {
    name: 'groups',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-group-membership-mapper',
    config: {
      'claim.name': 'groups',
      'full.path': 'true',
      'id.token.claim': 'true',
      'access.token.claim': 'true',
      'introspection.token.claim': 'true',
      'userinfo.token.claim': 'true',
    },
  },
  {
    name: 'for the gateway',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-audience-mapper',
    config: {
      'included.client.audience': 'fairlead-page',
      'access.token.claim': 'true',
      'introspection.token.claim': 'true',
    },
  },
];

/** Sets a realm of Keycloak, or of its imitation, up for Fairlead by its Admin API. */
export const realmIssuer = async (
  { issuerUrl, ca, stop }: Pick<TestIssuer, 'issuerUrl' | 'ca' | 'stop'>,
  adminToken: () => Promise<string>,
  pageUrl = PAGE_URL,
): Promise<TestIssuer> => {
  const base = issuerUrl.replace('/realms/', '/admin/realms/');
  const admin = async <Body>(path: string, method = 'GET', json?: unknown): Promise<Body> => {
    const headers = { authorization: `Bearer ${await adminToken()}` };
    const answer = await askOver(ca, `${base}/${path}`, { method, headers, ...(json === undefined ? {} : { json }) });
    if (answer.status >= 300 && answer.status !== 409)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return (answer.text === '' ? undefined : JSON.parse(answer.text)) as Body;
  };
  const client = { protocol: 'openid-connect', enabled: true, protocolMappers: MAPPERS };
  await admin('clients', 'POST', {
    ...client,
    clientId: 'fairlead-page',
    secret: SECRET,
    publicClient: false,
    standardFlowEnabled: true,
    redirectUris: [`${pageUrl}/sign-in/issuer/callback`],
  });
  await admin('clients', 'POST', {
    ...client,
    clientId: 'fairlead-cli',
    publicClient: true,
    standardFlowEnabled: true,
    redirectUris: ['http://127.0.0.1/callback'],
    attributes: { 'oauth2.device.authorization.grant.enabled': 'true' },
  });
  const ids = new Map<string, string>();
  const idOf = async (kind: 'users' | 'groups', name: string): Promise<string> => {
    const known = ids.get(`${kind} ${name}`);
    if (known !== undefined) return known;
    const body = kind === 'groups' ? { name } : userNamed(name);
    const made = await admin<Named | undefined>(kind, 'POST', body);
    const all = made?.id === undefined ? await admin<readonly Named[]>(kind) : [];
    const id = made?.id ?? all.find((one) => (one.name ?? one.username) === name)?.id ?? '';
    ids.set(`${kind} ${name}`, id);
    return id;
  };
  return {
    issuerUrl,
    ca,
    stop,
    clientId: 'fairlead-page',
    clientSecret: SECRET,
    cliClientId: 'fairlead-cli',
    setMember: async (user, group, isMember) => {
      const path = `users/${await idOf('users', user)}/groups/${await idOf('groups', group)}`;
      await admin(path, isMember ? 'PUT' : 'DELETE', isMember ? {} : undefined);
    },
    setEnabled: async (user, enabled) => {
      const id = await idOf('users', user);
      await admin(`users/${id}`, 'PUT', { ...userNamed(user), enabled });
      if (!enabled) await admin(`users/${id}/logout`, 'POST', {});
    },
  };
};

const userNamed = (username: string) => ({
  username,
  enabled: true,
  email: `${username}@example.test`,
  emailVerified: true,
  firstName: username,
  lastName: 'User',
  credentials: [{ type: 'password', value: `pw-${username}`, temporary: false }],
});

/** The imitation of Keycloak, set up for Fairlead. */
export const startTestIssuer = async (pageUrl?: string): Promise<TestIssuer & Pick<TestIdentity, 'tokenSeconds'>> => {
  const identity = await startTestIdentity();
  const { issuerUrl, ca, clientId, clientSecret, stop } = identity;
  const adminToken = async (): Promise<string> => {
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
    const { text } = await askOver(ca, `${issuerUrl}/protocol/openid-connect/token`, { method: 'POST', form });
    return (JSON.parse(text) as { readonly access_token: string }).access_token;
  };
  const issuer = await realmIssuer({ issuerUrl, ca, stop }, adminToken, pageUrl);
  return {
    ...issuer,
    get tokenSeconds() {
      return identity.tokenSeconds;
    },
    set tokenSeconds(seconds) {
      identity.tokenSeconds = seconds;
    },
  };
};

import type { System } from './system.js';
import { request } from 'node:https';

/** Access to the lab's simulated identity provider. */
export interface LabRealm {
  readonly issuerUrl: string;
  readonly ca: string;
  readonly clientId: string;
}

export const labRealm = async (system: System): Promise<LabRealm> =>
  (await system.lab<LabRealm>('GET', '/v1/identity')).body;

interface RealmRequest {
  readonly method?: string;
  readonly token?: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

interface Answered<Body> {
  readonly status: number;
  readonly body: Body;
}

const ask = <Body>(url: string, ca: string, { method, token, form, json }: RealmRequest): Promise<Answered<Body>> => {
  const sent = form === undefined ? JSON.stringify(json ?? {}) : new URLSearchParams(form).toString();
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': type, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const asked = request(url, { method: method ?? 'GET', ca, headers, timeout: 20_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        const isJson = (response.headers['content-type'] ?? '').includes('json') && text !== '';
        resolve({ status: response.statusCode ?? 0, body: (isJson ? JSON.parse(text) : text) as Body });
      });
    });
    asked.on('error', reject);
    asked.end(method === 'GET' || method === undefined ? undefined : sent);
  });
};

/** The administrator of the realm, who uses its Admin API. */
export const realmAdmin = async ({ issuerUrl, ca, clientId }: LabRealm, clientSecret: string) => {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
  const endpoint = `${issuerUrl}/protocol/openid-connect/token`;
  const { body } = await ask<{ access_token: string }>(endpoint, ca, { method: 'POST', form });
  const base = issuerUrl.replace('/realms/', '/admin/realms/');
  return <Body>(path: string, method = 'GET', json?: unknown): Promise<Answered<Body>> =>
    ask<Body>(`${base}/${path}`, ca, { method, token: body.access_token, json });
};

/** Signs a user in by the device flow, like kubelogin, with a simulated browser. */
export const signIn = async ({ issuerUrl, ca }: LabRealm, clientId: string, username: string): Promise<string> => {
  const post = <Body>(path: string, form: Readonly<Record<string, string>>) =>
    ask<Body>(`${issuerUrl}${path}`, ca, { method: 'POST', form });
  const { body: device } = await post<{ device_code: string; user_code: string }>(
    '/protocol/openid-connect/auth/device',
    { client_id: clientId, scope: 'openid' },
  );
  const grant = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: device.device_code,
    client_id: clientId,
  };
  const early = await post<{ error: string }>('/protocol/openid-connect/token', grant);
  if (early.body.error !== 'authorization_pending') throw new Error(`a token before anyone has signed in`);
  await post('/device', { user_code: device.user_code, username });
  return (await post<{ id_token: string }>('/protocol/openid-connect/token', grant)).body.id_token;
};

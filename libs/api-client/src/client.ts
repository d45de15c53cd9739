import createClient, { type Client, type Middleware } from 'openapi-fetch';
import type { components, paths } from '../generated/openapi.js';

export type Schemas = components['schemas'];

export interface FairleadClientOptions {
  /** The gateway's URL, e.g. `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** An API token. */
  readonly token: string;
  /** A custom fetch, e.g. one with a proxy. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** Every route of the REST API, typed from its OpenAPI document. */
export type FairleadClient = Client<paths>;

const withToken = (token: string): Middleware => ({
  onRequest: ({ request }) => {
    request.headers.set('Authorization', `Bearer ${token}`);
    return request;
  },
});

/**
 * A client of the REST API: `await client.GET('/ns/{namespace}/clusters', { params: { path: { namespace } } })`
 * resolves to `data`, or to `error`, which contains a stable code. It throws only if the gateway is unreachable.
 */
export const createFairleadClient = ({ baseUrl, token, fetch }: FairleadClientOptions): FairleadClient => {
  const client = createClient<paths>({ baseUrl, ...(fetch === undefined ? {} : { fetch }) });
  client.use(withToken(token));
  return client;
};

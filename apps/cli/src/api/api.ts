import { createFairleadClient, type paths } from '@fairlead/api-client';
import type { Access } from './access.js';
import { notFairlead } from './api.failures.js';
import { answering } from './answering.js';

type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

type RouteOf<M extends Method> = {
  [Route in keyof paths]: paths[Route] extends Record<M, { readonly responses: unknown }> ? Route : never;
}[keyof paths];

type OperationOf<M extends Method, Route extends keyof paths> = paths[Route][M];

/** Optional fields may also be undefined, and are then not sent. */
export type Sent<Value> = Value extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Sent<Value[Key]> | (object extends Pick<Value, Key> ? undefined : never) }
    : Value;

type NamesOf<Operation> = Operation extends { readonly parameters: { readonly path: infer Names } }
  ? Readonly<Names>
  : object;

type QueryOf<Operation> = Operation extends { readonly parameters: { readonly query?: infer Query } }
  ? Sent<NonNullable<Query>>
  : never;

type BodyOf<Operation> = Operation extends {
  readonly requestBody: { readonly content: { readonly 'application/json': infer Body } };
}
  ? { readonly body: Sent<Body> }
  : Operation extends { readonly requestBody?: never }
    ? { readonly body?: never }
    : Operation extends { readonly requestBody?: { readonly content: { readonly 'application/json': infer Body } } }
      ? { readonly body?: Sent<Body> }
      : never;

type DataOf<Operation> = Operation extends { readonly responses: infer Responses }
  ? Responses[keyof Responses & (200 | 201 | 202)] extends {
      readonly content: { readonly 'application/json': infer Data };
    }
    ? Data
    : never
  : never;

/** In addition to a route's own parameters: an idempotency key, and how long the server may wait before it responds. */
type AskedOf<Operation> = BodyOf<Operation> & {
  readonly query?: QueryOf<Operation>;
  readonly key?: string;
  readonly waitSeconds?: number;
};

/** Path parameters and other parameters; each is omitted if the route has none. */
type Rest<Operation> = object extends NamesOf<Operation> & AskedOf<Operation>
  ? [names?: NamesOf<Operation>, asked?: AskedOf<Operation>]
  : object extends AskedOf<Operation>
    ? [names: NamesOf<Operation>, asked?: AskedOf<Operation>]
    : [names: NamesOf<Operation>, asked: AskedOf<Operation>];

/** The sequence of a request in the log, and the response. The effects of the request follow asynchronously. */
export interface Accepted<Data = unknown> {
  readonly seq: number;
  readonly data: Data;
}

type Reading<M extends Method> = <Route extends RouteOf<M>>(
  route: Route,
  ...rest: Rest<OperationOf<M, Route>>
) => Promise<DataOf<OperationOf<M, Route>>>;

type Changing<M extends Method> = <Route extends RouteOf<M>>(
  route: Route,
  ...rest: Rest<OperationOf<M, Route>>
) => Promise<Accepted<DataOf<OperationOf<M, Route>>>>;

/**
 * The routes of the REST API through the generated client. Every method throws a `CliFailure` if the response is not
 * successful.
 */
export interface Api {
  readonly access: Access;
  readonly get: Reading<'get'>;
  /** All items of a list, which may have several pages. */
  readonly list: <Route extends RouteOf<'get'>>(
    route: Route,
    ...rest: Rest<OperationOf<'get', Route>>
  ) => Promise<
    DataOf<OperationOf<'get', Route>> extends { readonly items: readonly (infer Item)[] } ? readonly Item[] : never
  >;
  /** A response that is not JSON, such as a kubeconfig. */
  readonly text: <Route extends RouteOf<'get'>>(
    route: Route,
    ...rest: Rest<OperationOf<'get', Route>>
  ) => Promise<string>;
  readonly put: Changing<'put'>;
  readonly post: Changing<'post'>;
  readonly patch: Changing<'patch'>;
  readonly delete: Changing<'delete'>;
}

export const PAGES_MAX = 1_000;

interface RequestOptions {
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly key?: string;
  readonly waitSeconds?: number;
}

/** Path parameters and other parameters. */
type Given = [names?: Readonly<Record<string, unknown>> | undefined, asked?: RequestOptions];

interface ListPage {
  readonly items: readonly unknown[];
  readonly metadata?: { readonly continue: string };
}

export const apiAt = (access: Access): Api => {
  const client = createFairleadClient({ baseUrl: access.server, token: access.token ?? '', fetch: answering(access) });
  const ask = async (method: Method, parseAs: 'json' | 'text', route: string, [names = {}, asked = {}]: Given) => {
    const { query = {}, body, key, waitSeconds } = asked;
    const header = {
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      ...(waitSeconds === undefined ? {} : { Prefer: `wait=${waitSeconds}` }),
    };
    const init = { params: { path: names, query, header }, parseAs, ...(body === undefined ? {} : { body }) };
    // A response that is not JSON throws a SyntaxError; refusals were thrown before.
    const { data, response } = await client
      .request(method as 'get', route as '/version', init as Record<string, unknown>)
      .catch((error: unknown) => {
        throw error instanceof SyntaxError ? notFairlead(access, error) : error;
      });
    if (data === undefined) throw notFairlead(access, new Error('its answer is empty'));
    return { seq: Number(response.headers.get('x-fairlead-seq') ?? 0), data: data as unknown };
  };
  const dataOf = async (route: string, rest: Given) => (await ask('get', 'json', route, rest)).data;
  const list = async (route: string, ...[names, asked = {}]: Given) => {
    const items: unknown[] = [];
    let page: { readonly continue?: string } = {};
    for (let count = 0; count < PAGES_MAX; count += 1) {
      const found = (await dataOf(route, [names, { ...asked, query: { ...asked.query, ...page } }])) as ListPage;
      items.push(...found.items);
      if (found.metadata === undefined) break;
      page = { continue: found.metadata.continue };
    }
    return items;
  };
  const changing =
    (method: Method) =>
    (route: string, ...rest: Given) =>
      ask(method, 'json', route, rest);
  return {
    access,
    get: (route: string, ...rest: Given) => dataOf(route, rest),
    list,
    text: async (route: string, ...rest: Given) => (await ask('get', 'text', route, rest)).data,
    put: changing('put'),
    post: changing('post'),
    patch: changing('patch'),
    delete: changing('delete'),
  } as unknown as Api;
};

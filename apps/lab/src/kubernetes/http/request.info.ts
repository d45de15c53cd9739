import { ApiError } from '../errors/api.error.js';

export type RequestVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export interface ResourceRequest {
  readonly kind: 'resource';
  readonly verb: RequestVerb;
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** The path after a subresource, for a proxy; `/` if there is none. */
  readonly below: string;
  readonly query: URLSearchParams;
}

export interface PathRequest {
  readonly kind: 'path';
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

export type RequestInfo = ResourceRequest | PathRequest;

/** Parses the target of a request from its method and URL, as the API server's RequestInfoFactory does. */
export const requestInfo = (method: string, target: string): RequestInfo => {
  const url = parseTarget(target);
  const parts = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
  const path: PathRequest = { kind: 'path', method, path: url.pathname, query: url.searchParams };
  const [root, ...rest] = parts;
  if (root === 'api' && rest.length >= 2)
    return resource(method, url.searchParams, { group: '', version: rest[0] ?? '', parts: rest.slice(1) });
  if (root === 'apis' && rest.length >= 3) {
    return resource(method, url.searchParams, { group: rest[0] ?? '', version: rest[1] ?? '', parts: rest.slice(2) });
  }
  return path;
};

const parseTarget = (target: string): URL => {
  if (!URL.canParse(target, 'https://kubernetes'))
    throw new ApiError(400, 'BadRequest', `cannot parse the path ${target}`);
  return new URL(target, 'https://kubernetes');
};

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw new ApiError(400, 'BadRequest', `cannot parse the path segment ${part}: ${String(error)}`);
  }
};

interface Located {
  readonly group: string;
  readonly version: string;
  readonly parts: readonly string[];
}

const resource = (method: string, query: URLSearchParams, { group, version, parts }: Located): ResourceRequest => {
  // A namespace object and its own subresources have paths like those of objects in it.
  const inside = parts[0] === 'namespaces' && parts.length > 2 && parts[2] !== 'status' && parts[2] !== 'finalize';
  const namespace = inside ? parts[1] : undefined;
  const [plural = '', name, subresource, ...below] = inside ? parts.slice(2) : parts;
  return {
    kind: 'resource',
    verb: verbOf(method, name, query),
    group,
    version,
    namespace,
    plural,
    name,
    subresource,
    below: `/${below.join('/')}`,
    query,
  };
};

const verbOf = (method: string, name: string | undefined, query: URLSearchParams): RequestVerb => {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
  }
  if (isTrue(query.get('watch'))) return 'watch';
  return name === undefined ? 'list' : 'get';
};

export const isTrue = (value: string | null): boolean => value === 'true' || value === '1';

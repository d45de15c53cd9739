import type { ServerResponse } from 'node:http';
import { noSuchPath } from '../errors/api.error.js';
import {
  aggregatedDiscovery,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  groupsOf,
  versionsOfGroup,
} from '../discovery/discovery.js';
import { openApiV2, openApiV2Protobuf, openApiV3, openApiV3Index } from '../discovery/openapi.js';
import type { ResourceDefinition } from '../resources/resource.js';
import { sendJson, sendText } from './answer.js';
import { parseRange } from './negotiation.js';
import type { PathRequest } from './request.info.js';

export interface PlainPathOptions {
  readonly response: ServerResponse;
  readonly accept: string;
  readonly resources: readonly ResourceDefinition[];
  /** host:port of the responding API server. */
  readonly address: string;
  readonly version: string;
  readonly hasQuorum: boolean;
  readonly metrics: () => string;
}

const HEALTH_ROOTS = ['/healthz', '/livez', '/readyz'];
const HEALTH_CHECKS = [
  'ping',
  'log',
  'etcd',
  'poststarthook/start-apiextensions-controllers',
  'poststarthook/rbac/bootstrap-roles',
  'simulation',
];

/** Paths that need no authentication. */
export const isPublicPath = (path: string): boolean =>
  path === '/version' || HEALTH_ROOTS.some((root) => path === root || path.startsWith(`${root}/`));

/** Handles paths that are not about objects: health, version, discovery, OpenAPI. */
export const handlePath = (info: PathRequest, options: PlainPathOptions): void => {
  const { response, resources } = options;
  const [root = '', first, second] = info.path.split('/').filter((part) => part !== '');
  if (HEALTH_ROOTS.includes(`/${root}`)) return health(info, options);
  switch (root) {
    case 'metrics':
      return sendText(response, 200, options.metrics());
    case 'version':
      return sendJson(response, 200, versionInfo(options.version));
    case 'api':
      return first === undefined ? coreRoot(options) : groupVersionRoot(options, '', first);
    case 'apis':
      if (first === undefined) return groupsRoot(options);
      if (second !== undefined) return groupVersionRoot(options, first, second);
      if (!groupsOf(resources).includes(first)) throw noSuchPath();
      return sendJson(response, 200, { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(resources, first) });
    case 'openapi':
      return openApi(info, options);
    case '':
      return sendJson(response, 200, {
        paths: ['/api', '/apis', ...HEALTH_ROOTS, '/openapi/v2', '/openapi/v3', '/version'],
      });
  }
  throw noSuchPath();
};

const versionInfo = (version: string): object => {
  const [, major = '1', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    major,
    minor,
    gitVersion: version,
    gitCommit: 'simulated',
    gitTreeState: 'simulated by the Fairlead lab',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: 'none (simulation)',
    compiler: 'none (simulation)',
    platform: 'linux/amd64',
  };
};

/** The client's preferred version of apidiscovery.k8s.io, or undefined if it does not accept aggregated discovery. */
const aggregatedVersion = (accept: string): string | undefined =>
  accept
    .split(',')
    .map(parseRange)
    .filter(({ parameters }) => parameters.get('as') === 'APIGroupDiscoveryList')
    .map(({ parameters }) => parameters.get('v'))
    .find((version) => version === 'v2' || version === 'v2beta1');

const sendDiscovery = (
  { response, resources, accept }: PlainPathOptions,
  groups: readonly string[],
  plain: () => object,
): void => {
  const version = aggregatedVersion(accept);
  if (version === undefined) return sendJson(response, 200, plain());
  const text = JSON.stringify(aggregatedDiscovery(resources, groups, version));
  response.writeHead(200, {
    'content-type': `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    vary: 'Accept',
  });
  response.end(text);
};

const coreRoot = (options: PlainPathOptions): void => sendDiscovery(options, [''], () => apiVersions(options.address));

const groupsRoot = (options: PlainPathOptions): void =>
  sendDiscovery(options, groupsOf(options.resources), () => apiGroupList(options.resources));

const groupVersionRoot = ({ response, resources }: PlainPathOptions, group: string, version: string): void => {
  if (!versionsOfGroup(resources, group).includes(version)) throw noSuchPath();
  sendJson(response, 200, apiResourceList(resources, group, version));
};

const health = (info: PathRequest, { response, hasQuorum }: PlainPathOptions): void => {
  const { code, text } = healthAnswer(info.path, info.query, hasQuorum);
  sendText(response, code, text);
};

/** The response of `/healthz`, `/livez` and `/readyz`. */
export const healthAnswer = (
  path: string,
  query: URLSearchParams,
  hasQuorum: boolean,
): { readonly code: number; readonly text: string } => {
  const [root = '', ...rest] = path.split('/').filter((part) => part !== '');
  const one = rest.join('/');
  if (!HEALTH_ROOTS.includes(`/${root}`) || (one !== '' && !HEALTH_CHECKS.includes(one))) throw noSuchPath();
  const excluded = query.getAll('exclude');
  const checks = (one === '' ? HEALTH_CHECKS : [one]).filter((check) => !excluded.includes(check));
  // Without etcd, a server is alive but not ready.
  const failed: readonly string[] = hasQuorum ? [] : checks.filter((check) => check === 'etcd');
  const lines = checks.map((check) =>
    failed.includes(check) ? `[-]${check} failed: etcdserver: no leader` : `[+]${check} ok`,
  );
  const verdict = failed.length === 0 ? `${root} check passed` : `${root} check failed`;
  if (failed.length > 0) return { code: 500, text: `${[...lines, verdict].join('\n')}\n` };
  return { code: 200, text: query.has('verbose') ? `${[...lines, verdict].join('\n')}\n` : 'ok' };
};

const OPENAPI_V2_PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
/**
 * Clients request this type with an "@", which is invalid in a media type: the API server responds with a dot, and Go
 * rejects anything else.
 */
const OPENAPI_V2_ANSWER = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

const openApi = (info: PathRequest, { response, resources, accept }: PlainPathOptions): void => {
  const [, version, root, ...name] = info.path.split('/').filter((part) => part !== '');
  if (version === 'v2' && root === undefined) {
    if (!accept.includes(OPENAPI_V2_PROTOBUF)) return sendJson(response, 200, openApiV2());
    response.writeHead(200, { 'content-type': OPENAPI_V2_ANSWER });
    response.end(openApiV2Protobuf());
    return;
  }
  if (version !== 'v3') throw noSuchPath();
  if (root === undefined) return sendJson(response, 200, openApiV3Index(resources));
  const [group, groupVersion] = root === 'api' ? ['', name[0]] : [name[0] ?? '', name[1]];
  if (groupVersion === undefined || !versionsOfGroup(resources, group ?? '').includes(groupVersion)) throw noSuchPath();
  sendJson(response, 200, openApiV3(resources, group ?? '', groupVersion));
};

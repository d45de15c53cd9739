import {
  clusterFilter,
  type ClusterView,
  type CreatedTokenView,
  type EtcdRequestView,
  type Fact,
  type NodeExecView,
  type OperationList,
  type SecretRef,
  type UpgradeView,
} from '@fairlead/contracts';
import { makeTail } from '@fairlead/event-sourcing/jetstream';
import { NatsSecrets } from '@fairlead/service-kit';
import { RequestMethod } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeKubeconfigs } from '../../../../libs/kubernetes/src/kubeconfig.fixtures.js';
import { mayEverywhere, mayIn, mayInSome, type Identity } from '../access/identity.js';
import { playIssuer, type PlayedIssuer } from '../clusters/issuer.fixtures.js';
import { describeApi } from '../documents/describe.js';
import { request, useGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';
import { recordingOf } from './recording.js';
import { gatewayRoutes, type Route } from './routes.fixtures.js';

const DEMO = '/ns/default/clusters/demo';
const ROLES = ['viewer', 'operator', 'admin'] as const;
type Caller = (typeof ROLES)[number] | 'root';
const CALLERS: readonly Caller[] = [...ROLES, 'root'];
const machines = { connection: 'lab', machineType: 'lab.small' };
const BODIES: Readonly<Record<string, unknown>> = {
  createCluster: request('other'),
  patchManifest: { spec: {} },
  pauseCluster: { reason: 'a look' },
  resumeCluster: { reason: 'done' },
  putClusterTemplate: {
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'ClusterTemplate',
    metadata: { name: 'small' },
    spec: { cluster: { version: '1.34.4', controlPlane: { replicas: 1, ...machines }, pools: machines } },
  },
};

const QUERIES: Readonly<Record<string, string>> = {
  listClusterChanges: '?from=1',
  getBootstrapData: '?server=https://fairlead.example.org',
  getFleetCauses: '?operation=create',
};

/** Places of routes, each of something that there is. */
const places: Record<string, string> = {
  ...{ namespace: 'default', cluster: 'demo', connection: 'lab', node: 'demo-w-1', pool: 'worker-1' },
  ...{ realm: 'company', application: 'grafana', version: 'v1.34.4', template: 'small', generation: '1' },
  ...{ secret: 'inventory', addonSecret: 'database' },
};
const tokens: Record<string, string | undefined> = { root: undefined };
let issuer: PlayedIssuer;
const played = new AbortController();
let playing: Promise<void>;

/** bootstrap-svc's part in commands on nodes and their logs: no node can be reached. */
const playNodes = async (): Promise<void> => {
  const nc = await gateway.environment.connect('bootstrap-svc');
  for await (const event of makeTail(nc)(clusterFilter('default', 'demo'), 0, played.signal)) {
    if (event.type !== 'NodeExecRequested' && event.type !== 'NodeLogsFollowRequested') continue;
    const { uid, requestId, node } = event.data;
    const cause = { operation: 'open a session', target: node, message: 'no route to host' };
    const data = { uid, requestId, node, cause };
    const read = { bytes: 0, skippedLines: 0, tookMs: 0 };
    await (event.type === 'NodeExecRequested'
      ? gateway.state({ type: 'NodeExecFailed', data })
      : gateway.state({ type: 'NodeLogsFollowEnded', data: { ...data, ...read, reason: 'failed' } }));
  }
};

const accepted = async <Body>(method: string, path: string, body?: unknown): Promise<Body> => {
  const answer = await gateway.ask(method, path, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Body;
};

const build = async (): Promise<void> => {
  const { uid } = await accepted<ClusterView>('POST', '/ns/default/clusters', request('demo'));
  for (const fact of CREATE.slice(1))
    await gateway.state(JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact);
  const master = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
  const bootstrap = new NatsSecrets(await gateway.environment.connect('bootstrap-svc'), 'bootstrap-svc', master);
  const { genuine } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
  await bootstrap.put(`bootstrap-svc.kubeconfig.${uid}` as SecretRef, genuine, uid);
};

const gateway = useGateway(async () => {
  await build();
  issuer = await playIssuer(gateway);
  playing = playNodes();
  for (const role of ROLES) {
    const roles = [{ namespace: 'default', role }];
    tokens[role] = (await accepted<CreatedTokenView>('POST', '/tokens', { name: role, roles })).token;
  }
  const realm = { issuerUrl: 'https://id.example.org/realms/team', clientId: 'fairlead', clientSecret: 'x' };
  await accepted('PUT', '/ns/default/realms/company', realm);
  const chart = { repository: 'https://charts.example.org', chart: 'grafana', range: '8.x' };
  await accepted('PUT', '/applications/grafana', chart);
  await accepted('PUT', '/ns/default/cluster-templates/small', BODIES['putClusterTemplate']);
  await accepted('PUT', '/ns/default/hook-secrets/inventory', { value: 'a-value-of-more-than-32-characters' });
  await accepted('PUT', '/ns/default/addon-secrets/database', { values: { password: 'x' } });
  places['request'] = (await accepted<EtcdRequestView>('POST', `${DEMO}/etcd/snapshots`)).id;
  const command = { command: ['uptime'] };
  places['execution'] = (await accepted<NodeExecView>('POST', `${DEMO}/nodes/demo-w-1/exec`, command)).id;
  const upgrade = { version: 'v1.35.4' };
  places['upgrade'] = (await accepted<UpgradeView>('POST', `${DEMO}/upgrades`, upgrade)).id;
  const operations = await accepted<OperationList>('GET', `${DEMO}/operations`);
  places['operation'] = operations.items[0]?.id ?? '';
});

let statuses: ReadonlyMap<string, { readonly id: string; readonly documented: readonly string[] }>;

beforeAll(async () => {
  const { paths } = await describeApi();
  statuses = new Map(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations as Record<string, { operationId: string; responses: object }>).map(
        ([method, { operationId, responses }]) => [
          `${method.toUpperCase()} ${path}`,
          { id: operationId, documented: Object.keys(responses) },
        ],
      ),
    ),
  );
}, 60_000);

afterAll(async () => {
  played.abort();
  await Promise.all([issuer?.stop(), playing]);
});

const inDocument = ({ method, path }: Route): string =>
  `${RequestMethod[method]} /${path
    .split('/')
    .filter((part) => part !== '')
    .join('/')
    .replaceAll(/:(\w+)/g, '{$1}')}`;

const routes = gatewayRoutes().filter(({ refuses }) => refuses !== undefined);
const reads = routes.filter(({ method }) => method === RequestMethod.GET);
/** Deletions last: what there is goes with them. */
const others = routes
  .filter(({ method }) => method !== RequestMethod.GET)
  .toSorted(
    (one, other) => Number(one.method === RequestMethod.DELETE) - Number(other.method === RequestMethod.DELETE),
  );

interface Asked {
  readonly route: string;
  readonly base: string;
  readonly caller: Caller;
  readonly status: number;
  readonly reason: string;
}

/** Asks for a route; a stream or a program is left once it has begun. */
const ask = async (route: Route, base: string, caller: Caller): Promise<Asked> => {
  const named = inDocument(route);
  const [method = '', path = ''] = named.split(' ');
  const { id = '' } = statuses.get(named) ?? {};
  const query = QUERIES[id] ?? '';
  const body = BODIES[id] ?? (method === 'GET' || method === 'DELETE' ? undefined : {});
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => places[name] ?? 'unknown');
  const response = await fetch(`${gateway.baseUrl()}${base}${filled}${query}`, {
    method,
    headers: {
      authorization: `Bearer ${tokens[caller] ?? gateway.token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status } = response;
  const type = response.headers.get('content-type') ?? '';
  const isLeft = type.includes('gzip') || (type.includes('event-stream') && !path.endsWith('/logs/stream'));
  if (isLeft) await response.body?.cancel();
  const text = isLeft ? '' : await response.text();
  const reason = type.includes('json') ? String((JSON.parse(text) as { reason?: unknown }).reason ?? '') : '';
  return { route: named, base, caller, status, reason };
};

const identityOf = (caller: Caller): Identity =>
  ({
    roles: [caller === 'root' ? { namespace: '*', role: 'admin' } : { namespace: 'default', role: caller }],
  }) as unknown as Identity;

const may = ({ access }: Route, caller: Caller): boolean => {
  const identity = identityOf(caller);
  switch (access?.kind) {
    case 'namespace':
      return mayIn(identity, access.role, 'default');
    case 'some-namespace':
      return mayInSome(identity, access.role);
    case 'everywhere':
      return mayEverywhere(identity, access.role);
    case 'authenticated':
    case 'public':
    case undefined:
      return true;
  }
};

/** How a route answers all callers, one after the other. */
const answersOf = async (route: Route, base: string): Promise<readonly Asked[]> => {
  const answers: Asked[] = [];
  for (const caller of CALLERS) answers.push(await ask(route, base, caller));
  return answers;
};

const expectDocumented = (route: Route, answers: readonly Asked[]): void => {
  const { documented = [] } = statuses.get(inDocument(route)) ?? {};
  const odd = answers.filter(({ caller, status, reason }) =>
    may(route, caller)
      ? !documented.includes(String(status)) || reason.startsWith('system.')
      : status !== 403 || reason !== 'auth.role-missing',
  );
  expect(odd).toEqual([]);
};

const reflector = new Reflector();
/** How many events callers have caused. */
const recorded = async (): Promise<number> =>
  (await gateway.log()).filter(({ meta }) => meta.actor.startsWith('user/')).length;

/** What needs another service to be there, a pool whose hosts join, or the program of the agent. */
const ABSENT = [
  'GET /mcir/connections/{connection}/specs 409',
  'GET /applications/{application}/versions/{version} 404',
  'GET /ns/{namespace}/clusters/{cluster}/kubeconfig/oidc 409',
  'GET /ns/{namespace}/clusters/{cluster}/nodes/{node}/logs 503',
  'GET /ns/{namespace}/clusters/{cluster}/pools/{pool}/bootstrap-data 409',
  'GET /join/install.sh 503',
  'GET /join/agent.mjs 503',
  // No issuer is set.
  'GET /sign-in/issuer 404',
  'GET /sign-in/issuer/begin 404',
  'GET /sign-in/issuer/callback 404',
];

describe('every route', () => {
  it('is in the document', () => {
    expect(routes.map(inDocument).filter((name) => !statuses.has(name))).toEqual([]);
    expect(reads.length).toBeGreaterThan(40);
  });

  it.each(reads.map((route) => ({ name: inDocument(route), route })))(
    'answers every role at its bases as documented, and records what it declares: $name',
    async ({ route }) => {
      for (const base of route.bases) {
        const before = await recorded();
        expectDocumented(route, await answersOf(route, base));
        const added = (await recorded()) - before;
        const declared = recordingOf(reflector, route.handler as () => unknown, `${base}/${route.path}`);
        if (declared === 'nothing') expect([base, added]).toEqual([base, 0]);
        // A kubeconfig in an answer below CB-Ladybug's base is issued once, and kept while it lasts.
        else if (route.records === 'access') expect([base, added > 0]).toEqual([base, true]);
      }
    },
    30_000,
  );

  it('that only reads was requested for something that exists, and returned it', async () => {
    const absent = new Set<string>();
    for (const route of reads) {
      const { status } = await ask(route, '', 'root');
      if (status !== 200) absent.add(`${inDocument(route)} ${status}`);
    }
    expect([...absent]).toEqual(ABSENT);
  }, 60_000);

  it.each(others.map((route) => ({ name: inDocument(route), route })))(
    'that changes something answers every role at its bases as documented: $name',
    async ({ route }) => {
      for (const base of route.bases) expectDocumented(route, await answersOf(route, base));
    },
    30_000,
  );
});

import {
  createFairleadClient,
  events as streamEvents,
  nodeLogs as streamNodeLogs,
  type FairleadClient,
  type LogEnd,
  type LogLines,
  type LogsOptions,
  type Schemas,
} from '@fairlead/api-client';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliFailure } from '../failures.js';
import { deadlineAfter } from '../time/deadline.js';
import type { Access } from './access.js';
import { notFairlead, refusalOf, streamFailureOf, unreachable } from './api.failures.js';
import type { Accepted, Api, ClusterAt, EventView, EventsWanted, NodeSelection, Steering } from './api.ports.js';

/** Longer than the gateway's own longest wait for a projection. */
const TIMEOUT_MS = 60_000;
/** Together longer than a gateway that was killed holds the key of a request (10 s). */
const REPEAT_EVERY_MS = 500;
const REPETITIONS_MAX = 40;
const PAGE_SIZE = 1_000;
const PAGES_MAX = 1_000;

/** The commands' requests and questions through the generated client. */
export const clientApi = (access: Access): Api => {
  const client = createFairleadClient({ baseUrl: access.server, token: access.token ?? '', fetch: answering(access) });
  return {
    server: access.server,
    fetch: access.fetch,
    version: () => dataOf(access, client.GET('/version')),
    ...namespaceMethods(access, client),
    ...realmMethods(access, client),
    ...connectionMethods(access, client),
    ...clusterMethods(access, client),
    ...manifestMethods(access, client),
    ...templateMethods(access, client),
    ...nodeMethods(access, client),
    ...actionMethods(access, client),
    ...upgradeMethods(access, client),
    ...etcdMethods(access, client),
    ...autoscalerMethods(access, client),
    ...eventMethods(access, client),
    ...operatorMethods(access, client),
  };
};

/**
 * Sends a request and lets only a success through; everything else is a `CliFailure`. A request that is being carried out already, for
 * another command or by a gateway that was killed, is sent again until it is answered.
 */
const answering =
  (access: Access) =>
  async (request: Request): Promise<Response> => {
    if (access.token === undefined) request.headers.delete('authorization');
    for (let repetitions = 0; ; repetitions += 1) {
      try {
        return await answered(access, request.clone());
      } catch (error) {
        const isUnderWay = error instanceof CliFailure && error.code === 'idempotency.in-progress';
        if (!isUnderWay || repetitions === REPETITIONS_MAX) throw error;
        await sleep(REPEAT_EVERY_MS, undefined, { signal: access.interrupted });
      }
    }
  };

const answered = async (access: Access, request: Request): Promise<Response> => {
  const late = deadlineAfter(TIMEOUT_MS);
  const signal = AbortSignal.any([access.interrupted, late.signal]);
  try {
    const response = await access.fetch(new Request(request, { signal })).catch((error: unknown) => {
      throw access.interrupted.aborted ? error : unreachable(access, error);
    });
    if (!response.ok) throw await refusalOf(response, `${request.method} ${new URL(request.url).pathname}`);
    const body = await response.arrayBuffer(); // Here, while there is a limit.
    return new Response(body.byteLength === 0 ? null : body, response);
  } finally {
    late.clear();
  }
};

interface Answered<Data> {
  readonly data?: Data;
  readonly response: Response;
}

/** What is not JSON throws a SyntaxError; refusals were thrown before. */
const answerOf = async <Data>(
  access: Access,
  asked: Promise<Answered<Data>>,
): Promise<{ data: Data; response: Response }> => {
  const { data, response } = await asked.catch((error: unknown) => {
    throw error instanceof SyntaxError ? notFairlead(access, error) : error;
  });
  if (data === undefined) throw notFairlead(access, new Error('its answer is empty'));
  return { data, response };
};

const dataOf = async <Data>(access: Access, asked: Promise<Answered<Data>>): Promise<Data> =>
  (await answerOf(access, asked)).data;

const itemsOf = async <Item>(
  access: Access,
  asked: Promise<Answered<{ readonly items: Item[] }>>,
): Promise<readonly Item[]> => (await dataOf(access, asked)).items;

interface ListPage<Item> {
  readonly items: Item[];
  readonly metadata?: Schemas['ListMeta'];
}

/** Every item of a list that is answered in pages. */
const allItemsOf = async <Item>(
  access: Access,
  page: (query: { readonly continue?: string }) => Promise<Answered<ListPage<Item>>>,
): Promise<readonly Item[]> => {
  const items: Item[] = [];
  let query: { readonly continue?: string } = {};
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const found = await dataOf(access, page(query));
    items.push(...found.items);
    if (found.metadata === undefined) break;
    query = { continue: found.metadata.continue };
  }
  return items;
};

const acceptedOf = async (access: Access, asked: Promise<Answered<unknown>>): Promise<Accepted> =>
  accepted((await answerOf(access, asked)).response);

/** The position of the request in the log; 0 when the gateway does not say. */
const accepted = (response: Response): Accepted => ({ seq: Number(response.headers.get('x-fairlead-seq') ?? 0) });

const done = async (asked: Promise<unknown>): Promise<void> => {
  await asked;
};

const at = ({ namespace, cluster }: ClusterAt) => ({ params: { path: { namespace, cluster } } });

type NamespaceMethods =
  | 'namespaces'
  | 'createNamespace'
  | 'setNamespaceQuota'
  | 'deleteNamespace'
  | 'hookSecrets'
  | 'putHookSecret'
  | 'deleteHookSecret';

const namespaceMethods = (access: Access, client: FairleadClient): Pick<Api, NamespaceMethods> => ({
  namespaces: () => allItemsOf(access, (query) => client.GET('/ns', { params: { query } })),
  createNamespace: (name, description) => dataOf(access, client.POST('/ns', { body: { name, description } })),
  setNamespaceQuota: (namespace, quota) =>
    dataOf(
      access,
      client.PUT('/ns/{namespace}/quota', { params: { path: { namespace } }, body: quota as Schemas['Quota'] }),
    ),
  deleteNamespace: (namespace) => done(client.DELETE('/ns/{namespace}', { params: { path: { namespace } } })),
  hookSecrets: (namespace) =>
    itemsOf(access, client.GET('/ns/{namespace}/hook-secrets', { params: { path: { namespace } } })),
  putHookSecret: (namespace, secret, value) =>
    dataOf(
      access,
      client.PUT('/ns/{namespace}/hook-secrets/{secret}', {
        params: { path: { namespace, secret } },
        body: { value },
      }),
    ),
  deleteHookSecret: (namespace, secret) =>
    done(client.DELETE('/ns/{namespace}/hook-secrets/{secret}', { params: { path: { namespace, secret } } })),
});

type RealmMethods = 'realms' | 'realm' | 'putRealm' | 'deleteRealm';

const realmMethods = (access: Access, client: FairleadClient): Pick<Api, RealmMethods> => {
  const named = (namespace: string, realm: string) => ({ params: { path: { namespace, realm } } });
  return {
    realms: (namespace) =>
      allItemsOf(access, (query) => client.GET('/ns/{namespace}/realms', { params: { path: { namespace }, query } })),
    realm: (namespace, name) => dataOf(access, client.GET('/ns/{namespace}/realms/{realm}', named(namespace, name))),
    putRealm: (namespace, name, body) =>
      dataOf(access, client.PUT('/ns/{namespace}/realms/{realm}', { ...named(namespace, name), body })),
    deleteRealm: (namespace, realm, force) =>
      done(
        client.DELETE('/ns/{namespace}/realms/{realm}', {
          params: { path: { namespace, realm }, query: force ? { force: 'true' } : {} },
        }),
      ),
  };
};

type ConnectionMethods = Pick<
  Api,
  | 'connections'
  | 'connection'
  | 'specs'
  | 'putConnection'
  | 'verifyConnection'
  | 'acceptHostKey'
  | 'acceptHost'
  | 'rotateSshKey'
  | 'deleteConnection'
  | 'orphans'
  | 'deleteOrphan'
  | 'adoptOrphan'
>;

const connectionMethods = (access: Access, client: FairleadClient): ConnectionMethods => {
  const named = (connection: string) => ({ params: { path: { connection } } });
  return {
    connections: () => allItemsOf(access, (query) => client.GET('/connections', { params: { query } })),
    connection: (name) => dataOf(access, client.GET('/connections/{connection}', named(name))),
    specs: (name) => itemsOf(access, client.GET('/mcir/connections/{connection}/specs', named(name))),
    putConnection: (name, settings) =>
      dataOf(
        access,
        // The generated type wants what has a default, too; the server does not.
        client.PUT('/connections/{connection}', { ...named(name), body: settings as Schemas['ConnectionRequest'] }),
      ),
    verifyConnection: (name) => done(client.POST('/connections/{connection}/verify', named(name))),
    acceptHostKey: (name, host, hostKey) =>
      done(client.POST('/connections/{connection}/accept-host-key', { ...named(name), body: { host, hostKey } })),
    acceptHost: (name, host) =>
      done(client.POST('/connections/{connection}/accept-host', { ...named(name), body: { host } })),
    rotateSshKey: (name, force) =>
      done(client.POST('/connections/{connection}/ssh-key/rotate', { ...named(name), body: force ? { force } : {} })),
    deleteConnection: (name) => done(client.DELETE('/connections/{connection}', named(name))),
    orphans: (name) =>
      allItemsOf(access, (query) =>
        client.GET('/connections/{connection}/orphans', { params: { path: { connection: name }, query } }),
      ),
    adoptOrphan: (connection, orphan, body, key) =>
      acceptedOf(
        access,
        client.POST('/connections/{connection}/orphans/{orphan}/adopt', {
          ...withKey({ connection, orphan }, key),
          body,
        }),
      ),
    deleteOrphan: (name, orphan) =>
      done(
        client.DELETE('/connections/{connection}/orphans/{orphan}', { params: { path: { connection: name, orphan } } }),
      ),
  };
};

const withKey = <Path>(path: Path, key: string) => ({
  params: { path, header: { 'Idempotency-Key': key } },
});

type ClusterMethods =
  | 'clusters'
  | 'cluster'
  | 'clusterAsOf'
  | 'createCluster'
  | 'deleteCluster'
  | 'retryCluster'
  | 'retryNetwork'
  | 'skipHook'
  | 'pauseCluster'
  | 'resumeCluster'
  | 'kubeconfig'
  | 'administratorKubeconfig'
  | 'usersKubeconfig'
  | 'operations';

type TemplateMethods = 'templates' | 'template' | 'putTemplate' | 'deleteTemplate';

const TEMPLATE = '/ns/{namespace}/cluster-templates/{template}';

const templateMethods = (access: Access, client: FairleadClient): Pick<Api, TemplateMethods> => ({
  templates: (namespace) =>
    itemsOf(access, client.GET('/ns/{namespace}/cluster-templates', { params: { path: { namespace } } })),
  template: (path) => dataOf(access, client.GET(TEMPLATE, { params: { path: { ...path } } })),
  putTemplate: (path, manifest, { dryRun }) =>
    dataOf(
      access,
      client.PUT(TEMPLATE, {
        params: { path: { ...path }, query: dryRun ? { dryRun: 'All' } : {} },
        body: manifest as unknown as Schemas['ClusterTemplateManifest'],
      }),
    ),
  deleteTemplate: (path) => done(client.DELETE(TEMPLATE, { params: { path: { ...path } } })),
});

type ManifestMethods = 'manifest' | 'putManifest' | 'putScale';

const manifestMethods = (access: Access, client: FairleadClient): Pick<Api, ManifestMethods> => ({
  manifest: (address, minSeq = 0) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/manifest', {
        params: { ...at(address).params, query: { minSeq } },
      }),
    ),
  putManifest: async (address, manifest, { dryRun, idempotencyKey }) => {
    const { data, response } = await answerOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/manifest', {
        params: {
          path: { ...address },
          query: dryRun ? { dryRun: 'All' } : {},
          header: { 'Idempotency-Key': idempotencyKey },
        },
        body: manifest as unknown as Schemas['ClusterManifest'],
      }),
    );
    return { ...accepted(response), manifest: data };
  },
  putScale: async (address, pool, scale, { dryRun, idempotencyKey }) => {
    const { data, response } = await answerOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/pools/{pool}/scale', {
        params: {
          path: { ...address, pool },
          query: dryRun ? { dryRun: 'All' } : {},
          header: { 'Idempotency-Key': idempotencyKey },
        },
        body: scale,
      }),
    );
    return { ...accepted(response), scale: data };
  },
});

const clusterMethods = (access: Access, client: FairleadClient): Pick<Api, ClusterMethods> => ({
  clusters: (namespace) =>
    allItemsOf(access, (query) => client.GET('/ns/{namespace}/clusters', { params: { path: { namespace }, query } })),
  cluster: (address, minSeq = 0) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}', { params: { ...at(address).params, query: { minSeq } } }),
    ),
  clusterAsOf: (address, moment) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}', { params: { ...at(address).params, query: { at: moment } } }),
    ),
  createCluster: async (namespace, request, key) => {
    // The generated type wants what has a default, too; the server does not.
    const body = request as Schemas['ClusterRequest'];
    const { data, response } = await answerOf(
      access,
      client.POST('/ns/{namespace}/clusters', { ...withKey({ namespace }, key), body }),
    );
    return { ...accepted(response), cluster: data };
  },
  deleteCluster: (address) => acceptedOf(access, client.DELETE('/ns/{namespace}/clusters/{cluster}', at(address))),
  retryCluster: (address) => acceptedOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/retry', at(address))),
  retryNetwork: (address) =>
    dataOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/network/retry', at(address))),
  skipHook: (address, hook, request) =>
    dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/hooks/{hook}/skip', {
        params: { path: { ...address, hook } },
        body: request,
      }),
    ),
  pauseCluster: (address, reason) =>
    dataOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/pause', { ...at(address), body: { reason } })),
  resumeCluster: (address, reason) =>
    dataOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/resume', { ...at(address), body: { reason } })),
  kubeconfig: (address, ttlSeconds) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/kubeconfig', {
        params: { ...at(address).params, query: ttlSeconds === undefined ? {} : { ttlSeconds } },
        parseAs: 'text',
      }),
    ),
  administratorKubeconfig: (address) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/kubeconfig/administrator', { ...at(address), parseAs: 'text' }),
    ),
  usersKubeconfig: (address) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/kubeconfig/oidc', { ...at(address), parseAs: 'text' }),
    ),
  operations: (address, minSeq = 0) =>
    allItemsOf(access, (query) =>
      client.GET('/ns/{namespace}/clusters/{cluster}/operations', {
        params: { path: { ...address }, query: { ...query, minSeq } },
      }),
    ),
});

const nodesQuery = ({ pools, labels }: Pick<NodeSelection, 'pools' | 'labels'>) => ({
  ...(pools === undefined ? {} : { pool: pools.join(',') }),
  ...(labels === undefined
    ? {}
    : {
        labelSelector: Object.entries(labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(','),
      }),
});

type NodeMethods = 'nodes' | 'node' | 'addNodes' | 'abandonNodes' | 'removeNode' | 'cancelRemoval' | 'replaceNode';

const nodeMethods = (access: Access, client: FairleadClient): Pick<Api, NodeMethods> => {
  const named = (address: ClusterAt, node: string) => ({ params: { path: { ...address, node } } });
  return {
    nodes: (address, selection = {}) => {
      const selected = nodesQuery(selection);
      return allItemsOf(access, (query) =>
        client.GET('/ns/{namespace}/clusters/{cluster}/nodes', {
          params: { path: { ...address }, query: { ...query, ...selected } },
        }),
      );
    },
    node: (address, node) =>
      dataOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/nodes/{node}', named(address, node))),
    addNodes: (address, request, key) => {
      const body = request as Schemas['NodesRequest'];
      return acceptedOf(
        access,
        client.POST('/ns/{namespace}/clusters/{cluster}/nodes', { ...withKey(address, key), body }),
      );
    },
    abandonNodes: (address) =>
      acceptedOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/nodes/abandon', at(address))),
    removeNode: (address, node) =>
      acceptedOf(access, client.DELETE('/ns/{namespace}/clusters/{cluster}/nodes/{node}', named(address, node))),
    cancelRemoval: (address, node, reason, key) =>
      acceptedOf(
        access,
        client.POST('/ns/{namespace}/clusters/{cluster}/nodes/{node}/cancel-removal', {
          ...withKey({ ...address, node }, key),
          body: { reason },
        }),
      ),
    replaceNode: (address, node, body, key) =>
      acceptedOf(
        access,
        client.POST('/ns/{namespace}/clusters/{cluster}/nodes/{node}/replace', {
          ...withKey({ ...address, node }, key),
          body,
        }),
      ),
  };
};

type ActionMethods =
  'requestNodeAction' | 'replaceNodes' | 'cancelOperation' | 'execOnNode' | 'nodeExec' | 'nodeLogs' | 'followNodeLogs';

const actionMethods = (access: Access, client: FairleadClient): Pick<Api, ActionMethods> => ({
  requestNodeAction: async (address, fields, key) => {
    const body = fields as Schemas['NodeActionRequest'];
    const { data, response } = await answerOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/nodes/actions', { ...withKey(address, key), body }),
    );
    return { ...accepted(response), asked: data };
  },
  replaceNodes: async (address, fields, key) => {
    const body = fields as Schemas['NodeReplacementsRequest'];
    const { data, response } = await answerOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/nodes/replacements', { ...withKey(address, key), body }),
    );
    return { ...accepted(response), asked: data };
  },
  execOnNode: (address, node, { command, timeoutSeconds }, waitSeconds) => {
    const body = {
      command: [...command],
      ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    } as Schemas['NodeExecRequest'];
    return dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/nodes/{node}/exec', {
        params: { path: { ...address, node }, header: { Prefer: `wait=${waitSeconds}` } },
        body,
      }),
    );
  },
  nodeExec: (address, node, execution, waitSeconds) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/nodes/{node}/exec/{execution}', {
        params: { path: { ...address, node, execution }, header: { Prefer: `wait=${waitSeconds}` } },
      }),
    ),
  nodeLogs: (address, node, query) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/nodes/{node}/logs', {
        params: { path: { ...address, node }, query: query as { unit?: 'kubelet' } },
        parseAs: 'text',
      }),
    ),
  followNodeLogs: (address, node, query, signal) => followedLogs(access, { ...address, node }, { ...query }, signal),
  cancelOperation: (address, operation, reason) =>
    dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/operations/{operation}/cancel', {
        params: { path: { ...address, operation } },
        body: { reason },
      }),
    ),
});

/** Shorter than the time that an answer may take. */
const PLAN_WAIT_SECONDS = 50;

type UpgradeMethods =
  'upgrades' | 'upgrade' | 'requestUpgrade' | 'steerUpgrade' | 'setPoolUpdates' | 'setNodeUpdates' | 'certificates';

const upgradeMethods = (access: Access, client: FairleadClient): Pick<Api, UpgradeMethods> => ({
  upgrades: (address) =>
    allItemsOf(access, (query) =>
      client.GET('/ns/{namespace}/clusters/{cluster}/upgrades', { params: { path: { ...address }, query } }),
    ),
  upgrade: (address, upgrade, minSeq = 0) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', {
        params: { path: { ...address, upgrade }, query: { minSeq } },
      }),
    ),
  requestUpgrade: (address, request, { dryRun, idempotencyKey }) =>
    dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/upgrades', {
        params: {
          path: { ...address },
          query: { dryRun: dryRun ? 'true' : 'false' },
          header: { 'Idempotency-Key': idempotencyKey, Prefer: `wait=${PLAN_WAIT_SECONDS}` },
        },
        // The generated type wants what has a default, too; the server does not.
        body: request as Schemas['UpgradeRequest'],
      }),
    ),
  steerUpgrade: (address, upgrade, steering) =>
    dataOf(access, steered(client, { params: { path: { ...address, upgrade } } }, steering)),
  setPoolUpdates: (address, pool, body) =>
    dataOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/pools/{pool}/updates', {
        params: { path: { ...address, pool } },
        body,
      }),
    ),
  setNodeUpdates: (address, fields) => {
    const body = fields as Schemas['NodeUpdatesRequest'];
    return dataOf(access, client.PUT('/ns/{namespace}/clusters/{cluster}/nodes/updates', { ...at(address), body }));
  },
  certificates: (address) =>
    itemsOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/certificates', at(address))),
});

const steered = (
  client: FairleadClient,
  of: { readonly params: { readonly path: { namespace: string; cluster: string; upgrade: string } } },
  { action, ...body }: Steering,
): Promise<Answered<Schemas['Upgrade']>> => {
  const path = '/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}';
  switch (action) {
    case 'approve':
      return client.POST(`${path}/approve`, { ...of, body: body as Schemas['UpgradeApproval'] });
    case 'pause':
    case 'abort':
      return client.POST(`${path}/${action}`, { ...of, body: body as Schemas['UpgradeReason'] });
    case 'resume':
    case 'retry':
      return client.POST(`${path}/${action}`, of);
    case 'skip':
      return client.POST(`${path}/skip`, { ...of, body: body as Schemas['UpgradeSkip'] });
    case 'rollback':
      return client.POST(`${path}/rollback`, { ...of, body: body as Schemas['UpgradeRollback'] });
    case 'override':
      return client.POST(`${path}/override`, { ...of, body: body as Schemas['UpgradeOverride'] });
  }
};

type EtcdMethods = 'etcdSnapshots' | 'takeEtcdSnapshot' | 'verifyEtcdSnapshot' | 'restoreEtcd' | 'etcdRequest';

const etcdMethods = (access: Access, client: FairleadClient): Pick<Api, EtcdMethods> => ({
  etcdSnapshots: (address) =>
    itemsOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', at(address))),
  takeEtcdSnapshot: (address, key) =>
    dataOf(access, client.POST('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', withKey({ ...address }, key))),
  verifyEtcdSnapshot: (address, snapshot, key) =>
    dataOf(
      access,
      client.POST(
        '/ns/{namespace}/clusters/{cluster}/etcd/snapshots/{snapshot}/verify',
        withKey({ ...address, snapshot }, key),
      ),
    ),
  restoreEtcd: (address, body, key) =>
    dataOf(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/etcd/restore', { ...withKey({ ...address }, key), body }),
    ),
  etcdRequest: (address, request) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/etcd/requests/{request}', {
        params: { path: { ...address, request } },
      }),
    ),
});

const eventMethods = (
  access: Access,
  client: FairleadClient,
): Pick<Api, 'events' | 'followEvents' | 'auditPages' | 'changes'> => ({
  events: (address, { since, types = [] }) => {
    const type = types.length === 0 ? {} : { type: types.join(',') };
    const page = (after: number) =>
      dataOf(
        access,
        client.GET('/ns/{namespace}/clusters/{cluster}/events', {
          params: { path: { ...address }, query: { after, limit: PAGE_SIZE, ...type } },
        }),
      );
    return allEvents(page, since);
  },
  followEvents: (address, which, signal) => followed(access, address, which, signal),
  changes: (address, query) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/changes', { params: { path: { ...address }, query } }),
    ),
  auditPages: (address) =>
    pagesFrom(0, (after) =>
      dataOf(
        access,
        client.GET('/ns/{namespace}/clusters/{cluster}/audit', {
          params: { path: { ...address }, query: { after, limit: PAGE_SIZE } },
        }),
      ),
    ),
});

const allEvents = async (
  page: (after: number) => Promise<Schemas['EventList']>,
  since: number,
): Promise<readonly EventView[]> => {
  const events: EventView[] = [];
  for await (const { items } of pagesFrom(since, page)) events.push(...items);
  return events;
};

/** Yields each page as it arrives, until the end of the log. Older gateways have no pages: their answers have no `next`. */
async function* pagesFrom<Page extends { readonly next?: number | null }>(
  since: number,
  page: (after: number) => Promise<Page>,
): AsyncGenerator<Page> {
  let after = since;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const found = await page(after);
    yield found;
    if (found.next === null || found.next === undefined) return;
    after = found.next;
  }
}

/** However it is left, the connection ends with it: the gateway would keep it open, and could not stop in good order. */
async function* followed(
  access: Access,
  of: ClusterAt,
  { since, types = [] }: EventsWanted,
  signal: AbortSignal,
): AsyncGenerator<EventView> {
  const left = new AbortController();
  const ends = AbortSignal.any([signal, left.signal]);
  try {
    yield* streamEvents({
      baseUrl: access.server,
      token: access.token ?? '',
      of,
      after: since,
      types,
      signal: ends,
      fetch: access.fetch,
    });
  } catch (error) {
    throw streamFailureOf(access, error);
  } finally {
    left.abort();
  }
}

/** However it is left, the connection ends with it: nothing is read on the node any more. */
async function* followedLogs(
  access: Access,
  of: LogsOptions['of'],
  query: LogsOptions['query'],
  signal: AbortSignal,
): AsyncGenerator<LogLines, LogEnd | undefined> {
  const left = new AbortController();
  const { server: baseUrl, token = '', fetch } = access;
  try {
    return yield* streamNodeLogs({ baseUrl, token, of, query, fetch, signal: AbortSignal.any([signal, left.signal]) });
  } catch (error) {
    throw streamFailureOf(access, error);
  } finally {
    left.abort();
  }
}

type AutoscalerMethods = 'autoscalerCredentials' | 'issueAutoscalerCredential' | 'revokeAutoscalerCredential';

const CREDENTIALS = '/ns/{namespace}/clusters/{cluster}/autoscaler/credentials';

const autoscalerMethods = (access: Access, client: FairleadClient): Pick<Api, AutoscalerMethods> => ({
  autoscalerCredentials: (path) => allItemsOf(access, (query) => client.GET(CREDENTIALS, { params: { path, query } })),
  issueAutoscalerCredential: (path, body) => dataOf(access, client.POST(CREDENTIALS, { params: { path }, body })),
  revokeAutoscalerCredential: ({ namespace, cluster }, credential) =>
    done(client.DELETE(`${CREDENTIALS}/{credential}`, { params: { path: { namespace, cluster, credential } } })),
});

type OperatorMethods = 'quarantined' | 'rejected' | 'releaseQuarantined' | 'tokens' | 'createToken' | 'revokeToken';

const operatorMethods = (access: Access, client: FairleadClient): Pick<Api, OperatorMethods> => ({
  quarantined: () => itemsOf(access, client.GET('/quarantine')),
  rejected: async () => (await dataOf(access, client.GET('/quarantine'))).rejected,
  releaseQuarantined: (release) => done(client.POST('/quarantine/release', { body: release })),
  tokens: () => allItemsOf(access, (query) => client.GET('/tokens', { params: { query } })),
  createToken: ({ expiresAt, ...request }) =>
    dataOf(access, client.POST('/tokens', { body: { ...request, ...(expiresAt === undefined ? {} : { expiresAt }) } })),
  revokeToken: (token) => done(client.DELETE('/tokens/{token}', { params: { path: { token } } })),
});

import {
  nodeLogs as streamNodeLogs,
  type FairleadClient,
  type LogEnd,
  type LogLines,
  type LogsOptions,
  type Schemas,
} from '@fairlead/api-client';
import type { Access } from './access.js';
import { streamFailureOf } from './api.failures.js';
import type { Api, ClusterAt, NodeSelection } from './api.ports.js';
import { accepted, acceptedOf, allItemsOf, answerOf, at, dataOf, withKey } from './client.requests.js';

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

type NodeMethods =
  | 'createJoinToken'
  | 'bootstrapData'
  | 'nodes'
  | 'node'
  | 'addNodes'
  | 'abandonNodes'
  | 'removeNode'
  | 'cancelRemoval'
  | 'replaceNode';

export const nodeMethods = (access: Access, client: FairleadClient): Pick<Api, NodeMethods> => {
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
    createJoinToken: ({ pool, ...address }, body, key) =>
      dataOf(
        access,
        client.POST('/ns/{namespace}/clusters/{cluster}/pools/{pool}/join-tokens', {
          ...withKey({ ...address, pool }, key),
          body,
        }),
      ),
    bootstrapData: ({ pool, ...address }, { authority, ...query }) =>
      dataOf(
        access,
        client.GET('/ns/{namespace}/clusters/{cluster}/pools/{pool}/bootstrap-data', {
          params: {
            path: { ...address, pool },
            query: { ...query, ...(authority === undefined ? {} : { authority }) },
          },
        }),
      ),
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

export const actionMethods = (access: Access, client: FairleadClient): Pick<Api, ActionMethods> => ({
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

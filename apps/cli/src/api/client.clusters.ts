import type { FairleadClient, Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { accepted, acceptedOf, allItemsOf, answerOf, at, dataOf, withKey } from './client.requests.js';

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

export const clusterMethods = (access: Access, client: FairleadClient): Pick<Api, ClusterMethods> => ({
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
  operations: async (address, minSeq = 0) => {
    const operations = await allItemsOf(access, (query) =>
      client.GET('/ns/{namespace}/clusters/{cluster}/operations', {
        params: { path: { ...address }, query: { ...query, minSeq } },
      }),
    );
    // An earlier gateway does not say what can be done.
    return operations.map((operation) => ({ ...{ nextActions: [] }, ...operation }));
  },
});

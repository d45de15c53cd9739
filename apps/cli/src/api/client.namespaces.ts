import type { FairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { allItemsOf, dataOf, done, itemsOf } from './client.requests.js';

type NamespaceMethods =
  | 'namespaces'
  | 'createNamespace'
  | 'namespace'
  | 'changeNamespaceQuota'
  | 'deleteNamespace'
  | 'hookSecrets'
  | 'putHookSecret'
  | 'deleteHookSecret';

export const namespaceMethods = (access: Access, client: FairleadClient): Pick<Api, NamespaceMethods> => ({
  namespaces: () => allItemsOf(access, (query) => client.GET('/ns', { params: { query } })),
  createNamespace: (name, description) => dataOf(access, client.POST('/ns', { body: { name, description } })),
  namespace: (namespace) => dataOf(access, client.GET('/ns/{namespace}', { params: { path: { namespace } } })),
  changeNamespaceQuota: (namespace, change) =>
    dataOf(
      access,
      client.PATCH('/ns/{namespace}/quota', {
        params: { path: { namespace } },
        body: change,
      }),
    ),
  deleteNamespace: (namespace) => done(client.DELETE('/ns/{namespace}', { params: { path: { namespace } } })),
  hookSecrets: (namespace) =>
    itemsOf(access, client.GET('/ns/{namespace}/hook-secrets', { params: { path: { namespace } } })),
  putHookSecret: (namespace, secret, body) =>
    dataOf(
      access,
      client.PUT('/ns/{namespace}/hook-secrets/{secret}', {
        params: { path: { namespace, secret } },
        body,
      }),
    ),
  deleteHookSecret: (namespace, secret) =>
    done(client.DELETE('/ns/{namespace}/hook-secrets/{secret}', { params: { path: { namespace, secret } } })),
});

type RealmMethods = 'realms' | 'realm' | 'putRealm' | 'deleteRealm';

export const realmMethods = (access: Access, client: FairleadClient): Pick<Api, RealmMethods> => {
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

import type { FairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { at, dataOf, itemsOf, withKey } from './client.requests.js';

type EtcdMethods = 'etcdSnapshots' | 'takeEtcdSnapshot' | 'verifyEtcdSnapshot' | 'restoreEtcd' | 'etcdRequest';

export const etcdMethods = (access: Access, client: FairleadClient): Pick<Api, EtcdMethods> => ({
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

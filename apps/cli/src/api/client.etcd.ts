import type { FairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { AcceptedEtcdRequest, Api, EtcdRequestView } from './api.ports.js';
import { accepted, answerOf, at, dataOf, itemsOf, withKey, type Answered } from './client.requests.js';

type EtcdMethods = 'etcdSnapshots' | 'takeEtcdSnapshot' | 'verifyEtcdSnapshot' | 'restoreEtcd' | 'etcdRequest';

export const etcdMethods = (access: Access, client: FairleadClient): Pick<Api, EtcdMethods> => ({
  etcdSnapshots: (address) =>
    itemsOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', at(address))),
  takeEtcdSnapshot: (address, key) =>
    acceptedRequest(
      access,
      client.POST('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', withKey({ ...address }, key)),
    ),
  verifyEtcdSnapshot: (address, snapshot, key) =>
    acceptedRequest(
      access,
      client.POST(
        '/ns/{namespace}/clusters/{cluster}/etcd/snapshots/{snapshot}/verify',
        withKey({ ...address, snapshot }, key),
      ),
    ),
  restoreEtcd: (address, body, key) =>
    acceptedRequest(
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

const acceptedRequest = async (
  access: Access,
  asked: Promise<Answered<EtcdRequestView>>,
): Promise<AcceptedEtcdRequest> => {
  const { data, response } = await answerOf(access, asked);
  return { ...accepted(response), asked: data };
};

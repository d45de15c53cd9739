import type { FairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { allItemsOf, dataOf, done, itemsOf } from './client.requests.js';

const CREDENTIALS = '/ns/{namespace}/clusters/{cluster}/autoscaler/credentials';

type AutoscalerMethods = 'autoscalerCredentials' | 'issueAutoscalerCredential' | 'revokeAutoscalerCredential';

export const autoscalerMethods = (access: Access, client: FairleadClient): Pick<Api, AutoscalerMethods> => ({
  autoscalerCredentials: (path) => allItemsOf(access, (query) => client.GET(CREDENTIALS, { params: { path, query } })),
  issueAutoscalerCredential: (path, body) => dataOf(access, client.POST(CREDENTIALS, { params: { path }, body })),
  revokeAutoscalerCredential: ({ namespace, cluster }, credential) =>
    done(client.DELETE(`${CREDENTIALS}/{credential}`, { params: { path: { namespace, cluster, credential } } })),
});

type OperatorMethods = 'quarantined' | 'rejected' | 'releaseQuarantined' | 'tokens' | 'createToken' | 'revokeToken';

export const operatorMethods = (access: Access, client: FairleadClient): Pick<Api, OperatorMethods> => ({
  quarantined: () => itemsOf(access, client.GET('/quarantine')),
  rejected: async () => (await dataOf(access, client.GET('/quarantine'))).rejected,
  releaseQuarantined: (release) => done(client.POST('/quarantine/release', { body: release })),
  tokens: () => allItemsOf(access, (query) => client.GET('/tokens', { params: { query } })),
  createToken: ({ expiresAt, ...request }) =>
    dataOf(access, client.POST('/tokens', { body: { ...request, ...(expiresAt === undefined ? {} : { expiresAt }) } })),
  revokeToken: (token) => done(client.DELETE('/tokens/{token}', { params: { path: { token } } })),
});

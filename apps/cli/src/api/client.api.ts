import { createFairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { applicationMethods } from './client.applications.js';
import { clusterMethods } from './client.clusters.js';
import { connectionMethods } from './client.connections.js';
import { etcdMethods } from './client.etcd.js';
import { eventMethods } from './client.events.js';
import { manifestMethods, templateMethods } from './client.manifests.js';
import { namespaceMethods, realmMethods } from './client.namespaces.js';
import { actionMethods, nodeMethods } from './client.nodes.js';
import { autoscalerMethods, operatorMethods } from './client.operators.js';
import { answering, dataOf } from './client.requests.js';
import { releaseMethods } from './client.releases.js';
import { upgradeMethods } from './client.upgrades.js';

/** The commands' requests and questions through the generated client. */
export const clientApi = (access: Access): Api => {
  const client = createFairleadClient({ baseUrl: access.server, token: access.token ?? '', fetch: answering(access) });
  return {
    server: access.server,
    authority: access.authority,
    fetch: access.fetch,
    whoami: () => dataOf(access, client.GET('/whoami')),
    signInCode: () => dataOf(access, client.POST('/sign-in/codes')),
    version: () => dataOf(access, client.GET('/version')),
    ...namespaceMethods(access, client),
    ...realmMethods(access, client),
    ...applicationMethods(access, client),
    ...releaseMethods(access, client),
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

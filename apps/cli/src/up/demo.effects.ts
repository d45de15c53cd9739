import type { Schemas } from '@fairlead/api-client';
import { eventsOf } from '../api/streams.js';
import type { Api } from '../api/api.js';
import type { ClusterRequest } from '@fairlead/contracts';
import type { ClusterAt } from '../api/views.js';
import { workersBeside } from '../cluster/cluster.request.js';
import { CliFailure } from '../failures.js';
import { DEFAULT_NAMESPACE, DEMO, SITES, type DemoSettings, type Provider } from './up.settings.js';

export const DEMO_AT: ClusterAt = { namespace: DEFAULT_NAMESPACE, cluster: DEMO.cluster };

/** What became of the demo cluster: asked for now, there already, or deleted by its user and left alone. */
export type DemoState = 'requested' | 'exists' | 'was-deleted';

/** Asks for the demo cluster, once in the life of a data folder. */
export const ensureDemo = async (api: Api, provider: Provider, settings: DemoSettings): Promise<DemoState> => {
  if ((await unlessNotFound(api.get('/ns/{namespace}/clusters/{cluster}', DEMO_AT))) !== undefined) return 'exists';
  if ((await unlessNotFound(eventsOf(api, DEMO_AT, { since: 0 })))?.length) return 'was-deleted';
  await api.post(
    '/ns/{namespace}/clusters',
    { namespace: DEMO_AT.namespace },
    { body: demoRequest(provider, settings) as Schemas['ClusterRequest'], key: `fairlead-up-${DEMO.cluster}` },
  );
  return 'requested';
};

const unlessNotFound = async <Found>(asked: Promise<Found>): Promise<Found | undefined> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CliFailure && error.exit === 'not-found') return undefined;
    throw error;
  }
};

export const demoRequest = (
  provider: Provider,
  { controlPlanes, workers, kubernetesVersion, etcd }: DemoSettings,
): ClusterRequest => ({
  name: DEMO.cluster,
  controlPlane: [nodesAt(provider, controlPlanes)],
  ...workersBeside(controlPlanes, workers, nodesAt(provider, workers)),
  serviceType: DEMO.serviceType,
  config: {
    kubernetes: {
      networkCni: DEMO.networkCni,
      ...(kubernetesVersion === undefined ? {} : { version: kubernetesVersion }),
      ...(etcd === 'local' ? {} : { etcd }),
    },
  },
  description: `Created by fairlead up; its machines are ${SITES[provider].machines}`,
});

const nodesAt = (provider: Provider, count: number) => {
  const { connection, spec } = SITES[provider];
  return { connection, count, spec };
};

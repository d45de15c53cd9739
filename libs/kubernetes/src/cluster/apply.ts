import { ApiException } from '@kubernetes/client-node';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Manifest } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';

const FIELD_MANAGER = 'fairlead';
/** API servers serve a new definition some time after it is stored; with several of them it takes each some seconds. */
const SERVED_WITHIN_MS = 20_000;
const POLL_INTERVAL_MS = 100;

const applyOne = (client: KubernetesClient, manifest: Manifest): Promise<void> =>
  client.objects.apply(manifest, FIELD_MANAGER);

const isNotServed = (error: unknown): boolean =>
  (error instanceof ApiException && error.code === 404) ||
  (error instanceof Error && error.message.startsWith('Unrecognized API version and kind'));

const whenServed = async (client: KubernetesClient, manifest: Manifest): Promise<void> => {
  const deadline = Date.now() + SERVED_WITHIN_MS;
  for (;;) {
    try {
      await applyOne(client, manifest);
      return;
    } catch (error) {
      if (!isNotServed(error) || Date.now() >= deadline) throw error;
    }
    await sleep(POLL_INTERVAL_MS);
  }
};

const groupOf = ({ kind, spec }: Manifest): readonly string[] =>
  kind === 'CustomResourceDefinition' ? [(spec as { readonly group: string }).group] : [];

/** See ClusterApi.apply. */
export const applyAll = async (client: KubernetesClient, manifests: readonly Manifest[]): Promise<void> => {
  const defined = new Set(manifests.flatMap(groupOf));
  for (const manifest of manifests) {
    const isCustom = defined.has(manifest.apiVersion.split('/')[0] ?? '');
    await client.call(`apply ${manifest.kind} ${manifest.metadata.name}`, async () => {
      await (isCustom ? whenServed(client, manifest) : applyOne(client, manifest));
    });
  }
};

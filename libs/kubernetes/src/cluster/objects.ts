import { ExternalFailure } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Manifest } from '../cluster.ports.js';
import { statusOf, type KubernetesClient } from '../kubernetes.client.js';
import { differenceOf } from './object.difference.js';

/** Only for comparisons: nothing is applied under this name. */
const COMPARING_MANAGER = 'fairlead-comparison';
const GONE_WITHIN_MS = 60_000;
const POLL_INTERVAL_MS = 200;

const wordsOf = ({ kind, metadata: { name, namespace } }: Manifest): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

/** Kinds can be defined in the cluster, and their definitions can disappear. */
const isKnown = async (client: KubernetesClient, manifest: Manifest): Promise<boolean> =>
  (await client.call(`look up ${manifest.kind}`, () => client.objects.isNamespaced(manifest))) !== undefined;

/** See ClusterApi.placed. */
export const placed = async (
  client: KubernetesClient,
  manifests: readonly Manifest[],
  namespace: string,
): Promise<readonly Manifest[]> => {
  const found: Manifest[] = [];
  for (const manifest of manifests) {
    const isNamespaced = await client.call(`look up ${manifest.kind}`, () => client.objects.isNamespaced(manifest));
    const { namespace: own, ...metadata } = manifest.metadata;
    // The cluster does not know this kind yet.
    if (isNamespaced === undefined) found.push(manifest);
    else found.push({ ...manifest, metadata: isNamespaced ? { ...metadata, namespace: own ?? namespace } : metadata });
  }
  return found;
};

/** What the API rejects even as a dry run, e.g. because a webhook has side effects, is not compared. */
const differingField = (
  client: KubernetesClient,
  manifest: Manifest,
  live: Readonly<Record<string, unknown>>,
): Promise<string | undefined> =>
  client.call(`compare ${wordsOf(manifest)}`, async () => {
    try {
      return differenceOf(live, await client.objects.dryRun(manifest, COMPARING_MANAGER));
    } catch (error) {
      const status = statusOf(error) ?? 0;
      if (status >= 400 && status < 500) return undefined;
      throw error;
    }
  });

/** See ClusterApi.differences. */
export const differences = async (
  client: KubernetesClient,
  manifests: readonly Manifest[],
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const manifest of manifests) {
    const words = wordsOf(manifest);
    const live = (await isKnown(client, manifest))
      ? await client.find(`read ${words}`, () => client.objects.find(manifest))
      : undefined;
    if (live === undefined) found.push(`${words} does not exist`);
    else {
      const field = await differingField(client, manifest, live);
      if (field !== undefined) found.push(`${words} differs in ${field}`);
    }
  }
  return found;
};

const untilGone = async (client: KubernetesClient, manifest: Manifest, deadline: number): Promise<void> => {
  const words = wordsOf(manifest);
  // Deleting its definition deletes an object, too.
  while (await isKnown(client, manifest)) {
    if ((await client.find(`read ${words}`, () => client.objects.find(manifest))) === undefined) return;
    const message = `it is still there after ${GONE_WITHIN_MS / 1_000} s`;
    if (Date.now() >= deadline)
      throw new ExternalFailure({ operation: `delete ${words}`, target: 'the cluster', message });
    await sleep(POLL_INTERVAL_MS);
  }
};

/** See ClusterApi.deleteObjects. */
export const deleteObjects = async (client: KubernetesClient, manifests: readonly Manifest[]): Promise<void> => {
  const deleted: Manifest[] = [];
  for (const manifest of manifests) {
    if (!(await isKnown(client, manifest))) continue;
    await client.find(`delete ${wordsOf(manifest)}`, () => client.objects.remove(manifest));
    deleted.push(manifest);
  }
  const deadline = Date.now() + GONE_WITHIN_MS;
  for (const manifest of deleted) await untilGone(client, manifest, deadline);
};

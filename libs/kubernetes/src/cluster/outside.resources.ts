import type { V1PersistentVolume, V1PersistentVolumeClaim, V1Pod, V1Service } from '@kubernetes/client-node';
import type { KubernetesClient } from '../kubernetes.client.js';
import { textOf, type Listed, type ObjectMetadata } from '../plain.object.js';

/** A provisioner created the volume, and deletes it with its claim. */
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

const isDeletedWithItsClaim = ({ metadata, spec }: Listed<V1PersistentVolume>): boolean =>
  spec?.persistentVolumeReclaimPolicy === 'Delete' &&
  spec.claimRef !== undefined &&
  metadata.annotations?.[PROVISIONED_BY] !== undefined;

const keyOf = (namespace: string | undefined, name: string | undefined): string => `${namespace ?? ''}/${name ?? ''}`;

/** Maximum deletions of a kind before the lists are read again. */
const DELETED_MAX = 500;

interface Found {
  readonly namespace: string;
  readonly name: string;
  /** Its deletion was already requested. */
  readonly deleting: boolean;
}

const foundOf = ({ name, namespace = '', deletionTimestamp }: ObjectMetadata): Found => ({
  namespace,
  name,
  deleting: deletionTimestamp !== undefined && deletionTimestamp !== null,
});

const deleteAll = async (
  client: KubernetesClient,
  kind: string,
  found: readonly Found[],
  remove: (at: { readonly namespace: string; readonly name: string }) => Promise<unknown>,
): Promise<void> => {
  for (const { namespace, name } of found.filter(({ deleting }) => !deleting).slice(0, DELETED_MAX))
    await client.find(`delete ${kind} ${namespace}/${name}`, () => remove({ namespace, name }));
};

const releaseLoadBalancers = async (client: KubernetesClient): Promise<readonly string[]> => {
  const holding = await client.listAll<V1Service, Found>(
    { operation: 'list services', path: '/api/v1/services' },
    ({ metadata, spec }) => (spec?.type === 'LoadBalancer' ? foundOf(metadata) : undefined),
  );
  await deleteAll(client, 'service', holding, (at) => client.core.deleteNamespacedService(at));
  return holding.map(({ namespace, name }) => `Service ${keyOf(namespace, name)}`);
};

const deleteClaims = async (client: KubernetesClient, claims: ReadonlySet<string>): Promise<void> => {
  const found = await client.listAll<V1PersistentVolumeClaim, Found>(
    { operation: 'list claims', path: '/api/v1/persistentvolumeclaims', metadataOnly: true },
    ({ metadata }) => (claims.has(keyOf(metadata.namespace, metadata.name)) ? foundOf(metadata) : undefined),
  );
  await deleteAll(client, 'claim', found, (at) => client.core.deleteNamespacedPersistentVolumeClaim(at));
};

const uses = ({ metadata, spec }: Listed<V1Pod>, claims: ReadonlySet<string>): boolean =>
  spec?.volumes?.some(
    ({ name: volume, persistentVolumeClaim: claim, ephemeral }) =>
      (claim !== undefined && claims.has(keyOf(metadata.namespace, claim.claimName))) ||
      (ephemeral !== undefined && claims.has(keyOf(metadata.namespace, `${metadata.name}-${volume}`))),
  ) ?? false;

/** A claim exists as long as a pod uses it, and no pod is started with one that is being deleted. */
const deletePodsOf = async (client: KubernetesClient, claims: ReadonlySet<string>): Promise<void> => {
  const using = await client.listAll<V1Pod, Found>({ operation: 'list pods', path: '/api/v1/pods' }, (pod) =>
    uses(pod, claims) ? foundOf(pod.metadata) : undefined,
  );
  await deleteAll(client, 'pod', using, (at) => client.core.deleteNamespacedPod(at));
};

interface Volume {
  readonly name: string;
  readonly claim: string;
}

const releaseVolumes = async (client: KubernetesClient): Promise<readonly string[]> => {
  const volumes = await client.listAll<V1PersistentVolume, Volume>(
    { operation: 'list volumes', path: '/api/v1/persistentvolumes' },
    (volume) => {
      const { claimRef } = volume.spec ?? {};
      if (!isDeletedWithItsClaim(volume)) return undefined;
      return { name: volume.metadata.name, claim: keyOf(textOf(claimRef?.namespace), textOf(claimRef?.name)) };
    },
  );
  const used = new Set(volumes.map(({ claim }) => claim));
  if (used.size > 0) {
    await deleteClaims(client, used);
    await deletePodsOf(client, used);
  }
  return volumes.map(({ name }) => `PersistentVolume ${name}`);
};

/**
 * Requests the controllers of a cluster to release resources outside its machines. Returns what they have not released
 * yet.
 */
export const releaseOutside = async (client: KubernetesClient): Promise<readonly string[]> => [
  ...(await releaseLoadBalancers(client)),
  ...(await releaseVolumes(client)),
];

import type { V1PersistentVolume } from '@kubernetes/client-node';
import type { KubernetesClient } from '../kubernetes.client.js';

/** A provisioner made the volume, and deletes it when its claim is gone. */
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';

const isDeletedWithItsClaim = ({ metadata, spec }: V1PersistentVolume): boolean =>
  spec?.persistentVolumeReclaimPolicy === 'Delete' &&
  spec.claimRef !== undefined &&
  metadata?.annotations?.[PROVISIONED_BY] !== undefined;

const keyOf = (namespace: string | undefined, name: string | undefined): string => `${namespace ?? ''}/${name ?? ''}`;

const releaseLoadBalancers = async (client: KubernetesClient): Promise<readonly string[]> => {
  const services = await client.listAll('list services', (at) => client.core.listServiceForAllNamespaces(at));
  const holding = services.filter(({ spec }) => spec?.type === 'LoadBalancer');
  for (const { metadata } of holding) {
    const { name = '', namespace = '', deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp !== undefined) continue;
    await client.find(`delete service ${namespace}/${name}`, () =>
      client.core.deleteNamespacedService({ name, namespace }),
    );
  }
  return holding.map(({ metadata }) => `Service ${keyOf(metadata?.namespace, metadata?.name)}`);
};

const deleteClaims = async (client: KubernetesClient, claims: ReadonlySet<string>): Promise<void> => {
  const found = await client.listAll('list claims', (at) => client.core.listPersistentVolumeClaimForAllNamespaces(at));
  for (const { metadata } of found) {
    const { name = '', namespace = '', deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp !== undefined || !claims.has(keyOf(namespace, name))) continue;
    await client.find(`delete claim ${namespace}/${name}`, () =>
      client.core.deleteNamespacedPersistentVolumeClaim({ name, namespace }),
    );
  }
};

/** A claim lasts as long as a pod uses it, and no pod is started with one that is being deleted. */
const deletePodsOf = async (client: KubernetesClient, claims: ReadonlySet<string>): Promise<void> => {
  const pods = await client.listAll('list pods', (at) => client.core.listPodForAllNamespaces(at));
  const using = pods.filter(({ metadata, spec }) =>
    spec?.volumes?.some(
      ({ name: volume, persistentVolumeClaim: claim, ephemeral }) =>
        (claim !== undefined && claims.has(keyOf(metadata?.namespace, claim.claimName))) ||
        (ephemeral !== undefined && claims.has(keyOf(metadata?.namespace, `${metadata?.name}-${volume}`))),
    ),
  );
  for (const { metadata } of using) {
    const { name = '', namespace = '', deletionTimestamp } = metadata ?? {};
    if (deletionTimestamp !== undefined) continue;
    await client.find(`delete pod ${namespace}/${name}`, () => client.core.deleteNamespacedPod({ name, namespace }));
  }
};

const releaseVolumes = async (client: KubernetesClient): Promise<readonly string[]> => {
  const volumes = (await client.listAll('list volumes', (at) => client.core.listPersistentVolume(at))).filter(
    isDeletedWithItsClaim,
  );
  const used = new Set(volumes.map(({ spec }) => keyOf(spec?.claimRef?.namespace, spec?.claimRef?.name)));
  if (used.size > 0) {
    await deleteClaims(client, used);
    await deletePodsOf(client, used);
  }
  return volumes.map(({ metadata }) => `PersistentVolume ${metadata?.name}`);
};

/** Asks the controllers of a cluster to release what it holds outside its machines. Answers with what they have yet to release. */
export const releaseOutside = async (client: KubernetesClient): Promise<readonly string[]> => [
  ...(await releaseLoadBalancers(client)),
  ...(await releaseVolumes(client)),
];

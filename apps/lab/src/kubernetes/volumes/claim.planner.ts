import { create, event, remove, replace, type Operation } from '../operations/operation.js';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../objects/core.types.js';
import type { Draft } from '../objects/kube.object.js';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '../resources/builtin.resources.js';

export interface ClaimWorld {
  readonly claim: PersistentVolumeClaim;
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
}

/** A claim with a storage class gets a volume at once, whatever the provisioner is, because no data is stored. */
export const planClaim = ({ claim, volumes, classes }: ClaimWorld): readonly Operation[] => {
  if (claim.metadata.deletionTimestamp !== undefined || claim.status?.phase === 'Bound') return [];
  const desired = classes.find(({ metadata }) => metadata.name === claim.spec.storageClassName);
  if (desired === undefined) return [];
  const name = claim.spec.volumeName ?? `pvc-${claim.metadata.uid}`;
  const volume = volumes.find(({ metadata }) => metadata.name === name);
  const { accessModes, resources } = claim.spec;
  const status = { ...claim.status, phase: 'Bound', accessModes, capacity: resources?.requests };
  return [
    ...(volume === undefined
      ? [create(PERSISTENT_VOLUMES, volumeFor(claim, desired, name), `${claim.metadata.name} claims it`)]
      : []),
    replace(
      PERSISTENT_VOLUME_CLAIMS,
      { ...claim, spec: { ...claim.spec, volumeName: name }, status },
      'it has its volume',
    ),
    event(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${name} (simulated)`),
  ];
};

/** Deletes the volumes of a deleted claim, except those with the reclaim policy Retain. */
export const planRelease = (
  claim: { readonly namespace: string | undefined; readonly name: string },
  volumes: readonly PersistentVolume[],
): readonly Operation[] =>
  volumes
    .filter(
      ({ spec: { claimRef, persistentVolumeReclaimPolicy: policy } }) =>
        policy === 'Delete' && claimRef?.namespace === claim.namespace && claimRef?.name === claim.name,
    )
    .map((volume) => remove(PERSISTENT_VOLUMES, volume, 'its claim is gone'));

const volumeFor = (
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  name: string,
): Draft<PersistentVolume> => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name, annotations: { 'pv.kubernetes.io/provisioned-by': storageClass.provisioner } },
  spec: {
    ...(claim.spec.resources?.requests === undefined ? {} : { capacity: claim.spec.resources.requests }),
    ...(claim.spec.accessModes === undefined ? {} : { accessModes: claim.spec.accessModes }),
    persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
    storageClassName: storageClass.metadata.name,
    claimRef: { namespace: claim.metadata.namespace ?? '', name: claim.metadata.name, uid: claim.metadata.uid },
  },
  status: { phase: 'Bound' },
});

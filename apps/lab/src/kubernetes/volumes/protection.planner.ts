import { replace, type Operation } from '../operations/operation.js';
import type { PersistentVolumeClaim, Pod } from '../objects/core.types.js';
import { PERSISTENT_VOLUME_CLAIMS } from '../resources/builtin.resources.js';

export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';

export interface ProtectionWorld {
  readonly claim: PersistentVolumeClaim;
  /** Pods in the claim's namespace. */
  readonly pods: readonly Pod[];
}

/** The names of a pod's claims, including those of its ephemeral volumes. */
export const claimsOf = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => [
    ...(persistentVolumeClaim === undefined ? [] : [persistentVolumeClaim.claimName]),
    ...(ephemeral === undefined ? [] : [`${metadata.name}-${name}`]),
  ]);

/** A deleted claim is kept until no scheduled pod uses it. */
export const planProtection = ({ claim, pods }: ProtectionWorld): readonly Operation[] => {
  const { deletionTimestamp, finalizers = [], name } = claim.metadata;
  const isProtected = finalizers.includes(CLAIM_PROTECTION);
  if (deletionTimestamp === undefined)
    return isProtected ? [] : [withFinalizers(claim, [...finalizers, CLAIM_PROTECTION], 'pods may use it')];
  const isUsed = pods.some((pod) => (pod.spec.nodeName ?? '') !== '' && claimsOf(pod).includes(name));
  if (!isProtected || isUsed) return [];
  const others = finalizers.filter((one) => one !== CLAIM_PROTECTION);
  return [withFinalizers(claim, others, 'no pod uses it any more')];
};

const withFinalizers = (claim: PersistentVolumeClaim, finalizers: readonly string[], reason: string): Operation =>
  replace(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata: { ...claim.metadata, finalizers } }, reason);

import { FOREGROUND_FINALIZER } from '../api/deletion.js';
import { remove, removeInForeground, replace, type Operation } from '../operations/operation.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';

/** An object and its resource. */
export interface Located {
  readonly resource: ResourceDefinition;
  readonly object: KubeObject;
}

export interface GarbageWorld {
  readonly uid: string;
  /** The owner with that UID; `unknown` if its type is not served, so that its existence cannot be checked. */
  readonly owner: Located | 'gone' | 'unknown';
  /** The objects that have it as an owner. */
  readonly dependents: readonly Located[];
}

/**
 * Kubernetes' garbage collector: the dependents of a deleted owner are deleted too; an owner with foreground deletion
 * is deleted after its dependents.
 */
export const planGarbage = ({ uid, owner, dependents }: GarbageWorld): readonly Operation[] => {
  if (owner === 'unknown') return [];
  if (owner === 'gone') return dependents.flatMap((dependent) => release(dependent, uid));
  if (!isForeground(owner.object)) return [];
  if (dependents.length > 0) {
    return dependents
      .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
      .map(({ resource, object }) => removeInForeground(resource, object, 'its owner is being deleted'));
  }
  const finalizers = (owner.object.metadata.finalizers ?? []).filter((name) => name !== FOREGROUND_FINALIZER);
  const freed = { ...owner.object, metadata: { ...owner.object.metadata, finalizers } };
  return [replace(owner.resource, freed, 'its dependents are gone')];
};

export const isForeground = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true;

/** A dependent that has another owner only loses the reference to this one. */
const release = ({ resource, object }: Located, uid: string): readonly Operation[] => {
  const left = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
  if (left.length > 0) {
    const metadata = { ...object.metadata, ownerReferences: left };
    return [replace(resource, { ...object, metadata }, 'one of its owners is gone')];
  }
  return object.metadata.deletionTimestamp === undefined ? [remove(resource, object, 'its owner is gone')] : [];
};

import { FOREGROUND_FINALIZER } from '../api/deletion.js';
import { remove, removeInForeground, replace, type Operation } from '../operations/operation.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';

/** An object and the resource that it belongs to. */
export interface Located {
  readonly resource: ResourceDefinition;
  readonly object: KubeObject;
}

export interface GarbageWorld {
  readonly uid: string;
  /** The owner of that uid; `unknown` when its type is not served, so that its existence cannot be checked. */
  readonly owner: Located | 'gone' | 'unknown';
  /** The objects that name it as an owner. */
  readonly dependents: readonly Located[];
}

/**
 * Kubernetes' garbage collector: dependents of an owner that is gone go too, and an owner that is deleted in the foreground goes after them.
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

/** A dependent with another owner left only loses this one. */
const release = ({ resource, object }: Located, uid: string): readonly Operation[] => {
  const left = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
  if (left.length > 0) {
    const metadata = { ...object.metadata, ownerReferences: left };
    return [replace(resource, { ...object, metadata }, 'one of its owners is gone')];
  }
  return object.metadata.deletionTimestamp === undefined ? [remove(resource, object, 'its owner is gone')] : [];
};

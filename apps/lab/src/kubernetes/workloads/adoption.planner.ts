import { replace, type Operation } from '../operations/operation.js';
import { matchesSelector, type LabelSelector } from '../objects/label.selector.js';
import { controllerOf, controllerReference, type KubeObject } from '../objects/kube.object.js';
import type { Resource } from '../resources/resource.js';

/**
 * Objects without a controller that match the owner's selector: the controller adopts them instead of creating new
 * ones.
 */
export const planAdoption = <T extends KubeObject>(
  owner: KubeObject & { readonly spec: { readonly selector: LabelSelector } },
  resource: Resource<T>,
  candidates: readonly T[],
): readonly Operation[] => {
  if (owner.metadata.deletionTimestamp !== undefined) return [];
  return candidates
    .filter((object) => controllerOf(object) === undefined && object.metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => metadata.labels !== undefined && matchesSelector(owner.spec.selector, metadata.labels))
    .map((object) => {
      const ownerReferences = [...(object.metadata.ownerReferences ?? []), controllerReference(owner)];
      return replace(
        resource,
        { ...object, metadata: { ...object.metadata, ownerReferences } },
        `${owner.metadata.name} selects it`,
      );
    });
};

import { isForeground, planGarbage, type Located } from '../garbage/garbage.planner.js';
import type { Namespace } from '../objects/core.types.js';
import { objectKey } from '../objects/kube.object.js';
import { NAMESPACES } from '../resources/builtin.resources.js';
import type { ResourceRegistry } from '../resources/resource.registry.js';
import type { ObjectStore } from '../store/object.store.js';
import type { Controller } from './controller.js';
import { remove } from '../operations/operation.js';
import { concerns, type World } from './world.js';

/** Owners and their dependents. Keys are owner UIDs. */
export const garbageController = ({ store }: World, registry: ResourceRegistry): Controller => {
  /** Owners that wait for their dependents: after the last dependent is gone, no other reference to them remains. */
  const waiting = new Map<string, Located>();
  const note = ({ resource, object }: Located): readonly string[] => {
    if (!isForeground(object)) return [];
    waiting.set(object.metadata.uid, { resource, object });
    return [object.metadata.uid];
  };
  return {
    name: 'garbage-collector',
    keysFor: (change) => {
      if (change.type !== 'DELETED') return note(change);
      const { uid, ownerReferences = [] } = change.object.metadata;
      waiting.delete(uid);
      return [uid, ...ownerReferences.map((owner) => owner.uid).filter((owner) => waiting.has(owner))];
    },
    allKeys: () => {
      const all = registry.all().flatMap((resource) => store.list(resource).map((object) => ({ resource, object })));
      return [...new Set([...all.flatMap(note), ...store.ownerUids()])];
    },
    plan: (uid) => {
      const dependents = store.dependentsOf(uid);
      const known = waiting.get(uid);
      const owner =
        known === undefined ? ownerOf(uid, dependents, { store, registry }) : (stored(known, store) ?? 'gone');
      return planGarbage({ uid, owner, dependents });
    },
  };
};

interface Places {
  readonly store: ObjectStore;
  readonly registry: ResourceRegistry;
}

/** The owner that the owner reference of a dependent refers to. */
const ownerOf = (
  uid: string,
  [dependent]: readonly Located[],
  { store, registry }: Places,
): Located | 'gone' | 'unknown' => {
  const reference = dependent?.object.metadata.ownerReferences?.find((owner) => owner.uid === uid);
  if (dependent === undefined || reference === undefined) return 'unknown';
  const resource = registry.findKind(reference.apiVersion, reference.kind);
  if (resource === undefined) return 'unknown';
  const namespace = resource.namespaced ? dependent.object.metadata.namespace : undefined;
  const object = store.get(resource, namespace, reference.name);
  return object?.metadata.uid === uid ? { resource, object } : 'gone';
};

/** The current state of a known object. */
const stored = ({ resource, object }: Located, store: ObjectStore): Located | undefined => {
  const present = store.get(resource, object.metadata.namespace, object.metadata.name);
  return present?.metadata.uid === object.metadata.uid ? { resource, object: present } : undefined;
};

/** Deleting a namespace deletes everything in it first. */
export const namespaceController = ({ store }: World, registry: ResourceRegistry): Controller => {
  const terminating = (): readonly Namespace[] =>
    store.list(NAMESPACES).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return {
    name: 'namespace-controller',
    keysFor: (change) => {
      if (concerns(change, NAMESPACES)) return change.type === 'DELETED' ? [] : [objectKey(change.object)];
      if (change.type !== 'DELETED' || change.object.metadata.namespace === undefined) return [];
      return terminating()
        .filter(({ metadata }) => metadata.name === change.object.metadata.namespace)
        .map(objectKey);
    },
    allKeys: () => store.list(NAMESPACES).map(objectKey),
    plan: (key) => {
      const namespace = terminating().find((candidate) => objectKey(candidate) === key);
      if (namespace === undefined) return [];
      const contents = registry
        .all()
        .filter(({ namespaced }) => namespaced)
        .flatMap((resource) => store.list(resource, namespace.metadata.name).map((object) => ({ resource, object })));
      if (contents.length > 0) {
        return contents
          .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
          .map(({ resource, object }) => remove(resource, object, 'its namespace is being deleted'));
      }
      return [{ do: 'finalize', resource: NAMESPACES, object: namespace }];
    },
  };
};

import type { ComponentFlags } from '../controlplane/static.pods.planner.js';
import type { Clock } from '../clock/clock.js';
import type { SimulationDelays } from '../clock/simulation.delays.js';
import type { Kubelets } from '../nodes/kubelets.js';
import type { Pod } from '../objects/core.types.js';
import { controllerOf, isControlledBy, objectKey, splitKey, type KubeObject } from '../objects/kube.object.js';
import { PODS } from '../resources/builtin.resources.js';
import { qualifiedName, type Resource, type ResourceDefinition } from '../resources/resource.js';
import type { Change, ObjectStore } from '../store/object.store.js';

/** The state that the controllers of a cluster read. */
export interface World {
  readonly store: ObjectStore;
  readonly kubelets: Kubelets;
  readonly clock: Clock;
  readonly delays: SimulationDelays;
  readonly pods: PodIndex;
  /** The version of the static pods of each control plane. */
  readonly controlPlaneVersions: ReadonlyMap<string, string>;
  /** Flags in addition to those of kubeadm, if any. */
  readonly controlPlaneFlags: ReadonlyMap<string, ComponentFlags>;
  readonly externalEtcd: boolean;
  /** Images of the etcd tools pods, by node. */
  readonly etcdctlImages: ReadonlyMap<string, string>;
}

/** The pods of each node, kept up to date so that controllers need not search all pods. */
export class PodIndex {
  private readonly byNode = new Map<string, Map<string, Pod>>();

  constructor(private readonly store: ObjectStore) {
    for (const pod of store.list(PODS)) this.add(pod);
    store.subscribe((change) => {
      if (!concerns(change, PODS)) return;
      if (change.previous !== undefined) this.drop(change.previous as Pod);
      if (change.type !== 'DELETED') this.add(change.object as Pod);
    });
  }

  onNode(name: string): readonly Pod[] {
    return [...(this.byNode.get(name)?.values() ?? [])];
  }

  nodeNames(): readonly string[] {
    return [...this.byNode.keys()];
  }

  private add(pod: Pod): void {
    const { nodeName } = pod.spec;
    if (nodeName === undefined || nodeName === '') return;
    const pods = this.byNode.get(nodeName) ?? new Map<string, Pod>();
    pods.set(objectKey(pod), pod);
    this.byNode.set(nodeName, pods);
  }

  private drop(pod: Pod): void {
    const pods = this.byNode.get(pod.spec.nodeName ?? '');
    pods?.delete(objectKey(pod));
    if (pods?.size === 0) this.byNode.delete(pod.spec.nodeName ?? '');
  }
}

export const concerns = (change: Change, resource: ResourceDefinition): boolean =>
  change.resource === resource || qualifiedName(change.resource) === qualifiedName(resource);

/** The key of the changed object, or of its controller. */
export const keysOfOwnerOrSelf = (
  change: Change,
  own: ResourceDefinition,
  owned: readonly ResourceDefinition[],
): readonly string[] => {
  if (concerns(change, own)) return change.type === 'DELETED' ? [] : [objectKey(change.object)];
  if (!owned.some((resource) => concerns(change, resource))) return [];
  const owner = controllerOf(change.object);
  return owner?.kind === own.kind ? [`${change.object.metadata.namespace ?? ''}/${owner.name}`] : [];
};

export const keysOf = (store: ObjectStore, resource: ResourceDefinition): readonly string[] =>
  store.list(resource).map(objectKey);

export const byKey = <T extends KubeObject>(store: ObjectStore, resource: Resource<T>, key: string): T | undefined => {
  const { namespace, name } = splitKey(key);
  return store.get(resource, namespace, name);
};

/** The objects of a resource that the owner controls. */
export const controlled = <T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  owner: KubeObject,
): readonly T[] =>
  store
    .dependentsOf(owner.metadata.uid)
    .filter(
      (dependent) =>
        qualifiedName(dependent.resource) === qualifiedName(resource) && isControlledBy(dependent.object, owner),
    )
    .map(({ object }) => object as T);

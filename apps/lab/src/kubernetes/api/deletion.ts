import type { Namespace, Pod } from '../objects/core.types.js';
import { isTerminal } from '../objects/core.types.js';
import type { KubeObject, ObjectMeta } from '../objects/kube.object.js';
import { NAMESPACES, PODS } from '../resources/builtin.resources.js';
import { qualifiedName, type Resource, type ResourceDefinition } from '../resources/resource.js';
import type { ObjectStore } from '../store/object.store.js';
import { ApiError, conflict } from '../errors/api.error.js';

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: Propagation;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

export const FOREGROUND_FINALIZER = 'foregroundDeletion';

/** Namespaces that the API server never deletes. */
const IMMORTAL_NAMESPACES = ['default', 'kube-system', 'kube-public'];

/** Deletion by the API's rules: grace periods, finalizers and dependents. */
export class Deletion {
  constructor(
    private readonly store: ObjectStore,
    private readonly now: () => number,
    private readonly timestamp: (atMs: number) => string,
  ) {}

  /** Deletes an object, or marks it as being deleted. Returns the object if it still exists. */
  delete<T extends KubeObject>(resource: Resource<T>, object: T, options: DeleteOptions = {}): T | undefined {
    this.check(resource, object, options);
    if (options.dryRun === true) return object;
    const finalizers = this.finalizersFor(object, options);
    const graceSeconds = this.graceSeconds(resource, object, options);
    if (finalizers.length === 0 && graceSeconds === 0 && qualifiedName(resource) !== 'namespaces') {
      this.store.remove(resource, object);
      return undefined;
    }
    return this.store.replace(resource, this.marked(object, { finalizers, graceSeconds }));
  }

  private check(resource: ResourceDefinition, object: KubeObject, { preconditions }: DeleteOptions): void {
    const { uid, resourceVersion, name } = object.metadata;
    if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
      throw conflict(
        resource,
        name,
        `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object meta: ${uid}`,
      );
    }
    if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
      throw conflict(
        resource,
        name,
        `Precondition failed: ResourceVersion in precondition: ${preconditions.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
      );
    }
    if (qualifiedName(resource) === 'namespaces' && IMMORTAL_NAMESPACES.includes(name)) {
      throw new ApiError(403, 'Forbidden', `namespaces "${name}" is forbidden: this namespace may not be deleted`);
    }
  }

  /** A foreground deletion waits for the dependents; an orphaning one releases them first. */
  private finalizersFor(object: KubeObject, { propagationPolicy }: DeleteOptions): readonly string[] {
    const finalizers = object.metadata.finalizers ?? [];
    const dependents = this.store.dependentsOf(object.metadata.uid);
    if (propagationPolicy === 'Orphan') {
      for (const dependent of dependents)
        this.store.replace(dependent.resource, without(dependent.object, object.metadata.uid));
    }
    return propagationPolicy === 'Foreground' && dependents.length > 0 && !finalizers.includes(FOREGROUND_FINALIZER)
      ? [...finalizers, FOREGROUND_FINALIZER]
      : finalizers;
  }

  /** Only pods that a kubelet runs have a grace period; a second deletion can only shorten it. */
  private graceSeconds(
    resource: ResourceDefinition,
    object: KubeObject,
    { gracePeriodSeconds }: DeleteOptions,
  ): number {
    if (qualifiedName(resource) !== qualifiedName(PODS)) return 0;
    const pod = object as Pod;
    if (pod.spec.nodeName === undefined || pod.spec.nodeName === '' || isTerminal(pod)) return 0;
    const desired = gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
    return Math.min(Math.max(desired, 0), pod.metadata.deletionGracePeriodSeconds ?? Number.POSITIVE_INFINITY);
  }

  private marked<T extends KubeObject>(
    object: T,
    { finalizers, graceSeconds }: { readonly finalizers: readonly string[]; readonly graceSeconds: number },
  ): T {
    const metadata: ObjectMeta = {
      ...object.metadata,
      ...(finalizers.length === 0 ? {} : { finalizers }),
      deletionTimestamp: object.metadata.deletionTimestamp ?? this.timestamp(this.now() + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    };
    return object.kind === NAMESPACES.kind ? terminating({ ...object, metadata }) : { ...object, metadata };
  }
}

const terminating = <T extends KubeObject>(object: T): T => {
  const namespace: Namespace = object;
  return { ...object, status: { ...namespace.status, phase: 'Terminating' } };
};

const without = (object: KubeObject, ownerUid: string): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    ownerReferences: (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid),
  },
});

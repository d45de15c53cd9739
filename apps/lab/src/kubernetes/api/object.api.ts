import { withDefaults } from '../admission/defaults.js';
import { withAddresses } from '../admission/service.addresses.js';
import { validate } from '../admission/validation.js';
import type { Namespace, Service } from '../objects/core.types.js';
import { asJson } from '../objects/json.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import { NAMESPACES, SERVICES } from '../resources/builtin.resources.js';
import { hasSubresource, qualifiedName, type Resource, type ResourceDefinition } from '../resources/resource.js';
import type { ObjectStore } from '../store/object.store.js';
import { alreadyExists, ApiError, conflict, invalid, notFound, STALE } from '../errors/api.error.js';

export interface WriteOptions {
  readonly dryRun?: boolean;
}

export interface ObjectApiOptions {
  readonly store: ObjectStore;
  readonly serviceCidr: string;
  readonly random: (length: number) => string;
}

/**
 * Creates and changes objects by the API's rules: defaults, validation, names, versions. Used by clients and by
 * controllers.
 */
export class ObjectApi {
  private readonly store: ObjectStore;

  constructor(private readonly options: ObjectApiOptions) {
    this.store = options.store;
  }

  /** @throws {ApiError} 404 without its namespace, 409 if the name is in use, 422 if the object is invalid. */
  create<T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, { dryRun = false }: WriteOptions = {}): T {
    const named = this.named(draft as unknown as Draft);
    const name = named.metadata.name ?? '';
    this.requireNamespace(resource, named.metadata.namespace);
    const filled = this.addressed(resource, withDefaults(resource, withoutIdentity(named)));
    const object = filled as unknown as T;
    this.refuseProblems(resource, { ...object, metadata: { ...object.metadata, name } });
    if (name !== '' && this.store.get(resource, named.metadata.namespace, name) !== undefined)
      throw alreadyExists(resource, name);
    if (dryRun) return this.preview(resource, object);
    return this.store.create(resource, filled as unknown as Draft<T>);
  }

  /**
   * Stores `next` in place of `current`, except the status if it is a subresource.
   * @throws {ApiError} 409 if `next` is based on another version, 422 if it is invalid.
   */
  update<T extends KubeObject>(resource: Resource<T>, next: T, { dryRun = false }: WriteOptions = {}): T {
    const current = this.current(resource, next);
    const status = hasSubresource(resource, 'status') ? { status: asJson(current)['status'] } : {};
    const filled = withDefaults(resource, { ...next, ...status } as unknown as Draft) as unknown as T;
    const object = withIdentity(filled, current);
    this.refuseProblems(resource, object, current);
    return dryRun ? object : this.stored(resource, object);
  }

  /** Stores only the status of `next`; for a node also its metadata, because kubelets write both here. */
  updateStatus<T extends KubeObject>(resource: Resource<T>, next: T, { dryRun = false }: WriteOptions = {}): T {
    const current = this.current(resource, next);
    const metadata = resource.plural === 'nodes' ? withIdentity(next, current).metadata : current.metadata;
    const object = { ...current, status: asJson(next)['status'], metadata };
    return dryRun ? object : this.stored(resource, object);
  }

  /** Stores a state that a controller derived from the latest one. Removes an object whose last finalizer is gone. */
  stored<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
    const written = this.store.replace(resource, object);
    if (
      deletionTimestamp !== undefined &&
      finalizers.length === 0 &&
      deletionGracePeriodSeconds === 0 &&
      !isNamespace(resource)
    ) {
      this.store.remove(resource, written);
    }
    return written;
  }

  private current<T extends KubeObject>(resource: Resource<T>, next: T): T {
    const { name, namespace, resourceVersion, uid } = next.metadata;
    const current = this.store.get(resource, namespace, name);
    if (current === undefined) throw notFound(resource, name);
    const versioned = resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== '0';
    if (versioned && resourceVersion !== current.metadata.resourceVersion) throw conflict(resource, name, STALE);
    if (uid !== undefined && uid !== '' && uid !== current.metadata.uid) {
      throw conflict(
        resource,
        name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
      );
    }
    return current;
  }

  private named(draft: Draft): Draft {
    const { name = '', generateName } = draft.metadata;
    if (name !== '' || generateName === undefined || generateName === '') return draft;
    return { ...draft, metadata: { ...draft.metadata, name: `${generateName}${this.options.random(5)}` } };
  }

  private requireNamespace(resource: ResourceDefinition, name: string | undefined): void {
    if (!resource.namespaced) return;
    const namespace: Namespace | undefined = this.store.get(NAMESPACES, undefined, name ?? '');
    if (namespace === undefined) throw notFound(NAMESPACES, name ?? '');
    if (namespace.metadata.deletionTimestamp !== undefined && resource.plural !== 'events') {
      const why = `unable to create new content in namespace ${name} because it is being terminated`;
      throw new ApiError(403, 'Forbidden', `${qualifiedName(resource)} is forbidden: ${why}`);
    }
  }

  private addressed(resource: ResourceDefinition, draft: Draft): Draft {
    if (qualifiedName(resource) !== 'services') return draft;
    const service = draft as unknown as Draft<Service>;
    const given = withAddresses(service, {
      serviceCidr: this.options.serviceCidr,
      services: this.store.list(SERVICES),
    });
    if (given === undefined) throw new ApiError(500, 'InternalError', 'failed to allocate a serviceIP: range is full');
    return given as unknown as Draft;
  }

  private refuseProblems(resource: ResourceDefinition, object: KubeObject, previous?: KubeObject): void {
    const problems = validate(resource, object, previous);
    if (problems.length > 0) throw invalid(resource, object.metadata.name, problems);
  }

  private preview<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const metadata = { ...object.metadata, uid: '00000000-0000-0000-0000-000000000000', resourceVersion: '' };
    return { ...object, kind: resource.kind, metadata };
  }
}

const isNamespace = (resource: ResourceDefinition): boolean => qualifiedName(resource) === 'namespaces';

/** Client-provided values of these fields are ignored, because the server sets them. */
const withoutIdentity = (draft: Draft): Draft => {
  const {
    uid,
    resourceVersion,
    creationTimestamp,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    generation,
    ...metadata
  } = draft.metadata;
  return { ...draft, metadata };
};

const withIdentity = <T extends KubeObject>(next: T, current: T): T => {
  const { uid, resourceVersion, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } =
    current.metadata;
  const { deletionTimestamp: _asked, deletionGracePeriodSeconds: _grace, ...desired } = next.metadata;
  return {
    ...next,
    metadata: {
      ...desired,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
    },
  };
};

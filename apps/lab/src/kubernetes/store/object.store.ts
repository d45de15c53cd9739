import { sameJson } from '../objects/json.js';
import { keyOf, objectKey, type Draft, type KubeObject, type ObjectMeta } from '../objects/kube.object.js';
import {
  apiVersionOf,
  hasSubresource,
  qualifiedName,
  type Resource,
  type ResourceDefinition,
} from '../resources/resource.js';

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One write, in version order. The `object` of a deletion is the last state, with the version of the deletion. */
export interface Change {
  readonly type: ChangeType;
  readonly version: number;
  readonly resource: ResourceDefinition;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

type Listener = (change: Change) => void;

/** The target of a watch: all objects of a resource, or those of a name. */
export interface Watched {
  readonly resource: ResourceDefinition;
  readonly name?: string | undefined;
}

export interface StoreOptions {
  readonly now: () => string;
  readonly newUid: () => string;
  /** How many changes are kept for watches that resume; older versions answer 410 Gone. */
  readonly historyMax: number;
}

/** An object after a write. */
export interface Written {
  /** Unique within the store. */
  readonly key: string;
  readonly version: number;
  /** null: it was deleted. */
  readonly object: KubeObject | null;
}

export interface StoredObjects {
  readonly version: number;
  readonly objects: readonly KubeObject[];
}

/** Returns the resource of an object, or undefined if it is not served. */
export type Locate = (object: KubeObject) => ResourceDefinition | undefined;

interface Restored {
  readonly resource: ResourceDefinition;
  readonly object: KubeObject;
}

interface Located {
  readonly resource: ResourceDefinition;
  readonly key: string;
}

/**
 * All objects of one cluster, as stored by etcd and the API server's watch cache: one version counter, immutable
 * objects, a bounded history of changes, an index of dependents. Synchronous: a read sees every earlier write.
 */
export class ObjectStore {
  private version = 1;
  private readonly tables = new Map<string, Map<string, KubeObject>>();
  private readonly dependents = new Map<string, Map<string, Located>>();
  private history: Change[] = [];
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Map<string, Set<Listener>>();

  constructor(private readonly options: StoreOptions) {}

  currentVersion(): number {
    return this.version;
  }

  get<T extends KubeObject>(resource: Resource<T>, namespace: string | undefined, name: string): T | undefined {
    // The table of a resource contains only objects that were written under that resource. This is the only cast.
    return this.tables.get(qualifiedName(resource))?.get(keyOf(namespace, name)) as T | undefined;
  }

  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): readonly T[] {
    const all = [...(this.tables.get(qualifiedName(resource))?.values() ?? [])] as T[];
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  /** The objects that have `uid` as an owner. */
  dependentsOf(uid: string): readonly { readonly resource: ResourceDefinition; readonly object: KubeObject }[] {
    return [...(this.dependents.get(uid)?.values() ?? [])].flatMap(({ resource, key }) => {
      const object = this.tables.get(qualifiedName(resource))?.get(key);
      return object === undefined ? [] : [{ resource, object }];
    });
  }

  /** The UIDs of all owners. */
  ownerUids(): readonly string[] {
    return [...this.dependents.keys()];
  }

  /** Stores a new object and sets its identity. The caller has checked that the name is free. */
  create<T extends KubeObject>(resource: Resource<T>, draft: Draft<T>): T {
    const version = this.nextVersion();
    const metadata: ObjectMeta = {
      name: '',
      ...draft.metadata,
      uid: this.options.newUid(),
      creationTimestamp: this.options.now(),
      resourceVersion: String(version),
      ...(hasGeneration(resource) ? { generation: 1 } : {}),
    };
    const object = { ...draft, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata } as unknown as T;
    this.write(resource, object, undefined, version);
    return object;
  }

  /** Stores the next state of an object. As in the API server, an unchanged state is not a write. */
  replace<T extends KubeObject>(resource: Resource<T>, next: T): T {
    const previous = this.get(resource, next.metadata.namespace, next.metadata.name);
    if (previous === undefined || previous.metadata.uid !== next.metadata.uid) {
      throw new Error(`${qualifiedName(resource)} ${objectKey(next)} is not stored: it cannot be replaced`);
    }
    const unversioned = { ...next, metadata: { ...next.metadata, resourceVersion: previous.metadata.resourceVersion } };
    if (sameJson(unversioned, previous)) return previous;
    const version = this.nextVersion();
    const generation = nextGeneration(resource, previous, next);
    const object = {
      ...next,
      metadata: {
        ...next.metadata,
        resourceVersion: String(version),
        ...(generation === undefined ? {} : { generation }),
      },
    };
    this.write(resource, object, previous, version);
    return object;
  }

  /** Removes an object permanently. */
  remove(resource: ResourceDefinition, object: KubeObject): void {
    const key = objectKey(object);
    const previous = this.tables.get(qualifiedName(resource))?.get(key);
    if (previous === undefined) return;
    this.tables.get(qualifiedName(resource))?.delete(key);
    this.unindex(resource, previous);
    const version = this.nextVersion();
    const last = { ...previous, metadata: { ...previous.metadata, resourceVersion: String(version) } };
    this.announce({ type: 'DELETED', version, resource, object: last, previous });
  }

  /** The changes after `version`, oldest first, or undefined if the history does not reach that far back. */
  changesAfter(version: number): readonly Change[] | undefined {
    if (version >= this.version) return [];
    const first = this.history[0];
    if (first === undefined || first.version > version + 1) return undefined;
    return this.history.slice(version + 1 - first.version);
  }

  /** The state of every object written after `version`, or undefined if the history does not reach that far back. */
  written(version: number): readonly Written[] | undefined {
    const changes = this.changesAfter(version);
    if (changes === undefined) return undefined;
    const last = new Map(changes.map((change) => [idOf(change.resource, change.object), change] as const));
    return [...last].map(([key, change]) => ({
      key,
      version: change.version,
      object: change.type === 'DELETED' ? null : change.object,
    }));
  }

  all(): readonly Written[] {
    return [...this.tables].flatMap(([name, table]) =>
      [...table].map(([key, object]) => ({ key: `${name}|${key}`, version: this.version, object })),
    );
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Subscribes to one object only, if named: each of a thousand kubelets and agents watches its own Node. */
  subscribeTo({ resource, name = '' }: Watched, listener: Listener): () => void {
    const topic = topicOf(resource, name);
    const watchers = this.watchers.get(topic) ?? new Set();
    this.watchers.set(topic, watchers.add(listener));
    return () => {
      watchers.delete(listener);
      if (watchers.size === 0 && this.watchers.get(topic) === watchers) this.watchers.delete(topic);
    };
  }

  export(): StoredObjects {
    return { version: this.version, objects: [...this.tables.values()].flatMap((table) => [...table.values()]) };
  }

  /**
   * Fills an empty store. `locate` returns the resource of an object, or undefined for objects that are no longer
   * served.
   */
  import({ version, objects }: StoredObjects, locate: Locate): void {
    this.version = version;
    for (const object of objects) {
      const resource = locate(object);
      if (resource === undefined) continue;
      this.table(resource).set(objectKey(object), object);
      this.index(resource, object);
    }
  }

  /**
   * Resets the store to a stored state, like an etcd restored from a snapshot: every listener in this process receives
   * every difference, and earlier watches cannot be resumed (`--bump-revision --mark-compacted`).
   */
  restore(objects: readonly KubeObject[], at: number, locate: Locate): void {
    const desired = new Map<string, Restored>();
    for (const object of objects) {
      const resource = locate(object);
      if (resource !== undefined) desired.set(idOf(resource, object), { resource, object });
    }
    this.version = Math.max(this.version, at);
    for (const [name, table] of this.tables) {
      for (const object of [...table.values()]) {
        const kept = desired.get(`${name}|${objectKey(object)}`);
        const resource = kept?.resource ?? locate(object);
        if (kept?.object.metadata.uid !== object.metadata.uid && resource !== undefined) this.remove(resource, object);
      }
    }
    for (const { resource, object } of desired.values()) {
      const previous = this.table(resource).get(objectKey(object));
      if (previous === undefined || !sameJson(previous, object))
        this.write(resource, object, previous, this.nextVersion());
    }
    this.history = [];
  }

  private nextVersion(): number {
    this.version += 1;
    return this.version;
  }

  private table(resource: ResourceDefinition): Map<string, KubeObject> {
    const name = qualifiedName(resource);
    const table = this.tables.get(name) ?? new Map<string, KubeObject>();
    this.tables.set(name, table);
    return table;
  }

  private write(
    resource: ResourceDefinition,
    object: KubeObject,
    previous: KubeObject | undefined,
    version: number,
  ): void {
    if (previous !== undefined) this.unindex(resource, previous);
    this.table(resource).set(objectKey(object), object);
    this.index(resource, object);
    this.announce({ type: previous === undefined ? 'ADDED' : 'MODIFIED', version, resource, object, previous });
  }

  private announce(change: Change): void {
    this.history.push(change);
    // Trimmed in large steps: a splice per write would copy the whole history each time.
    if (this.history.length > this.options.historyMax * 1.5)
      this.history = this.history.slice(-this.options.historyMax);
    const { resource, object } = change;
    const topics = [topicOf(resource, ''), topicOf(resource, object.metadata.name)];
    const watchers = topics.flatMap((topic) => [...(this.watchers.get(topic) ?? [])]);
    for (const listener of [...this.listeners, ...watchers]) listener(change);
  }

  private index(resource: ResourceDefinition, object: KubeObject): void {
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owned = this.dependents.get(uid) ?? new Map<string, Located>();
      owned.set(idOf(resource, object), { resource, key: objectKey(object) });
      this.dependents.set(uid, owned);
    }
  }

  private unindex(resource: ResourceDefinition, object: KubeObject): void {
    for (const { uid } of object.metadata.ownerReferences ?? []) {
      const owned = this.dependents.get(uid);
      owned?.delete(idOf(resource, object));
      if (owned?.size === 0) this.dependents.delete(uid);
    }
  }
}

const topicOf = (resource: ResourceDefinition, name: string): string => `${qualifiedName(resource)}|${name}`;

const idOf = (resource: ResourceDefinition, object: KubeObject): string =>
  `${qualifiedName(resource)}|${objectKey(object)}`;

const hasGeneration = (resource: ResourceDefinition): boolean => hasSubresource(resource, 'status');

/** The generation counts changes of the desired state: everything but metadata and status. */
const nextGeneration = (resource: ResourceDefinition, previous: KubeObject, next: KubeObject): number | undefined => {
  if (!hasGeneration(resource)) return next.metadata.generation;
  const generation = previous.metadata.generation ?? 1;
  const deletionBegins =
    previous.metadata.deletionTimestamp === undefined && next.metadata.deletionTimestamp !== undefined;
  return deletionBegins || !sameJson(desired(previous), desired(next)) ? generation + 1 : generation;
};

const desired = (object: KubeObject): object => ({ ...object, metadata: undefined, status: undefined });

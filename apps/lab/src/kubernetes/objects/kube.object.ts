/** The parts of the Kubernetes API types that the simulation reads. Other fields of an object are kept as received. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: 'FieldsV1';
  readonly fieldsV1: object;
  readonly subresource?: string;
}

export type Labels = Readonly<Record<string, string>>;

export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** An object whose identity (UID, version, times) is not yet set by the store. */
export type Draft<T extends KubeObject = KubeObject> = Omit<T, 'metadata' | 'status'> & {
  readonly metadata: Partial<ObjectMeta>;
  readonly status?: unknown;
};

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastHeartbeatTime?: string;
  readonly lastUpdateTime?: string;
  readonly lastProbeTime?: string | null;
  readonly observedGeneration?: number;
}

export const conditionOf = (
  object: { readonly status?: { readonly conditions?: readonly Condition[] } } | undefined,
  type: string,
): Condition | undefined => object?.status?.conditions?.find((condition) => condition.type === type);

/** Sets this condition. The transition time changes only with the status. */
export const withCondition = (conditions: readonly Condition[] | undefined, next: Condition): readonly Condition[] => {
  const previous = conditions?.find(({ type }) => type === next.type);
  if (conditions === undefined || previous === undefined) return [...(conditions ?? []), next];
  const kept =
    previous.status === next.status && previous.lastTransitionTime !== undefined
      ? { ...next, lastTransitionTime: previous.lastTransitionTime }
      : next;
  return conditions.map((condition) => (condition.type === next.type ? kept : condition));
};

export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find(({ controller }) => controller === true);

export const isControlledBy = (object: KubeObject, owner: KubeObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

export const controllerReference = (owner: KubeObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

export const objectKey = (object: { readonly metadata: Pick<ObjectMeta, 'name' | 'namespace'> }): string =>
  keyOf(object.metadata.namespace, object.metadata.name);

export const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

export const splitKey = (key: string): { readonly namespace: string | undefined; readonly name: string } => {
  const slash = key.indexOf('/');
  const namespace = key.slice(0, slash);
  return { namespace: namespace === '' ? undefined : namespace, name: key.slice(slash + 1) };
};

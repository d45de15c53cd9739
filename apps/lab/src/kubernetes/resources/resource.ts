import type { KubeObject } from '../objects/kube.object.js';
import { remembered } from '../objects/remembered.js';

export type Subresource =
  'status' | 'scale' | 'eviction' | 'binding' | 'log' | 'exec' | 'proxy' | 'approval' | 'finalize';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export interface Deprecation {
  readonly version: string;
  readonly since: string;
  /** Empty if no release is known. */
  readonly removed: string;
  /** The replacement, as named in the warning. */
  readonly use?: string;
}

export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  /** Other versions under which the same objects are served, newest first (with the same schema). */
  readonly otherVersions: readonly string[];
  /** Deprecated versions, and since when: `v1` of Endpoints since 1.33. */
  readonly deprecated: readonly Deprecation[];
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  readonly verbs: readonly Verb[];
  /** Built-in types support strategic merge patches; custom resources do not. */
  readonly custom: boolean;
}

/** A resource definition with the type of its objects. */
export interface Resource<T extends KubeObject> extends ResourceDefinition {
  readonly sample?: T;
}

export const ALL_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** `apps/v1`, or `v1` for the core group. */
export const groupVersion = (group: string, version: string): string =>
  group === '' ? version : `${group}/${version}`;

export const apiVersionOf = (resource: ResourceDefinition): string => groupVersion(resource.group, resource.version);

export const versionsOf = (resource: ResourceDefinition): readonly string[] => [
  resource.version,
  ...resource.otherVersions,
];

/** `deployments.apps`, the format of resource names in API messages and CustomResourceDefinitions. */
export const qualifiedName = remembered((resource: ResourceDefinition): string =>
  resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`,
);

/** `Deployment.apps`, the format of kinds in validation messages. */
export const qualifiedKind = (resource: ResourceDefinition): string =>
  resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;

export const hasSubresource = (resource: ResourceDefinition, name: Subresource): boolean =>
  resource.subresources.includes(name);

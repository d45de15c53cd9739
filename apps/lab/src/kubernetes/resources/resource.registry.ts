import { isJsonArray, isJsonObject, valueAt } from '../objects/json.js';
import type { KubeObject } from '../objects/kube.object.js';
import { BUILTIN_RESOURCES } from './builtin.resources.js';
import {
  ALL_VERBS,
  apiVersionOf,
  qualifiedName,
  versionsOf,
  type ResourceDefinition,
  type Subresource,
} from './resource.js';

const BUILTIN_BY_NAME = new Map(BUILTIN_RESOURCES.map((resource) => [qualifiedName(resource), resource]));

/** The types that one cluster serves: the built-in ones and those of its CustomResourceDefinitions. */
export class ResourceRegistry {
  private readonly custom = new Map<string, ResourceDefinition>();

  all(): readonly ResourceDefinition[] {
    return this.custom.size === 0 ? BUILTIN_RESOURCES : [...BUILTIN_RESOURCES, ...this.custom.values()];
  }

  /** Returns the resource of a path segment, or undefined if it is not served in that version. */
  find(group: string, version: string, plural: string): ResourceDefinition | undefined {
    const name = group === '' ? plural : `${plural}.${group}`;
    const resource = BUILTIN_BY_NAME.get(name) ?? this.custom.get(name);
    return resource !== undefined && versionsOf(resource).includes(version) ? resource : undefined;
  }

  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    return this.all().find((resource) => resource.kind === kind && apiVersionOf(resource) === apiVersion);
  }

  byName(name: string): ResourceDefinition | undefined {
    return BUILTIN_BY_NAME.get(name) ?? this.custom.get(name);
  }

  groups(): readonly string[] {
    return [...new Set(this.all().map(({ group }) => group))];
  }

  define(definition: KubeObject): void {
    const resource = customResource(definition);
    if (resource !== undefined) this.custom.set(qualifiedName(resource), resource);
  }

  forget(definition: KubeObject): void {
    this.custom.delete(definition.metadata.name);
  }
}

/** Returns the resource that a CustomResourceDefinition describes, or undefined if it is incomplete. */
export const customResource = (definition: KubeObject): ResourceDefinition | undefined => {
  const spec = valueAt(definition, 'spec');
  const group = valueAt(spec, 'group');
  const plural = valueAt(spec, 'names.plural');
  const kind = valueAt(spec, 'names.kind');
  const versions = valueAt(spec, 'versions');
  if (typeof group !== 'string' || typeof plural !== 'string' || typeof kind !== 'string' || !isJsonArray(versions))
    return undefined;
  const served = versions.filter(isJsonObject).filter(({ served }) => served === true);
  const stored = served.find(({ storage }) => storage === true) ?? served[0];
  if (typeof stored?.['name'] !== 'string') return undefined;
  const singular = valueAt(spec, 'names.singular');
  return {
    group,
    version: stored['name'],
    otherVersions: served
      .filter((version) => version !== stored)
      .flatMap(({ name }) => (typeof name === 'string' ? [name] : [])),
    deprecated: [],
    plural,
    singular: typeof singular === 'string' ? singular : kind.toLowerCase(),
    kind,
    namespaced: valueAt(spec, 'scope') === 'Namespaced',
    shortNames: strings(valueAt(spec, 'names.shortNames')),
    categories: strings(valueAt(spec, 'names.categories')),
    subresources: isJsonObject(stored['subresources'])
      ? (['status', 'scale'] satisfies Subresource[]).filter(
          (name) => valueAt(stored, `subresources.${name}`) !== undefined,
        )
      : [],
    verbs: ALL_VERBS,
    custom: true,
  };
};

const strings = (value: unknown): readonly string[] =>
  isJsonArray(value) ? value.filter((item) => typeof item === 'string') : [];

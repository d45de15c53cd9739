import { timestamp } from '../clock/clock.js';
import { isEstablished, planDefinition } from '../definitions/definition.planner.js';
import { objectKey } from '../objects/kube.object.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../resources/builtin.resources.js';
import { customResource, type ResourceRegistry } from '../resources/resource.registry.js';
import type { Controller } from './controller.js';
import { remove } from '../operations/operation.js';
import { byKey, concerns, keysOf, type World } from './world.js';

/** CustomResourceDefinitions: an established type is served; the objects of a deleted one are deleted with it. */
export const definitionController = ({ store, clock }: World, registry: ResourceRegistry): Controller => {
  const gone = new Map<string, ReturnType<typeof customResource>>();
  return {
    name: 'customresourcedefinition-controller',
    keysFor: (change) => {
      if (!concerns(change, CUSTOM_RESOURCE_DEFINITIONS)) return [];
      if (change.type === 'DELETED') {
        registry.forget(change.object);
        gone.set(objectKey(change.object), customResource(change.object));
      } else if (isEstablished(change.object)) registry.define(change.object);
      return [objectKey(change.object)];
    },
    allKeys: () => keysOf(store, CUSTOM_RESOURCE_DEFINITIONS),
    plan: (key) => {
      const definition = byKey(store, CUSTOM_RESOURCE_DEFINITIONS, key);
      if (definition !== undefined) return planDefinition(definition, timestamp(clock.now()));
      const resource = gone.get(key);
      gone.delete(key);
      return resource === undefined
        ? []
        : store.list(resource).map((object) => remove(resource, object, 'its definition is gone'));
    },
  };
};

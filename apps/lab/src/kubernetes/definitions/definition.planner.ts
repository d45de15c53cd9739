import { replace, type Operation } from '../operations/operation.js';
import { asJson, valueAt } from '../objects/json.js';
import { withCondition, type Condition, type KubeObject } from '../objects/kube.object.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../resources/builtin.resources.js';
import { customResource } from '../resources/resource.registry.js';

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Objects can be written and read only once their definition is established, shortly after its creation. */
export const isEstablished = ({ status }: Definition): boolean =>
  status?.conditions?.some(({ type, status: holds }) => type === 'Established' && holds === 'True') ?? false;

/**
 * Sets the Established condition of a CustomResourceDefinition that can be served. Clients wait for it before they
 * create objects.
 */
export const planDefinition = (definition: Definition, now: string): readonly Operation[] => {
  const resource = customResource(definition);
  if (resource === undefined || definition.metadata.deletionTimestamp !== undefined) return [];
  const conditions: readonly Condition[] = [
    {
      type: 'NamesAccepted',
      status: 'True',
      reason: 'NoConflicts',
      message: 'no conflicts found',
      lastTransitionTime: now,
    },
    {
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
      lastTransitionTime: now,
    },
  ];
  const status = {
    ...definition.status,
    acceptedNames: valueAt(asJson(definition), 'spec.names'),
    conditions: conditions.reduce(withCondition, definition.status?.conditions ?? []),
    storedVersions: [resource.version],
  };
  return [replace(CUSTOM_RESOURCE_DEFINITIONS, { ...definition, status } as KubeObject, 'it is served')];
};

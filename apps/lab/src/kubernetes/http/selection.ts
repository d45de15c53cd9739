import { badRequest } from '../errors/api.error.js';
import { matchesFields, parseFieldSelector, unsupportedField } from '../objects/field.selector.js';
import { matchesSelector, parseLabelSelector } from '../objects/label.selector.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';

/** Whether an object is selected by the request. */
export type Selection = (object: KubeObject) => boolean;

interface Scope {
  readonly namespace: string | undefined;
  readonly name?: string | undefined;
}

/** @throws {ApiError} 400 for invalid selectors. */
export const selectionOf = (
  resource: ResourceDefinition,
  { namespace, name }: Scope,
  query: URLSearchParams,
): Selection => {
  const labelText = query.get('labelSelector') ?? '';
  const labels = parseLabelSelector(labelText);
  if (labels === undefined) throw badRequest(`unable to parse requirement: ${labelText}`);
  const fieldText = query.get('fieldSelector') ?? '';
  const fields = parseFieldSelector(fieldText);
  if (fields === undefined) throw badRequest(`invalid field selector: ${fieldText}`);
  const unknown = unsupportedField(resource.plural, fields);
  if (unknown !== undefined) {
    throw badRequest(
      `Unable to find "${resource.plural}" that match label selector "${labelText}", field selector "${fieldText}": field label not supported: ${unknown}`,
    );
  }
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    matchesSelector(labels, object.metadata.labels) &&
    matchesFields(fields, object);
};

/** The single name that a request selects, or undefined if it may select several. */
export const nameIn = ({ name }: Scope, query: URLSearchParams): string | undefined => {
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '') ?? [];
  return name ?? fields.find(({ path, equal }) => path === 'metadata.name' && equal)?.value;
};

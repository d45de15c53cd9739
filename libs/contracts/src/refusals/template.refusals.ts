import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Of cluster templates. */
export const TEMPLATE_REFUSALS = {
  'template.unknown': definition(
    404,
    "The template '{template}' does not exist in the namespace '{namespace}'",
    'List them with GET /ns/{namespace}/cluster-templates.',
  ),
  'template.not-found': definition(
    422,
    "The manifest names the template '{template}', which does not exist in the namespace '{namespace}'",
    'List those that there are with "fairlead template list", or apply it first.',
  ),
  'template.deprecated': definition(
    409,
    'Template {template} is deprecated: only clusters that use it already can keep it',
    'Name another template: "fairlead template list" shows which may be chosen.',
  ),
  'template.field-fixed': definition(
    422,
    'Template {template} declares {field} as {value}, so the manifest cannot declare {given}',
    'Leave {field} out, or name another template.',
  ),
  'template.values-immutable': definition(
    422,
    'The values of template {template} never change, and these differ: {fields}',
    'Apply them as a template of another name, name that one in the manifests of clusters, and deprecate this one.',
  ),
  'template.version-lower': definition(
    422,
    'Template {template} has {after}, and the cluster has {before} already',
    'Name a template of {before} or a later version.',
  ),
  'template.version-step': definition(
    422,
    'Template {template} has {after}, more than one minor version above {before}',
    'Name a template of the minor version between first, and this one when that upgrade is over.',
  ),
  'template.kubelet-too-old': definition(
    422,
    'Template {template} has {after}, more than one minor version above kubelet {kubelet} of {node}',
    'Bring the node to the version of its cluster first: end its hold, or replace it.',
  ),
  'template.version-fixed': definition(
    409,
    'Cluster {cluster} has its version from template {template}',
    'Name a template of the other version in its manifest: that is the upgrade.',
  ),
  'template.in-use': definition(
    409,
    'Template {template} cannot be deleted: it is in use by {clusters}',
    'Name another template in their manifests, or delete them. Deprecate it, so that no other cluster chooses it.',
  ),
  'template.name-taken': definition(
    409,
    "The template '{template}' already exists in the namespace '{namespace}'",
    'Take another name, or leave metadata.resourceVersion out to change what may be changed.',
  ),
  'template.resource-version': definition(
    409,
    "The template '{template}' has changed since it was read: it has resource version {current}, not {given}",
    'Read it again, and apply the change to what it is now.',
  ),
  'template.manifest-address': definition(
    400,
    'The manifest gives {field} as {given}, but the request is for {expected}',
    'Leave it out, or send the manifest where it belongs.',
  ),
  'template.too-many': definition(
    422,
    'A namespace has at most {max} templates, and {namespace} has as many',
    'Delete those that no cluster has.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

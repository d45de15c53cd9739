import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Cluster templates. */
export const TEMPLATE_REFUSALS = {
  'template.unknown': definition(
    404,
    "The template '{template}' does not exist in the namespace '{namespace}'",
    'List them with GET /ns/{namespace}/cluster-templates.',
  ),
  'template.not-found': definition(
    422,
    "The manifest names the template '{template}', which does not exist in the namespace '{namespace}'",
    'List existing templates with "fairlead template list", or apply it first.',
  ),
  'template.deprecated': definition(
    409,
    'Template {template} is deprecated: only clusters that already use it can keep it',
    'Choose another template: "fairlead template list" shows which are available.',
  ),
  'template.field-fixed': definition(
    422,
    'Template {template} declares {field} as {value}, so the manifest cannot declare {given}',
    'Leave {field} out, or name another template.',
  ),
  'template.values-immutable': definition(
    422,
    'The values of template {template} are immutable, and these differ: {fields}',
    'Apply them as a new template, reference it in the manifests of clusters, and deprecate this one.',
  ),
  'template.version-lower': definition(
    422,
    'Template {template} specifies {after}, but the cluster already runs {before}',
    'Name a template of {before} or a later version.',
  ),
  'template.version-step': definition(
    422,
    'Template {template} specifies {after}, more than one minor version above {before}',
    'First use a template of the minor version in between, then this one.',
  ),
  'template.kubelet-too-old': definition(
    422,
    'Template {template} specifies {after}, more than one minor version above kubelet {kubelet} of {node}',
    'First bring the node to the version of its cluster: release its hold, or replace it.',
  ),
  'template.version-fixed': definition(
    409,
    'The version of cluster {cluster} is set by template {template}',
    'To upgrade, reference a template of another version in its manifest.',
  ),
  'template.in-use': definition(
    409,
    'Template {template} cannot be deleted: it is in use by {clusters}',
    'Name another template in their manifests, or delete them. Deprecate it, so that no other cluster chooses it.',
  ),
  'template.name-taken': definition(
    409,
    "The template '{template}' already exists in the namespace '{namespace}'",
    'Choose another name, or omit metadata.resourceVersion to change the existing one.',
  ),
  'template.resource-version': definition(
    409,
    "The template '{template}' has changed since it was read: it has resource version {current}, not {given}",
    'Read it again, and apply the change to the current one.',
  ),
  'template.manifest-address': definition(
    400,
    'The manifest gives {field} as {given}, but the request is for {expected}',
    'Omit it, or send the manifest to the matching URL.',
  ),
  'template.too-many': definition(
    422,
    'The namespace {namespace} already has {max} templates, the maximum',
    'Delete templates that no cluster uses.',
  ),
} as const satisfies Record<string, RefusalDefinition>;

import {
  refuse,
  TEMPLATES_MAX,
  type Fact,
  type Namespace,
  type Refusal,
  type TemplateCluster,
  type TemplateName,
} from '@fairlead/contracts';
import {
  NO_TEMPLATES,
  templateNamed,
  templatesAfter,
  type ClusterTemplate,
  type ClusterTemplates,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';
import { shownNames } from '../common/names.js';

interface NamedTemplate {
  readonly namespace: Namespace;
  readonly template: TemplateName;
}

/** Changes nothing: its outcome is the state as the log has it. */
export type ReadTemplates = Command<'ReadTemplates', { readonly namespace: Namespace }>;
export type ApplyTemplate = Command<
  'ApplyTemplate',
  NamedTemplate & {
    readonly description: string;
    readonly deprecated: boolean;
    readonly cluster: TemplateCluster;
    /** `metadata.resourceVersion` of the manifest; undefined: whatever it is. */
    readonly resourceVersion: string | undefined;
    /** Everything is decided, and nothing recorded. */
    readonly dryRun: boolean;
  }
>;
/** No cluster may choose it from here on: those that have it can only become fewer. */
export type RetireTemplate = Command<'RetireTemplate', NamedTemplate>;
/** `retiredSeq`: of the template when it was retired. `clusters`: those that have had it since. */
export type DeleteTemplate = Command<
  'DeleteTemplate',
  NamedTemplate & { readonly retiredSeq: number; readonly clusters: readonly string[] }
>;
export type TemplateCommand = ReadTemplates | ApplyTemplate | RetireTemplate | DeleteTemplate;

/** undefined: there is no namespace. */
export type TemplatesState = ClusterTemplates | undefined;

type TemplateFact = Fact<'ClusterTemplateCreated' | 'ClusterTemplateChanged' | 'ClusterTemplateDeleted'>;

const unknown = ({ namespace, template }: NamedTemplate): Refusal =>
  refuse('template.unknown', { namespace, template });

/** Why the manifest is not about the template as it is. */
const staleness = (
  before: ClusterTemplate | undefined,
  { namespace, template, resourceVersion }: ApplyTemplate['data'],
): Refusal | undefined => {
  const field = 'metadata.resourceVersion';
  if (resourceVersion === undefined) return undefined;
  if (before === undefined) return resourceVersion === '' ? undefined : unknown({ namespace, template });
  if (resourceVersion === '') return refuse('template.name-taken', { namespace, template }, field);
  const current = String(before.seq);
  return resourceVersion === current
    ? undefined
    : refuse('template.resource-version', { template, current, given: resourceVersion }, field);
};

const FIELDS_NAMED_MAX = 5;

const changedValues = (before: TemplateCluster, after: TemplateCluster): readonly string[] => {
  const [was, is] = [before, after].map((one) => Object.entries(one)) as [[string, unknown][], [string, unknown][]];
  const names = [...new Set([...was, ...is].map(([name]) => name))];
  const valueIn = (entries: readonly [string, unknown][], name: string): unknown =>
    entries.find(([one]) => one === name)?.[1];
  return names.filter((name) => !sameJson(valueIn(was, name) ?? null, valueIn(is, name) ?? null));
};

const create = (templates: ClusterTemplates, { data }: ApplyTemplate): readonly TemplateFact[] | Refusal => {
  const { namespace, template, description, deprecated, cluster } = data;
  if (Object.keys(templates).length >= TEMPLATES_MAX)
    return refuse('template.too-many', { namespace, max: TEMPLATES_MAX });
  return [{ type: 'ClusterTemplateCreated', data: { name: namespace, template, description, deprecated, cluster } }];
};

const change = (before: ClusterTemplate, { data }: ApplyTemplate): readonly TemplateFact[] | Refusal => {
  const { namespace: name, template, description, deprecated, cluster } = data;
  const fields = changedValues(before.cluster, cluster);
  if (fields.length > 0) {
    const named = fields.slice(0, FIELDS_NAMED_MAX).join(', ');
    return refuse('template.values-immutable', { template, fields: named }, `spec.cluster.${fields[0]}`);
  }
  if (before.description === description && before.deprecated === deprecated) return nothing;
  return [{ type: 'ClusterTemplateChanged', data: { name, template, description, deprecated } }];
};

const apply = (templates: ClusterTemplates, command: ApplyTemplate): readonly TemplateFact[] | Refusal => {
  const { data } = command;
  const before = templateNamed(templates, data.template);
  const stale = staleness(before, data);
  if (stale !== undefined) return stale;
  const facts = before === undefined ? create(templates, command) : change(before, command);
  return data.dryRun && Array.isArray(facts) ? nothing : facts;
};

const retire = (templates: ClusterTemplates, { data }: RetireTemplate): readonly TemplateFact[] | Refusal => {
  const { namespace: name, template } = data;
  const before = templateNamed(templates, template);
  if (before === undefined) return unknown(data);
  const { description } = before;
  return before.deprecated
    ? nothing
    : [{ type: 'ClusterTemplateChanged', data: { name, template, description, deprecated: true } }];
};

const remove = (templates: ClusterTemplates, { data }: DeleteTemplate): readonly TemplateFact[] | Refusal => {
  const { namespace: name, template, retiredSeq, clusters } = data;
  const before = templateNamed(templates, template);
  if (before === undefined) return unknown(data);
  // Someone has let it be chosen again.
  if (before.seq !== retiredSeq) return refuse('conflict.concurrent', { what: `${name}/${template}` });
  if (clusters.length > 0) return refuse('template.in-use', { template, clusters: shownNames(clusters) });
  return [{ type: 'ClusterTemplateDeleted', data: { name, template } }];
};

const decide = (templates: TemplatesState, command: TemplateCommand): readonly TemplateFact[] | Refusal => {
  if (templates === undefined) return refuse('namespace.unknown', { namespace: command.data.namespace });
  switch (command.type) {
    case 'ReadTemplates':
      return nothing;
    case 'ApplyTemplate':
      return apply(templates, command);
    case 'RetireTemplate':
      return retire(templates, command);
    case 'DeleteTemplate':
      return remove(templates, command);
  }
};

/** The templates of a namespace, in its own stream: what clusters are declared with never changes under them. */
export const templates: Decider<TemplatesState, TemplateCommand, TemplateFact> = {
  initial: undefined,
  decide,
  evolve: (state, event) => {
    if (event.type === 'NamespaceCreated') return NO_TEMPLATES;
    if (event.type === 'NamespaceDeleted') return undefined;
    return state && templatesAfter(state, event);
  },
};

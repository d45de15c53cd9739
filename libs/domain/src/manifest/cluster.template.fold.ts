import type { StoredEvent, TemplateCluster } from '@fairlead/contracts';

/** A plain JSON value. */
export interface ClusterTemplate {
  readonly name: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly cluster: TemplateCluster;
  /** Sequence of the event that declared its values. */
  readonly revision: number;
  /** Sequence of its latest event: its `resourceVersion`. */
  readonly seq: number;
  readonly createdAt: string;
}

/** The templates of a namespace, by name. */
export type ClusterTemplates = Readonly<Record<string, ClusterTemplate>>;

export const NO_TEMPLATES: ClusterTemplates = {};

/** Safe for names of Object.prototype's properties. */
export const templateNamed = (templates: ClusterTemplates, name: string): ClusterTemplate | undefined =>
  Object.hasOwn(templates, name) ? templates[name] : undefined;

const TEMPLATE_EVENTS: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterTemplateCreated',
  'ClusterTemplateChanged',
  'ClusterTemplateDeleted',
  'NamespaceDeleted',
]);

export const isOfTemplates = ({ type }: StoredEvent): boolean => TEMPLATE_EVENTS.has(type);

export const templatesAfter = (templates: ClusterTemplates, event: StoredEvent): ClusterTemplates => {
  const { seq, time } = event.meta;
  switch (event.type) {
    case 'ClusterTemplateCreated': {
      const { template: name, description, deprecated, cluster } = event.data;
      const created = { name, description, deprecated, cluster, revision: seq, seq, createdAt: time };
      return { ...templates, [name]: created };
    }
    case 'ClusterTemplateChanged': {
      const { template: name, description, deprecated } = event.data;
      const before = templateNamed(templates, name);
      return before === undefined ? templates : { ...templates, [name]: { ...before, description, deprecated, seq } };
    }
    case 'ClusterTemplateDeleted': {
      const { [event.data.template]: _gone, ...others } = templates;
      return others;
    }
    case 'NamespaceDeleted':
      return NO_TEMPLATES;
    default:
      return templates;
  }
};

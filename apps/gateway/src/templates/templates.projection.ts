import { isOfTemplates, NO_TEMPLATES, templatesAfter, type ClusterTemplates } from '@fairlead/domain';
import type { Projection } from '@fairlead/event-sourcing';

/** One row per namespace that has templates. */
export const templatesProjection: Projection<ClusterTemplates> = {
  name: 'templates',
  table: 'cluster_templates',
  keys: (event) => (isOfTemplates(event) ? [event.meta.namespace] : []),
  evolve: (doc = NO_TEMPLATES, event) => {
    const after = templatesAfter(doc, event);
    return Object.keys(after).length === 0 ? undefined : after;
  },
};

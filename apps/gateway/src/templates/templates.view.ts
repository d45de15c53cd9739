import { MANIFEST_API_VERSION, TEMPLATE_KIND, TemplateCluster, type ClusterTemplateView } from '@fairlead/contracts';
import type { ClusterTemplate } from '@fairlead/domain';
import type { TemplateRow } from './templates.queries.js';

type Shown = Pick<ClusterTemplate, 'name' | 'description' | 'deprecated' | 'cluster'> &
  Partial<Pick<ClusterTemplate, 'seq' | 'createdAt'>>;

/** As it is in the log, or would be; without how it is. */
export const appliedTemplateView = (
  namespace: string,
  { name, description, deprecated, cluster, seq, createdAt }: Shown,
): ClusterTemplateView => ({
  apiVersion: MANIFEST_API_VERSION,
  kind: TEMPLATE_KIND,
  metadata: {
    name,
    namespace,
    resourceVersion: seq === undefined ? '' : String(seq),
    ...(createdAt === undefined ? {} : { creationTimestamp: createdAt }),
  },
  // Rows have their keys in the order of the database.
  spec: { description, deprecated, cluster: TemplateCluster.parse(cluster) },
});

export const templateView = (namespace: string, { template, clusters }: TemplateRow): ClusterTemplateView => ({
  ...appliedTemplateView(namespace, template),
  status: { revision: template.revision, clusters: [...clusters] },
});

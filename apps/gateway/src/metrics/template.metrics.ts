import { DATABASE, METRICS, type GaugeRequest, type Reading, type ServiceMetrics } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { SETTINGS, type Settings } from '../config.js';

const USES: readonly string[] = ['none', 'current', 'deprecated'];
/** Templates of which the clusters are counted by name at most. */
const NAMED_TEMPLATES_MAX = 1_000;

/** Clusters by their templates, for Prometheus. */
@Injectable()
export class TemplateMetrics {
  constructor(
    @Inject(METRICS) metrics: ServiceMetrics,
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(SETTINGS) settings: Pick<Settings, 'metricsNames'>,
  ) {
    for (const gauge of this.gauges(settings.metricsNames)) metrics.addGauge(gauge);
  }

  private gauges(areNamed: boolean): readonly GaugeRequest[] {
    const counts = {
      name: 'fairlead_clusters_by_template',
      help: 'Clusters by whether they have a template, and whether it is deprecated',
      labels: ['template'],
      read: () => this.byTemplate(),
    };
    const named = {
      name: 'fairlead_clusters_by_template_name',
      help: 'Clusters of each template, and whether it is deprecated',
      labels: ['namespace', 'template', 'deprecated'],
      read: () => this.byTemplateName(),
    };
    return areNamed ? [counts, named] : [counts];
  }

  private async byTemplate(): Promise<readonly Reading[]> {
    const rows = await this.database.query<{ template: string; n: string }[]>(
      `select case when not doc ? 'template' then 'none'
                   when templates.deprecated then 'deprecated' else 'current' end as template, count(*) as n
         from manifests left join
              (select cluster_templates.key as namespace, one.key as name, one.value->'deprecated' = 'true' as deprecated
                 from cluster_templates, jsonb_each(doc) as one) as templates
           on templates.namespace = split_part(manifests.key, '/', 1) and templates.name = doc->'template'->>'name'
        group by 1`,
    );
    const counts = new Map(rows.map(({ template, n }) => [template, Number(n)]));
    return USES.map((template) => ({ labels: { template }, value: counts.get(template) ?? 0 }));
  }

  /** A template that no cluster has is 0. */
  private async byTemplateName(): Promise<readonly Reading[]> {
    const rows = await this.database.query<{ namespace: string; template: string; deprecated: string; n: string }[]>(
      `select cluster_templates.key as namespace, one.key as template,
              coalesce(one.value->'deprecated' = 'true', false)::text as deprecated, count(manifests.key) as n
         from cluster_templates cross join jsonb_each(cluster_templates.doc) as one
              left join manifests on split_part(manifests.key, '/', 1) = cluster_templates.key
                                 and manifests.doc->'template'->>'name' = one.key
        group by 1, 2, 3 order by 1, 2 limit ${NAMED_TEMPLATES_MAX}`,
    );
    return rows.map(({ n, ...labels }) => ({ labels, value: Number(n) }));
  }
}

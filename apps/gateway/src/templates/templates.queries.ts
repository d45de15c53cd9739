import { NO_TEMPLATES, type ClusterTemplate, type ClusterTemplates } from '@fairlead/domain';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';

export interface TemplateRow {
  readonly template: ClusterTemplate;
  /** Names of the clusters that have it. */
  readonly clusters: readonly string[];
}

@Injectable()
export class TemplateQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** undefined: there is no such namespace. */
  async all(namespace: string): Promise<readonly TemplateRow[] | undefined> {
    const [row] = await this.database.query<{ doc: ClusterTemplates | null }[]>(
      `select cluster_templates.doc from namespaces left join cluster_templates on cluster_templates.key = namespaces.key
        where namespaces.key = $1`,
      [namespace],
    );
    if (row === undefined) return undefined;
    const users = await this.users(namespace);
    return Object.values(row.doc ?? NO_TEMPLATES)
      .map((template) => ({ template, clusters: users.get(template.name) ?? [] }))
      .toSorted((one, other) => (one.template.name < other.template.name ? -1 : 1));
  }

  async one(namespace: string, name: string): Promise<TemplateRow | undefined> {
    return (await this.all(namespace))?.find(({ template }) => template.name === name);
  }

  /** Names of clusters by their templates. */
  private async users(namespace: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const prefix = clusterKey(namespace, '');
    const rows = await this.database.query<{ template: string; clusters: string[] }[]>(
      `select doc->'template'->>'name' as template, array_agg(substr(key, $2) order by key) as clusters
         from manifests where starts_with(key, $1) and doc ? 'template' group by 1`,
      [prefix, prefix.length + 1],
    );
    return new Map(rows.map(({ template, clusters }) => [template, clusters]));
  }
}

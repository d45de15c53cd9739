import type { ClusterManifestView, JoinTokenId } from '@fairlead/contracts';
import type { Declared } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { NodeQueries } from '../nodes/nodes.queries.js';
import { CLOCK, DATABASE, type Clock } from '@fairlead/service-kit';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { clusterKey, type ClusterAddress } from '../common/cluster.address.js';
import { manifestView } from './manifest.view.js';

@Injectable()
export class ManifestQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async one({ namespace, cluster }: ClusterAddress): Promise<ClusterManifestView | undefined> {
    const [row] = await this.database.query<{ doc: Declared; deprecated: boolean | null }[]>(
      `select doc, (select templates.doc->(manifests.doc->'template'->>'name')->'deprecated' = 'true'
                      from cluster_templates as templates where templates.key = $2) as deprecated
         from manifests where key = $1`,
      [clusterKey(namespace, cluster), namespace],
    );
    const view = await this.clusters.one(namespace, cluster);
    if (row === undefined || view === undefined) return undefined;
    const nodes = await this.nodes.all(namespace, cluster);
    const isDeprecated = row.deprecated === true;
    return manifestView(row.doc, { cluster: view, nodes, now: this.clock.now().toISOString(), isDeprecated });
  }

  /** The id of the tokens of a pool; undefined: its bootstrap data do not exist. */
  async bootstrapOf({ namespace, cluster }: ClusterAddress, pool: string): Promise<JoinTokenId | undefined> {
    const [row] = await this.database.query<{ admission: JoinTokenId | null }[]>(
      `select doc->'bootstrapped'->>$2 as admission from manifests where key = $1`,
      [clusterKey(namespace, cluster), pool],
    );
    return row?.admission ?? undefined;
  }
}

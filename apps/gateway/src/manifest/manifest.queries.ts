import type { ClusterManifestView, Declared } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { clusterKey, type ClusterAddress } from '../common/cluster.address.js';
import { manifestView } from './manifest.view.js';

@Injectable()
export class ManifestQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
  ) {}

  async one({ namespace, cluster }: ClusterAddress): Promise<ClusterManifestView | undefined> {
    const [row] = await this.database.query<{ doc: Declared }[]>('select doc from manifests where key = $1', [
      clusterKey(namespace, cluster),
    ]);
    const view = await this.clusters.one(namespace, cluster);
    return row === undefined || view === undefined ? undefined : manifestView(row.doc, view);
  }
}

import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../clusters/clusters.projection.js';
import { nodeKey, type NodeDoc } from './nodes.projection.js';

@Injectable()
export class NodeQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async all(namespace: string, cluster: string): Promise<NodeDoc[]> {
    const rows = await this.database.query<{ doc: NodeDoc }[]>(
      'select doc from nodes where cluster_key = $1 order by key',
      [clusterKey(namespace, cluster)],
    );
    return rows.map(({ doc }) => doc);
  }

  async one(namespace: string, cluster: string, node: string): Promise<NodeDoc | undefined> {
    const rows = await this.database.query<{ doc: NodeDoc }[]>('select doc from nodes where key = $1', [
      nodeKey(namespace, cluster, node),
    ]);
    return rows[0]?.doc;
  }
}

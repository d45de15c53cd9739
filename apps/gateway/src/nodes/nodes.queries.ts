import type { NodeView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey, nodeKey } from '../common/cluster.address.js';
import { HoldQueries } from '../holds/holds.queries.js';
import type { NodeDoc } from './nodes.projection.js';
import { nodeView } from './nodes.view.js';

@Injectable()
export class NodeQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(HoldQueries) private readonly holds: HoldQueries,
  ) {}

  async views(namespace: string, cluster: string): Promise<NodeView[]> {
    const [docs, holds] = await Promise.all([this.all(namespace, cluster), this.holds.of(namespace, cluster)]);
    return docs.map((doc) => nodeView(doc, holds));
  }

  async view(namespace: string, cluster: string, node: string): Promise<NodeView | undefined> {
    const [doc, holds] = await Promise.all([this.one(namespace, cluster, node), this.holds.of(namespace, cluster)]);
    return doc && nodeView(doc, holds);
  }

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

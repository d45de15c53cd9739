import type { NodeView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey, nodeKey } from '../common/cluster.address.js';
import { HoldQueries } from '../holds/holds.queries.js';
import type { NodeDoc } from './nodes.projection.js';
import { isSelectedBy } from '../lifecycle/selection.rules.js';
import { nodeView, selectable, type AroundNodes, type Suspended } from './nodes.view.js';

type NodesOf = Parameters<typeof isSelectedBy>[0];

const ALL: NodesOf = { pools: [], labels: {} };

@Injectable()
export class NodeQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(HoldQueries) private readonly holds: HoldQueries,
  ) {}

  async views(namespace: string, cluster: string, selection: NodesOf = ALL): Promise<NodeView[]> {
    const [docs, around] = await Promise.all([this.all(namespace, cluster), this.around(namespace, cluster)]);
    return docs.filter((doc) => isSelectedBy(selection, selectable(doc))).map((doc) => nodeView(doc, around));
  }

  async view(namespace: string, cluster: string, node: string): Promise<NodeView | undefined> {
    const [doc, around] = await Promise.all([this.one(namespace, cluster, node), this.around(namespace, cluster)]);
    return doc && nodeView(doc, around);
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

  private async around(namespace: string, cluster: string): Promise<AroundNodes> {
    const [holds, rows] = await Promise.all([
      this.holds.of(namespace, cluster),
      this.database.query<{ suspended: Suspended | null; addresses: AroundNodes['virtualAddresses'] | null }[]>(
        `select doc->'health'->'suspended' as suspended, doc->'virtualAddresses' as addresses
           from clusters where key = $1`,
        [clusterKey(namespace, cluster)],
      ),
    ]);
    const [row] = rows;
    return { holds, suspended: row?.suspended ?? {}, virtualAddresses: row?.addresses ?? [] };
  }
}

import type { NodeAddress } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { nodeKey, type NodeRow } from './nodes.projection.js';

/** Reads the node rows of this service. */
@Injectable()
export class NodesQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** Nodes whose agent runs, of these partitions: those that should send heartbeats. */
  async watched(partitions: readonly number[]): Promise<readonly NodeRow[]> {
    const rows = await this.database.query<{ doc: NodeRow }[]>(
      'select doc from nodes where partition = any($1) and agent_started',
      [partitions],
    );
    return rows.map(({ doc }) => doc);
  }

  /** undefined: no cluster has, or still has, this node. */
  async one({ namespace, cluster, node }: NodeAddress): Promise<NodeRow | undefined> {
    const rows = await this.database.query<{ doc: NodeRow }[]>('select doc from nodes where key = $1', [
      nodeKey(namespace, cluster, node),
    ]);
    return rows[0]?.doc;
  }
}

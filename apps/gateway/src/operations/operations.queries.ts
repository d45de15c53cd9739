import type { OperationView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';
import { NodeQueries } from '../nodes/nodes.queries.js';
import type { OperationsDoc } from './operations.projection.js';
import { operationView } from './operations.view.js';

@Injectable()
export class OperationQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(NodeQueries) private readonly nodes: NodeQueries,
  ) {}

  /** undefined: nothing was requested under this name after the sequence. */
  async all(namespace: string, cluster: string, after: number): Promise<OperationView[] | undefined> {
    const [row] = await this.database.query<{ doc: OperationsDoc }[]>(
      `select doc from operations
        where key = $1
          and coalesce(case jsonb_typeof(doc->'requestedSeq') when 'number' then (doc->'requestedSeq')::bigint end, seq) > $2`,
      [clusterKey(namespace, cluster), after],
    );
    if (row === undefined) return undefined;
    const nodes = await this.nodes.all(namespace, cluster);
    return row.doc.operations.map((operation) => operationView(row.doc, operation, nodes));
  }
}

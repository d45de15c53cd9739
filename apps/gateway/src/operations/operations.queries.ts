import type { OperationView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../clusters/clusters.projection.js';
import type { OperationsDoc } from './operations.projection.js';
import { operationView } from './operations.view.js';
import { passedOfNodes, type NodeProgress } from './passed.js';

@Injectable()
export class OperationQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** undefined: nothing was asked for under this name after the sequence. */
  async all(namespace: string, cluster: string, after: number): Promise<OperationView[] | undefined> {
    const key = clusterKey(namespace, cluster);
    const [row] = await this.database.query<{ doc: OperationsDoc }[]>(
      `select doc from operations where key = $1 and coalesce((doc->>'requestedSeq')::bigint, seq) > $2`,
      [key, after],
    );
    if (row === undefined) return undefined;
    const nodes = await this.progressOf(key);
    return row.doc.operations.map((operation) => {
      const own = nodes.filter(({ planSeq }) => operation.planSeqs.includes(planSeq));
      const named = operation.course === 'add-nodes' ? own.map(({ name }) => name) : [];
      return operationView(row.doc.uid, operation, named, passedOfNodes(own));
    });
  }

  private progressOf(key: string): Promise<NodeProgress[]> {
    return this.database.query<NodeProgress[]>(
      `select doc->>'name' as name, doc->>'role' as role, (doc->>'leader')::boolean as leader, (doc->>'planSeq')::double precision as "planSeq",
              doc->'milestones' as milestones
         from nodes where cluster_key = $1`,
      [key],
    );
  }
}

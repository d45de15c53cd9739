import type { ClusterView } from '@fairlead/contracts';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { HoldsDoc } from '../holds/holds.projection.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import type { OperationsDoc } from '../operations/operations.projection.js';
import { clusterKey, type ClusterDoc } from './clusters.projection.js';
import { clusterView } from './clusters.view.js';

interface ClusterRow {
  readonly key: string;
  readonly seq: string;
  readonly doc: ClusterDoc;
}

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
};

@Injectable()
export class ClusterQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  async one(namespace: string, cluster: string): Promise<ClusterView | undefined> {
    const [view] = await this.assemble(
      await this.database.query<ClusterRow[]>('select key, seq, doc from clusters where key = $1', [
        clusterKey(namespace, cluster),
      ]),
    );
    return view;
  }

  async all(namespace: string): Promise<ClusterView[]> {
    return this.assemble(
      await this.database.query<ClusterRow[]>('select key, seq, doc from clusters where namespace = $1 order by key', [
        namespace,
      ]),
    );
  }

  async exists(namespace: string, cluster: string): Promise<boolean> {
    const found = await this.database.query<unknown[]>('select 1 from clusters where key = $1', [
      clusterKey(namespace, cluster),
    ]);
    return found.length > 0;
  }

  async uidOf(namespace: string, cluster: string): Promise<string | undefined> {
    const found = await this.database.query<{ uid: string }[]>(
      `select doc->>'uid' as uid from clusters where key = $1`,
      [clusterKey(namespace, cluster)],
    );
    return found[0]?.uid;
  }

  async namesIn(namespace: string): Promise<string[]> {
    const found = await this.database.query<{ name: string }[]>(
      `select doc->>'name' as name from clusters where namespace = $1 order by key`,
      [namespace],
    );
    return found.map(({ name }) => name);
  }

  /** Clusters with a node set, or a machine, on the connection: `<namespace>/<cluster>`. */
  async usersOf(connection: string): Promise<string[]> {
    const found = await this.database.query<{ key: string }[]>(
      `select key from clusters
        where doc->'spec'->'controlPlane'->>'connection' = $1
           or doc->'spec'->'workers' @> jsonb_build_array(jsonb_build_object('connection', $1::text))
       union
       select distinct cluster_key from nodes where doc->>'connection' = $1
       order by 1`,
      [connection],
    );
    return found.map(({ key }) => key);
  }

  private async assemble(rows: readonly ClusterRow[]): Promise<ClusterView[]> {
    if (rows.length === 0) return [];
    const keys = rows.map(({ key }) => key);
    const [nodes, operations, holds] = await Promise.all([
      this.database.query<{ cluster_key: string; doc: NodeDoc }[]>(
        'select cluster_key, doc from nodes where cluster_key = any($1) order by key',
        [keys],
      ),
      this.database.query<{ key: string; doc: OperationsDoc }[]>(
        'select key, doc from operations where key = any($1)',
        [keys],
      ),
      this.database.query<{ key: string; doc: HoldsDoc }[]>('select key, doc from holds where key = any($1)', [keys]),
    ]);
    const nodesOf = groupBy(nodes, (row) => row.cluster_key);
    const operationsOf = new Map(operations.map(({ key, doc }) => [key, doc]));
    const holdsOf = new Map(holds.map(({ key, doc }) => [key, doc]));
    return rows.map(({ key, seq, doc }) =>
      clusterView({
        cluster: doc,
        seq: Number(seq),
        nodes: (nodesOf.get(key) ?? []).map((row) => row.doc),
        operations: operationsOf.get(key),
        holds: holdsOf.get(key),
      }),
    );
  }
}

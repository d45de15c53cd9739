import type { ClusterView, ListQuery } from '@fairlead/contracts';
import { publishedServer, type ClusterIdentity, type Publication } from '@fairlead/domain';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';
import { History } from '../common/history.js';
import type { HoldsDoc } from '../holds/holds.projection.js';
import { cutPage, pageRequest, type Page } from '../http/page.js';
import type { NodeDoc } from '../nodes/nodes.projection.js';
import type { OperationsDoc } from '../operations/operations.projection.js';
import type { ClusterDoc } from './clusters.projection.js';
import { AroundClusters, type Moment } from './around.queries.js';
import { NOTHING_AROUND } from './clusters.facts.js';
import { clusterView } from './clusters.view.js';
import { viewFromLog } from './past.queries.js';

interface ClusterRow {
  readonly key: string;
  readonly seq: string;
  readonly doc: ClusterDoc;
}

const EVERYWHERE_PAGE = 100;

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
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(History) private readonly history: History,
    @Inject(AroundClusters) private readonly around: AroundClusters,
  ) {}

  /** What a view says of the present moment. */
  get moment(): Moment {
    return this.around.moment;
  }

  async one(namespace: string, cluster: string): Promise<ClusterView | undefined> {
    const [view] = await this.assemble(
      await this.database.query<ClusterRow[]>('select key, seq, doc from clusters where key = $1', [
        clusterKey(namespace, cluster),
      ]),
    );
    return view;
  }

  /** What it has at identity realms; undefined: nothing. */
  async identityOf(namespace: string, cluster: string): Promise<ClusterIdentity | undefined> {
    const [row] = await this.database.query<{ has: ClusterIdentity | null }[]>(
      `select doc->'identity'->'has' as has from clusters where key = $1`,
      [clusterKey(namespace, cluster)],
    );
    return row?.has ?? undefined;
  }

  /** https://name:port by which clients reach the API; undefined: it is not published. */
  async publishedServerOf(namespace: string, cluster: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ has: Publication | null }[]>(
      `select doc->'publication'->'has' as has from clusters where key = $1`,
      [clusterKey(namespace, cluster)],
    );
    const reserved = row?.has?.reserved;
    return reserved === undefined ? undefined : publishedServer(reserved);
  }

  /** Those of these keys that there are. */
  async named(keys: readonly string[]): Promise<ClusterView[]> {
    return this.assemble(
      await this.database.query<ClusterRow[]>('select key, seq, doc from clusters where key = any($1)', [keys]),
    );
  }

  async all(namespace: string): Promise<ClusterView[]> {
    return this.assemble(
      await this.database.query<ClusterRow[]>('select key, seq, doc from clusters where namespace = $1 order by key', [
        namespace,
      ]),
    );
  }

  /** In the order of bytes, whatever that of the database is, so that a token continues where its page ended. */
  async page(
    namespace: string,
    query: Pick<ListQuery, 'limit' | 'continue'>,
    isWhole: boolean,
  ): Promise<Page<ClusterView>> {
    if (isWhole) return { items: await this.all(namespace) };
    const request = pageRequest(`clusters/${namespace}`, query, isWhole);
    const rows = await this.database.query<ClusterRow[]>(
      `select key, seq, doc from clusters where namespace = $1 and ($2::text is null or key collate "C" > $2)
        order by key collate "C" limit $3`,
      [namespace, request.after ?? null, request.limit + 1],
    );
    const { items, ...more } = cutPage(request, rows, ({ key }) => key);
    return { items: await this.assemble(items), ...more };
  }

  /** Those of all namespaces, a page at a time. */
  async *everywhere(): AsyncGenerator<ClusterView> {
    for (let after: string | null = ''; after !== null;) {
      const rows: ClusterRow[] = await this.database.query<ClusterRow[]>(
        'select key, seq, doc from clusters where key collate "C" > $1 order by key collate "C" limit $2',
        [after, EVERYWHERE_PAGE],
      );
      yield* await this.assemble(rows);
      after = rows.length < EVERYWHERE_PAGE ? null : (rows.at(-1)?.key ?? null);
    }
  }

  /** From the log itself, while the rows are late. */
  async recorded(namespace: string, cluster: string): Promise<ClusterView | undefined> {
    return viewFromLog(await this.history.of(namespace, cluster), this.moment);
  }

  private async assemble(rows: readonly ClusterRow[]): Promise<ClusterView[]> {
    if (rows.length === 0) return [];
    const keys = rows.map(({ key }) => key);
    const [around, nodes, operations, holds] = await Promise.all([
      this.around.of(keys),
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
    const { moment } = this;
    return rows.map(({ key, seq, doc }) =>
      clusterView({
        cluster: doc,
        seq: Number(seq),
        nodes: (nodesOf.get(key) ?? []).map((row) => row.doc),
        operations: operationsOf.get(key),
        holds: holdsOf.get(key),
        around: around.get(key) ?? NOTHING_AROUND,
        ...moment,
      }),
    );
  }
}

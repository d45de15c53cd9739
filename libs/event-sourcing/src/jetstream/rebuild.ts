import { EVERY_EVENT, partitionFilter, partitionInSubject } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool, PoolClient } from 'pg';
import { project, type Projection } from '../projection.js';
import { projectionConsumer } from './consumers.js';
import { readAll } from './direct.reader.js';
import { decode } from './envelope.codec.js';
import { readPass } from './log.pass.js';
import { partitionRange, type PartitionRange, type Reached } from './partition.range.js';
import { identifier, PartitionStore, writeRows, type RowChange } from './partition.store.js';
import { inTransaction } from './transaction.js';

export interface Rebuilt {
  readonly projection: string;
  readonly rows: number;
  readonly events: number;
  readonly durationMs: number;
  /** MD5 over all rows in the order of their keys. */
  readonly digest: string;
  /** Whether the live rows, at the same position of the log, were equal. */
  readonly equal: boolean;
}

interface Target {
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly projection: Projection<unknown>;
}

const digestOf = async (client: PoolClient, table: string): Promise<{ digest: string; rows: number }> => {
  const found = await client.query<{ digest: string; rows: string }>(
    `select coalesce(md5(string_agg(md5(key || doc::text), '' order by key)), 'empty') as digest, count(*) as rows from ${identifier(table)}`,
  );
  return { digest: found.rows[0]?.digest ?? 'empty', rows: Number(found.rows[0]?.rows ?? 0) };
};

interface Shadow {
  readonly table: string;
  readonly client: Pool | PoolClient;
}

/**
 * Maximum rows folded in memory before they are written; the log is ordered by time, so clusters alternate constantly.
 */
const ROWS_KEPT_MAX = 20_000;
/** For a message that belongs to no partition and is not an event. */
const NO_PARTITION = -1;

/** Rows of the shadow table, each read and written once for many batches: nothing else reads them until the end. */
class ShadowRows {
  private readonly known = new Map<string, unknown>();
  private readonly changed = new Map<string, RowChange>();

  constructor(
    private readonly store: PartitionStore,
    private readonly shadow: Shadow,
  ) {}

  async load(keys: ReadonlySet<string>): Promise<void> {
    if (this.known.size > ROWS_KEPT_MAX) await this.flush();
    const missing = [...keys].filter((key) => !this.known.has(key));
    if (missing.length === 0) return;
    const found = await this.store.rows(this.shadow.table, missing, this.shadow.client);
    for (const key of missing) this.known.set(key, found.get(key));
  }

  get(key: string): unknown {
    return this.known.get(key);
  }

  set({ key, seq, doc }: RowChange): void {
    this.known.set(key, doc);
    this.changed.set(key, { key, seq, doc });
  }

  async flush(): Promise<void> {
    await writeRows(this.shadow.client, this.shadow.table, [...this.changed.values()]);
    this.changed.clear();
    this.known.clear();
  }
}

interface Span {
  readonly read: typeof readAll;
  readonly filter: string;
  readonly range: PartitionRange | undefined;
}

/** Folds a filter's events within a range into the shadow table; returns their number. */
const foldRange = async (
  { nc, projection, pool }: Target,
  shadow: Shadow,
  { read, filter, range }: Span,
): Promise<number> => {
  if (range === undefined) return 0;
  const kept = new ShadowRows(new PartitionStore(pool), shadow);
  let count = 0;
  for await (const batch of read(nc, filter, range.first)) {
    const events = batch
      .filter(({ subject, seq }) => range.has(partitionInSubject(subject) ?? NO_PARTITION, seq))
      .flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []);
    await kept.load(new Set(events.flatMap((event) => projection.keys(event))));
    const { rows, poisons } = project(projection, (key) => kept.get(key), events);
    const poison = poisons[0];
    if (poison !== undefined)
      throw new Error(`${projection.name} cannot take event ${poison.seq} of ${poison.clusterKey}: ${poison.error}`);
    for (const [key, { seq, doc }] of rows) kept.set({ key, seq, doc });
    count += events.length;
    if ((batch.at(-1)?.seq ?? 0) >= range.last) break;
  }
  await kept.flush();
  return count;
};

const positionsOf = async (client: Pool | PoolClient, consumer: string, lock: '' | 'for update'): Promise<Reached> => {
  const found = await client.query<{ partition: number; seq: string }>(
    `select partition, seq from positions where consumer = $1 order by partition ${lock}`,
    [consumer],
  );
  return new Map(found.rows.map((row) => [row.partition, Number(row.seq)]));
};

/**
 * Rebuilds the rows of a projection from the log, beside the live ones, while the service runs. At the end the
 * partitions are held briefly (their positions are locked), the last events are folded, both tables are compared at the
 * same position, and the new rows replace the old ones.
 */
export const rebuildProjection = async (target: Target): Promise<Rebuilt> => {
  const { pool, projection } = target;
  const consumer = projectionConsumer(projection);
  const table = `${projection.table}__rebuild`;
  const startedAt = performance.now();
  await pool.query(`drop table if exists ${identifier(table)}`);
  await pool.query(`create table ${identifier(table)} (like ${identifier(projection.table)} including all)`);
  const reached = await positionsOf(pool, consumer, '');
  // In one pass: to read the messages of one partition, the server scans those of every other one.
  const whole = { read: readPass, filter: EVERY_EVENT, range: partitionRange(new Map(), reached) };
  let events = await foldRange(target, { table, client: pool }, whole);
  return inTransaction(pool, async (client) => {
    for (const [partition, upTo] of await positionsOf(client, consumer, 'for update')) {
      // A quiet one may be far behind the others, and its few new messages are found by its filter.
      const after = new Map([[partition, reached.get(partition) ?? 0]]);
      const rest = {
        read: readAll,
        filter: partitionFilter(partition),
        range: partitionRange(after, new Map([[partition, upTo]])),
      };
      events += await foldRange(target, { table, client }, rest);
    }
    const live = await digestOf(client, projection.table);
    const rebuilt = await digestOf(client, table);
    await client.query(`delete from ${identifier(projection.table)}`);
    await client.query(
      `insert into ${identifier(projection.table)} (key, seq, doc) select key, seq, doc from ${identifier(table)}`,
    );
    await client.query(`drop table ${identifier(table)}`);
    await client.query('update positions set epoch = epoch + 1 where consumer = $1', [consumer]);
    const durationMs = Math.round(performance.now() - startedAt);
    return {
      projection: projection.name,
      rows: rebuilt.rows,
      events,
      durationMs,
      digest: rebuilt.digest,
      equal: live.digest === rebuilt.digest,
    };
  });
};

import pLimit from 'p-limit';
import type { Pool, PoolClient } from 'pg';
import type { CancelTimerReaction, TimerReaction } from '../process.js';
import type { Cause } from '../store.js';
import type { Poison } from '../projection.js';
import type { TasksInState } from '../reconciler.js';
import { CommitGroup } from './commit.group.js';
import { isDataError } from './data.errors.js';
import { currentLoad } from './load.meter.js';
import { storableText } from './message.text.js';
import { writeRejected, type RejectedMessage } from './rejections.js';
import { joinedState, storedState, type StoredState } from './state.pieces.js';
import { inTransaction, orNothing } from './transaction.js';
import { allOrNothing, isWrongCount, remembered, statementOf, type Write } from './write.statement.js';

/** Another replica has moved a position of this partition: this one no longer owns it. */
export class LostOwnership extends Error {
  constructor(partition: number) {
    super(`partition ${partition} is worked on by another replica`);
    this.name = 'LostOwnership';
  }
}

export interface RowChange {
  readonly key: string;
  readonly seq: number;
  readonly doc: unknown;
}

export interface StateChange extends RowChange {
  /** The stored value; undefined: none. */
  readonly before: unknown;
}

/** The owner of a timer, and the event that led to it. */
export interface TimerChange {
  readonly process: string;
  readonly clusterKey: string;
  readonly cause: Pick<Cause, 'correlationId' | 'causationId'>;
  readonly reaction: TimerReaction | CancelTimerReaction;
}

/** `epoch` counts how often a rebuild has replaced the consumer's rows, after which partitions must load again. */
export interface Position {
  readonly seq: number;
  readonly epoch: number;
}

export interface PositionMove {
  readonly consumer: string;
  readonly from: Position;
  readonly to: number;
}

/** All changes of one batch, written in one transaction or not at all. */
export interface BatchChanges {
  readonly partition: number;
  readonly positions: readonly PositionMove[];
  readonly tables: readonly { readonly table: string; readonly rows: readonly RowChange[] }[];
  readonly states: readonly { readonly process: string; readonly rows: readonly StateChange[] }[];
  readonly timers: readonly TimerChange[];
  readonly quarantined: readonly { readonly consumer: string; readonly poison: Poison }[];
  /** `startsOver`: its state is folded again from the first event. */
  readonly released: readonly {
    readonly consumer: string;
    readonly clusterKey: string;
    readonly startsOver: boolean;
  }[];
  readonly rejected: readonly RejectedMessage[];
}

/** The part of a batch that is written whichever of its pieces fail. */
export type ApartBase = Pick<BatchChanges, 'partition' | 'positions' | 'released' | 'rejected'>;

type Piece = Pick<BatchChanges, 'tables' | 'states' | 'timers'>;

/** Writes a piece of a batch, or nothing of it and returns the data error. */
export type WritePiece = (piece: Piece) => Promise<Error | undefined>;

/** Positions move by compare-and-set: a consumer that finds another value than it wrote has been replaced. */
const positionsWrite = (bases: readonly Pick<ApartBase, 'partition' | 'positions'>[]): Write => {
  const moves = bases.flatMap(({ partition, positions }) => positions.map((move) => ({ partition, ...move })));
  return {
    text: `update positions p set seq = c.seq_to
       from unnest($1::smallint[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[]) as c(partition, consumer, seq_from, epoch, seq_to)
      where p.partition = c.partition and p.consumer = c.consumer and p.seq = c.seq_from and p.epoch = c.epoch`,
    values: [
      moves.map(({ partition }) => partition),
      moves.map(({ consumer }) => consumer),
      moves.map(({ from }) => from.seq),
      moves.map(({ from }) => from.epoch),
      moves.map(({ to }) => to),
    ],
  };
};

const movePositions = async (client: PoolClient, base: ApartBase): Promise<void> => {
  if (base.positions.length === 0) return;
  const moved = await client.query(statementOf(positionsWrite([base])));
  if (moved.rowCount !== base.positions.length) throw new LostOwnership(base.partition);
};

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const keysOfGone = (rows: readonly RowChange[]): readonly string[] =>
  rows.filter((row) => row.doc === undefined).map((row) => row.key);

/** The columns key, seq and doc of the rows that are kept. */
const columnsOf = (rows: readonly RowChange[]): readonly (readonly unknown[])[] => {
  const kept = rows.filter((row) => row.doc !== undefined);
  return [kept.map((row) => row.key), kept.map((row) => row.seq), kept.map((row) => JSON.stringify(row.doc))];
};

const rowWrites = (table: string, rows: readonly RowChange[]): readonly Write[] => {
  const gone = keysOfGone(rows);
  const writes: Write[] = [];
  if (gone.length > 0)
    writes.push({ text: `delete from ${identifier(table)} where key = any($1::text[])`, values: [gone] });
  if (gone.length < rows.length)
    writes.push({
      text: `insert into ${identifier(table)} (key, seq, doc)
     select * from unnest($1::text[], $2::bigint[], $3::jsonb[])
     on conflict (key) do update set seq = excluded.seq, doc = excluded.doc`,
      values: columnsOf(rows),
    });
  return writes;
};

interface KeptState {
  readonly process: string;
  readonly key: string;
  readonly seq: number;
  readonly stored: StoredState;
}

const pieceWrites = (states: readonly KeptState[]): readonly Write[] => {
  const changed = states.flatMap(({ process, key, stored }) =>
    stored.changed.map(({ path, doc }) => ({ process, key, path, doc })),
  );
  const gone = states.flatMap(({ process, key, stored }) => stored.gone.map((path) => ({ process, key, path })));
  const writes: Write[] = [];
  if (gone.length > 0)
    writes.push({
      text: `delete from process_state_pieces p using unnest($1::text[], $2::text[], $3::text[]) as g(process, cluster_key, path)
      where p.process = g.process and p.cluster_key = g.cluster_key and p.path = g.path`,
      values: [gone.map(({ process }) => process), gone.map(({ key }) => key), gone.map(({ path }) => path)],
    });
  if (changed.length > 0)
    writes.push({
      text: `insert into process_state_pieces (process, cluster_key, path, doc)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::jsonb[])
     on conflict (process, cluster_key, path) do update set doc = excluded.doc`,
      values: [
        changed.map(({ process }) => process),
        changed.map(({ key }) => key),
        changed.map(({ path }) => path),
        changed.map(({ doc }) => JSON.stringify(doc)),
      ],
    });
  return writes;
};

/** For all processes at once: few kinds of statements, each of which a connection parses once. */
const stateWrites = (states: BatchChanges['states']): readonly Write[] => {
  const all = states.flatMap(({ process, rows }) => rows.map((row) => ({ process, ...row })));
  const gone = all.filter(({ doc }) => doc === undefined);
  const writes =
    gone.length === 0
      ? []
      : ['process_state', 'process_state_pieces', 'timers'].map((table) => ({
          text: `delete from ${table} t using unnest($1::text[], $2::text[]) as g(process, cluster_key)
      where t.process = g.process and t.cluster_key = g.cluster_key`,
          values: [gone.map(({ process }) => process), gone.map(({ key }) => key)],
        }));
  const kept = all
    .filter(({ doc }) => doc !== undefined)
    .map(({ process, key, seq, before, doc }) => ({ process, key, seq, stored: storedState(before, doc) }));
  if (kept.length === 0) return writes;
  return [
    ...writes,
    {
      text: `insert into process_state (process, cluster_key, seq, doc)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::jsonb[])
     on conflict (process, cluster_key) do update set seq = excluded.seq, doc = excluded.doc`,
      values: [
        kept.map(({ process }) => process),
        ...columnsOf(kept.map(({ key, seq, stored: { doc } }) => ({ key, seq, doc }))),
      ],
    },
    ...pieceWrites(kept),
  ];
};

/** A state that is folded again from the first event loses all of its pieces. */
const startOver = async (client: PoolClient, released: BatchChanges['released']): Promise<void> => {
  for (const { consumer, clusterKey, startsOver } of released)
    if (startsOver)
      await client.query('delete from process_state_pieces where process = $1 and cluster_key = $2', [
        consumer,
        clusterKey,
      ]);
};

interface StateRow {
  readonly process: string;
  readonly cluster_key: string;
  readonly doc: unknown;
  readonly pieces: Readonly<Record<string, unknown>> | null;
}

/** Returns the rows of a statement; implemented by a pool, a client or an ORM. */
export type Ask = <Row>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>;

const STATES_TEXT = `select s.process, s.cluster_key, s.doc, (
       select jsonb_object_agg(path, p.doc) from process_state_pieces p
        where p.process = s.process and p.cluster_key = s.cluster_key) as pieces
       from unnest($1::text[], $2::text[]) as asked(process, cluster_key)
       join process_state s on s.process = asked.process and s.cluster_key = asked.cluster_key`;

interface AskedStates {
  readonly process: string;
  readonly clusterKeys: readonly string[];
}

const statesQuery = (asked: readonly AskedStates[]): Write => ({
  text: STATES_TEXT,
  values: [
    asked.flatMap(({ process, clusterKeys }) => clusterKeys.map(() => process)),
    asked.flatMap(({ clusterKeys }) => clusterKeys),
  ],
});

/** States by cluster. */
const statesIn = (rows: readonly StateRow[], process: string): Map<string, unknown> =>
  new Map(
    rows.flatMap((row) => (row.process === process ? [[row.cluster_key, joinedState(row.doc, row.pieces)]] : [])),
  );

/** The last stored states of a process, by cluster. */
export const readStates = async (
  ask: Ask,
  process: string,
  clusterKeys: readonly string[],
): Promise<Map<string, unknown>> => {
  const { text, values } = statesQuery([{ process, clusterKeys }]);
  return statesIn(await ask<StateRow>(text, values), process);
};

/** The tasks that states of these processes request. */
export interface DesiredTasks {
  readonly process: string;
  readonly clusterKey: string;
  readonly state: TasksInState;
}

/** For all clusters; the rest of their states is not read. */
export const readDesiredTasks = async (ask: Ask, processes: readonly string[]): Promise<readonly DesiredTasks[]> => {
  const rows = await ask<StateRow>(
    `select process, cluster_key,
       jsonb_build_object('origins', doc -> 'origins', 'generation', doc -> 'generation', 'firstSeq', doc -> 'firstSeq') as doc, (
       select jsonb_object_agg(path, p.doc) from process_state_pieces p
        where p.process = s.process and p.cluster_key = s.cluster_key and p.path like '["origins",%') as pieces
       from process_state s where process = any($1) and doc -> 'origins' <> '{}'::jsonb`,
    [processes],
  );
  return rows.map(({ process, cluster_key: clusterKey, doc, pieces }) => ({
    process,
    clusterKey,
    state: joinedState(doc, pieces) as TasksInState,
  }));
};

export const askOf =
  (client: Pool | PoolClient): Ask =>
  async <Row>(text: string, values: readonly unknown[]) =>
    (await client.query(text, [...values])).rows as Row[];

/** Prepared statements, which each connection parses and plans once: for frequent queries. */
export const askPrepared =
  (pool: Pool): Ask =>
  async <Row>(text: string, values: readonly unknown[]) =>
    (await pool.query(remembered({ text, values }))).rows as Row[];

const inOrder = async (client: Pool | PoolClient, writes: readonly Write[]): Promise<void> => {
  for (const write of writes) await client.query(statementOf(write));
};

export const writeRows = (client: Pool | PoolClient, table: string, rows: readonly RowChange[]): Promise<void> =>
  inOrder(client, rowWrites(table, rows));

/** Identifies timers: the columns process, cluster_key and key. */
const timerKeys = (timers: readonly TimerChange[]): readonly (readonly string[])[] => [
  timers.map(({ process }) => process),
  timers.map(({ clusterKey }) => clusterKey),
  timers.map(({ reaction }) => reaction.key),
];

/**
 * Sets timers, replacing those with the same keys, or deletes them. Of several changes to one timer the last one wins.
 */
const timerWrites = (timers: readonly TimerChange[]): readonly Write[] => {
  const last = new Map(timers.map((one) => [JSON.stringify([one.process, one.clusterKey, one.reaction.key]), one]));
  const cancelled: TimerChange[] = [];
  const set: (TimerChange & { readonly reaction: TimerReaction })[] = [];
  for (const { reaction, ...owner } of last.values())
    if (reaction.kind === 'timer') set.push({ ...owner, reaction });
    else cancelled.push({ ...owner, reaction });
  const writes: Write[] = [];
  if (cancelled.length > 0)
    writes.push({
      text: `delete from timers t using unnest($1::text[], $2::text[], $3::text[]) as c(process, cluster_key, key)
      where t.process = c.process and t.cluster_key = c.cluster_key and t.key = c.key`,
      values: timerKeys(cancelled),
    });
  if (set.length > 0)
    writes.push({
      text: `insert into timers (process, cluster_key, key, due_at, cause, data)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::jsonb[], $6::jsonb[])
     on conflict (process, cluster_key, key) do update set due_at = excluded.due_at, cause = excluded.cause, data = excluded.data`,
      values: [
        ...timerKeys(set),
        set.map(({ reaction }) => reaction.dueAt),
        set.map(({ cause }) => JSON.stringify(cause)),
        set.map(({ reaction }) => JSON.stringify(reaction.data)),
      ],
    });
  return writes;
};

const quarantine = async (
  client: PoolClient,
  { quarantined, released }: Pick<BatchChanges, 'quarantined' | 'released'>,
): Promise<void> => {
  for (const { consumer, clusterKey } of released) {
    await client.query('delete from quarantined where consumer = $1 and cluster_key = $2', [consumer, clusterKey]);
  }
  for (const { consumer, poison } of quarantined) {
    await client.query(
      `insert into quarantined (consumer, cluster_key, seq, event_id, error) values ($1, $2, $3, $4, $5)
       on conflict (consumer, cluster_key) do nothing`,
      [consumer, poison.clusterKey, poison.seq, poison.eventId, storableText(poison.error)],
    );
  }
};

const writesOf = ({ tables, states, timers }: Piece): readonly Write[] => [
  ...tables.flatMap(({ table, rows }) => rowWrites(table, rows)),
  ...stateWrites(states),
  ...timerWrites(timers),
];

const writePiece = (client: PoolClient, piece: Piece): Promise<void> => inOrder(client, writesOf(piece));

/**
 * The changes of several partitions' batches. Each cluster is in one partition, so no two of them write the same row of
 * it.
 */
const togetherOf = (batches: readonly Piece[]): Piece => {
  const rowsOf = new Map<string, RowChange[]>();
  for (const { tables } of batches)
    for (const { table, rows } of tables) {
      const known = rowsOf.get(table);
      if (known === undefined) rowsOf.set(table, [...rows]);
      else known.push(...rows);
    }
  return {
    tables: [...rowsOf]
      .map(([table, rows]) => ({ table, rows }))
      .sort((one, other) => (one.table < other.table ? -1 : 1)),
    states: batches.flatMap(({ states }) => states),
    timers: batches.flatMap(({ timers }) => timers),
  };
};

/**
 * A larger batch belongs to a partition that catches up: it gains little by waiting, and several of them would form one
 * very large statement.
 */
const ROWS_TOGETHER_MAX = 64;

const rowsIn = ({ tables, states, timers }: Piece): number =>
  [...tables, ...states].reduce((sum, { rows }) => sum + rows.length, timers.length);

/**
 * Whether the order within the batch does not matter. Removing a state deletes its timers, so no others may be set in
 * the same batch.
 */
const isPlain = ({ positions, states, timers, quarantined, released, rejected }: BatchChanges): boolean =>
  positions.length > 0 &&
  quarantined.length + released.length + rejected.length === 0 &&
  (timers.length === 0 || states.every(({ rows }) => keysOfGone(rows).length === 0));

interface QuarantinedRow {
  readonly consumer: string;
  readonly cluster_key: string;
  readonly seq: string;
  readonly event_id: string;
  readonly error: string;
  readonly announced: boolean;
}

/** In each of about ten steps of a new cluster something waits for a commit. */
const COMMITS_WAIT_MS = 20;

export interface PartitionStoreOptions {
  readonly load?: () => number;
  /**
   * How long commits of partitions wait for each other while many clusters are in progress and the CPUs are saturated.
   */
  readonly commitsWaitMs?: number | undefined;
}

/** The partitions' access to the service's database. */
export class PartitionStore {
  private readonly apart = pLimit(1);
  private readonly group: CommitGroup<BatchChanges>;

  constructor(
    readonly pool: Pool,
    { load = currentLoad, commitsWaitMs = COMMITS_WAIT_MS }: PartitionStoreOptions = {},
  ) {
    this.group = new CommitGroup({
      write: (batches) => this.writePlain(batches),
      isOfOne: (error) => isWrongCount(error) || isDataError(error),
      load,
      nowMs: () => performance.now(),
      waitMs: commitsWaitMs,
    });
  }

  /** The positions of the consumers in a partition; a new consumer starts before the first event. */
  async positions(partition: number, consumers: readonly string[]): Promise<Map<string, Position>> {
    await this.pool.query(
      `insert into positions (consumer, partition, seq) select unnest($2::text[]), $1::smallint, 0 on conflict do nothing`,
      [partition, consumers],
    );
    const found = await this.pool.query<{ consumer: string; seq: string; epoch: number }>(
      'select consumer, seq, epoch from positions where partition = $1 and consumer = any($2)',
      [partition, consumers],
    );
    return new Map(found.rows.map((row) => [row.consumer, { seq: Number(row.seq), epoch: row.epoch }]));
  }

  async quarantined(): Promise<{ consumer: string; poison: Poison; announced: boolean }[]> {
    const found = await this.pool.query<QuarantinedRow>(
      'select consumer, cluster_key, seq, event_id, error, announced from quarantined',
    );
    return found.rows.map((row) => ({
      consumer: row.consumer,
      poison: { clusterKey: row.cluster_key, seq: Number(row.seq), eventId: row.event_id, error: row.error },
      announced: row.announced,
    }));
  }

  async quarantinedAnnounced(consumer: string, clusterKey: string): Promise<void> {
    await this.pool.query('update quarantined set announced = true where consumer = $1 and cluster_key = $2', [
      consumer,
      clusterKey,
    ]);
  }

  async rows(
    table: string,
    keys: readonly string[],
    client: Pool | PoolClient = this.pool,
  ): Promise<Map<string, unknown>> {
    const found = await client.query<{ key: string; doc: unknown }>(
      `select key, doc from ${identifier(table)} where key = any($1)`,
      [keys],
    );
    return new Map(found.rows.map((row) => [row.key, row.doc]));
  }

  /**
   * Rows of several tables in one statement, in order. The statement is the same for the same tables, whatever the
   * keys.
   */
  async rowsOf(
    asked: readonly { readonly table: string; readonly keys: readonly string[] }[],
  ): Promise<readonly Map<string, unknown>[]> {
    const maps = asked.map(() => new Map<string, unknown>());
    if (asked.every(({ keys }) => keys.length === 0)) return maps;
    const parts = asked.map(
      ({ table }, at) => `select ${at} as at, key, doc from ${identifier(table)} where key = any($${at + 1}::text[])`,
    );
    const query = { text: parts.join(' union all '), values: asked.map(({ keys }) => keys) };
    const found = await this.pool.query<{ at: number; key: string; doc: unknown }>(remembered(query));
    for (const { at, key, doc } of found.rows) maps[at]?.set(key, doc);
    return maps;
  }

  /** States of several processes in one statement, in order. */
  async statesOf(asked: readonly AskedStates[]): Promise<readonly Map<string, unknown>[]> {
    if (asked.every(({ clusterKeys }) => clusterKeys.length === 0)) return asked.map(() => new Map());
    const found = await this.pool.query<StateRow>(remembered(statesQuery(asked)));
    return asked.map(({ process }) => statesIn(found.rows, process));
  }

  /** Rejects with LostOwnership if another replica has taken the partition. */
  async commit(changes: BatchChanges): Promise<void> {
    if (isPlain(changes)) return this.commitPlain(changes);
    await inTransaction(this.pool, async (client) => {
      await movePositions(client, changes);
      await startOver(client, changes.released);
      await writePiece(client, changes);
      await quarantine(client, changes);
      await writeRejected(client, changes.rejected);
    });
  }

  /** The changes of most batches are one statement: one round trip instead of one per table plus begin and commit. */
  private async commitPlain(changes: BatchChanges): Promise<void> {
    try {
      if (rowsIn(changes) > ROWS_TOGETHER_MAX) await this.writePlain([changes]);
      else await this.group.commit(changes);
    } catch (error) {
      if (isWrongCount(error)) throw new LostOwnership(changes.partition);
      throw error;
    }
  }

  private async writePlain(batches: readonly BatchChanges[]): Promise<void> {
    const inOrder = batches.toSorted((one, other) => one.partition - other.partition);
    const count = inOrder.reduce((sum, { positions }) => sum + positions.length, 0);
    await this.pool.query(allOrNothing(positionsWrite(inOrder), count, writesOf(togetherOf(inOrder))));
  }

  /** One transaction in which each piece is written or not; `work` returns the quarantines for those that were not. */
  async commitApart(base: ApartBase, work: (write: WritePiece) => Promise<BatchChanges['quarantined']>): Promise<void> {
    // It holds one connection and reads through another, so only one may run at a time.
    await this.apart(() =>
      inTransaction(this.pool, async (client) => {
        await movePositions(client, base);
        await startOver(client, base.released);
        const quarantined = await work((piece) => orNothing(client, () => writePiece(client, piece)));
        await quarantine(client, { quarantined, released: base.released });
        await writeRejected(client, base.rejected);
      }),
    );
  }
}

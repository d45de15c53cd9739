import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { CancelTimerReaction, TimerReaction } from '../process.js';
import { KERNEL_MIGRATIONS } from './kernel.migration.js';
import {
  askOf,
  LostOwnership,
  PartitionStore,
  readDesiredTasks,
  type BatchChanges,
  type RowChange,
  type StateChange,
} from './partition.store.js';

const PARTITION = 3;
const CONSUMERS = ['projection:a', 'process:b'];
let environment: TestEnvironment;
let database: DataSource;
let pool: pg.Pool;
let store: PartitionStore;

beforeAll(async () => {
  environment = await testEnvironment();
  const url = environment.databases['upgrade-svc'];
  database = new DataSource({ type: 'postgres', url, migrations: [...KERNEL_MIGRATIONS] });
  await database.initialize();
  await database.runMigrations();
  await database.query('create table a (key text primary key, seq bigint not null, doc jsonb not null)');
  pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => undefined); // The server closes idle connections when it stops.
  store = new PartitionStore(pool);
});

afterAll(async () => {
  await pool.end();
  await database.destroy();
  await environment.stop();
});

beforeEach(async () => {
  await pool.query('truncate positions, process_state, process_state_pieces, timers, a');
  await store.positions(PARTITION, CONSUMERS);
});

const row = (key: string, seq: number, doc: unknown = { seq }): RowChange => ({ key, seq, doc });
const gone = (key: string, seq: number): RowChange => ({ key, seq, doc: undefined });

interface Batch {
  readonly from: number;
  readonly to: number;
  readonly rows?: readonly RowChange[];
  readonly states?: readonly (RowChange & Partial<StateChange>)[];
}

const batch = ({ from, to, rows = [], states = [] }: Batch): BatchChanges => ({
  partition: PARTITION,
  positions: CONSUMERS.map((consumer) => ({ consumer, from: { seq: from, epoch: 0 }, to })),
  tables: [{ table: 'a', rows }],
  states: [{ process: 'process:b', rows: states.map((change) => ({ before: undefined, ...change })) }],
  timers: [],
  quarantined: [],
  released: [],
  rejected: [],
});

const positions = async (): Promise<readonly number[]> =>
  [...(await store.positions(PARTITION, CONSUMERS)).values()].map(({ seq }) => seq);
const docs = async (): Promise<Readonly<Record<string, unknown>>> =>
  Object.fromEntries(await store.rows('a', ['x', 'y', 'z']));
const states = async (): Promise<Map<string, unknown>> =>
  (await store.statesOf([{ process: 'process:b', clusterKeys: ['ns/c'] }]))[0] ?? new Map();

describe('the commit of a batch', () => {
  it('writes rows, states and positions together, and deletes removed rows', async () => {
    await store.commit(batch({ from: 0, to: 5, rows: [row('x', 4), row('y', 5)], states: [row('ns/c', 5)] }));
    await store.commit(batch({ from: 5, to: 9, rows: [gone('x', 7), row('y', 8), row('z', 9)] }));
    expect(await docs()).toEqual({ y: { seq: 8 }, z: { seq: 9 } });
    expect(await states()).toEqual(new Map([['ns/c', { seq: 5 }]]));
    expect(await positions()).toEqual([9, 9]);
  });

  it('writes only the changed hosts of a state with many, and reads it as a whole', async () => {
    const hosts = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`w-${at}`, { at }]));
    const first = { cluster: { uid: 'u', hosts } };
    const { 'w-1': _gone, ...others } = hosts;
    const second = { cluster: { uid: 'u', hosts: { ...others, 'w-2': { at: 0 }, 'w-100': { at: 100 } } } };
    await store.commit(batch({ from: 0, to: 5, states: [row('ns/c', 5, first)] }));
    await pool.query(`update process_state_pieces set doc = '{"at":-3}' where path like '%w-3"]'`);
    await store.commit(batch({ from: 5, to: 6, states: [{ ...row('ns/c', 6, second), before: first }] }));
    const unwritten = { ...second.cluster.hosts, 'w-3': { at: -3 } };
    expect((await states()).get('ns/c')).toEqual({
      cluster: { uid: 'u', hosts: unwritten },
    });
    await store.commit(batch({ from: 6, to: 7, states: [{ ...gone('ns/c', 7), before: second }] }));
    expect((await pool.query('select from process_state_pieces')).rowCount).toBe(0);
  });

  it('replaces everything stored of a state that is folded again from the start', async () => {
    const hostsOf = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`w-${at}`, { at }]));
    await store.commit(batch({ from: 0, to: 5, states: [row('ns/c', 5, { hosts: hostsOf(100) })] }));
    const again = batch({ from: 5, to: 6, states: [row('ns/c', 6, { hosts: hostsOf(40) })] });
    await store.commit({ ...again, released: [{ consumer: 'process:b', clusterKey: 'ns/c', startsOver: true }] });
    expect((await states()).get('ns/c')).toEqual({ hosts: hostsOf(40) });
  });

  it("reads the desired tasks of all clusters' states, with many hosts and with few", async () => {
    const stateOf = (hosts: number) => ({
      state: { hosts },
      generation: `g-${hosts}`,
      firstSeq: 1,
      origins: Object.fromEntries(
        Array.from({ length: hosts }, (_, at) => [`Join/w-${at}`, { type: 'Join', seq: at }]),
      ),
    });
    const states = [100, 3, 0].map((hosts) => row(`ns/${hosts}`, 5, stateOf(hosts)));
    await store.commit(batch({ from: 0, to: 5, states }));
    const found = await readDesiredTasks(askOf(pool), ['process:b']);
    const expected = [100, 3].map((hosts) => {
      const { state: _unread, ...asked } = stateOf(hosts);
      return { process: 'process:b', clusterKey: `ns/${hosts}`, state: asked };
    });
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining(expected));
  });

  it('deletes the timers of a removed state', async () => {
    await pool.query(`insert into timers values ('process:b', 'ns/c', 'k', now(), '{}', '{}')`);
    await store.commit(batch({ from: 0, to: 5, states: [gone('ns/c', 5)] }));
    expect((await pool.query('select from timers')).rowCount).toBe(0);
  });

  it('sets timers, and deletes cancelled ones; of several changes to one the last wins', async () => {
    const dueAt = '2026-01-01T00:00:00.000Z';
    const cause = { correlationId: 'c', causationId: 'event-1' };
    const set = (key: string, data = {}) => ({ kind: 'timer', key, dueAt, data }) as const;
    const cancel = (key: string) => ({ kind: 'cancel-timer', key }) as const;
    const timersOf = (...reactions: readonly (TimerReaction | CancelTimerReaction)[]): BatchChanges['timers'] =>
      reactions.map((reaction) => ({ process: 'process:b', clusterKey: 'ns/c', cause, reaction }));
    await store.commit({ ...batch({ from: 0, to: 5 }), timers: timersOf(set('j'), set('k'), cancel('k'), set('l')) });
    const changes = { timers: timersOf(cancel('j'), set('l', { a: 1 }), set('k')) };
    await store.commit({ ...batch({ from: 5, to: 6, states: [row('ns/c', 6)] }), ...changes });
    const found = await pool.query('select key, due_at, cause, data from timers order by key');
    expect(found.rows).toEqual([
      { key: 'k', due_at: new Date(dueAt), cause, data: {} },
      { key: 'l', due_at: new Date(dueAt), cause, data: { a: 1 } },
    ]);
    const again = { ...batch({ from: 6, to: 7, states: [gone('ns/c', 7)] }), timers: timersOf(set('m')) };
    await store.commit(again);
    expect((await pool.query('select key from timers')).rows).toEqual([{ key: 'm' }]);
  });

  it('writes nothing for a replica if another one moved any of its positions', async () => {
    await store.commit(batch({ from: 0, to: 5, rows: [row('x', 5)] }));
    await pool.query(`update positions set seq = 6 where consumer = 'process:b'`);
    const late = store.commit(batch({ from: 5, to: 9, rows: [row('x', 9), row('y', 9)], states: [row('ns/c', 9)] }));
    await expect(late).rejects.toThrow(LostOwnership);
    expect(await docs()).toEqual({ x: { seq: 5 } });
    expect(await states()).toEqual(new Map());
    expect([...(await positions())].sort()).toEqual([5, 6]);
  });

  it('succeeds for one of two replicas that commit at once', async () => {
    const outcomes = await Promise.allSettled([
      store.commit(batch({ from: 0, to: 5, rows: [row('x', 5, 'first')] })),
      store.commit(batch({ from: 0, to: 6, rows: [row('x', 6, 'second')] })),
    ]);
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason);
    expect(lost).toEqual([expect.any(LostOwnership)]);
    const [isFirst] = outcomes.map(({ status }) => status === 'fulfilled');
    expect([await docs(), await positions()]).toEqual(
      isFirst === true ? [{ x: 'first' }, [5, 5]] : [{ x: 'second' }, [6, 6]],
    );
  });

  it('is grouped with other partitions under load, unless it is large; a lost partition or a rejected row affects only its own partition', async () => {
    const loaded = new PartitionStore(pool, { load: () => 1 });
    const partitions = Array.from({ length: 8 }, (_, at) => 10 + at);
    for (const partition of partitions) await store.positions(partition, CONSUMERS);
    const commitAll = (from: number, to: number, docOf: (partition: number) => unknown) =>
      Promise.allSettled(
        partitions.map((partition) =>
          loaded.commit({
            ...batch({
              from,
              to,
              rows: [row(`p${partition}`, to, docOf(partition))],
              states: [row(`ns/${partition}`, to)],
            }),
            partition,
          }),
        ),
      );
    const written = async () => (await pool.query('select key from a order by key')).rows.map(({ key }) => key);
    const transactions = async () => {
      const { rows } = await pool.query('select count(distinct xmin::text) as n from a');
      return Number(rows[0].n);
    };
    await commitAll(0, 5, () => 'busy');
    await commitAll(5, 6, () => 'together');
    expect([await written(), await transactions()]).toEqual([partitions.map((partition) => `p${partition}`), 1]);
    const many = Array.from({ length: 100 }, (_, at) => row(`many-${at}`, 7));
    const large = loaded.commit({ ...batch({ from: 6, to: 7, rows: many }), partition: 10 });
    const small = partitions
      .slice(1)
      .map((partition) => loaded.commit({ ...batch({ from: 6, to: 7, rows: [row(`p${partition}`, 7)] }), partition }));
    await Promise.all([large, ...small]);
    // That of p10, that of the others, and that of the large batch.
    expect(await transactions()).toBe(3);
    await pool.query('truncate a');
    await pool.query('update positions set seq = 8 where partition = 11');
    const outcomes = await commitAll(7, 9, (partition) => (partition === 12 ? 'a\u0000b' : 'apart'));
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      false,
      false,
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(outcomes[1]).toMatchObject({ reason: expect.any(LostOwnership) });
    expect(await written()).toEqual(['p10', 'p13', 'p14', 'p15', 'p16', 'p17']);
  });

  it('writes nothing of a batch with a row that PostgreSQL rejects', async () => {
    const refused = store.commit(batch({ from: 0, to: 5, rows: [row('x', 4), row('y', 5, 'a\u0000b')] }));
    await expect(refused).rejects.toMatchObject({ code: '22P05' });
    expect([await docs(), await positions()]).toEqual([{}, [0, 0]]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  FIRST_PREVHASH,
  partitionFilter,
  partitionOf,
  storedSubject,
  STREAMS,
  streamSubject,
  type ClusterUid,
  type NodeName,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { eventually, eventuallyPasses } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { Projection } from '../projection.js';
import { JetStreamStore } from './jetstream.store.js';
import { KERNEL_MIGRATIONS } from './kernel.migration.js';
import { PartitionConsumers } from './partition.consumers.js';
import { ensureStreams } from './streams.js';

const STREAM = { namespace: 'default', cluster: 'demo', context: 'bootstrap' };
const PARTITION = partitionOf(STREAM.namespace, STREAM.cluster);
const uid = randomUUID() as ClusterUid;

const joined: Projection<readonly string[]> = {
  name: 'joined',
  table: 'joined',
  keys: ({ meta }) => [meta.cluster],
  evolve: (row = [], event) => (event.type === 'WorkerJoined' ? [...row, event.data.node] : row),
};

describe('partitions that follow the log', () => {
  let environment: TestEnvironment;
  let nc: NatsConnection;
  let database: DataSource;
  let pool: pg.Pool;
  let partitions: PartitionConsumers;
  let reads = 0;

  beforeAll(async () => {
    environment = await testEnvironment();
    nc = await environment.connect('admin');
    await ensureStreams(nc);
    const url = environment.databases['upgrade-svc'];
    database = new DataSource({ type: 'postgres', url, migrations: [...KERNEL_MIGRATIONS] });
    await database.initialize();
    await database.runMigrations();
    await database.query('create table joined (key text primary key, seq bigint not null, doc jsonb not null)');
    pool = new pg.Pool({ connectionString: url, max: 4 });
    pool.on('error', () => undefined); // The server ends idle connections when it stops.
    nc.subscribe(`$JS.API.DIRECT.GET.${STREAMS.events}`, {
      callback: (_error, message) => {
        if (message.string().includes(partitionFilter(PARTITION))) reads += 1;
      },
    });
    partitions = new PartitionConsumers({
      service: 'upgrade-svc',
      nc: await environment.connect('upgrade-svc'),
      pool,
      databaseUrl: url,
      consumers: { projections: [joined as Projection<unknown>], processes: [] },
      handlers: undefined,
      onReconciled: () => undefined,
      announceQuarantined: () => Promise.resolve(),
      log: { log: () => undefined, warn: () => undefined, error: () => undefined },
      meter: { eventsTaken: () => undefined, eventsRejected: () => undefined },
    });
    partitions.start();
    await eventuallyPasses(() => expect(partitions.owned()).toContain(PARTITION));
  });

  afterAll(async () => {
    await partitions.stop();
    await pool.end();
    await database.destroy();
    await environment.stop();
  });

  const joins = async (): Promise<unknown> =>
    (await pool.query<{ doc: unknown }>('select doc from joined')).rows[0]?.doc;

  let position = { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
  const append = async (node: string): Promise<void> => {
    const store = new JetStreamStore({ nc, source: '/bootstrap-svc', now: () => new Date(), newId: randomUUID });
    const appended = await store.append(
      STREAM,
      position,
      [{ type: 'WorkerJoined', data: { uid, node: node as NodeName } }],
      { actor: 'system/bootstrap-svc', correlationId: 'c', causationId: 'c' },
    );
    if (appended.kind === 'conflict') throw new Error('nobody else writes here');
    position = appended.position;
  };

  /** How many reads there were when there are no more: the longest wait between two looks is 128 ms. */
  const settled = async (): Promise<number> => {
    let last = -1;
    const isSame = (): boolean => {
      const before = last;
      last = reads;
      return last === before;
    };
    await eventually(isSame, { everyMs: 400 });
    return last;
  };

  it('commit what is appended', async () => {
    await append('w1');
    await append('w2');
    await eventuallyPasses(async () => expect(await joins()).toEqual(['w1', 'w2']));
  });

  it('look a few times for a message that was announced and is not there, and then go on', async () => {
    const before = await settled();
    const header = headers();
    header.set('Nats-Sequence', '1000000');
    nc.publish(storedSubject(`${streamSubject(STREAM)}.WorkerJoined`), '', { headers: header });
    await eventuallyPasses(() => expect(reads).toBeGreaterThan(before));
    // A look at once and one after each wait; the poll of an idle partition may come in between.
    await eventuallyPasses(() => expect(reads - before).toBeGreaterThanOrEqual(9));
    expect((await settled()) - before).toBeLessThanOrEqual(11);
    await append('w3');
    await eventuallyPasses(async () => expect(await joins()).toEqual(['w1', 'w2', 'w3']));
  });

  it('are told what is stored by a log that an earlier release made', async () => {
    const jsm = await jetstreamManager(nc);
    const { config } = await jsm.streams.info(STREAMS.events);
    const { republish, ...before } = config;
    expect(republish).toMatchObject({ headers_only: true });
    await nc.request(`$JS.API.STREAM.UPDATE.${STREAMS.events}`, JSON.stringify(before));
    expect((await jsm.streams.info(STREAMS.events)).config.republish).toBeUndefined();
    await ensureStreams(nc);
    expect((await jsm.streams.info(STREAMS.events)).config.republish).toEqual(republish);
    await append('w4');
    await eventuallyPasses(async () => expect(await joins()).toEqual(['w1', 'w2', 'w3', 'w4']));
  });
});

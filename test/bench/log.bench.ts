import { randomUUID } from 'node:crypto';
import { FIRST_PREVHASH, partitionOf, type ClusterUid, type NodeName } from '@fairlead/contracts';
import type { Projection } from '@fairlead/event-sourcing';
import {
  encode,
  ensureStreams,
  JetStreamStore,
  KERNEL_MIGRATIONS,
  rebuildProjection,
} from '@fairlead/event-sourcing/jetstream';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { distributionOf, lineOf, rounded, scaled, type Figure } from './figures.js';
import { PartitionProbe } from './partition.probe.js';

const RATE_PER_SECOND = 200;
const LAG_SECONDS = 20;
const REPLAY_EVENTS = Number(process.env['FAIRLEAD_BENCH_EVENTS'] ?? 200_000);
const REPLAY_CLUSTERS = 1_000;
const PUBLISH_WINDOW = 512;

const uid = randomUUID() as ClusterUid;

interface Joined {
  readonly nodes: number;
  readonly last: string;
}

/** Like the product's own: a document per cluster that changes at every event. */
export const joins: Projection<Joined> = {
  name: 'joins',
  table: 'joins',
  keys: (event) => [`${event.meta.namespace}/${event.meta.cluster}`],
  evolve: (row, event) =>
    event.type === 'WorkerJoined' ? { nodes: (row?.nodes ?? 0) + 1, last: event.data.node } : row,
};

const withDatabase = async <T>(
  environment: TestEnvironment,
  work: (pool: pg.Pool, url: string) => Promise<T>,
): Promise<T> => {
  const url = environment.databases['upgrade-svc'];
  const database = new DataSource({ type: 'postgres', url, migrations: [...KERNEL_MIGRATIONS] });
  await database.initialize();
  await database.runMigrations();
  await database.query('create table joins (key text primary key, seq bigint not null, doc jsonb not null)');
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  pool.on('error', (error) => process.stderr.write(`${error.message}\n`));
  try {
    return await work(pool, url);
  } finally {
    await Promise.all([pool.end(), database.destroy()]);
  }
};

/** From the acknowledged append to the committed row, at a steady rate, with fsync on in both. */
const lag = async (environment: TestEnvironment, nc: NatsConnection): Promise<Figure> =>
  withDatabase(environment, async (pool, url) => {
    const probe = new PartitionProbe({ nc, pool, databaseUrl: url, projection: joins });
    await probe.start();
    const store = new JetStreamStore({ nc, source: '/bootstrap-svc', now: () => new Date(), newId: randomUUID });
    const lags: number[] = [];
    const pending: Promise<void>[] = [];
    const startedAt = performance.now();
    for (let index = 0; index < RATE_PER_SECOND * LAG_SECONDS; index += 1) {
      const wait = startedAt + (index * 1_000) / RATE_PER_SECOND - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const stream = { namespace: 'bench', cluster: `c-${index}`, context: 'bootstrap' };
      const fact = { type: 'WorkerJoined', data: { uid, node: 'w1' as NodeName } } as const;
      const appended = store.append(stream, { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }, [fact], {
        actor: 'system/bootstrap-svc',
        correlationId: 'b',
        causationId: 'b',
      });
      pending.push(
        appended.then(async (result) => {
          if (result.kind === 'conflict') throw new Error('a fresh stream cannot conflict');
          const acknowledgedAt = performance.now();
          await probe.passed(result.position.seq, stream);
          lags.push(performance.now() - acknowledgedAt);
        }),
      );
    }
    await Promise.all(pending);
    await probe.stop();
    const distribution = distributionOf(lags);
    return {
      name: `append to projection at ${RATE_PER_SECOND} events/s`,
      value: (factor) => lineOf(scaled(distribution, factor), 'ms'),
      goal: 'p50 < 2, p99 < 10 ms',
      met: (factor) => distribution.p50 * factor < 2 && distribution.p99 * factor < 10,
    };
  });

/** Answers the last event of each partition. */
const fill = async (nc: NatsConnection): Promise<ReadonlyMap<number, number>> => {
  const inFlight = new Set<Promise<unknown>>();
  const lastSeqs = new Map<number, number>();
  for (let index = 0; index < REPLAY_EVENTS; index += 1) {
    const stream = { namespace: 'bench', cluster: `r-${index % REPLAY_CLUSTERS}`, context: 'bootstrap' };
    lastSeqs.set(partitionOf(stream.namespace, stream.cluster), index + 1);
    const stamp = {
      id: `fill-${index}`,
      time: new Date().toISOString(),
      source: '/bootstrap-svc',
      cause: { actor: 'system/bootstrap-svc', correlationId: 'b', causationId: 'b' },
    };
    const position = { seq: 0, streamVersion: Math.floor(index / REPLAY_CLUSTERS), hash: FIRST_PREVHASH };
    const { subject, bytes } = encode(
      stream,
      position,
      { type: 'WorkerJoined', data: { uid, node: `w${index}` as NodeName } },
      stamp,
    );
    const published = nc.request(subject, bytes, { timeout: 60_000 }).finally(() => inFlight.delete(published));
    inFlight.add(published);
    if (inFlight.size >= PUBLISH_WINDOW) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
  return lastSeqs;
};

/** A projection made again from the log: reading, folding, writing rows, comparing. */
const replay = async (environment: TestEnvironment, nc: NatsConnection): Promise<Figure[]> => {
  const filledAt = performance.now();
  const lastSeqs = await fill(nc);
  const filledSeconds = (performance.now() - filledAt) / 1_000;
  return withDatabase(environment, async (pool, url) => {
    const probe = new PartitionProbe({ nc, pool, databaseUrl: url, projection: joins });
    const startedAt = performance.now();
    await probe.start();
    await probe.caughtUp(lastSeqs);
    const laneRate = REPLAY_EVENTS / ((performance.now() - startedAt) / 1_000);
    const rebuilt = await rebuildProjection({ nc, pool, projection: joins as Projection<unknown> });
    await probe.stop();
    if (!rebuilt.equal) throw new Error('the rebuilt projection differs from the live one');
    const rebuildRate = rebuilt.events / (rebuilt.durationMs / 1_000);
    return [
      {
        name: `append, ${PUBLISH_WINDOW} in flight, fsync always`,
        value: (factor) => `${rounded(REPLAY_EVENTS / filledSeconds / factor, 0)} events/s`,
      },
      {
        name: `replay of ${REPLAY_EVENTS} events into a projection`,
        value: (factor) => `${rounded(laneRate / factor, 0)} events/s`,
        goal: '>= 100,000 events/s',
        met: (factor) => laneRate / factor >= 100_000,
      },
      {
        name: 'rebuild beside the live rows, with digests',
        value: (factor) => `${rounded(rebuildRate / factor, 0)} events/s`,
        goal: '>= 60,000 events/s',
        met: (factor) => rebuildRate / factor >= 60_000,
      },
    ];
  });
};

export const benchLog = async (): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const measure of [async (e: TestEnvironment, nc: NatsConnection) => [await lag(e, nc)], replay]) {
    const environment = await testEnvironment({ durable: true });
    try {
      const nc = await environment.connect('admin');
      await ensureStreams(nc);
      figures.push(...(await measure(environment, nc)));
    } finally {
      await environment.stop();
    }
  }
  return figures;
};

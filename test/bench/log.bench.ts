import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
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
import { joins } from './joins.projection.js';
import { allReach, noneReached, PartitionProbe } from './partition.probe.js';
import type { ReplicaData } from './replica.worker.js';

const RATE_PER_SECOND = 200;
const LAG_SECONDS = 20;
const REPLAY_EVENTS = Number(process.env['FAIRLEAD_BENCH_EVENTS'] ?? 200_000);
const REPLAY_CLUSTERS = 1_000;
const PUBLISH_WINDOW = 512;

const uid = randomUUID() as ClusterUid;

const withDatabase = async <T>(
  { databases }: TestEnvironment,
  work: (pool: pg.Pool, url: string) => Promise<T>,
  url = databases['upgrade-svc'],
): Promise<T> => {
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

/** From the acknowledged append to the committed row, at a steady rate, with fsync in both. */
const lag = async (environment: TestEnvironment, nc: NatsConnection): Promise<Figure> =>
  withDatabase(environment, async (pool, url) => {
    const probe = new PartitionProbe({ nc, pool, databaseUrl: url, projection: joins });
    probe.start();
    await probe.ownsAll();
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

/** Returns the last event of each partition. */
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

const replayFigure = (rate: number, by = ''): Figure => ({
  name: `replay of ${REPLAY_EVENTS} events into a projection${by}`,
  value: (factor) => `${rounded(rate / factor, 0)} events/s`,
  goal: '>= 100,000 events/s',
  met: (factor) => rate / factor >= 100_000,
});

const WORKER = new URL('./replica.worker.mjs', import.meta.url);

const startReplica = (data: ReplicaData): Worker =>
  new Worker(WORKER, { workerData: data }).once('error', (error) => {
    throw error;
  });

const stopReplica = async (worker: Worker): Promise<void> => {
  const stopped = once(worker, 'message');
  worker.postMessage('stop');
  await stopped;
  await worker.terminate();
};

/** Like two replicas of a service: each owns half of the partitions, with its own connections and thread. */
const replayByTwo = (environment: TestEnvironment, lastSeqs: ReadonlyMap<number, number>): Promise<Figure> => {
  const { nats, databases } = environment;
  const databaseUrl = databases['infra-svc'];
  const credsFile = nats.credsFile('admin');
  const creds = credsFile === undefined ? undefined : readFileSync(credsFile);
  const measure = async (): Promise<Figure> => {
    const reached = noneReached();
    const startedAt = performance.now();
    const replicas = [1, 2].map(() => startReplica({ natsUrl: nats.url, creds, databaseUrl, reached }));
    await allReach(reached, lastSeqs);
    const rate = REPLAY_EVENTS / ((performance.now() - startedAt) / 1_000);
    await Promise.all(replicas.map(stopReplica));
    return replayFigure(rate, ' by two replicas');
  };
  return withDatabase(environment, measure, databaseUrl);
};

/** A projection rebuilt from the log: reading, folding, writing rows, comparing. */
const replay = async (environment: TestEnvironment, nc: NatsConnection): Promise<Figure[]> => {
  const filledAt = performance.now();
  const lastSeqs = await fill(nc);
  const filledSeconds = (performance.now() - filledAt) / 1_000;
  const byTwo = await replayByTwo(environment, lastSeqs);
  return withDatabase(environment, async (pool, url) => {
    const probe = new PartitionProbe({ nc, pool, databaseUrl: url, projection: joins });
    const startedAt = performance.now();
    probe.start();
    await allReach(probe.reached, lastSeqs);
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
      replayFigure(laneRate),
      byTwo,
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

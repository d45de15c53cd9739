import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EVENTS,
  eventSubject,
  FIRST_PREVHASH,
  isRefusal,
  partitionOf,
  type ClusterUid,
  type EventType,
  type Fact,
  type NodeName,
  type StreamId,
} from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import {
  stateOnly,
  type AnyReconciler,
  type Command,
  type Decider,
  type Projection,
  type Reconciler,
} from '@fairlead/event-sourcing';
import {
  encode,
  ensureStreams,
  HANDLE,
  JetStreamStore,
  POSITIONS,
  type Handle,
  type Positions,
} from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { Module } from '@nestjs/common';
import fc from 'fast-check';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { defineService } from './definition.js';
import { startService, type RunningService } from './run.service.js';

const STALL_AFTER_MS = 400;
const uid = randomUUID() as ClusterUid;
const utf8 = new TextEncoder();

interface Row {
  readonly types: readonly string[];
  readonly texts: readonly string[];
}

/** The failure messages reported about each cluster. */
const said: Projection<Row> = {
  name: 'said',
  table: 'said',
  keys: ({ meta }) => [`${meta.namespace}/${meta.cluster}`],
  evolve: (row, event) => ({
    types: [...(row?.types ?? []), event.type],
    texts: [...(row?.texts ?? []), ...(event.type === 'NodeNotReady' ? [event.data.message] : [])],
  }),
};

/** Wakes at a time that a database can store, or cannot. */
const timers: Reconciler<{ readonly isTimeless: boolean }> = {
  name: 'timers',
  version: 1,
  context: 'bootstrap',
  decider: stateOnly<{ readonly isTimeless: boolean }>({ isTimeless: false }, (state, event) =>
    event.type === 'NodeNotReady' && event.data.message === 'timeless' ? { isTimeless: true } : state,
  ),
  generation: () => '',
  tasks: () => [],
  wakeAt: ({ isTimeless }) => (isTimeless ? '+010000-01-01T00:00:00Z' : null),
};

class SaidTable1 implements MigrationInterface {
  name = 'SaidTable1800000000000';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      create table said (key text primary key, seq bigint not null, doc jsonb not null,
        constraint fit check (doc::text not like '%unfit%'))`);
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table said');
  }
}

@Module({})
class Empty {}

const definition = defineService({
  name: 'bootstrap-svc',
  module: Empty,
  projections: [said],
  reconcilers: [timers as AnyReconciler],
  migrations: [SaidTable1],
  taskConcurrency: 1,
});

/** Names of clusters that share a partition, so that each could block the others. */
const neighbours = function* (): Generator<string> {
  const partition = partitionOf('default', 'cluster-0');
  for (let index = 0; ; index += 1)
    if (partitionOf('default', `cluster-${index}`) === partition) yield `cluster-${index}`;
};
const names = neighbours();
const nextName = (): string => names.next().value as string;

const node = 'w1' as NodeName;
const notReady = (message: string): Fact => ({
  type: 'NodeNotReady',
  data: { uid, node, revision: 1, reason: 'KubernetesNotReady', message },
});
const joined: Fact = { type: 'WorkerJoined', data: { uid, node } };
const nodeStream = (cluster: string): StreamId => ({ namespace: 'default', cluster, context: 'node-w1' });
const bootstrapStream = (cluster: string): StreamId => ({ namespace: 'default', cluster, context: 'bootstrap' });

describe('a log with events of unauthorised writers', () => {
  let environment: TestEnvironment;
  let folder: string;
  let admin: NatsConnection;
  let service: RunningService;

  const env = () => ({
    NATS_URL: environment.nats.url,
    NATS_CREDS: environment.nats.credsFile('bootstrap-svc'),
    DATABASE_URL: environment.databases['bootstrap-svc'],
    FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
    LOG_LEVEL: 'error',
    STALL_AFTER_MS: String(STALL_AFTER_MS),
  });

  /** Publishes as any client with a credential for the subject could. */
  const put = async (subject: string, body: Uint8Array | string): Promise<number> => {
    const answer = await admin.request(subject, body, { timeout: 5_000 });
    const { seq, error } = answer.json<{ seq?: number; error?: object }>();
    if (seq === undefined) throw new Error(JSON.stringify(error));
    return seq;
  };
  const encoded = (stream: StreamId, fact: Fact) => {
    const { source, actor } = writerOf(stream, fact.type);
    const cause = { actor, correlationId: 'c', causationId: 'c' };
    const stamp = { id: randomUUID(), time: new Date().toISOString(), source, cause };
    return encode(stream, { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH }, fact, stamp);
  };
  const state = async (stream: StreamId, fact: Fact): Promise<number> => {
    const { subject, bytes } = encoded(stream, fact);
    return put(subject, bytes);
  };
  const shown = async (seq: number): Promise<void> => {
    expect(await service.get<Positions>(POSITIONS).waitFor(seq, 15_000)).toBe(true);
  };
  const rowOf = async (cluster: string): Promise<Row | undefined> =>
    (await service.query<{ doc: Row }>('select doc from said where key = $1', [`default/${cluster}`]))[0]?.doc;
  const rejected = (cluster: string) =>
    service.query<{ reason: string; count: string; subject: string }>(
      `select reason, count, subject from rejected_events where place like $1 order by reason`,
      [`evt.%.default.${cluster}.%`],
    );
  const quarantined = () =>
    service.query<{ consumer: string; cluster_key: string; seq: string }>(
      'select consumer, cluster_key, seq from quarantined order by consumer',
      [],
    );
  const counted = async (reason: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    return Number(
      new RegExp(`^fairlead_events_rejected_total\\{reason="${reason}"[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1],
    );
  };
  const release = async (cluster: string, consumer: string, mode: 'retry' | 'skip' | 'replay'): Promise<number> =>
    state(
      { namespace: 'default', cluster, context: 'audit' },
      { type: 'ClusterQuarantineReleased', data: { service: 'bootstrap-svc', consumer, mode } },
    );

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('untrusted');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    admin = await environment.connect('admin');
    await ensureStreams(admin);
    service = await startService(definition, env());
  }, 60_000);

  afterAll(async () => {
    await service?.stop();
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('continues over arbitrary bytes and JSON on event subjects, and shows other clusters', async () => {
    const attacked = nextName();
    const types = fc.constantFrom(...(Object.keys(EVENTS) as EventType[]));
    const contexts = fc.constantFrom('node-w1', 'request', 'bootstrap', 'machines', 'rollout', 'desired-w1', 'audit');
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => utf8.encode(text)),
      fc.constantFrom('not json', 'null', '[]', '{"data":null}').map((text) => utf8.encode(text)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(types, contexts, bodies), { minLength: 1, maxLength: 20 }),
        async (messages) => {
          for (const [type, context, body] of messages)
            await put(eventSubject({ namespace: 'default', cluster: attacked, context }, type), body);
          const healthy = nextName();
          await shown(await state(bootstrapStream(healthy), joined));
          expect(await rowOf(healthy)).toEqual({ types: ['WorkerJoined'], texts: [] });
        },
      ),
      { numRuns: 15 },
    );
    expect(await rowOf(attacked)).toBeUndefined();
    expect(await quarantined()).toEqual([]);
    expect((await rejected(attacked)).length).toBeGreaterThan(0);
  }, 120_000);

  it('rejects a deletion of a cluster from its node, and counts the attempt', async () => {
    const cluster = nextName();
    const request = encoded(
      { ...nodeStream(cluster), context: 'request' },
      { type: 'ClusterDeletionRequested', data: { uid } },
    );
    const body = { ...request.envelope, actor: 'user/alice' };
    const before = await counted('type');
    const seq = await put(eventSubject(nodeStream(cluster), 'NodeReady'), JSON.stringify(body));
    await shown(seq);
    expect(await rowOf(cluster)).toBeUndefined();
    expect(await rejected(cluster)).toEqual([
      { reason: 'type', count: '1', subject: eventSubject(nodeStream(cluster), 'NodeReady') },
    ]);
    expect(await counted('type')).toBe(before + 1);
  });

  it('rejects desired versions of a node other than that of their context', async () => {
    const cluster = nextName();
    const of = (name: string): StreamId => ({ ...nodeStream(cluster), context: `desired-${name}` });
    const data = { uid, node: 'cp-1' as NodeName, revision: 9, software: { kubelet: '0.0.0' }, changesAllowed: true };
    const { bytes } = encoded(of('cp-1'), { type: 'DesiredVersionsSet', data });
    await shown(await put(eventSubject(of('w1'), 'DesiredVersionsSet'), bytes));
    expect(await rowOf(cluster)).toBeUndefined();
    expect(await rejected(cluster)).toMatchObject([{ reason: 'names' }]);
  });

  it('rejects facts of 900 kB or great depth from a node, and accepts its next fact', async () => {
    const cluster = nextName();
    const subject = eventSubject(nodeStream(cluster), 'NodeNotReady');
    // The stream rejects messages of 900 kB from any client; 700 kB is too large for a node's.
    const large = (length: number): Uint8Array => encoded(nodeStream(cluster), notReady('x'.repeat(length))).bytes;
    const refused = await admin.request(subject, large(900_000), { timeout: 5_000 });
    expect(refused.json<{ error?: { description: string } }>().error?.description).toMatch(/message size exceeds/);
    await put(subject, large(700_000));
    await put(subject, `${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    await shown(await state(nodeStream(cluster), notReady('small')));
    expect(await rowOf(cluster)).toEqual({ types: ['NodeNotReady'], texts: ['small'] });
    expect((await rejected(cluster)).map(({ reason }) => reason)).toEqual(['too-deep', 'too-large']);
  });

  it('shows text that no database can store with replacement characters', async () => {
    const cluster = nextName();
    await shown(await state(nodeStream(cluster), notReady('a\u0000b \ud800')));
    expect(await rowOf(cluster)).toEqual({ types: ['NodeNotReady'], texts: ['a\uFFFDb \uFFFD'] });
    expect(await quarantined()).toEqual([]);
  });

  it('lets deciders continue after a message that is not an event, and links their facts to it', async () => {
    const cluster = nextName();
    await state(bootstrapStream(cluster), joined);
    const seq = await put(eventSubject(bootstrapStream(cluster), 'ClusterFailed'), 'not json');
    const command: Command<'Say'> = { type: 'Say', data: null };
    const speaker: Decider<number, Command<'Say'>, Fact> = {
      initial: 0,
      decide: () => [{ type: 'ClusterReady', data: { uid } }],
      evolve: (count) => count + 1,
    };
    const cause = { actor: 'system/bootstrap-svc', correlationId: 'c', causationId: 'c' };
    const outcome = await service.get<Handle>(HANDLE)(speaker, bootstrapStream(cluster), command, cause);
    expect(outcome).toMatchObject({ kind: 'decided', state: 2, events: [{ meta: { streamVersion: 3 } }] });
    const store = new JetStreamStore({ nc: admin, source: '/spec', now: () => new Date(), newId: randomUUID });
    const entries = await store.entries(`evt.*.default.${cluster}.>`, 0);
    expect(entries.map(({ rejection }) => rejection?.reason)).toEqual([undefined, 'not-json', undefined]);
    expect(isRefusal(outcome) ? undefined : outcome.events[0]?.meta.prevHash).toBe(entries[1]?.hash);
    await shown(seq);
  });

  it('quarantines only the cluster and the consumer that the database rejects, and resumes it on request', async () => {
    const [bad, good] = [nextName(), nextName()];
    await state(nodeStream(bad), notReady('first'));
    const unfit = await state(nodeStream(bad), notReady('unfit'));
    await state(nodeStream(bad), notReady('third'));
    await shown(await state(nodeStream(good), notReady('well')));
    expect(await rowOf(good)).toMatchObject({ texts: ['well'] });
    expect(await rowOf(bad)).toMatchObject({ texts: ['first'] });
    expect(await quarantined()).toEqual([
      { consumer: 'projection:said', cluster_key: `default/${bad}`, seq: String(unfit) },
    ]);
    // If released too early it is quarantined again, which nothing else waits for.
    await release(bad, 'projection:said', 'retry');
    await shown(await state(nodeStream(good), notReady('still')));
    expect(await quarantined()).toMatchObject([{ seq: String(unfit) }]);
    await service.query('alter table said drop constraint fit', []);
    await shown(await release(bad, 'projection:said', 'retry'));
    await eventually(async () => (await quarantined()).length === 0);
    expect((await rowOf(bad))?.texts).toEqual(['first', 'unfit', 'third']);
  }, 60_000);

  it('quarantines a process whose timer cannot be stored, and no projection with it', async () => {
    const cluster = nextName();
    await shown(await state(nodeStream(cluster), notReady('timeless')));
    expect((await rowOf(cluster))?.texts).toEqual(['timeless']);
    expect(await quarantined()).toMatchObject([{ consumer: 'reconciler:timers@1', cluster_key: `default/${cluster}` }]);
    await shown(await release(cluster, 'reconciler:timers@1', 'skip'));
    expect(await quarantined()).toEqual([]);
  });

  it('that was poisoned while a service was down is read when it restarts', async () => {
    const [attacked, healthy] = [nextName(), nextName()];
    await service.stop();
    for (const text of ['not json', 'null', '{}']) await put(eventSubject(nodeStream(attacked), 'NodeReady'), text);
    const seq = await state(bootstrapStream(healthy), joined);
    service = await startService(definition, env());
    await shown(seq);
    expect(await rowOf(healthy)).toMatchObject({ types: ['WorkerJoined'] });
    expect((await rejected(attacked)).map(({ reason, count }) => `${count} ${reason}`)).toEqual([
      '2 envelope',
      '1 not-json',
    ]);
  }, 60_000);

  it('makes a service unready while a partition is stalled, naming the partition, the event and the error', async () => {
    const ready = async () => {
      const response = await fetch(`http://127.0.0.1:${service.port}/readyz`);
      return { status: response.status, body: (await response.json()) as { status: string; log: string } };
    };
    expect(await ready()).toMatchObject({ status: 200, body: { log: 'ok' } });
    await service.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'the disk is on fire'; end $$`,
      [],
    );
    await service.query(
      'create trigger refuse before insert or update on said for each row execute function refuse()',
      [],
    );
    const cluster = nextName();
    const seq = await state(bootstrapStream(cluster), joined);
    await eventually(async () => (await ready()).status === 503);
    const { body } = await ready();
    const partition = partitionOf('default', cluster);
    expect(body.log).toMatch(
      new RegExp(`^partition ${partition} has not moved for \\d+ s at event ${seq}: the disk is on fire$`),
    );
    const metrics = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    expect(metrics).toMatch(
      new RegExp(`^fairlead_partition_stalled_seconds\\{partition="${partition}"[^}]*\\} [0-9.]*[1-9]`, 'm'),
    );
    await service.query('drop trigger refuse on said', []);
    await shown(seq);
    await eventually(async () => (await ready()).status === 200);
  }, 60_000);
});

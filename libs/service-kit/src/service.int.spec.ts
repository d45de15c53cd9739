import { randomBytes, randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import {
  FIRST_PREVHASH,
  isRefusal,
  type ClusterUid,
  clusterFilter,
  type Fact,
  type StoredEvent,
  ExternalFailure,
  type NodeName,
  type SecretRef,
} from '@fairlead/contracts';
import {
  later,
  stateOnly,
  type AnyReconciler,
  type Command,
  type Decider,
  type EventStore,
  type Projection,
  type Reconciler,
} from '@fairlead/event-sourcing';
import {
  ensureStreams,
  EVENT_STORE,
  FOLLOW_UP_FAILURES,
  HANDLE,
  JetStreamStore,
  OnEvent,
  OnTask,
  POSITIONS,
  TAIL,
  type Handle,
  type AttemptFailure,
  type Positions,
  type Tail,
  type TaskOf,
} from '@fairlead/event-sourcing/jetstream';
import { eventually, eventuallyPasses, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Inject, Module } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { startService, type RunningService } from './run.service.js';
import { SECRETS } from './tokens.js';
import type { SecretStore } from './secrets.js';
import { defineService } from './definition.js';

type Said = Fact<'HostReached' | 'WorkerJoined'>;
type Say = Command<'Say', Said>;

const uid = randomUUID() as ClusterUid;
const reached = (node: string): Said => ({
  type: 'HostReached',
  data: { uid, node: node as NodeName, hostKey: 'k', attempts: 1 },
});

const speaker: Decider<readonly string[], Say, Said> = {
  initial: [],
  decide: (said, { data }) => (said.includes(`${data.type} ${data.data.node}`) ? [] : [data]),
  evolve: (said, event) =>
    event.type === 'HostReached' || event.type === 'WorkerJoined'
      ? [...said, `${event.type} ${event.data.node}`]
      : said,
};

interface Row {
  readonly seen: readonly string[];
}

const log: Projection<Row> = {
  name: 'log',
  table: 'log',
  keys: (event) => [`${event.meta.namespace}/${event.meta.cluster}`],
  evolve: (row, event) => {
    if (event.type === 'HostReached' && event.data.node === 'poison') throw new Error('cannot take this');
    if (event.type !== 'HostReached' && event.type !== 'WorkerJoined') return row;
    return { seen: [...(row?.seen ?? []), event.data.node] };
  },
};

interface Flow {
  readonly count: number;
  /** When to inspect each reached node. */
  readonly dueAt: Readonly<Record<string, string>>;
}

const flow: Reconciler<Flow> = {
  name: 'flow',
  version: 1,
  context: 'bootstrap',
  decider: stateOnly<Flow>({ count: 0, dueAt: {} }, ({ count, dueAt }, event) =>
    event.type === 'HostReached'
      ? { count: count + 1, dueAt: { ...dueAt, [event.data.node]: later(event.meta.time, 300) } }
      : { count, dueAt },
  ),
  generation: () => '',
  tasks: () => [],
  wakeAt: ({ dueAt }, now) =>
    Object.values(dueAt)
      .filter((at) => at > now)
      .toSorted()[0] ?? null,
  followUps: ({ count, dueAt }, { event, now }) => {
    if (event?.type === 'HostReached') {
      const { node } = event.data;
      return [{ type: 'Join', key: `Join/${node}`, reason: '', data: { node, count } }];
    }
    if (event !== undefined) return [];
    const due = Object.keys(dueAt).filter((node) => dueAt[node] === now);
    if (due.includes('unfit')) throw new Error('cannot take this timer');
    return due.map((node) => ({ type: 'Wake', key: `Wake/${node}`, reason: '', data: { node } }));
  },
};

const seen = {
  jobs: [] as string[],
  failures: [] as AttemptFailure[],
  events: [] as StoredEvent[],
  woken: [] as string[],
  /** The cluster whose events the handler rejects. */
  deafTo: undefined as string | undefined,
};

/** Longer than a block that is reported, with the interval at which the event loop is checked. */
const BUSY_MS = 4_000;

const useProcessor = (ms: number): void => {
  const { user } = process.cpuUsage();
  const since = performance.now();
  // On a busy machine the time passes without the processor; with other threads, the other way round.
  while (performance.now() - since < ms || process.cpuUsage().user - user < ms * 1_000);
};

@Controller()
class Effects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  @OnTask('Join', { attemptsMax: 3, backoffFirstMs: 20 })
  async join({ data, namespace, cluster, cause }: TaskOf<{ node: string; count: number }>): Promise<void> {
    seen.jobs.push(`${data.node}:${data.count}`);
    if (data.node === 'broken')
      throw new ExternalFailure({ operation: 'join', target: data.node, message: 'no route' });
    if (data.node === 'busy') useProcessor(BUSY_MS);
    const fact: Said = { type: 'WorkerJoined', data: { uid, node: data.node as NodeName } };
    await this.handle(speaker, { namespace, cluster, context: 'bootstrap' }, { type: 'Say', data: fact }, cause);
  }

  @OnTask('Wake')
  async woken({ data }: TaskOf<{ node: string }>): Promise<void> {
    seen.woken.push(data.node);
  }

  @OnEvent('WorkerJoined')
  async joined(event: StoredEvent<'WorkerJoined'>): Promise<void> {
    if (event.meta.cluster === seen.deafTo) throw new Error('cannot handle this');
    seen.events.push(event);
  }
}

@Module({
  controllers: [Effects],
  providers: [
    {
      provide: FOLLOW_UP_FAILURES,
      useValue: async (_followUp: unknown, _cause: unknown, failure: AttemptFailure) => {
        seen.failures.push(failure);
      },
    },
  ],
})
class SpecModule {}

class LogTable1 implements MigrationInterface {
  name = 'LogTable1800000000000';
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create table log (key text primary key, seq bigint not null, doc jsonb not null)');
  }
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table log');
  }
}

const definition = defineService({
  name: 'bootstrap-svc',
  module: SpecModule,
  projections: [log],
  reconcilers: [flow as AnyReconciler],
  migrations: [LogTable1],
  taskConcurrency: 4,
});

describe('a service on the kit', () => {
  let environment: TestEnvironment;
  let folder: string;
  let service: RunningService;
  const cause = { actor: 'system/bootstrap-svc', correlationId: 'c', causationId: 'c' };

  const env = () => ({
    NATS_URL: environment.nats.url,
    NATS_CREDS: environment.nats.credsFile('bootstrap-svc'),
    DATABASE_URL: environment.databases['bootstrap-svc'],
    FAIRLEAD_MASTER_KEY_FILE: join(folder, 'master.key'),
    LOG_LEVEL: 'error',
  });
  const say = async (cluster: string, fact: Said) => {
    const handle = service.get<Handle>(HANDLE);
    const outcome = await handle(
      speaker,
      { namespace: 'default', cluster, context: 'bootstrap' },
      { type: 'Say', data: fact },
      cause,
    );
    if (isRefusal(outcome)) throw new Error(outcome.message);
    return outcome;
  };
  const rowOf = async (cluster: string): Promise<Row | undefined> => {
    const found = await service.query<{ doc: Row }>('select doc from log where key = $1', [`default/${cluster}`]);
    return found[0]?.doc;
  };

  /** Releases a quarantine, as the gateway does for an operator. */
  const release = async (cluster: string, consumer: string, mode: 'retry' | 'skip' | 'replay'): Promise<void> => {
    const nc = await environment.connect('admin');
    const store = new JetStreamStore({ nc, source: '/gateway', now: () => new Date(), newId: randomUUID });
    const released: Fact = { type: 'ClusterQuarantineReleased', data: { service: 'bootstrap-svc', consumer, mode } };
    const stream = { namespace: 'default', cluster, context: 'audit' };
    const position = { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
    await store.append(stream, position, [released], { ...cause, actor: 'user/spec' });
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    folder = newFolder('kit');
    writeFileSync(join(folder, 'master.key'), randomBytes(32).toString('base64'));
    await ensureStreams(await environment.connect('admin'));
    service = await startService(definition, env());
  }, 60_000);

  afterAll(async () => {
    await service?.stop();
    await environment?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it('turns an event into a row, a task, its outcome, and a call of the event handler', async () => {
    await say('one', reached('w1'));
    await eventually(async () => (await rowOf('one'))?.seen.join() === 'w1,w1');
    expect(seen.jobs).toContain('w1:1');
    await eventually(() => seen.events.some((event) => event.meta.cluster === 'one'));
    const joined = seen.events.find((event) => event.meta.cluster === 'one');
    expect(joined?.meta.streamVersion).toBe(2);
    expect(joined?.meta.prevHash).not.toMatch(/^0+$/);
  });

  it('fires a timer once, when it is due', async () => {
    await say('timed', reached('sleepy'));
    await eventually(() => seen.woken.includes('sleepy'));
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(seen.woken.filter((node) => node === 'sleepy')).toHaveLength(1);
  });

  it('fires all other timers if one fails', async () => {
    await say('unfit', reached('unfit'));
    await say('behind-it', reached('patient'));
    await eventually(() => seen.woken.includes('patient'));
    await eventuallyPasses(async () => {
      const left = await service.query<{ cluster_key: string }>('select cluster_key from timers', []);
      expect(left).toEqual([{ cluster_key: 'default/unfit' }]);
    });
  });

  it('decides a command once, however often and however concurrently it is sent', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => say('twice', reached('w1'))));
    expect(outcomes.filter((outcome) => outcome.events.length > 0)).toHaveLength(1);
  });

  it('retries a failing task, reports each attempt, and dead-letters it after the last', async () => {
    await say('failing', reached('broken'));
    await eventually(() => seen.failures.length === 3);
    expect(seen.failures.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(seen.failures.map(({ nextAttemptAt }) => nextAttemptAt === null)).toEqual([false, false, true]);
    expect(seen.failures[0]?.cause).toEqual({ operation: 'join', target: 'broken', message: 'no route' });
  });

  it('drops a task that no event ends once its handler has ended', async () => {
    const { seq } = await say('followed', reached('w-after'));
    await service.get<Positions>(POSITIONS).waitFor(seq, 5_000);
    await eventually(() => seen.jobs.includes('w-after:1') && seen.woken.includes('w-after'));
    await eventually(async () => {
      const [found] = await service.query<{ origins: object }>(
        `select doc -> 'origins' as origins from process_state where cluster_key = 'default/followed'`,
        [],
      );
      return found !== undefined && Object.keys(found.origins).length === 0;
    });
  });

  it('shows a write to a reader that waits for its sequence', async () => {
    const { seq } = await say('read-your-writes', reached('w1'));
    expect(await service.get<Positions>(POSITIONS).waitFor(seq, 5_000)).toBe(true);
    expect((await rowOf('read-your-writes'))?.seen[0]).toBe('w1');
  });

  it('reports its position beyond an event that has no effect in it', async () => {
    const store = service.get<EventStore>(EVENT_STORE);
    const stream = { namespace: 'default', cluster: 'no-effect', context: 'bootstrap' } as const;
    const appended = await store.append(
      stream,
      { seq: 0, streamVersion: 0, hash: '0'.repeat(64) },
      [{ type: 'NodeBootstrapped', data: { uid, node: 'w1' as NodeName } }],
      cause,
    );
    if (appended.kind === 'conflict') throw new Error('there was another writer of the stream');
    expect(await service.get<Positions>(POSITIONS).waitFor(appended.position.seq, 5_000)).toBe(true);
    expect(await rowOf('no-effect')).toBeUndefined();
  });

  it('appends several events atomically, or none if another writer was first', async () => {
    const store = service.get<EventStore>(EVENT_STORE);
    const stream = { namespace: 'default', cluster: 'together', context: 'bootstrap' } as const;
    const empty = { seq: 0, streamVersion: 0, hash: '0'.repeat(64) };
    const facts = ['w1', 'w2', 'w3'].map((node): Fact => ({
      type: 'NodeBootstrapped',
      data: { uid, node: node as NodeName },
    }));
    const outcomes = await Promise.all([1, 2].map(() => store.append(stream, empty, facts, cause)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['appended', 'conflict']);
    const stored = await store.read(clusterFilter('default', 'together'), 0);
    const appended = outcomes.flatMap((outcome) => (outcome.kind === 'appended' ? outcome.events : []));
    expect(stored.map(({ event }) => event)).toEqual(appended);
    expect(appended).toHaveLength(3);
  });

  it('rebuilds a projection from the log while it runs, with rows equal to the live ones', async () => {
    const live = await service.rebuild('log');
    expect(live).toMatchObject({ projection: 'log', rows: 8, equal: true });
    await service.query('truncate log', []);
    const rebuilt = await service.rebuild('log');
    expect(rebuilt).toMatchObject({ rows: 8, equal: false, digest: live.digest });
    const { seq } = await say('after-rebuild', reached('w1'));
    await service.get<Positions>(POSITIONS).waitFor(seq, 5_000);
    expect((await rowOf('after-rebuild'))?.seen[0]).toBe('w1');
  });

  it('quarantines the cluster of an event that fails, continues with others, and resumes it on request', async () => {
    await say('poisoned', reached('before'));
    await say('poisoned', reached('poison'));
    const { seq } = await say('healthy', reached('w1'));
    await service.get<Positions>(POSITIONS).waitFor(seq, 5_000);
    expect((await rowOf('healthy'))?.seen).toContain('w1');
    await eventually(async () => (await service.query('select * from quarantined where announced', [])).length === 1);
    expect((await rowOf('poisoned'))?.seen).not.toContain('poison');
    await release('poisoned', 'projection:log', 'skip');
    await eventually(async () => (await service.query('select * from quarantined', [])).length === 0);
    await say('poisoned', reached('after'));
    await eventually(async () => (await rowOf('poisoned'))?.seen.includes('after') === true);
  });

  it('calls a handler in order for all events missed during a quarantine', async () => {
    seen.deafTo = 'unheard';
    await say('unheard', { type: 'WorkerJoined', data: { uid, node: 'w1' as NodeName } });
    await eventually(async () => (await service.query('select * from quarantined where announced', [])).length === 1);
    const { seq } = await say('unheard', { type: 'WorkerJoined', data: { uid, node: 'w2' as NodeName } });
    await service.get<Positions>(POSITIONS).waitFor(seq, 5_000);
    seen.deafTo = undefined;
    await release('unheard', 'handlers', 'retry');
    await eventually(async () => (await service.query('select * from quarantined', [])).length === 0);
    const handled = seen.events.flatMap((event) =>
      event.type === 'WorkerJoined' && event.meta.cluster === 'unheard' ? [event.data.node] : [],
    );
    expect(handled).toEqual(['w1', 'w2']);
  });

  it('follows the log as it grows', async () => {
    const stop = new AbortController();
    const types: string[] = [];
    const following = (async () => {
      for await (const event of service.get<Tail>(TAIL)('evt.*.default.tailed.>', 0, stop.signal))
        types.push(event.type);
    })();
    await say('tailed', reached('w1'));
    await eventually(() => types.length === 2);
    stop.abort();
    await following;
    expect(types).toEqual(['HostReached', 'WorkerJoined']);
  });

  it('exposes metrics: events read, tasks, and owned partitions', async () => {
    const scrape = async () => {
      const answer = await fetch(`http://127.0.0.1:${service.port}/metrics`);
      return { type: answer.headers.get('content-type'), body: await answer.text() };
    };
    // On a busy machine the lease of a partition may expire; it is reacquired.
    await eventually(async () => /^fairlead_partitions_owned\{[^}]*\} 16$/m.test((await scrape()).body));
    const { type, body } = await scrape();
    expect(type).toMatch(/^text\/plain;.* version=0\.0\.4/);
    expect(body).toMatch(/^fairlead_event_age_seconds_count\{[^}]*\} \d+$/m);
    expect(body).not.toMatch(/^fairlead_event_age_seconds_count\{[^}]*\} 0$/m);
    expect(body).toMatch(/^fairlead_task_duration_seconds_count\{[^}]*outcome="done"\} [1-9]/m);
    expect(body).toMatch(/^fairlead_task_duration_seconds_count\{[^}]*outcome="buried"\} 1$/m);
    expect(body).toMatch(/^fairlead_tasks\{state="waiting",[^}]*\} 0$/m);
    expect(body).toMatch(/^process_resident_memory_bytes\{[^}]*\} \d+$/m);
  });

  it("seals secrets, and cannot read them after their owner's key is destroyed [azimuth 26]", async () => {
    const secrets = service.get<SecretStore>(SECRETS);
    const ref = 'bootstrap-svc.kubeconfig.demo' as SecretRef;
    await secrets.put(ref, 'do not tell', 'owner-1');
    expect(await secrets.get(ref)).toBe('do not tell');
    await secrets.destroyKey('owner-1');
    expect(await secrets.get(ref)).toBeUndefined();
  });

  it('follows the log across an outage of NATS, and handles nothing twice', async () => {
    const stop = new AbortController();
    const nodes: string[] = [];
    const following = (async () => {
      for await (const event of service.get<Tail>(TAIL)('evt.*.default.outlasting.>', 0, stop.signal)) {
        if (event.type === 'HostReached') nodes.push(event.data.node);
      }
    })();
    await say('outlasting', reached('w1'));
    await environment.killNats();
    await environment.startNats();
    await eventually(
      () =>
        say('outlasting', reached('w2')).then(
          () => true,
          () => false,
        ),
      { withinMs: 20_000 },
    );
    await eventually(() => nodes.length >= 2, { withinMs: 20_000 });
    stop.abort();
    await following;
    expect(nodes).toEqual(['w1', 'w2']);
  }, 60_000);

  it('records what was under way while its event loop was blocked', async () => {
    await say('blocking', reached('busy'));
    const store = service.get<EventStore>(EVENT_STORE);
    await eventuallyPasses(
      async () => {
        const found = await store.read('evt.*.*.*.process-bootstrap-svc.>', 0);
        expect(found.map(({ event }) => event)).toMatchObject([
          {
            type: 'EventLoopBlocked',
            data: { service: 'bootstrap-svc', work: expect.arrayContaining(['Join of default/blocking']) },
          },
        ]);
      },
      { withinMs: 20_000 },
    );
  }, 60_000);

  it('recovers without intervention when NATS and then PostgreSQL are killed and restarted', async () => {
    await environment.killNats();
    await environment.startNats();
    await eventually(
      () =>
        say('after-nats', reached('w1')).then(
          () => true,
          () => false,
        ),
      { withinMs: 20_000 },
    );
    await eventually(async () => (await rowOf('after-nats'))?.seen.length === 2, { withinMs: 20_000 });
    await environment.killPostgres();
    await say('after-postgres', reached('w1'));
    await environment.startPostgres();
    await eventually(
      () =>
        rowOf('after-postgres').then(
          (row) => row?.seen.length === 2,
          () => false,
        ),
      { withinMs: 20_000 },
    );
  }, 60_000);
});

import {
  CONNECTIONS_STREAM,
  ExternalFailure,
  type ClusterUid,
  type ConnectionName,
  type StoredEvent,
} from '@fairlead/contracts';
import { ConcurrencyGroups } from '@fairlead/event-sourcing';
import {
  FoldCache,
  TasksProgress,
  makeHandle,
  TaskQueue,
  type Attempted,
  type QueuedTask,
  type Pending,
} from '@fairlead/event-sourcing/jetstream';
import { MemoryLeases } from '@fairlead/event-sourcing/memory.leases';
import { systemClock } from '@fairlead/service-kit';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeCloud, FakeProvider } from '../../test/fake.provider.js';
import { clusterSpec, nodeSet, registered, requested } from '../../test/fixtures.js';
import { MemoryLog } from '../../test/memory.log.js';
import {
  contextOf,
  Followers,
  MemorySecrets,
  ownNamespaceStream,
  startReplica,
  type Replica,
} from '../../test/memory.service.js';
import type { ProviderKind } from '../providers/provider.ports.js';
import { ResourcesLog } from '../resources/resources.log.effects.js';
import { ConnectionPlaces } from './places.effects.js';

const CONCURRENCY = 8;
const GROUP_LIMIT = 4;
const CLUSTERS = 12;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Same as the kernel. */
const ATTEMPT_AGAIN_MS = SECOND_MS;
const ATTEMPTS_MAX = 6;
const HUNG_MS = 20 * MINUTE_MS;

const NEAR = 'near' as ConnectionName;
const FAR = 'far' as ConnectionName;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * infra-svc with two connections, in simulated time. Every call takes a second; those of `far` hang until it responds
 * again.
 */
class Service {
  readonly log = new MemoryLog();
  readonly progress = new TasksProgress(() => Date.now());
  /** Until when calls of `far` hang. */
  hungUntilMs = 0;
  private readonly processes = new Followers(this.log);
  private readonly replica: Replica;
  private readonly queue: TaskQueue;
  /** The unfinished tasks, by cluster. */
  private readonly pending = new Map<string, readonly Pending[]>();
  private asked = 0;

  constructor(groupLimit: number) {
    const calls = (connection: string) => ({
      before: (): Promise<void> =>
        pause(connection === FAR ? Math.max(SECOND_MS, this.hungUntilMs - Date.now()) : SECOND_MS),
      after: async (): Promise<void> => undefined,
    });
    const clouds = new Map([NEAR, FAR].map((name) => [name, new FakeCloud()]));
    const kind: ProviderKind = {
      name: 'lab',
      open: ({ name }) => new FakeProvider(clouds.get(name) ?? new FakeCloud(), calls(name)),
    };
    this.replica = startReplica(
      { log: this.log, secrets: new MemorySecrets(), kinds: new Map([[kind.name, kind]]) },
      new MemoryLeases().of('replica'),
    );
    const { progress } = this;
    const log = new ResourcesLog(makeHandle(this.log, new FoldCache(CLUSTERS)));
    new ConnectionPlaces({ progress, log, clock: systemClock }).onApplicationBootstrap();
    this.queue = new TaskQueue({
      concurrency: CONCURRENCY,
      groups: new ConcurrencyGroups(groupLimit),
      load: () => 0,
      nowMs: () => performance.now(),
      isGivenUp: () => false,
      onWaiting: (_count, full) => progress.waitingForGroups(full),
      attempt: async (task, failures) => {
        const attempted = await this.work(task, failures + 1);
        if (attempted.kind === 'over') this.sync(task, (others) => others);
        return attempted;
      },
    });
  }

  async begin(clusters: readonly (readonly [ConnectionName, number])[]): Promise<void> {
    await this.log.say(ownNamespaceStream, {
      type: 'NamespaceCreated',
      data: { name: 'default' as never, description: '' },
    });
    for (const name of [NEAR, FAR]) await this.log.say(CONNECTIONS_STREAM, registered({ name }));
    for (const [connection, index] of clusters) {
      const name = `${connection}-${index}`;
      const set = (count: number) => nodeSet(count, { connection });
      const spec = clusterSpec({ name: name as never, controlPlane: set(1), workers: [set(1)] });
      const uid = `${connection === FAR ? 1 : 2}1111111-1111-4111-8111-1111111111${10 + index}` as ClusterUid;
      await this.log.say({ namespace: 'default', cluster: name, context: 'request' }, requested(spec, uid));
    }
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += SECOND_MS) {
      for (const task of this.processes.next()) this.offer(task);
      await jest.advanceTimersByTimeAsync(SECOND_MS);
    }
  }

  readyOn(connection: ConnectionName): number {
    return this.log.events.filter(
      ({ type, meta }) => type === 'LoadBalancerReady' && meta.cluster.startsWith(`${connection}-`),
    ).length;
  }

  /** Seconds of simulated time until all clusters of the connection have their machines. */
  async secondsUntilReady(connection: ConnectionName): Promise<number> {
    for (let seconds = 0; seconds < HUNG_MS / SECOND_MS; seconds += 1) {
      if (this.readyOn(connection) === CLUSTERS) return seconds;
      await this.pass(SECOND_MS);
    }
    return Number.POSITIVE_INFINITY;
  }

  private offer(task: QueuedTask): void {
    this.asked += 1;
    const seq = this.asked;
    this.sync(task, (others) => {
      const { firstSeq } = others[0] ?? { firstSeq: seq };
      return [...others, { key: task.id, task, groups: task.data.groups ?? [], firstSeq, seq, failures: 0 }];
    });
  }

  private sync(task: QueuedTask, change: (others: readonly Pending[]) => readonly Pending[]): void {
    const key = `${task.namespace}/${task.cluster}`;
    const pending = change((this.pending.get(key) ?? []).filter((one) => one.task.id !== task.id));
    this.pending.set(key, pending);
    this.queue.sync('spec', key, pending);
  }

  private async work(task: QueuedTask, attempt: number): Promise<Attempted> {
    const id = `${task.id} ${attempt} ${Date.now()}`;
    this.progress.began(id, `${task.type} of ${task.namespace}/${task.cluster}`, HUNG_MS, task.data.groups);
    try {
      const later = await this.replica.deliver(task, contextOf(attempt, new AbortController().signal));
      this.progress.ended(id, later === undefined ? 'done' : 'requeued');
      if (later === undefined) return { kind: 'over' };
      return { kind: 'again', delayMs: later.delayMs, failed: false, whenFreed: later.isBlocked === true };
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      this.progress.ended(id, 'failed');
      const isLast = !error.retryable || attempt === ATTEMPTS_MAX;
      const nextAttemptAt = isLast ? null : new Date(Date.now() + ATTEMPT_AGAIN_MS).toISOString();
      const failure = { cause: error.toCause(), attempt, attemptsMax: ATTEMPTS_MAX, nextAttemptAt };
      await this.replica.failed(task, failure);
      if (isLast) return { kind: 'over' };
      return { kind: 'again', delayMs: ATTEMPT_AGAIN_MS, failed: true, whenFreed: false };
    }
  }
}

const near = Array.from({ length: CLUSTERS }, (_, index) => [NEAR, index] as const);
const far = Array.from({ length: CLUSTERS }, (_, index) => [FAR, index] as const);

const paceOf = async (
  groupLimit: number,
  clusters: readonly (readonly [ConnectionName, number])[],
): Promise<number> => {
  const service = new Service(groupLimit);
  service.hungUntilMs = Date.now() + HUNG_MS;
  await service.begin(clusters);
  return service.secondsUntilReady(NEAR);
};

describe('a connection whose calls hang for 20 minutes', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
  afterEach(() => void jest.useRealTimers());

  it('delays no cluster of another connection, although more of its tasks came first than there are slots [ORBITER 35]', async () => {
    const alone = await paceOf(GROUP_LIMIT, near);
    expect(alone).toBeLessThan(2 * CLUSTERS * 10);
    expect(await paceOf(GROUP_LIMIT, [...far, ...near])).toBeLessThanOrEqual(alone + 5);
  });

  it('would delay them without a limit per connection', async () => {
    const alone = await paceOf(GROUP_LIMIT, near);
    expect(await paceOf(CONCURRENCY, [...far, ...near])).toBeGreaterThan(3 * alone);
  });

  it('is reported for its waiting clusters, while the service is healthy', async () => {
    const service = new Service(GROUP_LIMIT);
    service.hungUntilMs = Date.now() + HUNG_MS;
    await service.begin([...far, ...near]);
    await service.pass(9 * MINUTE_MS);
    expect(service.progress.report()).toBe('ok');
    expect(service.progress.waits()).toEqual([
      expect.stringMatching(
        /^\d+ tasks wait for connection far since 9 min: its 4 places are taken, for 1 min by ValidateCluster of default/,
      ),
    ]);
  });

  it('is stated from time to time while tasks wait for its slots, and once when none does', async () => {
    const service = new Service(GROUP_LIMIT);
    service.hungUntilMs = Date.now() + HUNG_MS;
    const stated = () =>
      service.log.events.filter(({ type }) => type === 'ConnectionBusy' || type === 'ConnectionFree');
    await service.begin([...far, ...near]);
    await service.pass(50 * SECOND_MS);
    expect(stated()).toEqual([]);
    await service.pass(20 * SECOND_MS);
    expect(stated()).toMatchObject([{ type: 'ConnectionBusy', data: { connection: 'far', places: GROUP_LIMIT } }]);
    const { data } = stated()[0] as StoredEvent<'ConnectionBusy'>;
    expect(data.tasks).toBeGreaterThanOrEqual(CLUSTERS - GROUP_LIMIT);
    expect(Date.now() - Date.parse(data.since)).toBeGreaterThanOrEqual(MINUTE_MS);
    await service.pass(30 * MINUTE_MS);
    const types = stated().map(({ type }) => type);
    expect(types.at(-1)).toBe('ConnectionFree');
    // Far fewer than tasks, and each is valid until the next.
    const busy = stated().filter((event): event is StoredEvent<'ConnectionBusy'> => event.type === 'ConnectionBusy');
    expect(busy.length).toBeLessThan(10);
    for (const [at, { data: later }] of busy.slice(1).entries())
      if (later.since === busy[at]!.data.since) expect(later.until > busy[at]!.data.until).toBe(true);
    expect(stated().filter(({ data: of }) => 'connection' in of && of.connection === 'near')).toEqual([]);
  });

  it('fails each call with its operation, connection and error, and is used again once it responds', async () => {
    const service = new Service(GROUP_LIMIT);
    service.hungUntilMs = Date.now() + HUNG_MS;
    await service.begin(far);
    await service.pass(HUNG_MS);
    const failed = service.log.events.flatMap((event) =>
      event.type === 'InfrastructureStepFailed' ? [event.data.cause] : [],
    );
    expect(failed[0]).toEqual({ operation: 'describe machines', target: 'far', message: 'no answer within 110 s' });
    await service.pass(10 * MINUTE_MS);
    expect(service.readyOn(FAR)).toBeGreaterThan(0);
  });
});

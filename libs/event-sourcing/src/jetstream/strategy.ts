import { isEventType } from '@fairlead/contracts';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import type { NatsConnection } from '@nats-io/transport-node';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Pool } from 'pg';
import {
  eventPattern,
  taskPattern,
  type QueuedTask,
  type AttemptFailure,
  type AttemptPolicy,
  type RecordFollowUpFailure,
  type RequeueAfter,
  type TaskPolicy,
} from './decorators.js';
import { AttemptRunner, type AttemptHandler } from './attempt.runner.js';
import type { EventHandlers } from './event.handlers.js';
import type { TasksProgress } from './tasks.progress.js';
import type { PartitionLog } from './partition.consumer.js';
import { announceQuarantined } from './quarantine.js';
import type { Handle } from '../handle.js';
import { STATE_FACTS, type AnyReconciler } from '../reconciler.js';
import type { TaskLeases } from '../task.leases.js';
import { PartitionConsumers } from './partition.consumers.js';
import type { Meter } from './meter.js';
import type { Mark } from './partition.fold.js';
import type { Consumers } from './consumers.js';
import { ConcurrencyGroups } from '../concurrency.groups.js';
import { ReconcilerTasks } from './reconciler.tasks.js';
import type { RecentEntries } from './recent.entries.js';
import { TaskRunner } from './task.runner.js';
import { TimersWorker } from './timers.worker.js';

export interface StrategyOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly databaseUrl: string;
  /** Including those of the reconcilers. */
  readonly consumers: Consumers;
  readonly reconcilers: readonly AnyReconciler[];
  readonly leases: TaskLeases;
  readonly handle: Handle;
  readonly recent: RecentEntries;
  readonly positionsAfterMs: number;
  readonly commitsWaitMs?: number | undefined;
  readonly progress: TasksProgress;
  readonly recordFollowUpFailure: RecordFollowUpFailure;
  readonly taskConcurrency: number;
  /** Maximum of these per concurrency group. */
  readonly groupLimit: number;
  readonly log: PartitionLog;
  readonly meter: Meter;
}

const TASK_PREFIX = taskPattern('');
const EVENT_PREFIX = eventPattern('');
/** It calls only the log. */
const STATE_FACTS_POLICY: AttemptPolicy = {
  attemptsMax: 50,
  backoffFirstMs: 250,
  backoffMaxMs: 30_000,
  timeoutMs: 60_000,
};

/**
 * Connects Nest to JetStream. Nest's own NATS transport has neither acknowledgements nor replay, so this strategy
 * implements the two kinds of handlers of an event-sourced service: events in order (OnEvent), and tasks of reconcilers
 * (OnTask).
 */
export class JetStreamStrategy extends Server implements CustomTransportStrategy {
  private partitions: PartitionConsumers | undefined;
  private timers: TimersWorker | undefined;
  private queue: ReconcilerTasks | undefined;
  private readonly tasks: TaskRunner;

  constructor(
    private readonly options: StrategyOptions,
    private readonly onPartitionConsumers: (partitions: PartitionConsumers) => void,
  ) {
    super();
    const { reconcilers, handle, recent, leases, log } = options;
    const afterOther = (): void => recent.forget();
    this.tasks = new TaskRunner({ reconcilers, handle, leases, log, now: () => new Date(), afterOther });
  }

  /** How many tasks of reconcilers wait in this replica, and how many run. */
  get taskCounts(): { readonly waiting: number; readonly running: number } {
    return this.queue?.counts ?? { waiting: 0, running: 0 };
  }

  listen(callback: (error?: unknown) => void): void {
    const { service, nc, pool, databaseUrl, consumers, recent, positionsAfterMs, commitsWaitMs, log, meter } =
      this.options;
    const runner = this.attemptRunner();
    const { reconcilers, taskConcurrency: concurrency, progress } = this.options;
    const groups = new ConcurrencyGroups(this.options.groupLimit);
    const mark = (one: Mark): boolean => this.partitions?.mark(one) === true;
    const queue = new ReconcilerTasks({ service, pool, reconcilers, runner, concurrency, groups, progress, mark });
    this.queue = queue;
    this.partitions = new PartitionConsumers({
      service,
      nc,
      pool,
      databaseUrl,
      consumers,
      recent,
      positionsAfterMs,
      commitsWaitMs,
      log,
      meter,
      handlers: this.eventHandlers(),
      announceQuarantined: announceQuarantined(service, this.options.handle),
      onReconciled: (consumer, clusterKey, reconciled) => {
        this.tasks.noticed(consumer, clusterKey, reconciled);
        queue.noticed(consumer, clusterKey, reconciled);
      },
      onEvents: (events) => {
        recent.knownUpTo(events.at(-1)?.meta.seq ?? 0);
        queue.passed(events);
      },
      onLoaded: (partition) => queue.restore(partition),
      onReleased: (partition) => queue.release(partition),
      onTimersSet: (dueAtMs) => this.timers?.wake(dueAtMs),
    });
    this.timers = new TimersWorker({ pool, log, processes: consumers.processes, mark });
    this.onPartitionConsumers(this.partitions);
    this.partitions.start();
    this.tasks.start();
    this.timers.start();
    callback();
  }

  async close(): Promise<void> {
    this.tasks.stop();
    await Promise.all([this.partitions?.stop(), this.queue?.stop(), this.timers?.stop()]);
  }

  private attemptRunner(): AttemptRunner {
    const { service, nc, pool, log, meter, progress, taskConcurrency: concurrency } = this.options;
    const handlers = this.attemptHandlers();
    const limits = [...handlers.values()].map(({ policy }) => policy.timeoutMs);
    progress.configured({ concurrency, longestMs: Math.max(0, ...limits) });
    return new AttemptRunner({
      ...{ service, nc, pool, log, meter, progress, handlers },
      recordFailure: (task, failure) => this.recordFailure(task, failure),
    });
  }

  private async recordFailure(task: QueuedTask, failure: AttemptFailure): Promise<void> {
    await this.tasks.recordFailure(task, failure);
    const { followUp } = task.data;
    if (followUp !== undefined) await this.options.recordFollowUpFailure(followUp, task.cause, failure);
  }

  on(): never {
    throw new Error('this transport has no events of its own; watch the NATS connection instead');
  }

  unwrap<T>(): T {
    return this.options.nc as T;
  }

  private attemptHandlers(): ReadonlyMap<string, AttemptHandler> {
    const handlers = new Map<string, AttemptHandler>();
    if (this.options.reconcilers.some(({ facts }) => facts !== undefined))
      handlers.set(STATE_FACTS, { policy: STATE_FACTS_POLICY, run: (task) => this.tasks.stateFacts(task) });
    for (const [pattern, handler] of this.messageHandlers) {
      if (!pattern.startsWith(TASK_PREFIX)) continue;
      const policy = handler.extras?.['policy'] as TaskPolicy;
      const run: AttemptHandler['run'] = (task, context) =>
        this.tasks.run(
          task,
          context,
          policy,
          async (task) => (await this.call(handler, task, undefined)) as RequeueAfter,
        );
      handlers.set(pattern.slice(TASK_PREFIX.length), { policy, run });
    }
    return handlers;
  }

  private eventHandlers(): EventHandlers | undefined {
    const handlers = new Map<string, MessageHandler>();
    for (const [pattern, handler] of this.messageHandlers) {
      if (!pattern.startsWith(EVENT_PREFIX)) continue;
      const type = pattern.slice(EVENT_PREFIX.length);
      if (!isEventType(type)) throw new Error(`OnEvent('${type}'): the catalogue has no such event`);
      handlers.set(type, handler);
    }
    if (handlers.size === 0) return undefined;
    // Nest chains the handlers of one pattern: calling the first calls all of them.
    return {
      types: new Set(handlers.keys()),
      call: async (event) => {
        const handler = handlers.get(event.type);
        if (handler !== undefined) await this.call(handler, event, undefined);
      },
    };
  }

  private async call(handler: MessageHandler, payload: unknown, context: unknown): Promise<unknown> {
    const result: unknown = await handler(payload, context);
    return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
  }
}

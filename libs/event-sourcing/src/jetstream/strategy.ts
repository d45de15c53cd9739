import { isEventType } from '@fairlead/contracts';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import type { NatsConnection } from '@nats-io/transport-node';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Pool } from 'pg';
import {
  DEFAULT_JOB_POLICY,
  eventPattern,
  jobPattern,
  type Job,
  type JobContext,
  type JobLater,
  type JobPolicy,
  type RecordJobFailure,
} from './decorators.js';
import { JobsWorker, type JobHandler } from './jobs.worker.js';
import type { EventHandlers } from './event.handlers.js';
import type { LaneLog } from './lane.js';
import { announceParked } from './parking.js';
import type { Handle } from '../handle.js';
import { Lanes } from './lanes.js';
import type { Meter } from './meter.js';
import type { Consumers } from './consumers.js';
import { TimersWorker } from './timers.worker.js';

export interface StrategyOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly consumers: Consumers;
  readonly handle: Handle;
  readonly recordJobFailure: RecordJobFailure;
  readonly jobConcurrency: number;
  readonly jobAckWaitMs: number;
  readonly log: LaneLog;
  readonly meter: Meter;
}

const JOB_PREFIX = jobPattern('');
const EVENT_PREFIX = eventPattern('');

/**
 * Nest's way into JetStream. Its own NATS transport knows neither acknowledgements nor replay, so this strategy gives
 * decorated methods the two modes that an event-sourced service needs: events in order (OnEvent), and jobs (OnJob).
 */
export class JetStreamStrategy extends Server implements CustomTransportStrategy {
  private lanes: Lanes | undefined;
  private jobs: JobsWorker | undefined;
  private timers: TimersWorker | undefined;

  constructor(
    private readonly options: StrategyOptions,
    private readonly onLanes: (lanes: Lanes) => void,
  ) {
    super();
  }

  listen(callback: (error?: unknown) => void): void {
    const { service, nc, pool, databaseUrl, consumers, log, meter } = this.options;
    this.lanes = new Lanes({
      service,
      nc,
      pool,
      databaseUrl,
      consumers,
      log,
      meter,
      handlers: this.eventHandlers(),
      announceParked: announceParked(service, this.options.handle),
    });
    this.jobs = new JobsWorker({
      service,
      nc,
      pool,
      log,
      meter,
      handlers: this.jobHandlers(),
      recordFailure: this.options.recordJobFailure,
      concurrency: this.options.jobConcurrency,
      ackWaitMs: this.options.jobAckWaitMs,
    });
    this.timers = new TimersWorker({ service, nc, pool, log, processes: consumers.processes });
    this.onLanes(this.lanes);
    this.lanes.start();
    if (this.jobHandlers().size > 0) this.jobs.start();
    this.timers.start();
    callback();
  }

  async close(): Promise<void> {
    await Promise.all([this.lanes?.stop(), this.jobs?.stop(), this.timers?.stop()]);
  }

  on(): never {
    throw new Error('this transport has no events of its own; watch the NATS connection instead');
  }

  unwrap<T>(): T {
    return this.options.nc as T;
  }

  private jobHandlers(): ReadonlyMap<string, JobHandler> {
    const handlers = new Map<string, JobHandler>();
    for (const [pattern, handler] of this.messageHandlers) {
      if (!pattern.startsWith(JOB_PREFIX)) continue;
      const policy = (handler.extras?.['policy'] as JobPolicy | undefined) ?? DEFAULT_JOB_POLICY;
      handlers.set(pattern.slice(JOB_PREFIX.length), {
        policy,
        run: async (job: Job, context: JobContext) => (await this.call(handler, job, context)) as JobLater | undefined,
      });
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
    // Nest chains the handlers of one pattern: calling the first calls them all.
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

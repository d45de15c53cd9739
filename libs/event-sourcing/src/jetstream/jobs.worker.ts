import { deadLetterSubject, STREAMS, WorldFailure, wordsOf } from '@fairlead/contracts';
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type Consumer,
  type ConsumerMessages,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import type { Job, JobContext, JobFailure, JobLater, JobPolicy, RecordJobFailure } from './decorators.js';
import { groupsOf, type ConcurrencyGroups } from '../concurrency.groups.js';
import { Places } from './places.js';
import { WakeSignal } from './wake.signal.js';
import type { JobsProgress } from './jobs.progress.js';
import type { PartitionLog } from './partition.consumer.js';
import type { JobOutcome, Meter } from './meter.js';

export interface JobHandler {
  readonly policy: JobPolicy;
  readonly run: (job: Job, context: JobContext) => Promise<JobLater | undefined>;
}

export interface JobsOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly handlers: ReadonlyMap<string, JobHandler>;
  readonly recordFailure: RecordJobFailure;
  readonly concurrency: number;
  readonly groups: ConcurrencyGroups;
  /** Without a sign of life from its worker for so long, a job goes to another one. */
  readonly ackWaitMs: number;
  readonly log: PartitionLog;
  readonly meter: Pick<Meter, 'jobEnded'>;
  readonly progress: JobsProgress;
}

const FETCH_MS = 5_000;
const RETRY_MS = 250;
const DRAIN_MS = 10_000;
/** How often the queue is looked at while no job can be taken. */
const LOOK_EVERY_MS = 30_000;

const backoffMs = (policy: JobPolicy, attempt: number): number =>
  Math.min(policy.backoffFirstMs * 2 ** (attempt - 1), policy.backoffMaxMs);

const NO_JOB = 'no-job';
interface NoJob {
  readonly type: typeof NO_JOB;
  readonly text: string;
}

interface Settled {
  readonly outcome: JobOutcome;
  readonly isBlocked?: boolean;
}

/** undefined: it is not one of ours. */
const jobIn = (message: JsMsg): Job | undefined => {
  try {
    const job = message.json<Partial<Job> | null>();
    return typeof job?.id === 'string' && typeof job.type === 'string' ? (job as Job) : undefined;
  } catch {
    return undefined;
  }
};

interface Held {
  readonly message: JsMsg;
  readonly abort: AbortController;
}

/**
 * Works on a service's jobs: a durable pull consumer on a work queue, shared by all replicas. While a handler runs, the
 * server is notified; a failure requeues the job with a delay; the last one sends it to the dead letters.
 */
export class JobsWorker {
  /** Those that wait for a group included. */
  private readonly held = new Map<string, Held>();
  private readonly places: Places;
  private running = false;
  private loop: Promise<void> | undefined;
  /** What waits for jobs. */
  private taking: ConsumerMessages | undefined;
  private ticker: NodeJS.Timeout | undefined;
  private lookedAtMs = 0;
  /** Rings when a job has ended, and when there must be no more. */
  private readonly slotFree = new WakeSignal();

  constructor(private readonly options: JobsOptions) {
    this.places = new Places({ ...options, onFree: () => this.slotFree.ring() });
  }

  start(): void {
    this.running = true;
    const { concurrency, handlers, progress } = this.options;
    const limits = [...handlers.values()].map(({ policy }) => policy.timeoutMs);
    progress.configured({ concurrency, longestMs: Math.max(0, ...limits) });
    this.ticker = setInterval(() => this.held.forEach(({ message }) => message.working()), this.options.ackWaitMs / 3);
    this.loop = this.run();
  }

  /** Aborts what runs, and waits a while for its end; what is unfinished goes to another replica or to the next start. */
  async stop(): Promise<void> {
    this.running = false;
    this.taking?.stop();
    this.slotFree.ring();
    const deadline = Date.now() + DRAIN_MS;
    this.places.giveBack();
    for (const { abort } of this.held.values()) abort.abort(new Error('the service is stopping'));
    while (this.held.size > 0 && Date.now() < deadline) await this.slotFree.pause(RETRY_MS);
    clearInterval(this.ticker);
    await this.loop;
  }

  private async run(): Promise<void> {
    let consumer: Consumer | undefined;
    while (this.running) {
      try {
        consumer ??= await this.consumer();
        const { free } = this.places;
        if (free === 0) {
          await this.lookAtQueue(consumer);
          await this.slotFree.pause(RETRY_MS);
        } else await this.take(consumer, free);
      } catch (error) {
        if (!this.running) return;
        consumer = undefined;
        this.options.log.warn(`jobs: ${wordsOf(error)}; trying again`);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** While all places are taken, no fetch says how many jobs wait. */
  private async lookAtQueue(consumer: Consumer): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.lookedAtMs < LOOK_EVERY_MS) return;
    this.lookedAtMs = nowMs;
    this.options.progress.waiting((await consumer.info()).num_pending);
  }

  private async consumer(): Promise<Consumer> {
    const { nc, service, ackWaitMs } = this.options;
    const jsm = await jetstreamManager(nc, { checkAPI: false });
    await jsm.consumers.add(STREAMS.jobs, {
      durable_name: service,
      filter_subject: `job.${service}.>`,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ackWaitMs),
      max_deliver: -1,
      max_ack_pending: 10_000,
    });
    return jetstream(nc, { checkAPI: false } as object).consumers.get(STREAMS.jobs, service);
  }

  private async take(consumer: Consumer, free: number): Promise<void> {
    const messages = await consumer.fetch({ max_messages: free, expires: FETCH_MS });
    this.taking = messages;
    if (!this.running) messages.stop();
    let left = 0;
    for await (const message of messages) {
      left = message.info.pending;
      if (this.running) this.accept(message);
      else message.nak();
    }
    this.taking = undefined;
    // With a place left, the server has given all that it has.
    this.options.progress.waiting(this.places.free > 0 ? 0 : left);
  }

  private accept(message: JsMsg): void {
    const job = jobIn(message);
    if (job === undefined) {
      void this.refuse(message);
      return;
    }
    const key = `${job.id}:${message.seq}`;
    const abort = new AbortController();
    this.held.set(key, { message, abort });
    const giveBack = (): void => {
      this.held.delete(key);
      message.nak();
    };
    this.places.take({ job, giveBack, run: () => this.work(key, { message, abort }, job) });
  }

  private async work(key: string, { message, abort }: Held, job: Job): Promise<void> {
    const startedAtMs = performance.now();
    const { progress } = this.options;
    const limitMs = this.options.handlers.get(job.type)?.policy.timeoutMs ?? 0;
    progress.began(key, `${job.type} of ${job.namespace}/${job.cluster}`, limitMs, groupsOf(job));
    try {
      const { outcome, isBlocked } = await this.settle(message, job, abort);
      progress.ended(key, outcome, isBlocked);
      this.options.meter.jobEnded({ type: job.type, outcome, durationMs: performance.now() - startedAtMs });
    } catch (error) {
      progress.ended(key, 'given back');
      // Neither done nor recorded as failed (the log or the database is away): give it back, it counts as no attempt.
      this.options.log.warn(`job ${job.type} of ${job.namespace}/${job.cluster} is given back: ${wordsOf(error)}`);
      message.nak(RETRY_MS * 4);
    } finally {
      this.held.delete(key);
    }
  }

  /** Trying it again would not make it a job. */
  private async refuse(message: JsMsg): Promise<void> {
    try {
      await this.deadLetter(message, { type: NO_JOB, text: message.string() }, 'it is not a job');
      this.options.meter.jobEnded({ type: NO_JOB, outcome: 'buried', durationMs: 0 });
    } catch (error) {
      this.options.log.warn(`a message that is not a job is given back: ${wordsOf(error)}`);
      message.nak(RETRY_MS * 4);
    }
  }

  private async settle(message: JsMsg, job: Job, abort: AbortController): Promise<Settled> {
    const handler = this.options.handlers.get(job.type);
    if (handler === undefined) {
      await this.deadLetter(message, job, `no handler for ${job.type}`);
      return { outcome: 'buried' };
    }
    const attempt = (await this.failures(job.id)) + 1;
    try {
      const result = await this.attempt(handler, job, attempt, abort);
      if (result?.kind !== 'later') return { outcome: await this.done(message, job, attempt) };
      message.nak(result.delayMs);
      return { outcome: 'later', isBlocked: result.isBlocked === true };
    } catch (error) {
      if (abort.signal.aborted && !this.running) {
        message.nak();
        return { outcome: 'later' };
      }
      return { outcome: await this.failed(message, job, { handler, attempt, error }) };
    }
  }

  private async attempt(
    handler: JobHandler,
    job: Job,
    attempt: number,
    abort: AbortController,
  ): Promise<JobLater | undefined> {
    const { timeoutMs } = handler.policy;
    const late = setTimeout(
      () =>
        abort.abort(
          new WorldFailure({
            operation: job.type,
            target: job.cluster,
            message: `not done after ${timeoutMs / 1000} s`,
          }),
        ),
      timeoutMs,
    );
    const aborted = new Promise<never>((_resolve, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error), { once: true });
    });
    const context: JobContext = {
      attempt,
      signal: abort.signal,
      later: (delayMs, reason) => ({ kind: 'later', delayMs, reason }),
    };
    try {
      return await Promise.race([handler.run(job, context), aborted]);
    } finally {
      clearTimeout(late);
    }
  }

  private async done(message: JsMsg, job: Job, attempt: number): Promise<'done'> {
    await message.ackAck();
    if (attempt > 1) await this.options.pool.query('delete from job_attempts where job_id = $1', [job.id]);
    return 'done';
  }

  private async failed(
    message: JsMsg,
    job: Job,
    at: { handler: JobHandler; attempt: number; error: unknown },
  ): Promise<'failed' | 'buried'> {
    const { handler, attempt, error } = at;
    const { policy } = handler;
    const failure = error instanceof WorldFailure ? error : undefined;
    const text = wordsOf(error);
    const last = attempt >= policy.attemptsMax || failure?.retryable === false;
    const delayMs = backoffMs(policy, attempt);
    const report: JobFailure = {
      cause: failure?.toCause() ?? { operation: job.type, target: `${job.namespace}/${job.cluster}`, message: text },
      attempt,
      attemptsMax: policy.attemptsMax,
      nextAttemptAt: last ? null : new Date(Date.now() + delayMs).toISOString(),
    };
    if (failure === undefined)
      this.options.log.error(
        `job ${job.type} of ${job.namespace}/${job.cluster}: ${error instanceof Error ? (error.stack ?? text) : text}`,
      );
    await this.options.recordFailure(job, report);
    await this.options.pool.query(
      `insert into job_attempts (job_id, attempts) values ($1, $2)
       on conflict (job_id) do update set attempts = excluded.attempts, failed_at = now()`,
      [job.id, attempt],
    );
    if (last) await this.deadLetter(message, job, text);
    else message.nak(delayMs);
    return last ? 'buried' : 'failed';
  }

  private async deadLetter(message: JsMsg, job: Job | NoJob, reason: string): Promise<void> {
    const { nc, service } = this.options;
    await nc.request(deadLetterSubject(service, job.type), JSON.stringify({ job, reason }), { timeout: FETCH_MS });
    message.term(reason.slice(0, 200));
  }

  private async failures(jobId: string): Promise<number> {
    const found = await this.options.pool.query<{ attempts: number }>(
      'select attempts from job_attempts where job_id = $1',
      [jobId],
    );
    return found.rows[0]?.attempts ?? 0;
  }
}

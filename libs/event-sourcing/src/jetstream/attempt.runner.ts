import { deadLetterSubject, ExternalFailure, wordsOf } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Pool } from 'pg';
import { currentWork } from './current.work.js';
import type { QueuedTask, AttemptContext, AttemptFailure, AttemptPolicy, RequeueAfter } from './decorators.js';
import type { TasksProgress } from './tasks.progress.js';
import type { AttemptOutcome, Meter } from './meter.js';
import type { PartitionLog } from './partition.consumer.js';

export interface AttemptHandler {
  readonly policy: AttemptPolicy;
  readonly run: (task: QueuedTask, context: AttemptContext) => Promise<RequeueAfter | undefined>;
}

export interface AttemptRunnerOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly pool: Pool;
  readonly handlers: ReadonlyMap<string, AttemptHandler>;
  readonly recordFailure: (task: QueuedTask, failure: AttemptFailure) => Promise<void>;
  readonly log: PartitionLog;
  readonly meter: Pick<Meter, 'attemptEnded'>;
  readonly progress: TasksProgress;
}

/** The outcome of a task's attempt. */
export type Settled =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'buried'; readonly reason: string }
  | { readonly outcome: 'requeued' | 'failed'; readonly delayMs: number; readonly whenFreed: boolean };

export interface Attempt {
  readonly task: QueuedTask;
  /** Number of previous failures. */
  readonly failures: number;
  readonly abort: AbortController;
  /** Whether it aborts because the service stops, which does not count as an attempt. */
  readonly isStopping: () => boolean;
}

const ANSWER_MS = 5_000;
/** Delay of a task that is neither done nor recorded as failed (the log or the database is unreachable). */
const GIVEN_BACK_MS = 1_000;

const backoffMs = (policy: AttemptPolicy, attempt: number): number =>
  Math.min(policy.backoffFirstMs * 2 ** (attempt - 1), policy.backoffMaxMs);

const againAfter = (outcome: 'requeued' | 'failed', delayMs: number, whenFreed = false): Settled => ({
  outcome,
  delayMs,
  whenFreed,
});

/** One attempt of a task: its handler, its timeout, and the record of its failure. */
export class AttemptRunner {
  private attempts = 0;

  constructor(private readonly options: AttemptRunnerOptions) {}

  /** Never rejects. */
  async run(attempt: Attempt): Promise<Settled> {
    const { task } = attempt;
    const startedAtMs = performance.now();
    const { progress, handlers } = this.options;
    this.attempts += 1;
    const id = String(this.attempts);
    const limitMs = handlers.get(task.type)?.policy.timeoutMs ?? 0;
    const what = `${task.type} of ${task.namespace}/${task.cluster}`;
    progress.began(id, what, limitMs, task.data.groups ?? []);
    const end = currentWork.begin(what);
    try {
      const settled = await this.settle(attempt);
      progress.ended(id, settled.outcome, settled.outcome === 'requeued' && settled.whenFreed);
      this.ended(task.type, settled.outcome, performance.now() - startedAtMs);
      return settled;
    } catch (error) {
      progress.ended(id, 'given back');
      this.options.log.warn(`task ${what} is given back: ${wordsOf(error)}`);
      return againAfter('requeued', GIVEN_BACK_MS);
    } finally {
      end();
    }
  }

  /** How often each of these tasks has failed; those without failures are omitted. */
  async failuresOf(taskIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (taskIds.length === 0) return new Map();
    const found = await this.options.pool.query<{ job_id: string; attempts: number }>(
      'select job_id, attempts from job_attempts where job_id = any($1)',
      [taskIds],
    );
    return new Map(found.rows.map(({ job_id, attempts }) => [job_id, attempts]));
  }

  /** Whether this many failures exhaust its attempts. */
  isGivenUp({ type }: QueuedTask, failures: number): boolean {
    return failures >= (this.options.handlers.get(type)?.policy.attemptsMax ?? Infinity);
  }

  private ended(type: string, outcome: AttemptOutcome, durationMs: number): void {
    this.options.meter.attemptEnded({ type, outcome, durationMs });
  }

  private async settle(attempt: Attempt): Promise<Settled> {
    const { task, failures, abort, isStopping } = attempt;
    const handler = this.options.handlers.get(task.type);
    if (handler === undefined) return this.bury(task, `no handler for ${task.type}`);
    try {
      const result = await this.handle(handler, attempt);
      if (result?.kind === 'requeue') return againAfter('requeued', result.delayMs, result.isBlocked === true);
    } catch (error) {
      if (abort.signal.aborted && isStopping()) return againAfter('requeued', 0);
      return this.failed(attempt, handler.policy, error);
    }
    if (failures > 0) await this.options.pool.query('delete from job_attempts where job_id = $1', [task.id]);
    return { outcome: 'done' };
  }

  private async handle(handler: AttemptHandler, { task, failures, abort }: Attempt): Promise<RequeueAfter | undefined> {
    const { timeoutMs } = handler.policy;
    const late = setTimeout(
      () =>
        abort.abort(
          new ExternalFailure({
            operation: task.type,
            target: task.cluster,
            message: `not done after ${timeoutMs / 1000} s`,
          }),
        ),
      timeoutMs,
    );
    const aborted = new Promise<never>((_resolve, reject) => {
      abort.signal.addEventListener('abort', () => reject(abort.signal.reason as Error), { once: true });
    });
    const context: AttemptContext = { attempt: failures + 1, signal: abort.signal };
    try {
      return await Promise.race([handler.run(task, context), aborted]);
    } finally {
      clearTimeout(late);
    }
  }

  private async failed({ task, failures }: Attempt, policy: AttemptPolicy, error: unknown): Promise<Settled> {
    const attempt = failures + 1;
    const failure = error instanceof ExternalFailure ? error : undefined;
    const text = wordsOf(error);
    const last = attempt >= policy.attemptsMax || failure?.retryable === false;
    const delayMs = backoffMs(policy, attempt);
    const report: AttemptFailure = {
      cause: failure?.toCause() ?? { operation: task.type, target: `${task.namespace}/${task.cluster}`, message: text },
      attempt,
      attemptsMax: policy.attemptsMax,
      nextAttemptAt: last ? null : new Date(Date.now() + delayMs).toISOString(),
    };
    if (failure === undefined)
      this.options.log.error(
        `task ${task.type} of ${task.namespace}/${task.cluster}: ${error instanceof Error ? (error.stack ?? text) : text}`,
      );
    await this.options.recordFailure(task, report);
    await this.options.pool.query(
      `insert into job_attempts (job_id, attempts) values ($1, $2)
       on conflict (job_id) do update set attempts = excluded.attempts, failed_at = now()`,
      // An abandoned task is created again from its cluster's state, but must not be retried.
      [task.id, last ? Math.max(attempt, policy.attemptsMax) : attempt],
    );
    return last ? this.bury(task, text) : againAfter('failed', delayMs);
  }

  private async bury(task: QueuedTask, reason: string): Promise<Settled> {
    const { nc, service } = this.options;
    await nc.request(deadLetterSubject(service, task.type), JSON.stringify({ task, reason }), { timeout: ANSWER_MS });
    return { outcome: 'buried', reason };
  }
}

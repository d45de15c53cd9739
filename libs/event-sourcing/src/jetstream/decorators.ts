import type { Cause as WorldCause, EventType, StoredEvent } from '@fairlead/contracts';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Cause } from '../store.js';
import type { JsonObject } from '../process.js';

/** Long work of a service about one cluster. */
export interface Job<Data extends JsonObject = JsonObject> {
  /** The same for every delivery; derived from the event that asked for it. Use it as an idempotency key. */
  readonly id: string;
  readonly type: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly cause: Cause;
  readonly data: Data;
}

export interface JobContext {
  /** 1 for the first try; grows only by failures of the handler, not by crashes. */
  readonly attempt: number;
  /** Aborts when the service shuts down or the job's time is over. */
  readonly signal: AbortSignal;
  /** Give the job back and see it again after this time; not a failure. Return its result from the handler. */
  later(delayMs: number, reason: string): JobLater;
}

export interface JobLater {
  readonly kind: 'later';
  readonly delayMs: number;
  readonly reason: string;
  /** Its lease is held: nothing was done. It is called sooner if another task of the cluster ends in this replica. */
  readonly isBlocked?: true;
}

export interface JobPolicy {
  readonly attemptsMax: number;
  /** Wait before attempt n+1: first * 2^(n-1), at most max. */
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** One attempt may take so long; then its signal aborts and it has failed. */
  readonly timeoutMs: number;
}

export const DEFAULT_JOB_POLICY: JobPolicy = {
  attemptsMax: 5,
  backoffFirstMs: 500,
  backoffMaxMs: 30_000,
  timeoutMs: 15 * 60_000,
};

/** What the strategy reports when a handler threw. nextAttemptAt is null when that was the last attempt. */
export interface JobFailure {
  readonly cause: WorldCause;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly nextAttemptAt: string | null;
}

/** Provided by each service under JOB_FAILURES: records a failure as an event. Called before the job is given back. */
export type RecordJobFailure = (job: Job, failure: JobFailure) => Promise<void>;

type Handler<Payload, Context> = (
  target: object,
  key: string | symbol,
  descriptor: { value?: (payload: Payload, context: Context) => unknown },
) => void;

export const eventPattern = (type: string): string => `event:${type}`;
export const jobPattern = (type: string): string => `job:${type}`;
export const taskPattern = (type: string): string => `task:${type}`;

export interface TaskPolicy extends JobPolicy {
  /**
   * No other exclusive task of the cluster runs meanwhile, or, where the task has `locks`, none that could touch the same. Without it
   * only the task itself runs at most once at a time.
   */
  readonly exclusive: boolean;
  /** Once begun it runs to its end although it is withdrawn; only a new generation aborts it. For effects that must not be left half-way. */
  readonly finishes: boolean;
}

/**
 * The method handles a job of this type: (job: Job<Data>, context: JobContext) => Promise<void | JobLater>.
 * At least once, in no promised order. Throwing makes it fail (WorldFailure with retryable false: for good).
 */
export const OnJob =
  <Data extends JsonObject = JsonObject>(
    type: string,
    policy: Partial<JobPolicy> = {},
  ): Handler<Job<Data>, JobContext> =>
  (target, key, descriptor) => {
    // Nest hands over only the payload unless each parameter is named.
    Payload()(target, key, 0);
    Ctx()(target, key, 1);
    EventPattern<string>(jobPattern(type), { policy: { ...DEFAULT_JOB_POLICY, ...policy } })(
      target,
      key,
      descriptor as PropertyDescriptor,
    );
  };

/**
 * The method handles a reconciler's tasks of this type: (task: TaskContext<State, Command>) => Promise<RequeueAfter | void>. It is called
 * only for a task that is desired, by one replica at a time. Throwing makes the attempt fail, as with OnJob.
 */
export const OnTask =
  <Context>(type: string, policy: Partial<TaskPolicy> = {}): Handler<Context, unknown> =>
  (target, key, descriptor) =>
    EventPattern<string>(taskPattern(type), {
      policy: { ...DEFAULT_JOB_POLICY, exclusive: false, finishes: false, ...policy },
    })(target, key, descriptor as PropertyDescriptor);

/**
 * The method sees every event of this type in the order of its cluster, after the service's own rows show it, at least once:
 * (event: StoredEvent<T>) => Promise<void>. For things that are not rows and not jobs, such as waking up a waiting request.
 */
export const OnEvent =
  <T extends EventType>(type: T): Handler<StoredEvent<T>, unknown> =>
  (target, key, descriptor) =>
    EventPattern<string>(eventPattern(type))(target, key, descriptor as PropertyDescriptor);

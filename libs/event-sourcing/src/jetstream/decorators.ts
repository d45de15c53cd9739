import type { Cause as WorldCause, EventType, StoredEvent } from '@fairlead/contracts';
import { EventPattern } from '@nestjs/microservices';
import type { Cause } from '../store.js';
import type { JsonObject } from '../process.js';
import type { Task, TaskRef } from '../reconciler.js';

/** A task during an attempt. */
export interface QueuedTask<Data extends JsonObject = TaskRef> {
  /** The same for every delivery; derived from the event that made the task desired. Use it as an idempotency key. */
  readonly id: string;
  readonly type: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly cause: Cause;
  readonly data: Data;
}

export interface AttemptContext {
  /** 1 for the first attempt; incremented by failures of the handler, not by crashes. */
  readonly attempt: number;
  /** Aborts when the service shuts down or the task times out. */
  readonly signal: AbortSignal;
}

/** The task is run again after this time; not a failure. */
export interface RequeueAfter {
  readonly kind: 'requeue';
  readonly delayMs: number;
  readonly reason: string;
  /**
   * Its lease is held by another, so nothing was done. It is retried sooner if another task of the cluster ends in this
   * replica.
   */
  readonly isBlocked?: true;
}

export interface AttemptPolicy {
  readonly attemptsMax: number;
  /** Backoff before attempt n+1: first * 2^(n-1), at most max. */
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
  /** Timeout of one attempt; its signal then aborts, and the attempt has failed. */
  readonly timeoutMs: number;
}

export const DEFAULT_ATTEMPT_POLICY: AttemptPolicy = {
  attemptsMax: 5,
  backoffFirstMs: 500,
  backoffMaxMs: 30_000,
  timeoutMs: 15 * 60_000,
};

/** Reported by the strategy when a handler threw. nextAttemptAt is null after the last attempt. */
export interface AttemptFailure {
  readonly cause: WorldCause;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly nextAttemptAt: string | null;
}

/**
 * Provided under FOLLOW_UP_FAILURES by a service that records failures of follow-ups. Called before the next attempt.
 */
export type RecordFollowUpFailure = (followUp: Task, cause: Cause, failure: AttemptFailure) => Promise<void>;

type Handler<Payload, Context> = (
  target: object,
  key: string | symbol,
  descriptor: { value?: (payload: Payload, context: Context) => unknown },
) => void;

export const eventPattern = (type: string): string => `event:${type}`;
export const taskPattern = (type: string): string => `task:${type}`;

export interface TaskPolicy extends AttemptPolicy {
  /**
   * No other exclusive task of the cluster runs at the same time, or, for a task with `locks`, none that could touch
   * the same resources. Otherwise only the task itself runs at most once at a time.
   */
  readonly exclusive: boolean;
  /**
   * Once started, it runs to completion even if it is withdrawn; only a new generation aborts it. For effects that must
   * not be left half-done.
   */
  readonly finishes: boolean;
}

/**
 * The method handles a reconciler's tasks of this type: (task: TaskContext<State, Command>) => Promise<RequeueAfter |
 * void>. It is called only for a desired task, by one replica at a time. At least once, in no guaranteed order. If it
 * throws, the attempt fails (ExternalFailure with retryable false: permanently).
 */
export const OnTask =
  <Context>(type: string, policy: Partial<TaskPolicy> = {}): Handler<Context, unknown> =>
  (target, key, descriptor) =>
    EventPattern<string>(taskPattern(type), {
      policy: { ...DEFAULT_ATTEMPT_POLICY, exclusive: false, finishes: false, ...policy },
    })(target, key, descriptor as PropertyDescriptor);

/**
 * The method sees every event of this type in the order of its cluster, after the service's own rows reflect it, at
 * least once: (event: StoredEvent<T>) => Promise<void>. For effects that are neither rows nor tasks, such as completing
 * a waiting request.
 */
export const OnEvent =
  <T extends EventType>(type: T): Handler<StoredEvent<T>, unknown> =>
  (target, key, descriptor) =>
    EventPattern<string>(eventPattern(type))(target, key, descriptor as PropertyDescriptor);

import { isRefusal, ExternalFailure, wordsOf, type StreamId } from '@fairlead/contracts';
import { LRUCache } from 'lru-cache';
import type { Command } from '../decider.js';
import type { Decided, Handle } from '../handle.js';
import type { JsonObject } from '../process.js';
import {
  reconcilerDecider,
  desiredTask,
  type AnyReconciler,
  type KnownState,
  type Reconciled,
  type ReconcilerCommand,
  type Task,
  type TaskRef,
} from '../reconciler.js';
import type { Cause } from '../store.js';
import type { Lease, TaskLeases } from '../task.leases.js';
import { processConsumer } from './consumers.js';
import type { QueuedTask, AttemptContext, AttemptFailure, RequeueAfter, TaskPolicy } from './decorators.js';
import type { PartitionLog } from './partition.consumer.js';
import { sharedInterval } from './shared.interval.js';

/** Another replica, or an earlier delivery, holds the lease; or this replica's log is older than the task. */
const BUSY_AGAIN_MS = 500;
const LOG_BEHIND_AGAIN_MS = 100;
/** Maximum delay until a task notices its withdrawal if another replica reads the cluster's events. */
const POLL_INTERVAL_MS = 5_000;
/** Maximum remembered tasks that found their lease held. */
const BLOCKED_MAX = 1_000;
/** The lease of an exclusive task that waits for all others of its cluster. */
const EXCLUSIVE = 'exclusive';
/** Prefix of leases for resources that an exclusive task touches. */
const LOCK = 'lock ';

/** A running task, as its handler sees it. */
export interface TaskContext<State = unknown, C extends Command = Command, Data extends JsonObject = JsonObject> {
  readonly type: string;
  readonly key: string;
  readonly data: Data;
  readonly namespace: string;
  readonly cluster: string;
  /** The same for every delivery: an idempotency key. */
  readonly id: string;
  readonly cause: Cause;
  /**
   * The folded state. It was read after the lease was acquired, so it includes everything that earlier holders
   * recorded.
   */
  readonly state: State;
  /** Aborts when the task is withdrawn or void, times out, loses its lease, or the service stops. */
  readonly signal: AbortSignal;
  /** 1 for the first attempt; incremented by failures of the handler, not by crashes or requeues. */
  readonly attempt: number;
  /**
   * Decides on the task's findings or results, and resolves to the new state. A task that is no longer desired because
   * of its own record may still finish: its signal does not abort for that.
   */
  record(command: C): Promise<State>;
  /** Return its result from the handler. */
  requeueAfter(delayMs: number, reason: string): RequeueAfter;
  /** Keys of the cluster's other running tasks, in any replica. */
  othersAtWork(): Promise<readonly string[]>;
}

/** For handlers that use other deciders than their reconciler's. */
export type TaskOf<Data extends JsonObject> = Pick<
  TaskContext<unknown, never, Data>,
  'namespace' | 'cluster' | 'cause' | 'data' | 'signal' | 'requeueAfter'
>;

export type TaskHandler = (task: TaskContext) => Promise<RequeueAfter | undefined | void>;

export interface TaskRunnerOptions {
  readonly reconcilers: readonly AnyReconciler[];
  readonly handle: Handle;
  readonly leases: TaskLeases;
  readonly now: () => Date;
  readonly log: Pick<PartitionLog, 'warn'>;
  /**
   * Called after acquiring a lease that another replica held: its records may not have been pushed to this process yet.
   */
  readonly afterOther?: () => void;
}

interface Running {
  readonly reconciler: AnyReconciler;
  readonly queued: QueuedTask;
  /** The names of its leases. */
  readonly leases: readonly string[];
  /** Withdrawal does not abort it. */
  readonly finishes: boolean;
  readonly withdrawn: AbortController;
  /** How many of its own decisions are in progress. */
  recording: number;
  /** It recorded itself what ended its desire. */
  hasEnded: boolean;
}

/** The reason of an aborted signal that ends the task without a failure. */
class Withdrawn extends Error {}

const clusterKeyOf = ({ namespace, cluster }: Pick<QueuedTask, 'namespace' | 'cluster'>): string =>
  `${namespace}/${cluster}`;

const requeueAfter = (delayMs: number, reason: string): RequeueAfter => ({ kind: 'requeue', delayMs, reason });

/** Always in the same order, so that of tasks that need the same leases at least one gets all of them. */
const leasesOf = ({ key, locks }: TaskRef, exclusive: boolean): readonly string[] => {
  if (!exclusive) return [key];
  return locks === undefined ? [EXCLUSIVE] : [...new Set(locks)].sort().map((name) => `${LOCK}${name}`);
};

const isForeign = (names: readonly string[], other: string): boolean =>
  names.includes(EXCLUSIVE) ? other.startsWith(LOCK) : other === EXCLUSIVE;

const together = (leases: readonly Lease[]): Lease => ({
  signal: AbortSignal.any(leases.map(({ signal }) => signal)),
  release: async () => {
    await Promise.all(leases.map((lease) => lease.release()));
  },
});

/**
 * All of them, or none. A task with locks and one that waits for all others first acquire their leases and then check
 * for each other's, so that at most one of them starts.
 */
const acquireAll = async (leases: TaskLeases, scope: string, names: readonly string[]): Promise<Lease | undefined> => {
  const acquired: Lease[] = [];
  for (const name of names) {
    const lease = await leases.acquire(scope, name);
    if (lease === undefined) {
      await together(acquired).release();
      return undefined;
    }
    acquired.push(lease);
  }
  const all = together(acquired);
  const isExclusive = names.some((name) => name === EXCLUSIVE || name.startsWith(LOCK));
  if (!isExclusive || !(await leases.held(scope)).some((other) => isForeign(names, other))) return all;
  await all.release();
  return undefined;
};

/**
 * Around every task: acquire its lease, check in the log whether it is desired, run its handler, abort it when it is
 * withdrawn, and record a failed attempt. The state is folded while the lease is held, so that of two deliveries the
 * second one sees what the first one recorded.
 */
export class TaskRunner {
  private readonly running = new Set<Running>();
  private readonly blocked = new LRUCache<string, true>({ max: BLOCKED_MAX });
  private readonly deciders: ReadonlyMap<AnyReconciler, ReturnType<typeof reconcilerDecider>>;
  private stopWatching = (): void => undefined;

  constructor(private readonly options: TaskRunnerOptions) {
    const partial = options.reconcilers.find(({ decider }) => decider.reads !== 'cluster');
    if (partial !== undefined) throw new Error(`the decider of the reconciler ${partial.name} must read the cluster`);
    this.deciders = new Map(options.reconcilers.map((reconciler) => [reconciler, reconcilerDecider(reconciler)]));
  }

  start(): void {
    this.stopWatching = sharedInterval(POLL_INTERVAL_MS, () => void this.lookAtAll());
  }

  stop(): void {
    this.stopWatching();
  }

  async run(
    queued: QueuedTask,
    context: AttemptContext,
    { exclusive = false, finishes = false }: Partial<TaskPolicy>,
    handler: TaskHandler,
  ): Promise<RequeueAfter | undefined> {
    const names = leasesOf(queued.data, exclusive);
    const lease = await acquireAll(this.options.leases, clusterKeyOf(queued), names);
    if (lease === undefined) {
      this.blocked.set(queued.id, true);
      return { ...requeueAfter(BUSY_AGAIN_MS, 'another task or delivery holds the lease'), isBlocked: true };
    }
    if (this.blocked.delete(queued.id)) this.options.afterOther?.();
    const reconciler = this.reconcilerOf(queued);
    const withdrawn = new AbortController();
    const running = { reconciler, queued, leases: names, finishes, withdrawn, recording: 0, hasEnded: false };
    try {
      return await this.whileDesired(running, context, lease, handler);
    } finally {
      await lease.release();
    }
  }

  /** Handles STATE_FACTS. */
  async stateFacts(queued: QueuedTask): Promise<RequeueAfter | undefined> {
    const { seq, now } = queued.data;
    const decided = await this.decide(queued, { type: 'StateFacts', data: { now: this.nowOr(now) } });
    return decided.seq < seq ? requeueAfter(LOG_BEHIND_AGAIN_MS, 'the log is behind') : undefined;
  }

  /** Records nothing if the task is no longer desired. */
  async recordFailure(queued: QueuedTask, failure: AttemptFailure): Promise<void> {
    const now = this.nowOr(queued.data.now);
    const { cause, attempt, attemptsMax, nextAttemptAt } = failure;
    const recorded = { cause, attempt, attemptsMax, nextAttemptAt, now };
    this.options.log.warn(
      `${queued.data.key} of ${clusterKeyOf(queued)}: ${cause.message} (attempt ${attempt} of ${attemptsMax})`,
    );
    await this.decide(queued, { type: 'RecordFailure', data: { ref: queued.data, failure: recorded } });
  }

  /**
   * The desired tasks of a cluster have changed: running tasks that are no longer among them are checked. undefined:
   * the cluster's state was removed.
   */
  noticed(consumer: string, clusterKey: string, known: unknown): void {
    const reconciled = known as Reconciled<unknown> | undefined;
    const isAbsent = ({ reconciler, queued, hasEnded }: Running): boolean =>
      !hasEnded &&
      processConsumer(reconciler) === consumer &&
      clusterKeyOf(queued) === clusterKey &&
      (reconciled?.generation !== queued.data.generation || !reconciled.desired.includes(queued.data.key));
    if ([...this.running].some(isAbsent)) void this.look(clusterKey);
  }

  /** Aborts this replica's running tasks of a cluster that are no longer desired. */
  async look(clusterKey: string): Promise<void> {
    const here = [...this.running].filter(({ queued }) => clusterKeyOf(queued) === clusterKey);
    for (const reconciler of new Set(here.map((running) => running.reconciler))) {
      const mine = here.filter((running) => running.reconciler === reconciler);
      const [first] = mine;
      if (first === undefined) continue;
      try {
        const { state: known, seq } = await this.decide(first.queued, { type: 'Look', data: null });
        for (const running of mine)
          if (this.isWithdrawn(running, known, seq))
            running.withdrawn.abort(new Withdrawn(`${running.queued.data.key} was withdrawn`));
      } catch (error) {
        this.options.log.warn(`tasks of ${clusterKey} were not looked at: ${wordsOf(error)}`);
      }
    }
  }

  private async lookAtAll(): Promise<void> {
    for (const clusterKey of new Set([...this.running].map(({ queued }) => clusterKeyOf(queued))))
      await this.look(clusterKey);
  }

  private async whileDesired(
    running: Running,
    context: AttemptContext,
    lease: Lease,
    handler: TaskHandler,
  ): Promise<RequeueAfter | undefined> {
    const { queued } = running;
    this.running.add(running);
    try {
      const { state: known, seq } = await this.decide(queued, { type: 'Look', data: null });
      if (seq < queued.data.seq) return requeueAfter(LOG_BEHIND_AGAIN_MS, 'the log is behind');
      const task = this.desired(running, known);
      if (task === undefined) return undefined;
      const signal = AbortSignal.any([context.signal, running.withdrawn.signal, lease.signal]);
      signal.throwIfAborted();
      const { state } = known;
      return (await handler(this.contextOf(running, task, { state, signal, attempt: context.attempt }))) ?? undefined;
    } catch (error) {
      if (running.withdrawn.signal.aborted) return undefined;
      if (lease.signal.aborted) return requeueAfter(BUSY_AGAIN_MS, wordsOf(lease.signal.reason));
      throw error;
    } finally {
      this.running.delete(running);
    }
  }

  private contextOf(
    running: Running,
    { type, key, data }: Task,
    at: Pick<TaskContext, 'state' | 'signal' | 'attempt'>,
  ): TaskContext {
    const { id, namespace, cluster, cause } = running.queued;
    return {
      ...{ type, key, data, id, namespace, cluster, cause, ...at },
      requeueAfter,
      record: (command) => this.record(running, command),
      othersAtWork: async () =>
        (await this.options.leases.held(clusterKeyOf(running.queued))).filter((name) => !running.leases.includes(name)),
    };
  }

  private async record(running: Running, command: Command): Promise<unknown> {
    running.recording += 1;
    try {
      const { state: known, events } = await this.decide(running.queued, { type: 'RecordOutcome', data: command });
      // A task that `finishes` may be withdrawn before it records, and must still be aborted by a new generation. A
      // pause is not its own result.
      const { state } = known;
      if (!running.finishes && events.length > 0 && this.desired(running, { state }) === undefined)
        running.hasEnded = true;
      return state;
    } finally {
      running.recording -= 1;
    }
  }

  private isWithdrawn(running: Running, known: KnownState<unknown>, seq: number): boolean {
    const { reconciler, queued, recording, hasEnded, finishes } = running;
    if (recording > 0 || hasEnded || seq < queued.data.seq) return false;
    if (this.desired(running, known) !== undefined) return false;
    return !finishes || reconciler.generation(known.state) !== queued.data.generation;
  }

  private async decide(queued: QueuedTask, command: ReconcilerCommand): Promise<Decided<KnownState<unknown>>> {
    const decider = this.deciders.get(this.reconcilerOf(queued));
    if (decider === undefined) throw new Error(`no reconciler is named ${queued.data.reconciler}`);
    const outcome = await this.options.handle(decider, this.streamOf(queued), command, queued.cause);
    if (!isRefusal(outcome)) return outcome;
    throw new ExternalFailure({ operation: 'record the outcome', target: queued.cluster, message: outcome.message });
  }

  private desired(
    { reconciler, queued }: Pick<Running, 'reconciler' | 'queued'>,
    known: KnownState<unknown>,
  ): Task | undefined {
    return desiredTask(reconciler, known, queued.data, this.options.now().toISOString());
  }

  private nowOr(since: string): string {
    const now = this.options.now().toISOString();
    return now > since ? now : since;
  }

  private reconcilerOf({ data }: QueuedTask): AnyReconciler {
    const found = this.options.reconcilers.find(({ name }) => name === data.reconciler);
    if (found === undefined) throw new Error(`no reconciler is named ${data.reconciler}`);
    return found;
  }

  private streamOf(queued: QueuedTask): StreamId {
    return { namespace: queued.namespace, cluster: queued.cluster, context: this.reconcilerOf(queued).context };
  }
}

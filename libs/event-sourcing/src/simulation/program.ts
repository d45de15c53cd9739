import { ExternalFailure, type StoredEvent } from '@fairlead/contracts';
import { consumerNames, processConsumer, type Consumers } from '../jetstream/consumers.js';
import {
  taskPattern,
  type QueuedTask,
  type AttemptContext,
  type AttemptFailure,
  type RequeueAfter,
} from '../jetstream/decorators.js';
import { PartitionCursor } from '../jetstream/partition.cursor.js';
import { PartitionFold, type Mark } from '../jetstream/partition.fold.js';
import { queuedTaskOf } from '../jetstream/queued.task.js';
import { TaskRunner } from '../jetstream/task.runner.js';
import type { Handle } from '../handle.js';
import type { JsonObject } from '../process.js';
import { MemoryLeases } from '../memory.leases.js';
import type { Projection } from '../projection.js';
import { reconcilerProcess, STATE_FACTS, tasksInState, type AnyReconciler, type TasksInState } from '../reconciler.js';
import type { TaskLeases } from '../task.leases.js';
import { Database } from './database.js';
import { handlerOf, handlersOf, type Handler } from './handlers.js';
import type { Chances, Log } from './troubles.js';
import { Life, type Turns } from './turns.js';

const RUNNING_MAX = 6;
const BATCH_MAX = 4;
/** Cache size per life; what does not fit is read again. */
const DOCUMENTS_MAX = 200;
/** For messages, and for the task that records facts. */
const ATTEMPTS_OTHER_MAX = 50;
const NEXT_ATTEMPT_AT = '2026-01-01T01:00:00.000Z';

/** The service's own code in one life of a replica. Its memory does not survive into the next life. */
export interface Parts {
  readonly handle: Handle;
  /** Their methods decorated with OnTask run the tasks. */
  readonly controllers: readonly object[];
  /** Handles messages that are no tasks of a reconciler: facts of agents. */
  readonly deliver?: (message: Message, context: AttemptContext) => Promise<RequeueAfter | void | undefined>;
  /** A follow-up has failed, which no event records. */
  readonly failed?: (task: QueuedTask, failure: AttemptFailure) => Promise<void>;
}

export interface ProgramOptions {
  readonly name: string;
  readonly log: Log;
  readonly projections: readonly Projection<unknown>[];
  readonly reconcilers: readonly AnyReconciler[];
  readonly simulation: Chances;
  readonly turns: Turns;
  readonly broken: (error: unknown) => void;
  /**
   * Default 1. The first one owns the partition: it reads, and the tasks are its own. The others take some tasks, as
   * before a handover.
   */
  readonly replicas?: number;
  /** Maximum attempts per task; undefined: its handler's policy. */
  readonly attemptsMax?: number;
  readonly now?: () => Date;
  /** Starts the service's code for a new life. */
  readonly start: (life: Life, program: Program, leases: TaskLeases) => Parts;
}

type Message = QueuedTask<JsonObject>;

interface Queued {
  readonly task: QueuedTask;
  readonly attempt: number;
  /** The state that desires it, if it is a task: tasks are in no queue that outlives the program. */
  readonly askedBy?: string;
}

interface Replica {
  readonly holder: string;
  readonly life: Life;
  readonly parts: Parts;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly tasks: TaskRunner;
  readonly running: Set<Queued>;
}

/**
 * A service as run by its kernel: a consumer of the log, rows and positions in a database, tasks that the states of its
 * reconcilers desire, and messages on a queue that outlives it. The fold, the cursor and the task runner are the product's
 * own. A killed replica loses everything that is not in the database, the log or the queue.
 */
export class Program {
  readonly database = new Database();
  readonly leases = new MemoryLeases();
  private readonly consumers: Consumers;
  private readonly cursor: PartitionCursor;
  private readonly replicas: Replica[];
  private fold: PartitionFold;
  private readonly queue: Queued[] = [];
  private readonly published = new Set<string>();
  /** Waiting tasks, and the ids of all that were requested in this life. */
  private tasks: Queued[] = [];
  private asked = new Set<string>();
  private reading = false;
  private marks: Mark[] = [];
  private births = 0;

  constructor(private readonly options: ProgramOptions) {
    const { projections, reconcilers, replicas = 1 } = options;
    this.consumers = { projections, processes: reconcilers.map(reconcilerProcess) };
    this.cursor = new PartitionCursor(consumerNames(this.consumers));
    this.fold = this.newFold();
    this.replicas = Array.from({ length: replicas }, () => this.born());
  }

  /** The life of the replica that owns the partition. */
  get life(): Life {
    return this.owner.life;
  }

  get isWorking(): boolean {
    return this.replicas.some(({ running }) => running.size > 0);
  }

  get isBusy(): boolean {
    return this.reading || this.isWorking;
  }

  /** The steps that it could take next. */
  choices(): readonly (() => void)[] {
    const { log } = this.options;
    const { projections, processes } = this.consumers;
    const hasConsumers = projections.length + processes.length > 0;
    const isBehind = hasConsumers && !this.reading && (this.marks.length > 0 || this.database.seen < log.events.length);
    const runningCount = this.replicas.reduce((sum, { running }) => sum + running.size, 0);
    const mayTake = this.queue.length + this.tasks.length > 0 && runningCount < RUNNING_MAX;
    return [...(isBehind ? [() => this.read()] : []), ...(mayTake ? [() => this.take()] : [])];
  }

  /** SIGKILL and restart of a replica. Its leases end, and its work is delivered again. */
  kill(): void {
    const index = this.options.simulation.below(this.replicas.length);
    const killed = this.replicas[index];
    if (killed === undefined) return;
    this.options.simulation.trace.push(`kill ${this.options.name}`);
    this.options.turns.kill(killed.life);
    this.leases.expire(killed.holder);
    const isOwner = killed === this.owner;
    const lost = [...killed.running].filter(({ askedBy }) => askedBy === undefined || !isOwner);
    this.replicas[index] = this.born();
    for (const queued of lost) (queued.askedBy === undefined ? this.queue : this.tasks).push(queued);
    if (isOwner) this.load();
  }

  /** The queue deduplicates messages by id. */
  publish(message: Message): void {
    if (this.published.has(message.id)) return;
    this.published.add(message.id);
    this.queue.push({ task: message as QueuedTask, attempt: 1 });
  }

  /** Advances each process and cluster to the next time at which a state is woken. False: there is none. */
  wake(): boolean {
    const due = this.consumers.processes.map(processConsumer).flatMap((consumer) =>
      [...this.database.statesOf(consumer)].flatMap(([clusterKey, state]): Mark[] => {
        const { wakeAt = null } = state as { readonly wakeAt?: string | null };
        const wake = { now: wakeAt ?? '', eventId: 'wake', correlationId: 'wake' };
        return wakeAt === null ? [] : [{ kind: 'woken', consumer, clusterKey, wake }];
      }),
    );
    this.marks.push(...due);
    return due.length > 0;
  }

  /** The rows and states after reading the whole log at once, with all follow-ups ended. */
  async folded(): Promise<ReadonlyMap<string, string>> {
    const fresh = new Database();
    const fold = this.newFold(fresh);
    const changes = await fold.changesOf(this.options.log.events, () => true);
    fresh.write(changes);
    fold.remember(changes);
    const marks = changes.states.flatMap(({ process, rows }) =>
      rows.flatMap(({ key, doc }) => this.followUpsIn(process, key, doc)),
    );
    fresh.write(await fold.changesOfMarks(marks));
    return fresh.documents;
  }

  private get owner(): Replica {
    const [owner] = this.replicas;
    if (owner === undefined) throw new Error('a program has a replica');
    return owner;
  }

  private born(): Replica {
    this.births += 1;
    const { name, reconcilers, turns, now = () => new Date('2026-01-01T00:00:00.000Z') } = this.options;
    const life = new Life(turns);
    const holder = `${name}-${this.births}`;
    const leases = this.leases.of(holder);
    const parts = this.options.start(life, this, leases);
    const { handle, controllers } = parts;
    const tasks = new TaskRunner({ reconcilers, handle, leases, now, log: { warn: () => undefined } });
    return { holder, life, parts, handlers: handlersOf(controllers), tasks, running: new Set() };
  }

  /** Starts like the new owner of a partition: from the database. */
  private load(): void {
    this.tasks = [];
    this.asked = new Set();
    this.marks = [];
    this.reading = false;
    this.cursor.load(this.database.positions);
    this.fold = this.newFold();
    for (const consumer of this.consumers.processes.map(processConsumer))
      for (const [clusterKey, state] of this.database.statesOf(consumer)) this.sync(consumer, clusterKey, state);
  }

  private followUpsIn(consumer: string, clusterKey: string, doc: unknown): readonly Mark[] {
    const process = this.processOf(consumer);
    if (process === undefined || doc === undefined) return [];
    return tasksInState(process, doc as TasksInState).flatMap(({ origin, reaction: { data: task } }) =>
      origin.followUp === undefined ? [] : [{ kind: 'ended' as const, consumer, clusterKey, task }],
    );
  }

  private processOf(consumer: string) {
    return this.consumers.processes.find((candidate) => processConsumer(candidate) === consumer);
  }

  private newFold(database = this.database): PartitionFold {
    const store = {
      rowsOf: (asked: readonly { readonly table: string; readonly keys: readonly string[] }[]) =>
        Promise.all(asked.map(({ table, keys }) => database.read(table, keys))),
      statesOf: (asked: readonly { readonly process: string; readonly clusterKeys: readonly string[] }[]) =>
        Promise.all(asked.map(({ process, clusterKeys }) => database.read(process, clusterKeys))),
    };
    return new PartitionFold(this.consumers, store, DOCUMENTS_MAX);
  }

  private read(): void {
    const { life } = this;
    this.reading = true;
    this.readBatch(life)
      .catch((error: unknown) => life.dead || this.options.broken(error))
      .finally(() => {
        if (!life.dead) this.reading = false;
      });
  }

  private async readBatch(life: Life): Promise<void> {
    const { log, name, simulation } = this.options;
    await this.takeMarks(life);
    const { seen: from } = this.database;
    const events = log.events.slice(from, from + 1 + simulation.below(BATCH_MAX));
    if (events.length === 0) return;
    const seen = this.cursor.frozen();
    this.cursor.move(consumerNames(this.consumers), events.at(-1)?.meta.seq ?? 0);
    const changes = await this.fold.changesOf(events, (consumer, { meta }) => !seen(consumer, meta.seq));
    const [quarantined] = changes.quarantined;
    if (quarantined !== undefined)
      throw new Error(`${name} quarantines ${quarantined.poison.clusterKey}: ${quarantined.poison.error}`);
    await life.turn();
    this.database.write(changes);
    const moves = this.cursor.moves();
    this.database.move(new Map(moves.map(({ consumer, from: was, to }) => [consumer, { ...was, seq: to }] as const)));
    this.cursor.wrote(moves);
    this.fold.remember(changes);
    for (const { process, rows } of changes.states) for (const { key, doc } of rows) this.changed(process, key, doc);
    for (const clusterKey of new Set(events.map(clusterKeyOf))) this.lookElsewhere(clusterKey);
  }

  /** Removes what has ended from the state of a cluster, and wakes it. */
  private async takeMarks(life: Life): Promise<void> {
    const marks = [...this.marks];
    if (marks.length === 0) return;
    const changes = await this.fold.changesOfMarks(marks);
    await life.turn();
    this.database.write(changes);
    this.fold.remember(changes);
    this.marks.splice(0, marks.length);
    for (const { process, rows } of changes.states) for (const { key, doc } of rows) this.changed(process, key, doc);
  }

  private changed(consumer: string, clusterKey: string, doc: unknown): void {
    this.owner.tasks.noticed(consumer, clusterKey, doc);
    this.sync(consumer, clusterKey, doc);
  }

  /** Replicas that do not read the partition poll from time to time. */
  private lookElsewhere(clusterKey: string): void {
    for (const replica of this.replicas)
      if (replica !== this.owner && this.options.simulation.below(4) === 0) void replica.tasks.look(clusterKey);
  }

  /** Like the kernel's task queue: newly desired tasks wait, and those no longer desired are dropped. */
  private sync(consumer: string, clusterKey: string, doc: unknown): void {
    const { name, simulation } = this.options;
    const process = this.processOf(consumer);
    const state = doc as Partial<TasksInState> | undefined;
    if (process === undefined) return;
    const at = { service: name, process: consumer, clusterKey };
    const desired = state?.origins === undefined ? [] : tasksInState(process, state as TasksInState);
    const tasks = desired.map(({ origin, reaction }) => queuedTaskOf(at, origin, reaction));
    const askedBy = `${consumer}|${clusterKey}`;
    const stays = ({ askedBy: by, task }: Queued): boolean => by !== askedBy || tasks.some(({ id }) => id === task.id);
    this.tasks = this.tasks.filter(stays);
    for (const task of tasks) {
      if (this.asked.has(task.id)) continue;
      this.asked.add(task.id);
      const queued = { task, attempt: this.database.attempts.get(task.id) ?? 1, askedBy };
      this.tasks.push(queued);
      if (simulation.chance(simulation.troubles.twin)) this.tasks.push({ ...queued });
    }
  }

  private take(): void {
    const { simulation, broken } = this.options;
    const chosen = simulation.below(this.queue.length + this.tasks.length);
    const isQueued = chosen < this.queue.length;
    const [queued] = isQueued ? this.queue.splice(chosen, 1) : this.tasks.splice(chosen - this.queue.length, 1);
    const replica = this.replicas[simulation.below(this.replicas.length)];
    if (queued === undefined || replica === undefined) return;
    const { life } = replica;
    simulation.trace.push(`start ${String(queued.task.data['key'] ?? queued.task.type)} #${queued.attempt}`);
    replica.running.add(queued);
    this.work(queued, replica)
      .then((again) => {
        if (life.dead) return;
        replica.running.delete(queued);
        if (again !== undefined) (again.askedBy === undefined ? this.queue : this.tasks).push(again);
      })
      .catch((error: unknown) => life.dead || broken(error));
  }

  /** Returns what is delivered later; undefined: it is done. */
  private async work(queued: Queued, replica: Replica): Promise<Queued | undefined> {
    const { task, attempt } = queued;
    const { life } = replica;
    try {
      const result = await this.deliver(queued, replica);
      if (result !== undefined) return queued;
      if (!life.dead) this.ended(queued);
      return undefined;
    } catch (error) {
      if (life.dead || !(error instanceof ExternalFailure)) throw error;
      this.options.simulation.trace.push(`failed ${task.type}: ${error.message}`);
      const attemptsMax = this.attemptsOf(queued, replica);
      const isLast = attempt >= attemptsMax || !error.retryable;
      const failure = { cause: error.toCause(), attempt, attemptsMax, nextAttemptAt: isLast ? null : NEXT_ATTEMPT_AT };
      try {
        await replica.tasks.recordFailure(task, failure);
        await replica.parts.failed?.(task, failure);
      } catch (again) {
        if (life.dead || !(again instanceof ExternalFailure)) throw again;
        return queued; // Not recorded as failed: delivered again, as in the kernel.
      }
      if (isLast) {
        this.ended(queued);
        return undefined;
      }
      this.database.attempts.set(task.id, attempt + 1);
      return { ...queued, attempt: attempt + 1 };
    }
  }

  private attemptsOf({ task }: Queued, { handlers }: Replica): number {
    return this.options.attemptsMax ?? handlers.get(taskPattern(task.type))?.policy.attemptsMax ?? ATTEMPTS_OTHER_MAX;
  }

  private deliver({ task, attempt, askedBy }: Queued, replica: Replica): Promise<RequeueAfter | void | undefined> {
    const context: AttemptContext = { attempt, signal: new AbortController().signal };
    const { tasks, handlers, parts } = replica;
    if (task.type === STATE_FACTS) return tasks.stateFacts(task);
    if (askedBy === undefined && parts.deliver !== undefined) return parts.deliver(task, context);
    const { policy, handle } = handlerOf(handlers, task.type);
    return tasks.run(task, context, policy, handle);
  }

  /** Processed by the partition in order. */
  private ended({ task, askedBy }: Queued): void {
    const ref = task.data;
    const [consumer, clusterKey] = askedBy?.split('|') ?? [];
    if (ref.followUp === undefined || consumer === undefined || clusterKey === undefined) return;
    this.marks.push({ kind: 'ended', consumer, clusterKey, task: ref });
  }
}

const clusterKeyOf = ({ meta: { namespace, cluster } }: StoredEvent): string => `${namespace}/${cluster}`;

import { WorldFailure, type StoredEvent } from '@fairlead/contracts';
import type { MemoryStore } from '@fairlead/event-sourcing/memory.store';
import type { Job, JobContext, JobFailure, RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { consumerNames, processConsumer, type Consumers } from '../../libs/event-sourcing/src/jetstream/consumers.js';
import { jobOfTask } from '../../libs/event-sourcing/src/jetstream/task.job.js';
import { PartitionCursor } from '../../libs/event-sourcing/src/jetstream/partition.cursor.js';
import {
  PartitionFold,
  type Mark,
  type PartitionChanges,
} from '../../libs/event-sourcing/src/jetstream/partition.fold.js';
import type { Position } from '../../libs/event-sourcing/src/jetstream/partition.store.js';
import { tasksInState, type TaskRef, type TasksInState } from '../../libs/event-sourcing/src/reconciler.js';
import { Life, type Turns } from './lives.js';

const RUNNING_MAX = 6;
const BATCH_MAX = 4;
const ATTEMPTS_MAX = 20;
/** Room that is set aside for each life; what does not fit is read again. */
const DOCUMENTS_MAX = 200;

/** The service's own code in one life: what runs its jobs. Nothing in memory survives into the next life. */
export interface Parts {
  deliver(job: Job, context: JobContext): Promise<RequeueAfter | void | undefined>;
  failed(job: Job, failure: JobFailure): Promise<void>;
  /** Its handlers of events. */
  hear?(event: StoredEvent): void;
}

interface Queued {
  readonly job: Job;
  readonly attempt: number;
  /** The state that asks for it, where it is a task: it is in no queue that outlives the program. */
  readonly askedBy?: string;
}

/** What the service's database holds. */
class Database {
  readonly documents = new Map<string, string>();
  positions: ReadonlyMap<string, Position> = new Map();
  /** The sequence up to which every consumer has read. */
  seen = 0;
  /** Which attempt at a task is the next, where it is not the first. */
  readonly attempts = new Map<string, number>();

  move(positions: ReadonlyMap<string, Position>): void {
    this.positions = positions;
    this.seen = positions.size === 0 ? 0 : Math.min(...[...positions.values()].map(({ seq }) => seq));
  }

  /** As PostgreSQL gives it back: as JSON, and never the object that was written. */
  read(table: string, keys: readonly string[]): Promise<Map<string, unknown>> {
    const found = keys.flatMap((key) => {
      const text = this.documents.get(`${table}|${key}`);
      return text === undefined ? [] : [[key, JSON.parse(text) as unknown] as const];
    });
    return Promise.resolve(new Map(found));
  }

  write({ tables, states }: Pick<PartitionChanges, 'tables' | 'states'>): void {
    const written = [
      ...tables.map(({ table, rows }) => ({ table, rows })),
      ...states.map(({ process, rows }) => ({ table: process, rows })),
    ];
    for (const { table, rows } of written)
      for (const { key, doc } of rows) {
        if (doc === undefined) this.documents.delete(`${table}|${key}`);
        else this.documents.set(`${table}|${key}`, JSON.stringify(doc));
      }
  }
}

export interface ProgramOptions {
  readonly name: string;
  readonly log: MemoryStore;
  readonly turns: Turns;
  readonly consumers: Consumers;
  readonly below: (limit: number) => number;
  /** Starts the service's code for a new life. */
  readonly start: (life: Life, program: Program) => Parts;
}

/**
 * A service as its kernel runs it: a consumer over the log, rows and positions in a database, jobs on a queue that outlives it, and tasks
 * that the states of reconcilers ask for.
 * The fold and the cursor of the consumer are the product's own. Killed, it loses all that is not in the database or the queue.
 */
export class Program {
  readonly database = new Database();
  life: Life;
  private parts: Parts;
  private fold: PartitionFold;
  private readonly cursor: PartitionCursor;
  private readonly queue: Queued[] = [];
  private readonly published = new Set<string>();
  /** Tasks that wait, and the ids of all that were asked for in this life. */
  private tasks: Queued[] = [];
  private asked = new Set<string>();
  private running = new Set<Queued>();
  private reading = false;
  private marks: Mark[] = [];

  constructor(
    private readonly options: ProgramOptions,
    private readonly broken: (error: unknown) => void,
  ) {
    this.cursor = new PartitionCursor(consumerNames(options.consumers));
    this.life = new Life(options.turns);
    this.fold = this.newFold();
    this.parts = options.start(this.life, this);
  }

  /** SIGKILL, and started again. What was being worked on is delivered again. */
  kill(): void {
    this.options.turns.kill(this.life);
    this.life = new Life(this.options.turns);
    this.queue.push(...[...this.running].filter(({ askedBy }) => askedBy === undefined));
    this.running = new Set();
    this.tasks = [];
    this.asked = new Set();
    this.marks = [];
    this.reading = false;
    this.cursor.load(this.database.positions);
    this.fold = this.newFold();
    this.parts = this.options.start(this.life, this);
    for (const process of this.options.consumers.processes)
      for (const [place, text] of this.database.documents) {
        const [name, clusterKey = ''] = place.split('|');
        if (name === processConsumer(process)) this.sync(name, clusterKey, JSON.parse(text));
      }
  }

  get isBusy(): boolean {
    return this.reading || this.running.size > 0;
  }

  /** What it could do next. */
  choices(): (() => void)[] {
    const { consumers, log } = this.options;
    const hasConsumers = consumers.projections.length + consumers.processes.length > 0;
    const isBehind = hasConsumers && !this.reading && (this.marks.length > 0 || this.database.seen < log.events.length);
    const mayTake = this.queue.length + this.tasks.length > 0 && this.running.size < RUNNING_MAX;
    return [...(isBehind ? [() => this.read()] : []), ...(mayTake ? [() => this.take()] : [])];
  }

  /** The queue keeps one message of an id. */
  publish(job: Job): void {
    if (this.published.has(job.id)) return;
    this.published.add(job.id);
    this.queue.push({ job, attempt: 1 });
  }

  /** What its rows and states would be if all of the log had been read at once, and each follow-up had ended. */
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

  private followUpsIn(consumer: string, clusterKey: string, doc: unknown): readonly Mark[] {
    const process = this.options.consumers.processes.find((candidate) => processConsumer(candidate) === consumer);
    if (process === undefined || doc === undefined) return [];
    return tasksInState(process, doc as TasksInState).flatMap(({ origin, reaction: { data: task } }) =>
      origin.followUp === undefined ? [] : [{ kind: 'ended' as const, consumer, clusterKey, task }],
    );
  }

  private newFold(database = this.database): PartitionFold {
    const store = {
      rowsOf: (asked: readonly { readonly table: string; readonly keys: readonly string[] }[]) =>
        Promise.all(asked.map(({ table, keys }) => database.read(table, keys))),
      statesOf: (asked: readonly { readonly process: string; readonly clusterKeys: readonly string[] }[]) =>
        Promise.all(asked.map(({ process, clusterKeys }) => database.read(process, clusterKeys))),
    };
    return new PartitionFold(this.options.consumers, store, DOCUMENTS_MAX);
  }

  private read(): void {
    const { life } = this;
    this.reading = true;
    this.readBatch(life)
      .catch((error: unknown) => life.dead || this.broken(error))
      .finally(() => {
        if (!life.dead) this.reading = false;
      });
  }

  private async readBatch(life: Life): Promise<void> {
    const { consumers, log, name, below } = this.options;
    await this.takeMarks(life);
    const events = log.events.slice(this.database.seen, this.database.seen + 1 + below(BATCH_MAX));
    if (events.length === 0) return;
    const seen = this.cursor.frozen();
    this.cursor.move(consumerNames(consumers), events.at(-1)?.meta.seq ?? 0);
    const changes = await this.fold.changesOf(events, (consumer, { meta }) => !seen(consumer, meta.seq));
    const [quarantined] = changes.quarantined;
    if (quarantined !== undefined)
      throw new Error(`${name} quarantines ${quarantined.poison.clusterKey}: ${quarantined.poison.error}`);
    await life.turn();
    this.database.write(changes);
    const moves = this.cursor.moves();
    this.database.move(new Map(moves.map(({ consumer, from, to }) => [consumer, { ...from, seq: to }] as const)));
    this.cursor.wrote(moves);
    this.fold.remember(changes);
    for (const { process, rows } of changes.states) for (const { key, doc } of rows) this.sync(process, key, doc);
    for (const event of events) this.parts.hear?.(event);
  }

  /** As the partition takes it in its turn. */
  private ended({ job, askedBy }: Queued): void {
    const task = job.data as TaskRef;
    const [consumer, clusterKey] = askedBy?.split('|') ?? [];
    if (task.followUp === undefined || consumer === undefined || clusterKey === undefined) return;
    this.marks.push({ kind: 'ended', consumer, clusterKey, task });
  }

  /** The state of a cluster forgets what has ended. */
  private async takeMarks(life: Life): Promise<void> {
    const marks = [...this.marks];
    if (marks.length === 0) return;
    const changes = await this.fold.changesOfMarks(marks);
    await life.turn();
    this.database.write(changes);
    this.fold.remember(changes);
    this.marks.splice(0, marks.length);
    for (const { process, rows } of changes.states) for (const { key, doc } of rows) this.sync(process, key, doc);
  }

  /** As the kernel's queue of tasks: each that is newly asked for waits, and what is no longer asked for is forgotten. */
  private sync(consumer: string, clusterKey: string, doc: unknown): void {
    const process = this.options.consumers.processes.find((candidate) => processConsumer(candidate) === consumer);
    const state = doc as Partial<TasksInState> | undefined;
    if (process === undefined) return;
    const at = { service: this.options.name, process: consumer, clusterKey };
    const desired = state?.origins === undefined ? [] : tasksInState(process, state as TasksInState);
    const jobs = desired.map(({ origin, reaction }) => jobOfTask(at, origin, reaction));
    const askedBy = `${consumer}|${clusterKey}`;
    const stays = ({ askedBy: by, job }: Queued): boolean => by !== askedBy || jobs.some(({ id }) => id === job.id);
    this.tasks = this.tasks.filter(stays);
    for (const job of jobs) {
      if (this.asked.has(job.id)) continue;
      this.asked.add(job.id);
      this.tasks.push({ job, attempt: this.database.attempts.get(job.id) ?? 1, askedBy });
    }
  }

  private take(): void {
    const chosen = this.options.below(this.queue.length + this.tasks.length);
    const isQueued = chosen < this.queue.length;
    const [queued] = isQueued ? this.queue.splice(chosen, 1) : this.tasks.splice(chosen - this.queue.length, 1);
    if (queued === undefined) return;
    const { life } = this;
    this.running.add(queued);
    this.work(queued, life)
      .then((again) => {
        if (life.dead) return;
        this.running.delete(queued);
        if (again !== undefined) (again.askedBy === undefined ? this.queue : this.tasks).push(again);
      })
      .catch((error: unknown) => life.dead || this.broken(error));
  }

  /** Returns what is delivered later; undefined: it is done. */
  private async work(queued: Queued, life: Life): Promise<Queued | undefined> {
    const { job, attempt } = queued;
    const context: JobContext = {
      attempt,
      signal: new AbortController().signal,
    };
    try {
      const result = await this.parts.deliver(job, context);
      if (result !== undefined) return queued;
      if (!life.dead) this.ended(queued);
      return undefined;
    } catch (error) {
      if (life.dead || !(error instanceof WorldFailure)) throw error;
      const isLast = attempt >= ATTEMPTS_MAX;
      const nextAttemptAt = isLast ? null : '2026-01-01T01:00:00.000Z';
      await this.parts.failed(job, { cause: error.toCause(), attempt, attemptsMax: ATTEMPTS_MAX, nextAttemptAt });
      if (isLast) {
        this.ended(queued);
        return undefined;
      }
      this.database.attempts.set(job.id, attempt + 1);
      return { ...queued, attempt: attempt + 1 };
    }
  }
}

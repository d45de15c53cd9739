import { clusterFilter, partitionFilter, partitionOf, type StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { LRUCache } from 'lru-cache';
import { advance, type JobReaction, type Caused, type Process } from '../process.js';
import { clusterKeyOf, project, type Poison, type Projection } from '../projection.js';
import { consumerNames, HANDLERS_CONSUMER, processConsumer, projectionConsumer, type Consumers } from './consumers.js';
import { readAll, readBatch, READ_BATCH } from './direct.reader.js';
import { decode } from './envelope.codec.js';
import { jobOf, publishJob } from './jobs.publisher.js';
import type { Meter } from './meter.js';
import {
  LostOwnership,
  type BatchChanges,
  type LaneStore,
  type Position,
  type RowChange,
  type TimerChange,
} from './lane.store.js';

export interface LaneLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** What is done when an event of certain types is read. */
export interface EventHandlers {
  readonly types: ReadonlySet<string>;
  call(event: StoredEvent): Promise<void>;
}

export interface LaneOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly store: LaneStore;
  readonly consumers: Consumers;
  /** Methods decorated with OnEvent; undefined when the service has none. */
  readonly handlers: EventHandlers | undefined;
  readonly log: LaneLog;
  readonly meter: Pick<Meter, 'eventsTaken'>;
  /** States in the log that a cluster is parked; rejects when the log cannot be reached. */
  readonly announceParked: (consumer: string, poison: Poison) => Promise<void>;
  /** Called after every commit with the sequence up to which all consumers of the partition have seen the log. */
  readonly onAdvance: (partition: number, seq: number) => void;
}

const ROWS_CACHED_MAX = 20_000;
const IDLE_POLL_MS = 5_000;
/** How long a position that moved over events without any effect may stay unwritten: most are written with the next effect. */
const FLUSH_AFTER_MS = 250;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 2_000;
/** A wake-up may come a moment before the message can be read; look again after these waits before believing that nothing came. */
const LOOK_AGAIN_MS = [1, 2, 4, 8, 16, 32, 64, 128] as const;
const HANDLER_ATTEMPTS_MAX = 4;

type Changes = Omit<BatchChanges, 'partition' | 'positions'> & {
  readonly jobs: readonly Caused<JobReaction>[];
  readonly processOfJob: ReadonlyMap<Caused, string>;
};

const NOWHERE: Position = { seq: 0, epoch: 0 };
const NO_CHANGES: Changes = {
  tables: [],
  states: [],
  timers: [],
  parked: [],
  released: [],
  jobs: [],
  processOfJob: new Map(),
};

const changesAnything = ({ tables, states, timers, parked, jobs }: Changes): boolean =>
  timers.length + parked.length + jobs.length > 0 || [...tables, ...states].some(({ rows }) => rows.length > 0);

const partitionOfKey = (clusterKey: string): number => {
  const [namespace = '', cluster = ''] = clusterKey.split('/');
  return partitionOf(namespace, cluster);
};

/**
 * One partition of the log, worked through in order: read a batch, fold it in memory, ask for jobs, commit rows and
 * positions in one transaction. Reading is by direct get from the last position, so a lane has no server-side state to
 * lose; a core subscription elsewhere only wakes it.
 */
export class Lane {
  private running = true;
  private finished: Promise<void> | undefined;
  private wakeUp: (() => void) | undefined;
  private woken = false;
  /** How far each consumer has come, and how far the database knows of it. */
  private positions = new Map<string, Position>();
  private written = new Map<string, Position>();
  private parked = new Map<string, number>();
  private readonly cache = new LRUCache<string, { readonly doc: unknown }>({ max: ROWS_CACHED_MAX });

  constructor(
    readonly partition: number,
    private readonly options: LaneOptions,
  ) {}

  start(onLost: (partition: number) => void): void {
    this.finished = this.run().catch((error: unknown) => {
      if (!(error instanceof LostOwnership)) throw error;
      this.options.log.warn(error.message);
      onLost(this.partition);
    });
  }

  wake(): void {
    this.woken = true;
    this.wakeUp?.();
  }

  /** Resolves when the batch under way is committed or given up. */
  async stop(): Promise<void> {
    this.running = false;
    this.wake();
    await this.finished;
  }

  private async run(): Promise<void> {
    let failures = 0;
    let loaded = false;
    while (this.running) {
      try {
        if (!loaded) {
          await this.load();
          loaded = true;
        }
        await this.round();
        failures = 0;
      } catch (error) {
        if (error instanceof LostOwnership) throw error;
        failures += 1;
        loaded = false;
        if (failures === 3)
          this.options.log.warn(
            `partition ${this.partition}: ${error instanceof Error ? error.message : String(error)}; trying again`,
          );
        await this.pause(Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS));
      }
    }
  }

  private names(): readonly string[] {
    return [...consumerNames(this.options.consumers), ...this.handlersConsumer()];
  }

  private async load(): Promise<void> {
    this.cache.clear();
    this.written = await this.options.store.positions(this.partition, this.names());
    this.positions = new Map(this.written);
    const parked = await this.options.store.parked();
    this.parked = new Map(parked.map(({ consumer, poison }) => [`${consumer}|${poison.clusterKey}`, poison.seq]));
    for (const { consumer, poison, announced } of parked) {
      if (!announced && partitionOfKey(poison.clusterKey) === this.partition) await this.announce(consumer, poison);
    }
    this.options.onAdvance(this.partition, this.lowest());
  }

  private position(consumer: string): Position {
    return this.positions.get(consumer) ?? NOWHERE;
  }

  private lowest(): number {
    return Math.min(...[...this.positions.values()].map(({ seq }) => seq));
  }

  /** Works on one batch; false when there was nothing to read. A batch that is not full was the whole of it, unless woken since. */
  private async step(): Promise<boolean> {
    const after = this.lowest();
    this.woken = false; // Before reading: what comes from now on may not be in this batch.
    const raw = await readBatch(this.options.nc, partitionFilter(this.partition), after, READ_BATCH);
    const last = raw[raw.length - 1];
    if (last === undefined) return false;
    if (raw.length === READ_BATCH) this.woken = true;
    const events = raw.flatMap(({ subject, seq, bytes }) => decode(subject, seq, bytes) ?? []);
    // A release changes who is parked, so what comes after it is a batch of its own.
    const release = events.findIndex(
      (event) => event.type === 'ParkedClusterReleased' && event.data.service === this.options.service,
    );
    if (release === 0) await this.release(events[0]!);
    const upTo = release < 0 ? last.seq : release === 0 ? events[0]!.meta.seq : events[release]!.meta.seq - 1;
    await this.apply(
      events.filter((event) => event.meta.seq <= upTo),
      upTo,
    );
    if (release >= 0) this.woken = true;
    return true;
  }

  private async apply(events: readonly StoredEvent[], upTo: number): Promise<void> {
    const changes = await this.changesOf(events, (consumer, event) => this.concerns(consumer, event));
    const calls = events.filter((event) => this.isHandled(event));
    this.move(consumerNames(this.options.consumers), upTo);
    if (calls.length === 0) this.move(this.handlersConsumer(), upTo);
    if (changesAnything(changes)) await this.commit(changes);
    if (calls.length > 0) await this.callHandlers(calls, upTo);
    const nowMs = Date.now();
    this.options.meter.eventsTaken(events.map((event) => nowMs - Date.parse(event.meta.time)));
    this.options.onAdvance(this.partition, this.lowest());
  }

  private concerns(consumer: string, event: StoredEvent): boolean {
    return event.meta.seq > this.position(consumer).seq && !this.parked.has(`${consumer}|${clusterKeyOf(event)}`);
  }

  private isHandled(event: StoredEvent): boolean {
    return this.options.handlers?.types.has(event.type) === true && this.concerns(HANDLERS_CONSUMER, event);
  }

  private handlersConsumer(): readonly string[] {
    return this.options.handlers === undefined ? [] : [HANDLERS_CONSUMER];
  }

  private move(consumers: readonly string[], upTo: number): void {
    for (const consumer of consumers) {
      const { seq, epoch } = this.position(consumer);
      this.positions.set(consumer, { seq: Math.max(seq, upTo), epoch });
    }
  }

  private async changesOf(
    events: readonly StoredEvent[],
    concerns: (consumer: string, event: StoredEvent) => boolean,
  ): Promise<Changes> {
    const tables: { table: string; rows: RowChange[] }[] = [];
    const states: { process: string; rows: RowChange[] }[] = [];
    const timers: TimerChange[] = [];
    const jobs: Caused<JobReaction>[] = [];
    const processOfJob = new Map<Caused, string>();
    const parked: { consumer: string; poison: Poison }[] = [];
    for (const projection of this.options.consumers.projections) {
      const consumer = projectionConsumer(projection);
      const { rows, poisons } = await this.projected(
        projection,
        events.filter((event) => concerns(consumer, event)),
      );
      tables.push({ table: projection.table, rows });
      parked.push(...poisons.map((poison) => ({ consumer, poison })));
    }
    for (const process of this.options.consumers.processes) {
      const consumer = processConsumer(process);
      const { rows, poisons, reactions } = await this.advanced(
        process,
        events.filter((event) => concerns(consumer, event)),
      );
      states.push({ process: consumer, rows });
      parked.push(...poisons.map((poison) => ({ consumer, poison })));
      for (const caused of reactions) {
        const { reaction } = caused;
        if (reaction.kind === 'job') {
          jobs.push(caused as Caused<JobReaction>);
          processOfJob.set(caused, consumer);
        } else {
          timers.push({ process: consumer, clusterKey: clusterKeyOf(caused.event), caused: { ...caused, reaction } });
        }
      }
    }
    return { tables, states, timers, parked, released: [], jobs, processOfJob };
  }

  private async projected(
    projection: Projection<unknown>,
    events: readonly StoredEvent[],
  ): Promise<{ rows: RowChange[]; poisons: readonly Poison[] }> {
    const keysOf = (event: StoredEvent): readonly string[] => {
      try {
        return projection.keys(event);
      } catch {
        return []; // `project` meets the same fault again and reports it with its event.
      }
    };
    const keys = [...new Set(events.flatMap(keysOf))];
    const rowOf = await this.cached(projectionConsumer(projection), keys, (missing) =>
      this.options.store.rows(projection.table, missing),
    );
    const { rows, poisons } = project(projection, rowOf, events);
    return { rows: [...rows].map(([key, { seq, doc }]) => ({ key, seq, doc })), poisons };
  }

  private async advanced(
    process: Process<unknown>,
    events: readonly StoredEvent[],
  ): Promise<{ rows: RowChange[]; poisons: readonly Poison[]; reactions: readonly Caused[] }> {
    const consumer = processConsumer(process);
    const keys = [...new Set(events.map(clusterKeyOf))];
    const stateOf = await this.cached(consumer, keys, (missing) => this.options.store.states(consumer, missing));
    const { states, poisons, reactions } = advance(process, stateOf, events);
    return { rows: [...states].map(([key, { seq, state }]) => ({ key, seq, doc: state })), poisons, reactions };
  }

  private async cached(
    consumer: string,
    keys: readonly string[],
    load: (missing: readonly string[]) => Promise<Map<string, unknown>>,
  ): Promise<(key: string) => unknown> {
    const known = new Map<string, unknown>();
    const missing: string[] = [];
    for (const key of keys) {
      const entry = this.cache.get(`${consumer}|${key}`);
      if (entry === undefined) missing.push(key);
      else known.set(key, entry.doc);
    }
    if (missing.length > 0) {
      for (const [key, doc] of await load(missing)) known.set(key, doc);
      for (const key of missing) this.cache.set(`${consumer}|${key}`, { doc: known.get(key) });
    }
    return (key) => known.get(key);
  }

  /** Jobs are queued before the commit: a crash in between queues them again, under the same ids. */
  private async commit(changes: Changes): Promise<void> {
    const { service, nc, store } = this.options;
    await Promise.all(
      changes.jobs.map((caused) =>
        publishJob(nc, service, jobOf(service, changes.processOfJob.get(caused) ?? '', caused)),
      ),
    );
    // A position that does not move is still compared, so that only the owner of the partition can write.
    const positions = this.names().map((consumer) => ({
      consumer,
      from: this.written.get(consumer) ?? NOWHERE,
      to: this.position(consumer).seq,
    }));
    await store.commit({ ...changes, partition: this.partition, positions });
    for (const { consumer, from, to } of positions) this.written.set(consumer, { ...from, seq: to });
    this.remember(changes);
    for (const { consumer, poison } of changes.parked) await this.announce(consumer, poison);
  }

  private async announce(consumer: string, poison: Poison): Promise<void> {
    await this.options.announceParked(consumer, poison);
    await this.options.store.parkedAnnounced(consumer, poison.clusterKey);
  }

  private remember(changes: Changes): void {
    this.options.consumers.projections.forEach((projection, index) => {
      for (const { key, doc } of changes.tables[index]?.rows ?? [])
        this.cache.set(`${projectionConsumer(projection)}|${key}`, { doc });
    });
    for (const { process, rows } of changes.states) {
      for (const { key, doc } of rows) this.cache.set(`${process}|${key}`, { doc });
    }
    for (const { consumer, poison } of changes.parked) {
      this.parked.set(`${consumer}|${poison.clusterKey}`, poison.seq);
      this.options.log.error(
        `${consumer} cannot take event ${poison.seq} of ${poison.clusterKey}; the cluster is parked there: ${poison.error}`,
      );
    }
  }

  /** Their effects are repeatable: a crash before their position is written calls them again. */
  private async callHandlers(calls: readonly StoredEvent[], upTo: number): Promise<void> {
    const parked: { consumer: string; poison: Poison }[] = [];
    // A cluster that is parked by one of them takes no more of this batch.
    for (const event of calls) {
      const poison = this.isHandled(event) ? await this.callHandler(event) : undefined;
      if (poison === undefined) continue;
      parked.push({ consumer: HANDLERS_CONSUMER, poison });
      this.parked.set(`${HANDLERS_CONSUMER}|${poison.clusterKey}`, poison.seq);
    }
    this.move([HANDLERS_CONSUMER], upTo);
    await this.commit({ ...NO_CHANGES, parked });
  }

  private async callHandler(event: StoredEvent): Promise<Poison | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.options.handlers?.call(event);
        return undefined;
      } catch (error) {
        if (attempt === HANDLER_ATTEMPTS_MAX) {
          return {
            clusterKey: clusterKeyOf(event),
            seq: event.meta.seq,
            eventId: event.meta.id,
            error: error instanceof Error ? (error.stack ?? error.message) : String(error),
          };
        }
        await this.pause(RETRY_FIRST_MS * 2 ** attempt);
      }
    }
  }

  /** An operator's order: take the parked cluster's events again (retry), without the first (skip), or all from the start (replay). */
  private async release(event: StoredEvent): Promise<void> {
    if (event.type !== 'ParkedClusterReleased') return;
    const { consumer, mode } = event.data;
    const clusterKey = clusterKeyOf(event);
    const parkedAt = this.parked.get(`${consumer}|${clusterKey}`);
    if (parkedAt === undefined) return;
    const from = mode === 'replay' ? 0 : mode === 'skip' ? parkedAt : parkedAt - 1;
    const events: StoredEvent[] = [];
    for await (const batch of readAll(this.options.nc, clusterFilter(event.meta.namespace, event.meta.cluster), from)) {
      for (const raw of batch) {
        const stored = raw.seq < event.meta.seq ? decode(raw.subject, raw.seq, raw.bytes) : undefined;
        if (stored !== undefined) events.push(stored);
      }
    }
    if (mode === 'replay') this.forgetRows(consumer, events);
    const changes = await this.changesOf(events, (candidate) => candidate === consumer);
    // Jobs of events before the fault were asked for long ago; a replay only mends the state.
    const jobs = changes.jobs.filter((caused) => caused.event.meta.seq >= parkedAt);
    await this.commit({ ...changes, jobs, released: [{ consumer, clusterKey }] });
    if (!changes.parked.some((again) => again.poison.clusterKey === clusterKey))
      this.parked.delete(`${consumer}|${clusterKey}`);
  }

  /** A replay folds from nothing, whatever the rows say now. */
  private forgetRows(consumer: string, events: readonly StoredEvent[]): void {
    for (const projection of this.options.consumers.projections) {
      if (projectionConsumer(projection) !== consumer) continue;
      for (const key of new Set(events.flatMap((event) => [...projection.keys(event)])))
        this.cache.set(`${consumer}|${key}`, { doc: undefined });
    }
    for (const key of new Set(events.map(clusterKeyOf))) this.cache.set(`${consumer}|${key}`, { doc: undefined });
  }

  /** Works on one batch, then waits for the next wake-up. */
  private async round(): Promise<void> {
    const wasWoken = this.woken;
    const found = await this.step();
    if (!found && wasWoken) await this.lookAgain();
    if (this.woken || !this.running) return;
    const flushes = this.unwritten();
    await this.pause(flushes ? FLUSH_AFTER_MS : IDLE_POLL_MS);
    if (flushes && !this.woken) await this.commit(NO_CHANGES);
  }

  private unwritten(): boolean {
    return [...this.positions].some(([consumer, { seq }]) => seq > (this.written.get(consumer)?.seq ?? 0));
  }

  private async lookAgain(): Promise<void> {
    for (const wait of LOOK_AGAIN_MS) {
      await this.pause(wait);
      if (!this.running || (await this.step())) return;
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.wakeUp = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wakeUp = done;
    });
  }
}

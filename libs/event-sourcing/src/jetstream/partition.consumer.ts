import { clusterFilter, partitionFilter, partitionOf, wordsOf, type StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { clusterKeyOf, type Poison } from '../projection.js';
import { WakeSignal } from './wake.signal.js';
import type { CatchUp } from './catch.up.js';
import { consumerNames, HANDLERS_CONSUMER, type Consumers } from './consumers.js';
import { readAll, readBatch, READ_BATCH, type RawEvent } from './direct.reader.js';
import { isDataError } from './data.errors.js';
import { decode, read, readOnce, type Decoded } from './envelope.codec.js';
import { callHandler, type EventHandlers } from './event.handlers.js';
import { PartitionCursor } from './partition.cursor.js';
import { PartitionFeed } from './partition.feed.js';
import { changesAnything, PartitionFold, NO_CHANGES, type Mark, type PartitionChanges } from './partition.fold.js';
import { PartitionProgress, type Stall } from './partition.progress.js';
import { Quarantine } from './partition.quarantine.js';
import { LostOwnership, type BatchChanges, type PartitionStore } from './partition.store.js';
import type { Meter } from './meter.js';
import { QuarantinedClusters } from './quarantined.clusters.js';
import { untilShared } from './shared.interval.js';
import { decodeBatch, RejectionTeller, type DecodedBatch, type RejectedMessage } from './rejections.js';

export interface PartitionLog {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface PartitionConsumerOptions {
  readonly service: string;
  readonly nc: NatsConnection;
  readonly store: PartitionStore;
  readonly consumers: Consumers;
  readonly catchUp: Pick<CatchUp, 'next' | 'hasAll' | 'leave'>;
  /** undefined if the service has none. */
  readonly handlers: EventHandlers | undefined;
  readonly log: PartitionLog;
  readonly meter: Pick<Meter, 'eventsTaken' | 'eventsRejected'>;
  /**
   * How long a position may stay unwritten after events without any effect. Most positions are written with the next
   * effect.
   */
  readonly positionsAfterMs: number;
  /** Everything stored from this sequence on is pushed. */
  readonly pushedFrom: number;
  /** Records in the log that a cluster is quarantined; rejects if the log is unreachable. */
  readonly announceQuarantined: (consumer: string, poison: Poison) => Promise<void>;
  /** Called after a commit that may have set timers, with the earliest due time (epoch ms). */
  readonly onTimersSet: (dueAtMs: number) => void;
  /** Called after a commit with a process's new state of a cluster; undefined: the state was removed. */
  readonly onReconciled: (consumer: string, clusterKey: string, state: unknown) => void;
  /** Called before the changes of these events are committed. */
  readonly onEvents: (events: readonly StoredEvent[]) => void;
  /** Called after the states of the partition's clusters were reset to the database; rejects if they cannot be read. */
  readonly onLoaded: (partition: number) => Promise<void>;
  /** Called after every commit with the sequence up to which all consumers of the partition have read the log. */
  readonly onAdvance: (partition: number, seq: number) => void;
}

/** New events wake the consumer; this interval retries what could not be recorded in the log before. */
const IDLE_ROUND_MS = 60_000;
/**
 * For how many messages a position may stay unwritten while events without an effect keep arriving: reading this many
 * again takes less than a second.
 */
const UNWRITTEN_MAX = 20_000;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 2_000;
/** A restart of NATS or PostgreSQL causes one or two failures; more are logged. */
const FAILURES_UNTIL_REPORTED = 3;
/** Logged again after this many more: about every minute. */
const FAILURES_UNTIL_REPORTED_AGAIN = 30;
/** A replica of the log may lag behind what was pushed: it is read again after these delays. */
const LOOK_AGAIN_MS = [1, 2, 4, 8, 16, 32, 64, 128] as const;

/** Messages requested by a first read. If there are more, the partition lags. */
const LOOK_BATCH = 100;

type Quarantined = BatchChanges['quarantined'];

interface TakenMessages {
  readonly raw: readonly RawEvent[];
  /** Nothing followed, unless a wake-up arrived since. */
  readonly isWhole: boolean;
  /** Others take the same messages. */
  readonly isPushed: boolean;
}

const readMessage = ({ subject, seq, bytes }: RawEvent): Decoded => read(subject, seq, bytes);

const firstDueMs = (timers: BatchChanges['timers']): number =>
  Math.min(...timers.map(({ reaction }) => (reaction.kind === 'cancel-timer' ? Infinity : Date.parse(reaction.dueAt))));

const partitionOfKey = (clusterKey: string): number => {
  const [namespace = '', cluster = ''] = clusterKey.split('/');
  return partitionOf(namespace, cluster);
};

/**
 * Processes one partition of the log in order: take a batch, fold it in memory, commit rows, states and positions in
 * one transaction. New messages are pushed. Others are read by direct get from the last position, so a consumer has no
 * server-side state to lose.
 */
export class PartitionConsumer {
  private running = true;
  private finished: Promise<void> | undefined;
  private readonly wakeSignal = new WakeSignal();
  private readonly cursor: PartitionCursor;
  private readonly feed: PartitionFeed;
  /** The log may contain messages that were not pushed. */
  private mustRead = true;
  /** The last read did not reach the end. */
  private isBehind = false;
  private readonly fold: PartitionFold;
  private readonly quarantined = new QuarantinedClusters();
  private readonly progress: PartitionProgress;
  private readonly quarantine: Quarantine;
  private readonly teller: RejectionTeller;
  /** Quarantines that are not recorded in the log yet. */
  private unannounced: Quarantined[number][] = [];
  /** Uncommitted marks. */
  private readonly marks: Mark[] = [];
  /** Names of the folding consumers. Created once, because each new string is hashed again. */
  private readonly folding: readonly string[];
  private readonly handlersConsumer: readonly string[];

  constructor(
    readonly partition: number,
    private readonly options: PartitionConsumerOptions,
  ) {
    this.folding = consumerNames(options.consumers);
    this.handlersConsumer = options.handlers === undefined ? [] : [HANDLERS_CONSUMER];
    this.feed = new PartitionFeed(options.pushedFrom);
    this.cursor = new PartitionCursor([...this.folding, ...this.handlersConsumer]);
    this.fold = new PartitionFold(options.consumers, options.store);
    this.progress = new PartitionProgress(partition);
    this.teller = new RejectionTeller((line) => options.log.warn(`partition ${partition}: ${line}`));
    this.quarantine = new Quarantine({
      consumers: this.folding,
      fold: this.fold,
      store: options.store,
    });
  }

  start(onLost: (partition: number) => void): void {
    this.finished = this.run().catch((error: unknown) => {
      if (!(error instanceof LostOwnership)) throw error;
      this.options.log.warn(error.message);
      onLost(this.partition);
    });
  }

  /** A new message of the partition; everything stored from `from` up to it was pushed. */
  push(message: RawEvent, from: number): void {
    this.feed.push(message, from);
    this.wakeSignal.ring();
  }

  /** Queues a state change that is not caused by an event, to be committed in order. */
  mark(mark: Mark): void {
    this.marks.push(mark);
    this.wakeSignal.ring();
  }

  /** Reads the log: a message may not have been pushed. */
  look(): void {
    this.mustRead = true;
    this.wakeSignal.ring();
  }

  /** Reads the log if a pushed message was not taken: the previous read may have been answered by a lagging replica. */
  lookIfAhead(): void {
    if (this.feed.isAhead()) this.look();
  }

  /** The sequence up to which it has read the log. */
  position(): number {
    return this.cursor.lowest();
  }

  /** How long events have been waiting for this consumer. */
  stall(): Stall {
    return this.progress.stall();
  }

  /** Resolves when the batch in progress is committed or abandoned. */
  async stop(): Promise<void> {
    this.running = false;
    this.wakeSignal.ring();
    this.options.catchUp.leave(this.partition);
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
        this.progress.failed(wordsOf(error));
        if (failures % FAILURES_UNTIL_REPORTED_AGAIN === FAILURES_UNTIL_REPORTED)
          this.options.log.warn(`partition ${this.partition}: ${wordsOf(error)}; trying again`);
        await this.wakeSignal.pause(Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS));
      }
    }
  }

  private async load(): Promise<void> {
    this.fold.forgetAll();
    this.feed.forget();
    this.mustRead = true;
    this.cursor.load(await this.options.store.positions(this.partition, this.cursor.consumers));
    const quarantined = await this.options.store.quarantined();
    this.quarantined.load(quarantined);
    this.unannounced = quarantined.filter(
      ({ poison, announced }) => !announced && partitionOfKey(poison.clusterKey) === this.partition,
    );
    await this.announce();
    await this.options.onLoaded(this.partition);
    this.options.onAdvance(this.partition, this.cursor.lowest());
  }

  /** Processes one batch, then waits for the next wake-up. */
  private async round(): Promise<void> {
    await this.takeMarks();
    const found = await this.step();
    if (!found && this.feed.isAhead()) await this.lookAgain();
    while (this.running && !this.wakeSignal.isSet) {
      await this.announce();
      const flushes = this.cursor.aheadOfDatabase() > 0;
      await this.wakeSignal.pause(flushes ? this.options.positionsAfterMs : untilShared(IDLE_ROUND_MS));
      if (flushes && !this.wakeSignal.isSet) await this.commit(NO_CHANGES);
    }
  }

  /** Marks are kept until they are committed. */
  private async takeMarks(): Promise<void> {
    const marks = [...this.marks];
    if (marks.length === 0) return;
    const isOpen = ({ consumer, clusterKey }: Mark): boolean =>
      this.quarantined.seqOf(consumer, clusterKey) === undefined;
    const { refused, ...changes } = await this.fold.changesOfMarks(marks.filter(isOpen));
    try {
      if (changesAnything(changes)) await this.commit(changes);
    } catch (error) {
      if (!isDataError(error)) throw error;
      this.options.log.error(`partition ${this.partition}: ${marks.length} marks cannot be written: ${wordsOf(error)}`);
    }
    for (const { mark, error } of refused)
      this.options.log.error(`${mark.consumer} cannot take that ${mark.clusterKey} is ${mark.kind}: ${error.stack}`);
    this.marks.splice(0, marks.length);
  }

  private async lookAgain(): Promise<void> {
    for (const wait of LOOK_AGAIN_MS) {
      await this.wakeSignal.pause(wait);
      this.mustRead = true;
      if (!this.running || (await this.step())) return;
    }
  }

  /**
   * Processes one batch; false if there was nothing to read. A batch that is not full reached the end, unless woken
   * since.
   */
  private async step(): Promise<boolean> {
    this.wakeSignal.reset(); // Before taking: messages that arrive from now on may not be in this batch.
    const { raw, isWhole, isPushed } = await this.next();
    const last = raw[raw.length - 1];
    if (last === undefined) {
      this.progress.moved();
      return false;
    }
    this.progress.waits(raw[0]?.seq ?? last.seq);
    const { events, rejected } = decodeBatch(raw, isPushed ? readOnce : readMessage);
    // A release changes what is quarantined, so the events after it are a separate batch.
    const release = events.findIndex(
      (event) => event.type === 'ClusterQuarantineReleased' && event.data.service === this.options.service,
    );
    if (release === 0) await this.release(events[0]!);
    const upTo = release < 0 ? last.seq : release === 0 ? events[0]!.meta.seq : events[release]!.meta.seq - 1;
    await this.apply(
      {
        events: events.filter((event) => event.meta.seq <= upTo),
        rejected: rejected.filter(({ seq }) => seq <= upTo && seq > this.cursor.highest()),
      },
      upTo,
    );
    this.progress.moved();
    if (release >= 0) {
      this.feed.forget();
      this.look();
    }
    if (!isWhole) this.wakeSignal.ring();
    return true;
  }

  /** The next messages of the partition: pushed ones if they are complete, otherwise read from the log. */
  private async next(): Promise<TakenMessages> {
    const pushed = this.mustRead ? undefined : this.feed.take(READ_BATCH);
    if (pushed !== undefined) return { raw: pushed, isWhole: pushed.length < READ_BATCH, isPushed: true };
    this.mustRead = false;
    const after = this.cursor.lowest();
    const shared = this.isBehind ? await this.options.catchUp.next(this.partition, after) : undefined;
    const taken = shared === undefined ? await this.read(after) : { raw: shared, isWhole: false, isPushed: false };
    if (this.isBehind && taken.isWhole) this.options.catchUp.hasAll(this.partition);
    this.isBehind = !taken.isWhole;
    this.feed.readTo(taken.raw.at(-1)?.seq ?? after, taken.isWhole);
    return taken;
  }

  private async read(after: number): Promise<TakenMessages> {
    const limit = this.isBehind ? READ_BATCH : LOOK_BATCH;
    const raw = await readBatch(this.options.nc, partitionFilter(this.partition), after, limit);
    return { raw, isWhole: raw.length < limit, isPushed: false };
  }

  private async apply({ events, rejected }: DecodedBatch, upTo: number): Promise<void> {
    const seen = this.cursor.frozen();
    this.options.onEvents(events);
    const concerns = (consumer: string, event: StoredEvent): boolean =>
      !seen(consumer, event.meta.seq) && !this.quarantined.holds(consumer, event);
    const calls = events.filter((event) => this.isHandled(event));
    this.cursor.move(this.folding, upTo);
    if (calls.length === 0) this.cursor.move(this.handlersConsumer, upTo);
    try {
      const changes = { ...(await this.fold.changesOf(events, concerns)), rejected };
      if (changesAnything(changes) || this.cursor.aheadOfDatabase() > UNWRITTEN_MAX) await this.commit(changes);
    } catch (error) {
      if (!isDataError(error)) throw error;
      await this.commitApart(events, concerns, { released: [], rejected });
    }
    this.reported(rejected);
    if (calls.length > 0) await this.callHandlers(calls, upTo);
    const nowMs = Date.now();
    this.options.meter.eventsTaken(events.map((event) => nowMs - Date.parse(event.meta.time)));
    this.options.onAdvance(this.partition, this.cursor.lowest());
  }

  private isHandled(event: StoredEvent): boolean {
    return (
      this.options.handlers?.types.has(event.type) === true &&
      !this.cursor.hasSeen(HANDLERS_CONSUMER, event.meta.seq) &&
      !this.quarantined.holds(HANDLERS_CONSUMER, event)
    );
  }

  private reported(rejected: readonly RejectedMessage[]): void {
    this.teller.tell(rejected);
    for (const { reason } of rejected) this.options.meter.eventsRejected(reason, 1);
  }

  private async commit(changes: PartitionChanges): Promise<void> {
    const positions = this.cursor.moves();
    await this.options.store.commit({ ...changes, partition: this.partition, positions });
    this.cursor.wrote(positions);
    this.fold.remember(changes);
    if (changes.timers.length > 0) this.options.onTimersSet(firstDueMs(changes.timers));
    for (const { process, rows } of changes.states)
      for (const { key, doc } of rows) this.options.onReconciled(process, key, doc);
    await this.isolate(changes.quarantined);
  }

  /**
   * For a batch that cannot be written as a whole: quarantines the faulty part and writes the rest. Returns the new
   * quarantines.
   */
  private async commitApart(
    events: readonly StoredEvent[],
    concerns: (consumer: string, event: StoredEvent) => boolean,
    base: Pick<BatchChanges, 'released' | 'rejected'>,
  ): Promise<Quarantined> {
    const positions = this.cursor.moves();
    const quarantined = await this.quarantine.commit(events, concerns, {
      ...base,
      partition: this.partition,
      positions,
    });
    this.cursor.wrote(positions);
    this.options.onTimersSet(Date.now());
    await this.options.onLoaded(this.partition);
    await this.isolate(quarantined);
    return quarantined;
  }

  private async isolate(quarantined: Quarantined): Promise<void> {
    for (const { consumer, poison } of quarantined) {
      this.quarantined.add(consumer, poison);
      this.options.log.error(
        `${consumer} cannot take event ${poison.seq} of ${poison.clusterKey}; the cluster is quarantined there: ${poison.error}`,
      );
    }
    this.unannounced.push(...quarantined);
    await this.announce();
  }

  /** What cannot be recorded in the log now is recorded later; no other cluster waits for it. */
  private async announce(): Promise<void> {
    const { announceQuarantined, store, log } = this.options;
    const left: Quarantined[number][] = [];
    for (const one of this.unannounced.splice(0)) {
      try {
        await announceQuarantined(one.consumer, one.poison);
        await store.quarantinedAnnounced(one.consumer, one.poison.clusterKey);
      } catch (error) {
        left.push(one);
        log.warn(
          `partition ${this.partition}: the log was not reported that ${one.poison.clusterKey} is quarantined: ${wordsOf(error)}`,
        );
      }
    }
    this.unannounced.push(...left);
  }

  /** Handlers are idempotent: a crash before their position is written calls them again. */
  private async callHandlers(calls: readonly StoredEvent[], upTo: number): Promise<void> {
    const { handlers } = this.options;
    if (handlers === undefined) return;
    const quarantined: { consumer: string; poison: Poison }[] = [];
    for (const event of calls) {
      // A cluster that one of them quarantines is skipped for the rest of this batch.
      if (!this.isHandled(event)) continue;
      const poison = await this.call(handlers, event);
      if (poison === undefined) continue;
      quarantined.push({ consumer: HANDLERS_CONSUMER, poison });
      this.quarantined.add(HANDLERS_CONSUMER, poison);
    }
    this.cursor.move([HANDLERS_CONSUMER], upTo);
    // Usually the position is written with the next effect.
    if (quarantined.length > 0) await this.commit({ ...NO_CHANGES, quarantined });
  }

  /**
   * An operator's request: process the quarantined cluster's events again (retry), without the first (skip), or all
   * from the start (replay).
   */
  private async release(event: StoredEvent): Promise<void> {
    if (event.type !== 'ClusterQuarantineReleased') return;
    const { consumer, mode } = event.data;
    const clusterKey = clusterKeyOf(event);
    const quarantinedAt = this.quarantined.seqOf(consumer, clusterKey);
    if (quarantinedAt === undefined) return;
    const events = await this.eventsOf(event.meta, {
      after: mode === 'replay' ? 0 : mode === 'skip' ? quarantinedAt : quarantinedAt - 1,
      before: event.meta.seq,
    });
    if (mode === 'replay') this.fold.startOver(consumer, events);
    // Reactions to events before the fault are already done.
    const since = ({ meta }: StoredEvent): boolean => meta.seq >= quarantinedAt;
    const isOwn = (candidate: string): boolean => candidate === consumer;
    const released = [{ consumer, clusterKey, startsOver: mode === 'replay' }];
    const unheard = consumer === HANDLERS_CONSUMER ? await this.firstUnheard(events.filter(since)) : undefined;
    let quarantined: Quarantined;
    try {
      const changes = await this.fold.changesOf(events, isOwn);
      quarantined =
        unheard === undefined ? changes.quarantined : [...changes.quarantined, { consumer, poison: unheard }];
      await this.commit({ ...changes, quarantined, released });
    } catch (error) {
      if (!isDataError(error)) throw error;
      quarantined = await this.commitApart(events, isOwn, { released, rejected: [] });
    }
    if (quarantined.length === 0) this.quarantined.remove(consumer, clusterKey);
  }

  /** Calls the handlers for missed events, up to one that fails again. */
  private async firstUnheard(events: readonly StoredEvent[]): Promise<Poison | undefined> {
    const { handlers } = this.options;
    if (handlers === undefined) return undefined;
    for (const event of events) {
      const poison = handlers.types.has(event.type) ? await this.call(handlers, event) : undefined;
      if (poison !== undefined) return poison;
    }
    return undefined;
  }

  private call(handlers: EventHandlers, event: StoredEvent): Promise<Poison | undefined> {
    return callHandler(handlers, event, (ms) => this.wakeSignal.pause(ms));
  }

  private async eventsOf(
    { namespace, cluster }: StoredEvent['meta'],
    { after, before }: { readonly after: number; readonly before: number },
  ): Promise<readonly StoredEvent[]> {
    const events: StoredEvent[] = [];
    for await (const batch of readAll(this.options.nc, clusterFilter(namespace, cluster), after)) {
      for (const { subject, seq, bytes } of batch) {
        const stored = seq < before ? decode(subject, seq, bytes) : undefined;
        if (stored !== undefined) events.push(stored);
      }
    }
    return events;
  }
}

import { PARTITION_COUNT, partitionInSubject } from '@fairlead/contracts';
import { READ_BATCH, type RawEvent } from './direct.reader.js';

/** Reads the events of all partitions after a sequence, up to the end of the log. */
type Pass = (after: number) => AsyncIterable<readonly RawEvent[]>;

export interface CatchUpOptions {
  readonly pass: Pass;
  /** The partitions of this replica. */
  readonly owned: () => Iterable<number>;
  /** A failed pass loses nothing: each partition continues with its own reads. */
  readonly warn: (error: unknown) => void;
}

/**
 * With fewer partitions, reading the messages of all costs more. (For a consumer with many filters, the server takes
 * ten times as long.)
 */
const SHARING_MIN = PARTITION_COUNT / 2;
/** How long the first lagging partition waits for others, e.g. after a start or an outage of NATS. */
const GATHER_MS = 30;
/** How long a partition waits if enough others lagged recently: each works on a batch, and then asks again. */
const GATHER_MANY_MS = 1_000;
/** On a busy machine the batches of all partitions take seconds. */
const RECENT_MS = 5_000;
/**
 * A partition that lags more than this behind the others would delay them by more than about a second. Partitions drift
 * apart before a pass: a batch advances one by 16,000.
 */
const APART_MAX = 100_000;
/**
 * Maximum messages buffered for a partition that takes none. It then leaves the pass, so that no other waits for it.
 */
const WAITING_MAX = 4 * READ_BATCH;
/**
 * Maximum bytes of the log read meanwhile. A message references the buffer in which it arrived together with those of
 * other partitions, so a few buffered messages can retain everything read since the first of them.
 */
const READ_MEANWHILE_MAX_BYTES = 64 * 1024 * 1024;

/** A partition with fewer messages than others gets those it has after this many messages of all. */
const PASSED_MAX = 2 * PARTITION_COUNT * READ_BATCH;

type DeliverMessages = (messages: readonly RawEvent[] | undefined) => void;

/** A partition in a pass. */
interface Member {
  /** It has taken every message up to this one. */
  takenTo: number;
  waiting: RawEvent[];
  /** Messages that the pass has read since then. */
  passed: number;
  /** Bytes that the pass has read since then, while messages are buffered. */
  passedBytes: number;
  answer: DeliverMessages | undefined;
}

/**
 * Reads the log once for all lagging partitions of a replica. For reads by partition, the server scans the messages of
 * every other one as well. Each partition takes and commits its own messages, and none waits for another.
 */
export class CatchUp {
  private gathered = new Map<number, { readonly after: number; readonly answer: DeliverMessages }>();
  private members = new Map<number, Member>();
  private isRunning = false;
  private timer: NodeJS.Timeout | undefined;
  /** When each partition last asked, and after which sequence. */
  private readonly asked = new Map<number, { readonly atMs: number; readonly after: number }>();
  /** Partitions that finished a pass and read newer messages themselves: usually few. */
  private finished = new Set<number>();
  private goOn: () => void = () => undefined;

  constructor(private readonly options: CatchUpOptions) {}

  /** The next messages of a lagging partition, in order; undefined: it must read them itself. */
  next(partition: number, after: number): Promise<readonly RawEvent[] | undefined> {
    if (this.isRunning) return this.ofPass(partition, after);
    if (this.finished.delete(partition)) return Promise.resolve(undefined);
    const isFirst = !this.wasBehind(partition);
    this.asked.set(partition, { atMs: performance.now(), after });
    const behind = this.behindNear(after);
    if (!isFirst && behind < SHARING_MIN) return Promise.resolve(undefined);
    return new Promise((answer) => {
      this.gathered.set(partition, { after, answer });
      clearTimeout(this.timer);
      const isLong = behind >= SHARING_MIN;
      if (this.near().length >= SHARING_MIN) this.begin(isLong);
      else this.timer = setTimeout(() => this.begin(isLong), isLong ? GATHER_MANY_MS : GATHER_MS);
    });
  }

  /** The partition has read everything, so no other waits for it. */
  hasAll(partition: number): void {
    this.asked.delete(partition);
  }

  /** The partition stops waiting. */
  leave(partition: number): void {
    const asked = [this.members.get(partition), this.gathered.get(partition)];
    this.members.delete(partition);
    this.gathered.delete(partition);
    for (const one of asked) one?.answer?.(undefined);
    this.goOn();
  }

  private wasBehind(partition: number): boolean {
    return performance.now() - (this.asked.get(partition)?.atMs ?? -Infinity) < RECENT_MS;
  }

  /** How many partitions lag near this sequence: those far away cannot share a pass, so waiting for them is useless. */
  private behindNear(after: number): number {
    return [...this.asked].filter(([other, at]) => this.wasBehind(other) && Math.abs(at.after - after) <= APART_MAX)
      .length;
  }

  /** The positions of partitions that can share a pass. */
  private near(): readonly number[] {
    const places = [...this.gathered.values()].map(({ after }) => after);
    return places.filter((after) => Math.max(...places) - after <= APART_MAX);
  }

  private begin(wasLong: boolean): void {
    const { gathered } = this;
    const near = this.near();
    this.gathered = new Map();
    if (near.length >= SHARING_MIN) {
      this.isRunning = true;
      this.finished.clear();
      const first = Math.min(...near);
      // The others may ask soon; their messages are buffered.
      for (const partition of this.options.owned())
        this.members.set(partition, { takenTo: first, waiting: [], passed: 0, passedBytes: 0, answer: undefined });
      void this.run(first)
        .catch((error: unknown) => this.options.warn(error))
        .finally(() => this.end());
    } else {
      // The others did not ask. If the wait was short, they may be working on a batch.
      for (const partition of wasLong ? [...this.asked.keys()] : [])
        if (!gathered.has(partition)) this.asked.delete(partition);
    }
    for (const [partition, { after, answer }] of gathered)
      if (this.isRunning) void this.ofPass(partition, after).then(answer);
      else answer(undefined);
  }

  private ofPass(partition: number, after: number): Promise<readonly RawEvent[] | undefined> {
    const member = this.members.get(partition);
    // It is behind the pass, or a failed commit reset it. Once it has caught up, it can take the buffered messages.
    if (member === undefined || after < member.takenTo) return Promise.resolve(undefined);
    member.waiting = member.waiting.filter(({ seq }) => seq > after);
    member.takenTo = after;
    return new Promise((answer) => {
      member.answer = answer;
      if (member.waiting.length >= READ_BATCH) this.serve(member);
      else this.goOn();
    });
  }

  private async run(after: number): Promise<void> {
    for await (const batch of this.options.pass(after)) {
      let bytes = 0;
      for (const message of batch) {
        this.give(message);
        bytes += message.bytes.length;
      }
      for (const [partition, member] of this.members) this.passed(partition, member, batch.length, bytes);
      while (this.members.size > 0 && ![...this.members.values()].some(({ answer }) => answer !== undefined))
        await new Promise<void>((resolve) => (this.goOn = resolve));
      if (this.members.size === 0) return;
    }
  }

  private passed(partition: number, member: Member, messages: number, bytes: number): void {
    member.passed += messages;
    member.passedBytes = member.waiting.length === 0 ? 0 : member.passedBytes + bytes;
    const isMuch = member.passed > PASSED_MAX || member.passedBytes > READ_MEANWHILE_MAX_BYTES;
    if (member.waiting.length >= READ_BATCH || (member.waiting.length > 0 && isMuch)) this.serve(member);
    if (member.passedBytes > READ_MEANWHILE_MAX_BYTES) this.leave(partition); // It takes nothing, otherwise it would have been served.
  }

  private give(message: RawEvent): void {
    const partition = partitionInSubject(message.subject);
    const member = partition === undefined ? undefined : this.members.get(partition);
    if (partition === undefined || member === undefined || message.seq <= member.takenTo) return;
    member.waiting.push(message);
    if (member.waiting.length > WAITING_MAX) this.leave(partition);
  }

  private serve(member: Member): void {
    const { answer } = member;
    if (answer === undefined) return;
    const messages = member.waiting.splice(0, READ_BATCH);
    member.answer = undefined;
    member.passed = 0;
    member.passedBytes = 0;
    member.takenTo = messages.at(-1)?.seq ?? member.takenTo;
    answer(messages.length > 0 ? messages : undefined);
  }

  /** Gives the buffered messages to waiting partitions; the others read them from the log. */
  private end(): void {
    this.isRunning = false;
    const { members } = this;
    this.members = new Map();
    this.finished = new Set(members.keys());
    this.asked.clear();
    for (const member of members.values()) this.serve(member);
  }
}

import { PARTITION_COUNT, partitionInSubject } from '@fairlead/contracts';
import { READ_BATCH, type RawEvent } from './direct.reader.js';

/** Reads the events of all partitions after a sequence, up to the end of the log. */
type Pass = (after: number) => AsyncIterable<readonly RawEvent[]>;

export interface CatchUpOptions {
  readonly pass: Pass;
  /** The partitions of this replica. */
  readonly owned: () => Iterable<number>;
  /** Nothing is lost with a failed pass: each partition reads on by itself. */
  readonly warn: (error: unknown) => void;
}

/** With fewer partitions, it costs more to read the messages of all. (For a consumer with many filters, the server takes ten times as long.) */
const SHARING_MIN = PARTITION_COUNT / 2;
/** How long the first partition that is behind waits for others: a service has started, or NATS was away. */
const GATHER_MS = 30;
/** And how long one waits when enough others were behind recently: each works on a batch, and asks again. */
const GATHER_MANY_MS = 1_000;
/** On a busy machine the batches of all partitions take seconds. */
const RECENT_MS = 5_000;
/**
 * A partition that is further behind the others would let them wait for more than about a second. They come apart before a pass: a batch
 * takes one on by 16,000.
 */
const APART_MAX = 100_000;
/** What is kept for a partition that takes nothing. It leaves the pass then, so that no other waits for it. */
const WAITING_MAX = 4 * READ_BATCH;
/**
 * How much of the log is read meanwhile. A message keeps the buffer that it came in, with the messages of other partitions beside it, so few
 * that wait can keep all that was read since the first of them.
 */
const READ_MEANWHILE_MAX_BYTES = 64 * 1024 * 1024;

/** A partition with fewer messages than others gets those that it has after so many of all. */
const PASSED_MAX = 2 * PARTITION_COUNT * READ_BATCH;

type Answer = (messages: readonly RawEvent[] | undefined) => void;

/** A partition in a pass. */
interface Member {
  /** Up to here it has taken every message. */
  takenTo: number;
  waiting: RawEvent[];
  /** How many messages the pass has read since. */
  passed: number;
  /** How much the pass has read since, as long as something waits. */
  passedBytes: number;
  answer: Answer | undefined;
}

/**
 * Reads the log once for all partitions of a replica that are far behind. Read partition by partition, the server looks at the messages of
 * every other one for those of one. Each partition takes and commits its own, and none waits for another.
 */
export class CatchUp {
  private gathered = new Map<number, { readonly after: number; readonly answer: Answer }>();
  private members = new Map<number, Member>();
  private isRunning = false;
  private timer: NodeJS.Timeout | undefined;
  /** When each partition asked last, and for what follows which sequence. */
  private readonly asked = new Map<number, { readonly atMs: number; readonly after: number }>();
  /** After a pass, each partition looks for what has come since: mostly that is little. */
  private finished = new Set<number>();
  private goOn: () => void = () => undefined;

  constructor(private readonly options: CatchUpOptions) {}

  /** What follows in a partition that is behind, in order; undefined: it must read that by itself. */
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

  /** It has read all that follows, so no other waits for it. */
  hasAll(partition: number): void {
    this.asked.delete(partition);
  }

  /** It waits for nothing more. */
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

  /** How many are behind at about this sequence: there is no use in waiting for those that cannot share a pass. */
  private behindNear(after: number): number {
    return [...this.asked].filter(([other, at]) => this.wasBehind(other) && Math.abs(at.after - after) <= APART_MAX)
      .length;
  }

  /** After where those read that can share a pass. */
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
      // The others may ask soon; what comes for them is kept.
      for (const partition of this.options.owned())
        this.members.set(partition, { takenTo: first, waiting: [], passed: 0, passedBytes: 0, answer: undefined });
      void this.run(first)
        .catch((error: unknown) => this.options.warn(error))
        .finally(() => this.end());
    } else {
      // The others were waited for in vain. Where that was for a moment only, they may be at work on a batch.
      for (const partition of wasLong ? [...this.asked.keys()] : [])
        if (!gathered.has(partition)) this.asked.delete(partition);
    }
    for (const [partition, { after, answer }] of gathered)
      if (this.isRunning) void this.ofPass(partition, after).then(answer);
      else answer(undefined);
  }

  private ofPass(partition: number, after: number): Promise<readonly RawEvent[] | undefined> {
    const member = this.members.get(partition);
    // It is behind the pass, or a failed commit has put it back. When it has read so far, it can take what waits.
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
    if (member.passedBytes > READ_MEANWHILE_MAX_BYTES) this.leave(partition); // It takes nothing, or it would have been served.
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

  /** What is left goes to those that wait for it; the others find it in the log. */
  private end(): void {
    this.isRunning = false;
    const { members } = this;
    this.members = new Map();
    this.finished = new Set(members.keys());
    this.asked.clear();
    for (const member of members.values()) this.serve(member);
  }
}

import type { RawEvent } from './direct.reader.js';

/** Of one partition. A consumer that is so far behind reads the log, which costs less for each message. */
const WAITING_MAX = 1_000;

/**
 * The messages of a partition that were pushed and that its consumer has not taken yet, and whether they are all that follows what it has
 * taken. Where that is not known, the log must be read.
 */
export class PartitionFeed {
  private waiting: RawEvent[] = [];
  private lastPushed = 0;
  /** Up to here, every message of the partition was taken; undefined: nothing is known. */
  private takenTo: number | undefined;

  /** @param from From here on, every message of the partition is pushed and kept. */
  constructor(private from: number) {}

  /** Everything that was stored from `from` up to the message was pushed. */
  push(message: RawEvent, from: number): void {
    this.lastPushed = message.seq;
    if (from > this.from) this.keepFrom(from);
    if (this.waiting.length < WAITING_MAX) this.waiting.push(message);
    else this.keepFrom(message.seq + 1);
  }

  /** What follows, in order, up to `limit` messages; undefined: the log must be read. */
  take(limit: number): RawEvent[] | undefined {
    const { takenTo } = this;
    if (takenTo === undefined || takenTo + 1 < this.from) return undefined;
    this.waiting = this.waiting.filter(({ seq }) => seq > takenTo);
    const next = this.waiting.splice(0, limit);
    this.takenTo = next.at(-1)?.seq ?? takenTo;
    return next;
  }

  /** The log was read up to this message of the partition; unless that is the whole of it, it must be read again. */
  readTo(seq: number, isWhole: boolean): void {
    this.takenTo = isWhole ? Math.max(seq, this.takenTo ?? 0) : undefined;
  }

  /** The consumer has gone back: what it takes next must be read. */
  forget(): void {
    this.takenTo = undefined;
    this.keepFrom(Math.max(this.from, this.lastPushed + 1));
  }

  /** A message was pushed that was neither taken nor found in the log: what is read may be behind. */
  isAhead(): boolean {
    return this.lastPushed > (this.takenTo ?? 0);
  }

  private keepFrom(seq: number): void {
    this.waiting = [];
    this.from = seq;
  }
}

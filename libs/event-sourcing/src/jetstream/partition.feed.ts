import type { RawEvent } from './direct.reader.js';

/** Per partition. A consumer that lags further reads the log, which costs less per message. */
const WAITING_MAX = 1_000;

/**
 * Pushed messages of a partition that its consumer has not taken yet, and whether they directly follow what it has
 * taken. If that is unknown, the log must be read.
 */
export class PartitionFeed {
  private waiting: RawEvent[] = [];
  private lastPushed = 0;
  /** Every message of the partition up to this one was taken; undefined: unknown. */
  private takenTo: number | undefined;

  /** @param from Every message of the partition from here on is pushed and kept. */
  constructor(private from: number) {}

  /** Everything stored from `from` up to the message was pushed. */
  push(message: RawEvent, from: number): void {
    this.lastPushed = message.seq;
    if (from > this.from) this.keepFrom(from);
    if (this.waiting.length < WAITING_MAX) this.waiting.push(message);
    else this.keepFrom(message.seq + 1);
  }

  /** The next messages, in order, up to `limit`; undefined: the log must be read. */
  take(limit: number): RawEvent[] | undefined {
    const { takenTo } = this;
    if (takenTo === undefined || takenTo + 1 < this.from) return undefined;
    this.waiting = this.waiting.filter(({ seq }) => seq > takenTo);
    const next = this.waiting.splice(0, limit);
    this.takenTo = next.at(-1)?.seq ?? takenTo;
    return next;
  }

  /** The log was read up to this message of the partition; unless that was the end, it must be read again. */
  readTo(seq: number, isWhole: boolean): void {
    this.takenTo = isWhole ? Math.max(seq, this.takenTo ?? 0) : undefined;
  }

  /** The consumer was reset: the next messages must be read. */
  forget(): void {
    this.takenTo = undefined;
    this.keepFrom(Math.max(this.from, this.lastPushed + 1));
  }

  /** Whether a pushed message was neither taken nor found in the log: the replica that is read may lag. */
  isAhead(): boolean {
    return this.lastPushed > (this.takenTo ?? 0);
  }

  private keepFrom(seq: number): void {
    this.waiting = [];
    this.from = seq;
  }
}

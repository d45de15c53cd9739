/** A partition that has not moved although events are waiting. */
export interface Stall {
  readonly partition: number;
  /** The first waiting event; null: unknown. */
  readonly seq: number | null;
  /** The error of the last attempt; empty: the attempt is still in progress. */
  readonly error: string;
  readonly forMs: number;
}

/** Since when a consumer has owed a step, whatever the cause: a fault, or an unresponsive database. */
export class PartitionProgress {
  private sinceMs: number | undefined;
  private seq: number | null = null;
  private error = '';

  constructor(
    private readonly partition: number,
    private readonly nowMs: () => number = Date.now,
  ) {}

  waits(seq: number): void {
    this.sinceMs ??= this.nowMs();
    this.seq = seq;
  }

  failed(error: string): void {
    this.sinceMs ??= this.nowMs();
    this.error = error;
  }

  /** The batch is committed, or there is none. */
  moved(): void {
    this.sinceMs = undefined;
    this.seq = null;
    this.error = '';
  }

  /** forMs is 0 if nothing is waiting. */
  stall(): Stall {
    const forMs = this.sinceMs === undefined ? 0 : Math.max(0, this.nowMs() - this.sinceMs);
    return { partition: this.partition, seq: this.seq, error: this.error, forMs };
  }
}

/** A partition that has not moved although events wait for it. */
export interface Stall {
  readonly partition: number;
  /** The first event that waits; null: not even that is known. */
  readonly seq: number | null;
  /** What the last try failed with; empty: the try is still under way. */
  readonly error: string;
  readonly forMs: number;
}

/** Since when a consumer owes a step. Whatever it is that holds it up: a fault, or a database that does not answer. */
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

  /** The batch is done, or there is none. */
  moved(): void {
    this.sinceMs = undefined;
    this.seq = null;
    this.error = '';
  }

  /** forMs is 0 where nothing waits. */
  stall(): Stall {
    const forMs = this.sinceMs === undefined ? 0 : Math.max(0, this.nowMs() - this.sinceMs);
    return { partition: this.partition, seq: this.seq, error: this.error, forMs };
  }
}

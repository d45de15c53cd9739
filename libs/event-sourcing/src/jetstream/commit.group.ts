/** Partitions with a commit within this time are busy. One cluster, however large, keeps only one of them busy. */
const BUSY_MS = 1_000;
const BUSY_MIN = 6;
/** A mean: two CPUs that many clusters keep 93 % busy are waited for 60 % of the time, and 40 % at 200 events/s. */
const LOAD_MIN = 0.5;
const MEAN_OF_MS = 1_000;

/** The changes of one partition. */
interface OfPartition {
  readonly partition: number;
}

interface Waiting<Batch> {
  readonly changes: Batch;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export interface CommitGroupOptions<Batch> {
  /** Writes all of them in one statement, or nothing. */
  readonly write: (batches: readonly Batch[]) => Promise<void>;
  /** Whether the write failed because of one of the batches, so that each must be retried alone. */
  readonly isOfOne: (error: unknown) => boolean;
  /** Load of the process and its machine, between 0 and 1. */
  readonly load: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
  /** How long a commit waits for those of other partitions under load. */
  readonly waitMs: number;
}

/**
 * Groups commits of several partitions. A partition has one commit at a time, and alone each costs a round trip, a
 * transaction and a disk sync; so under load commits wait briefly for each other.
 */
export class CommitGroup<Batch extends OfPartition> {
  private waiting: Waiting<Batch>[] = [];
  private readonly committedAtMs = new Map<number, number>();
  private meanLoad: number;
  private sampledAtMs: number;

  constructor(private readonly options: CommitGroupOptions<Batch>) {
    this.sampledAtMs = options.nowMs();
    this.meanLoad = options.load();
  }

  commit(changes: Batch): Promise<void> {
    const nowMs = this.options.nowMs();
    this.sample(nowMs);
    this.committedAtMs.set(changes.partition, nowMs);
    return new Promise((resolve, reject) => {
      this.waiting.push({ changes, resolve, reject });
      if (this.waiting.length > 1) return;
      if (this.isWorthWaiting(nowMs)) setTimeout(() => void this.flush(), this.options.waitMs);
      else void this.flush();
    });
  }

  private isWorthWaiting(nowMs: number): boolean {
    const busy = [...this.committedAtMs.values()].filter((atMs) => nowMs - atMs < BUSY_MS).length;
    return busy >= BUSY_MIN && this.meanLoad > LOAD_MIN;
  }

  /** The mean of about the last second. */
  private sample(nowMs: number): void {
    const weight = 1 - Math.exp((this.sampledAtMs - nowMs) / MEAN_OF_MS);
    this.meanLoad += (this.options.load() - this.meanLoad) * weight;
    this.sampledAtMs = nowMs;
  }

  private async flush(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    try {
      await this.options.write(batch.map(({ changes }) => changes));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (batch.length === 1 || !this.options.isOfOne(error)) for (const { reject } of batch) reject(error);
      else for (const { changes, resolve, reject } of batch) await this.options.write([changes]).then(resolve, reject);
    }
  }
}

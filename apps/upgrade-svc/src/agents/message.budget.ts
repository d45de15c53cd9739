import { LRUCache } from 'lru-cache';

/** An upgraded node states about 40 facts, one whose log was away up to 200 at once. */
const MESSAGES = { burst: 240, perSecond: 0.1 };
/** What one node may add to the log on average: 17 MB a day. */
const BYTES = { burst: 512 * 1024, perSecond: 200 };
const NODES_REMEMBERED_MAX = 50_000;

interface Bucket {
  readonly messages: number;
  readonly bytes: number;
  readonly atMs: number;
}

const FULL: Omit<Bucket, 'atMs'> = { messages: MESSAGES.burst, bytes: BYTES.burst };

const refilled = ({ messages, bytes, atMs }: Bucket, nowMs: number): Bucket => {
  const seconds = Math.max(0, nowMs - atMs) / 1_000;
  return {
    messages: Math.min(MESSAGES.burst, messages + seconds * MESSAGES.perSecond),
    bytes: Math.min(BYTES.burst, bytes + seconds * BYTES.perSecond),
    atMs: nowMs,
  };
};

/** The remaining budget of each node: a token bucket for messages and one for bytes. Times are milliseconds. */
export class MessageBudget {
  /** Bounded by size: with `max`, the cache allocates memory for all entries at once. */
  private readonly buckets = new LRUCache<string, Bucket>({ maxSize: NODES_REMEMBERED_MAX, sizeCalculation: () => 1 });

  /** Returns false if the node has exceeded its budget; rejected messages consume none. */
  take(node: string, bytes: number, nowMs: number): boolean {
    const bucket = refilled(this.buckets.get(node) ?? { ...FULL, atMs: nowMs }, nowMs);
    const isWithin = bucket.messages >= 1 && bucket.bytes >= bytes;
    this.buckets.set(
      node,
      isWithin ? { ...bucket, messages: bucket.messages - 1, bytes: bucket.bytes - bytes } : bucket,
    );
    return isWithin;
  }
}

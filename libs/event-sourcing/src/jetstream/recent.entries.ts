import type { EventStore, LogEntry } from '../store.js';
import type { RawEvent } from './direct.reader.js';
import { entryOf } from './envelope.codec.js';

/** A few seconds of a busy log; about one kilobyte each. */
const KEPT_MAX = 1_000;
const CLUSTER_TOKENS = 4;

/**
 * The cluster of `evt.<partition>.<namespace>.<cluster>.…`; undefined: the subject, or the common prefix of a filter,
 * belongs to no cluster.
 */
const clusterOf = (subject: string): string | undefined => {
  let end = 0;
  for (let token = 0; token < CLUSTER_TOKENS; token += 1) {
    end = subject.indexOf('.', end) + 1;
    if (end === 0) return undefined;
  }
  return subject.slice(0, end);
};

/**
 * The recently pushed end of the log. A decision has usually seen all but the newest events of its cluster, so they are
 * found here. What may be missing is read from the log: what was not pushed, what is too old, and everything while this
 * process knows of newer events than it was pushed.
 */
export class RecentEntries {
  private messages: RawEvent[] = [];
  /** The same, by cluster. */
  private readonly clusters = new Map<string, RawEvent[]>();
  /** Every message from here up to `last` was pushed and is kept. */
  private from = Infinity;
  private last = 0;
  /** The log is known to reach up to this sequence. */
  private known = 0;

  /** A message of the log; everything stored from `from` up to it was pushed. */
  push(message: RawEvent, from: number): void {
    if (this.from === Infinity || from > this.last) this.keepFrom(message.seq);
    this.messages.push(message);
    this.index(message);
    this.last = message.seq;
    if (this.messages.length <= 2 * KEPT_MAX) return;
    this.messages = this.messages.slice(-KEPT_MAX);
    this.from = this.messages[0]!.seq;
    this.clusters.clear();
    for (const kept of this.messages) this.index(kept);
  }

  /** A message may not have been pushed. */
  forget(): void {
    this.keepFrom(Infinity);
  }

  knownUpTo(seq: number): void {
    this.known = Math.max(this.known, seq);
  }

  /** Every matching message after a sequence; undefined: it must be read. */
  after(filter: string, afterSeq: number): readonly LogEntry[] | undefined {
    if (afterSeq + 1 < this.from || this.last < this.known) return undefined;
    const prefix = filter.slice(0, filter.indexOf('>'));
    const cluster = clusterOf(prefix);
    const messages = cluster === undefined ? this.messages : (this.clusters.get(cluster) ?? []);
    const found: LogEntry[] = [];
    for (let at = messages.length - 1; at >= 0; at -= 1) {
      const message = messages[at]!;
      if (message.seq <= afterSeq) break;
      if (message.subject.startsWith(prefix)) found.push(entryOf(message));
    }
    return found.reverse();
  }

  /**
   * The same store, queried only for what is not here. Its readers must be satisfied with what was pushed to this
   * process.
   */
  over(store: EventStore): EventStore {
    return {
      read: (filter, afterSeq) => store.read(filter, afterSeq),
      entries: async (filter, afterSeq) => this.after(filter, afterSeq) ?? store.entries(filter, afterSeq),
      append: async (stream, expected, facts, cause) => {
        const result = await store.append(stream, expected, facts, cause);
        // After a conflict, the event of the other writer may not have been pushed yet.
        this.knownUpTo(result.kind === 'appended' ? result.position.seq : this.last + 1);
        return result;
      },
    };
  }

  private index(message: RawEvent): void {
    const cluster = clusterOf(message.subject);
    if (cluster === undefined) return;
    const messages = this.clusters.get(cluster);
    if (messages === undefined) this.clusters.set(cluster, [message]);
    else messages.push(message);
  }

  private keepFrom(seq: number): void {
    this.messages = [];
    this.clusters.clear();
    this.from = seq;
  }
}

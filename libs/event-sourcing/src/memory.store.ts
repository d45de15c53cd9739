import { FIRST_PREVHASH, streamSubject, type Fact, type StoredEvent, type StreamId } from '@fairlead/contracts';
import { requireRoomForElsewhere } from './store.js';
import type { AppendResult, Cause, EventStore, Expected, LogEntry } from './store.js';

/** Matches like nats-server: `*` is one token, `>` is one or more. */
const matcher = (filter: string): ((subject: readonly string[]) => boolean) => {
  const want = filter.split('.');
  const open = want.at(-1) === '>';
  const tokens = open ? want.slice(0, -1) : want;
  return (have) =>
    (open ? have.length > tokens.length : have.length === tokens.length) &&
    tokens.every((token, index) => token === '*' || token === have[index]);
};

/** The log in memory with the same contract as the real one. For specs and simulations; times and ids are counters. */
export class MemoryStore implements EventStore {
  readonly events: StoredEvent[] = [];
  /** Subjects are cached, because they contain a hash and simulations read the same events repeatedly. */
  private readonly tokens = new WeakMap<StoredEvent, readonly string[]>();
  private readonly subjects = new Map<string, string>();
  /** Sequence of the last event of each stream. */
  private readonly lastSeqs = new Map<string, number>();

  constructor(
    private readonly timeOf: (seq: number) => string = (seq) =>
      new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString(),
  ) {}

  read(filter: string, afterSeq: number): Promise<readonly { event: StoredEvent; hash: string }[]> {
    const matches = matcher(filter);
    const found = this.events.filter((event) => event.meta.seq > afterSeq && matches(this.tokensOf(event)));
    return Promise.resolve(found.map((event) => ({ event, hash: `hash-${event.meta.seq}` })));
  }

  async entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]> {
    const found = await this.read(filter, afterSeq);
    return found.map(({ event, hash }) => {
      const { seq, context } = event.meta;
      return { seq, context, hash, event, rejection: undefined };
    });
  }

  append(stream: StreamId, expected: Expected, facts: readonly Fact[], cause: Cause): Promise<AppendResult> {
    requireRoomForElsewhere(expected, facts);
    const { elsewhere } = expected;
    const isMoved = this.seqOf(stream) !== expected.seq;
    const hasMovedElsewhere = elsewhere !== undefined && this.seqOf(elsewhere.stream) !== elsewhere.seq;
    if (isMoved || hasMovedElsewhere) return Promise.resolve({ kind: 'conflict' });
    const appended = facts.map((fact, index) => this.store(stream, fact, cause, expected.streamVersion + index + 1));
    const seq = appended.at(-1)?.meta.seq ?? expected.seq;
    const position = { seq, streamVersion: expected.streamVersion + facts.length, hash: `hash-${seq}` };
    return Promise.resolve({ kind: 'appended', events: appended, position });
  }

  private seqOf(stream: StreamId): number {
    return this.lastSeqs.get(this.subjectOf(stream)) ?? 0;
  }

  private subjectOf(stream: StreamId): string {
    const key = `${stream.namespace}/${stream.cluster}/${stream.context}`;
    const known = this.subjects.get(key);
    if (known !== undefined) return known;
    const subject = streamSubject(stream);
    this.subjects.set(key, subject);
    return subject;
  }

  private tokensOf(event: StoredEvent): readonly string[] {
    const known = this.tokens.get(event);
    if (known !== undefined) return known;
    const tokens = `${this.subjectOf(event.meta)}.${event.type}`.split('.');
    this.tokens.set(event, tokens);
    return tokens;
  }

  private store(stream: StreamId, fact: Fact, cause: Cause, streamVersion: number): StoredEvent {
    const seq = this.events.length + 1;
    const subject = this.subjectOf(stream);
    const before = this.lastSeqs.get(subject);
    const meta = {
      id: `event-${seq}`,
      seq,
      ...stream,
      time: this.timeOf(seq),
      source: '/memory',
      streamVersion,
      ...cause,
    };
    const event = {
      ...fact,
      meta: { ...meta, prevHash: before === undefined ? FIRST_PREVHASH : `hash-${before}` },
    } as StoredEvent;
    this.events.push(event);
    this.lastSeqs.set(subject, seq);
    return event;
  }
}

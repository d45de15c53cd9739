import { FIRST_PREVHASH, streamSubject, type Fact, type StoredEvent, type StreamId } from '@fairlead/contracts';
import type { AppendResult, Cause, EventStore, LogEntry, StreamPosition } from './store.js';

/** As nats-server matches: `*` is one token, `>` is all that follow. */
const matcher = (filter: string): ((subject: readonly string[]) => boolean) => {
  const want = filter.split('.');
  const open = want.at(-1) === '>';
  const tokens = open ? want.slice(0, -1) : want;
  return (have) =>
    (open ? have.length > tokens.length : have.length === tokens.length) &&
    tokens.every((token, index) => token === '*' || token === have[index]);
};

/** The log in memory, with the same promises as the real one. For specs and simulations; time and ids are counted, not drawn. */
export class MemoryStore implements EventStore {
  readonly events: StoredEvent[] = [];
  /** A subject names its partition, which is a hash: simulations read the same events again and again. */
  private readonly subjects = new WeakMap<
    StoredEvent,
    { readonly stream: string; readonly tokens: readonly string[] }
  >();

  constructor(
    private readonly timeOf: (seq: number) => string = (seq) =>
      new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString(),
  ) {}

  read(filter: string, afterSeq: number): Promise<readonly { event: StoredEvent; hash: string }[]> {
    const matches = matcher(filter);
    const found = this.events.filter((event) => event.meta.seq > afterSeq && matches(this.subjectOf(event).tokens));
    return Promise.resolve(found.map((event) => ({ event, hash: `hash-${event.meta.seq}` })));
  }

  async entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]> {
    const found = await this.read(filter, afterSeq);
    return found.map(({ event, hash }) => {
      const { seq, context } = event.meta;
      return { seq, context, hash, event, rejection: undefined };
    });
  }

  append(stream: StreamId, expected: StreamPosition, facts: readonly Fact[], cause: Cause): Promise<AppendResult> {
    const subject = streamSubject(stream);
    const last = this.events.findLast((event) => this.subjectOf(event).stream === subject);
    if ((last?.meta.seq ?? 0) !== expected.seq) return Promise.resolve({ kind: 'conflict' });
    const appended = facts.map((fact, index) => this.store(stream, fact, cause, expected.streamVersion + index + 1));
    const seq = appended.at(-1)?.meta.seq ?? expected.seq;
    const position = { seq, streamVersion: expected.streamVersion + facts.length, hash: `hash-${seq}` };
    return Promise.resolve({ kind: 'appended', events: appended, position });
  }

  private subjectOf(event: StoredEvent): { readonly stream: string; readonly tokens: readonly string[] } {
    const known = this.subjects.get(event);
    if (known !== undefined) return known;
    const stream = streamSubject(event.meta);
    const subject = { stream, tokens: `${stream}.${event.type}`.split('.') };
    this.subjects.set(event, subject);
    return subject;
  }

  private store(stream: StreamId, fact: Fact, cause: Cause, streamVersion: number): StoredEvent {
    const seq = this.events.length + 1;
    const subject = streamSubject(stream);
    const before = this.events.findLast((other) => this.subjectOf(other).stream === subject);
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
      meta: { ...meta, prevHash: before === undefined ? FIRST_PREVHASH : `hash-${before.meta.seq}` },
    } as StoredEvent;
    this.events.push(event);
    return event;
  }
}

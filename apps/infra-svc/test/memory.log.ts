import {
  FIRST_PREVHASH,
  parseEventSubject,
  streamSubject,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import type { AppendResult, Cause, EventStore, LogEntry, StreamPosition } from '@fairlead/event-sourcing';

const EPOCH_MS = Date.parse('2026-01-01T00:00:00.000Z');

/** Does an event's subject match a filter with NATS wildcards? */
const matches = (filter: string, subject: string): boolean => {
  const wanted = filter.split('.');
  const tokens = subject.split('.');
  return wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at]);
};

/** The event log in memory, with the optimistic concurrency of the real one. */
export class MemoryLog implements EventStore {
  readonly events: StoredEvent[] = [];
  private readonly positions = new Map<string, StreamPosition>();
  private readonly subjects: string[] = [];

  async read(filter: string, afterSeq: number): Promise<readonly { event: StoredEvent; hash: string }[]> {
    return this.events
      .filter((event, at) => event.meta.seq > afterSeq && matches(filter, this.subjects[at] ?? ''))
      .map((event) => ({ event, hash: `hash-${event.meta.seq}` }));
  }

  async entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]> {
    const found = await this.read(filter, afterSeq);
    return found.map(({ event, hash }) => {
      const { seq, context } = event.meta;
      return { seq, context, hash, event, rejection: undefined };
    });
  }

  async append(
    stream: StreamId,
    expected: StreamPosition,
    facts: readonly Fact[],
    cause: Cause,
  ): Promise<AppendResult> {
    const key = streamSubject(stream);
    const position = this.positions.get(key) ?? { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
    if (position.seq !== expected.seq) return { kind: 'conflict' };
    const events = facts.map((fact, at) => this.store(stream, fact, position.streamVersion + at + 1, cause));
    const seq = this.events.length;
    const after = { seq, streamVersion: position.streamVersion + facts.length, hash: `hash-${seq}` };
    this.positions.set(key, after);
    return { kind: 'appended', events, position: after };
  }

  /** States a fact of another service, whoever decides it there. */
  async say(stream: StreamId, fact: Fact): Promise<StoredEvent> {
    const position = this.positions.get(streamSubject(stream)) ?? { seq: 0, streamVersion: 0, hash: FIRST_PREVHASH };
    const cause = { actor: 'user/spec', correlationId: 'spec', causationId: 'spec' };
    const appended = await this.append(stream, position, [fact], cause);
    if (appended.kind === 'conflict') throw new Error('a single writer cannot conflict');
    return this.events[this.events.length - 1]!;
  }

  private store(stream: StreamId, fact: Fact, streamVersion: number, cause: Cause): StoredEvent {
    const seq = this.events.length + 1;
    const event = {
      ...fact,
      meta: {
        id: `event-${seq}`,
        seq,
        ...stream,
        time: new Date(EPOCH_MS + seq).toISOString(),
        actor: cause.actor,
        source: '/spec',
        correlationId: cause.correlationId,
        causationId: cause.causationId,
        streamVersion,
        prevHash: '',
      },
    } as StoredEvent;
    this.events.push(event);
    this.subjects.push(`${streamSubject(stream)}.${fact.type}`);
    if (parseEventSubject(this.subjects.at(-1)!) === undefined) throw new Error('not a subject of an event');
    return event;
  }
}

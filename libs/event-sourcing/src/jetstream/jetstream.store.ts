import { streamSubject, WorldFailure, wordsOf, type Fact, type StoredEvent, type StreamId } from '@fairlead/contracts';
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import type { AppendResult, Cause, EventStore, LogEntry, StreamPosition } from '../store.js';
import { readAll } from './direct.reader.js';
import { encode, entryOf, toStored, type EncodedEvent } from './envelope.codec.js';

export interface JetStreamStoreOptions {
  readonly nc: NatsConnection;
  /** Who writes, e.g. `/infra-svc`. */
  readonly source: string;
  readonly now: () => Date;
  readonly newId: () => string;
}

const APPEND_TIMEOUT_MS = 10_000;

/** Wrong last sequence: someone else wrote to the stream (nats-server error codes 10071 and 10164). */
const CONFLICTS = new Set([10071, 10164]);

interface PublishAnswer {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
}

/** The event log on JetStream: stream EVENTS, one subject per type, optimistic concurrency per deciding context. */
export class JetStreamStore implements EventStore {
  constructor(private readonly options: JetStreamStoreOptions) {}

  async read(filter: string, afterSeq: number): Promise<readonly { event: StoredEvent; hash: string }[]> {
    const entries = await this.entries(filter, afterSeq);
    return entries.flatMap(({ event, hash }) => (event === undefined ? [] : [{ event, hash }]));
  }

  async entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]> {
    const found: LogEntry[] = [];
    for await (const batch of readAll(this.options.nc, filter, afterSeq)) {
      for (const message of batch) found.push(entryOf(message));
    }
    return found;
  }

  async append(
    stream: StreamId,
    expected: StreamPosition,
    facts: readonly Fact[],
    cause: Cause,
  ): Promise<AppendResult> {
    const encoded = this.encodeAll(stream, expected, facts, cause);
    const answer = await (encoded.length === 1
      ? this.publishOne(stream, expected, encoded[0]!)
      : this.publishBatch(stream, expected, encoded));
    if (answer.error !== undefined) {
      if (CONFLICTS.has(answer.error.err_code ?? 0)) return { kind: 'conflict' };
      throw new WorldFailure({
        operation: 'append to the event log',
        target: streamSubject(stream),
        message: answer.error.description ?? `error ${answer.error.code}`,
      });
    }
    // An observation that is in the log already, possibly at another position than the one expected here.
    if (answer.duplicate === true) return { kind: 'conflict' };
    const lastSeq = answer.seq ?? 0;
    const firstSeq = lastSeq - encoded.length + 1;
    const events = encoded.map(({ subject, envelope }, index) => toStored(subject, firstSeq + index, envelope)!);
    const last = encoded[encoded.length - 1]!;
    return {
      kind: 'appended',
      events,
      position: { seq: lastSeq, streamVersion: last.envelope.streamversion, hash: last.hash },
    };
  }

  private encodeAll(stream: StreamId, expected: StreamPosition, facts: readonly Fact[], cause: Cause): EncodedEvent[] {
    const { now, newId, source } = this.options;
    const { observed } = cause;
    if (observed !== undefined && facts.length > 1) throw new Error('an observation is one fact');
    const time = now().toISOString();
    let position = expected;
    return facts.map((fact) => {
      const encoded = encode(stream, position, fact, { ...(observed ?? { id: newId(), time, source }), cause });
      position = { seq: position.seq, streamVersion: encoded.envelope.streamversion, hash: encoded.hash };
      return encoded;
    });
  }

  private publishOne(stream: StreamId, expected: StreamPosition, event: EncodedEvent): Promise<PublishAnswer> {
    return this.request(event, this.expectation(stream, expected, event.id));
  }

  /** All or none (atomic batch, ADR-50 of NATS, server >= 2.12). The client's own `commit` hides a conflict, so this is ours. */
  private async publishBatch(
    stream: StreamId,
    expected: StreamPosition,
    events: readonly EncodedEvent[],
  ): Promise<PublishAnswer> {
    const batchId = this.options.newId();
    let answer: PublishAnswer = {};
    for (const [index, event] of events.entries()) {
      const header = index === 0 ? this.expectation(stream, expected, event.id) : headers();
      header.set('Nats-Batch-Id', batchId);
      header.set('Nats-Batch-Sequence', String(index + 1));
      if (index === events.length - 1) header.set('Nats-Batch-Commit', '1');
      answer = await this.request(event, header);
      if (answer.error !== undefined) return answer;
    }
    return answer;
  }

  private expectation(stream: StreamId, expected: StreamPosition, id: string): MsgHdrs {
    const header = headers();
    header.set('Nats-Msg-Id', id);
    header.set('Nats-Expected-Last-Subject-Sequence', String(expected.seq));
    header.set('Nats-Expected-Last-Subject-Sequence-Subject', `${streamSubject(stream)}.>`);
    return header;
  }

  private async request(event: EncodedEvent, header: MsgHdrs): Promise<PublishAnswer> {
    try {
      const answer = await this.options.nc.request(event.subject, event.bytes, {
        headers: header,
        timeout: APPEND_TIMEOUT_MS,
      });
      return answer.data.length === 0 ? {} : answer.json<PublishAnswer>();
    } catch (error) {
      const message = wordsOf(error);
      throw new WorldFailure({ operation: 'append to the event log', target: event.subject, message, cause: error });
    }
  }
}

import {
  FIRST_PREVHASH,
  streamSubject,
  ExternalFailure,
  wordsOf,
  type Fact,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { errors, headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  requireRoomForElsewhere,
  type AppendResult,
  type Cause,
  type EventStore,
  type Expected,
  type LogEntry,
  type StreamPosition,
} from '../store.js';
import { readAll, readLastOfEach, readLastSeq } from './direct.reader.js';
import { encode, entryOf, toStored, type EncodedEvent } from './envelope.codec.js';

export interface JetStreamStoreOptions {
  readonly nc: NatsConnection;
  /** The writer, e.g. `/infra-svc`. */
  readonly source: string;
  readonly now: () => Date;
  readonly newId: () => string;
}

interface Message {
  readonly event: EncodedEvent;
  readonly header: MsgHdrs;
}

/** Longer than a cluster of NATS takes to elect a new leader of the stream. */
const APPEND_TIMEOUT_MS = 10_000;
/** Delay between attempts while the stream has no leader. */
const LEADER_RETRY_MS = 100;

/** Wrong last sequence: another writer appended to the stream (nats-server error codes 10071 and 10164). */
const CONFLICTS = new Set([10071, 10164]);

interface PublishAnswer {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
}

/** No client listens on the subject. */
const isUnanswerable = (error: unknown): boolean =>
  error instanceof errors.NoRespondersError || (error instanceof errors.RequestError && error.isNoResponders());

/** Expects that nothing was written to the stream after `seq`. */
const expect = (header: MsgHdrs, stream: StreamId, seq: number): void => {
  header.set('Nats-Expected-Last-Subject-Sequence', String(seq));
  header.set('Nats-Expected-Last-Subject-Sequence-Subject', `${streamSubject(stream)}.>`);
};

/**
 * A one-node cluster has fewer subjects than this when it is Ready. A higher limit would be read in vain for larger
 * clusters.
 */
const FEW_MAX = 32;

/** Whether the hashes of each stream lead from its last message to its first. */
const isWhole = (entries: readonly LogEntry[]): boolean => {
  const last = new Map<string, string>();
  return entries.every(({ context, event, hash }) => {
    const follows = event?.meta.prevHash === (last.get(context) ?? FIRST_PREVHASH);
    last.set(context, hash);
    return follows;
  });
};

/** The event log on JetStream: stream EVENTS, one subject per type, optimistic concurrency per context. */
export class JetStreamStore implements EventStore {
  constructor(private readonly options: JetStreamStoreOptions) {}

  async read(filter: string, afterSeq: number): Promise<readonly { event: StoredEvent; hash: string }[]> {
    const entries = await this.entries(filter, afterSeq);
    return entries.flatMap(({ event, hash }) => (event === undefined ? [] : [{ event, hash }]));
  }

  async entries(filter: string, afterSeq: number): Promise<readonly LogEntry[]> {
    const { nc } = this.options;
    const known =
      afterSeq === 0 ? await this.few(filter) : (await readLastSeq(nc, filter)) <= afterSeq ? [] : undefined;
    if (known !== undefined) return known;
    const found: LogEntry[] = [];
    for await (const batch of readAll(nc, filter, afterSeq)) {
      for (const message of batch) found.push(entryOf(message));
    }
    return found;
  }

  /**
   * All matching entries if there are so few that the last message of each subject is everything. To find all, the
   * server scans each message since the first; for the last ones it has an index. undefined: there may be more.
   */
  private async few(filter: string): Promise<readonly LogEntry[] | undefined> {
    try {
      const entries = (await readLastOfEach(this.options.nc, [filter], FEW_MAX)).map(entryOf);
      return entries.length < FEW_MAX && isWhole(entries) ? entries : undefined;
    } catch (error) {
      if (error instanceof ExternalFailure) return undefined; // Too many subjects, or the log is unreachable: then the next read fails, too.
      throw error;
    }
  }

  async append(stream: StreamId, expected: Expected, facts: readonly Fact[], cause: Cause): Promise<AppendResult> {
    requireRoomForElsewhere(expected, facts);
    const encoded = this.encodeAll(stream, expected, facts, cause);
    const answer = await this.publishWaiting(() => this.messagesOf(stream, expected, encoded));
    if (answer.error !== undefined) {
      if (CONFLICTS.has(answer.error.err_code ?? 0)) return { kind: 'conflict' };
      throw new ExternalFailure({
        operation: 'append to the event log',
        target: streamSubject(stream),
        message: answer.error.description ?? `error ${answer.error.code}`,
      });
    }
    // An observation that is already in the log, possibly at another position than expected here.
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

  /**
   * All or none (atomic batch, ADR-50 of NATS, server >= 2.12); one event needs no batch. The client's own `commit`
   * hides a conflict, so it is not used.
   */
  private messagesOf(stream: StreamId, expected: Expected, events: readonly EncodedEvent[]): readonly Message[] {
    const batchId = this.options.newId();
    return events.map((event, index) => {
      const header = headers();
      if (index === 0) {
        header.set('Nats-Msg-Id', event.id);
        expect(header, stream, expected.seq);
      }
      if (index === 1 && expected.elsewhere !== undefined)
        expect(header, expected.elsewhere.stream, expected.elsewhere.seq);
      if (events.length > 1) {
        header.set('Nats-Batch-Id', batchId);
        header.set('Nats-Batch-Sequence', String(index + 1));
        if (index === events.length - 1) header.set('Nats-Batch-Commit', '1');
      }
      return { event, header };
    });
  }

  /** Without a leader the message is not stored, so it can be published again; a batch is restarted. */
  private async publishWaiting(messages: () => readonly Message[]): Promise<PublishAnswer> {
    const deadline = performance.now() + APPEND_TIMEOUT_MS;
    for (;;) {
      try {
        return await this.publish(messages());
      } catch (error) {
        const hasNoLeader = error instanceof ExternalFailure && isUnanswerable(error.cause);
        if (!hasNoLeader || performance.now() + LEADER_RETRY_MS >= deadline) throw error;
      }
      await sleep(LEADER_RETRY_MS);
    }
  }

  /** The server replies to the last message, for all of them. */
  private async publish(messages: readonly Message[]): Promise<PublishAnswer> {
    const { nc } = this.options;
    const { event, header } = messages[messages.length - 1]!;
    try {
      for (const before of messages.slice(0, -1))
        nc.publish(before.event.subject, before.event.bytes, { headers: before.header });
      const answer = await nc.request(event.subject, event.bytes, { headers: header, timeout: APPEND_TIMEOUT_MS });
      return answer.json<PublishAnswer>();
    } catch (error) {
      const message = wordsOf(error);
      throw new ExternalFailure({ operation: 'append to the event log', target: event.subject, message, cause: error });
    }
  }
}

import { STREAMS, ExternalFailure } from '@fairlead/contracts';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { headOf } from './message.head.js';

/** A stored message, as returned by JetStream's direct get. */
export interface RawEvent {
  readonly subject: string;
  readonly seq: number;
  readonly bytes: Uint8Array;
}

const READ_TIMEOUT_MS = 5_000;
const END_OF_BATCH = 204;
const NOT_FOUND = 404;

/** Up to `limit` messages of EVENTS after a sequence, or from a time on, that match a subject filter, in order. */
export const readBatch = (
  nc: NatsConnection,
  filter: string,
  after: number | Date,
  limit: number,
): Promise<RawEvent[]> => {
  const start = typeof after === 'number' ? { seq: after + 1 } : { start_time: after.toISOString() };
  return directGet(nc, { ...start, next_by_subj: filter, batch: limit });
};

/**
 * The last message of EVENTS on each subject that matches one of the filters, in order, up to `limit` of them. The
 * server rejects more than 1024 subjects.
 */
export const readLastOfEach = (
  nc: NatsConnection,
  filters: readonly string[],
  limit = READ_BATCH,
): Promise<RawEvent[]> => directGet(nc, { multi_last: filters, batch: limit });

/**
 * The sequence of the last message of EVENTS that matches a subject filter; 0: none. The server has an index for this.
 * To find what follows a message, it scans up to 8 MB of the log.
 */
export const readLastSeq = async (nc: NatsConnection, filter: string): Promise<number> => {
  const request = nc.request(GET, JSON.stringify({ last_by_subj: filter }), { timeout: READ_TIMEOUT_MS });
  const answer = await request.catch((error: unknown) => {
    throw failure(String(error));
  });
  const { code, description, seq } = headOf(answer);
  if (code === NOT_FOUND) return 0;
  if (code !== 0) throw failure(`${code} ${description}`.trim());
  return seq;
};

const GET = `$JS.API.DIRECT.GET.${STREAMS.events}`;

const failure = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read events', target: STREAMS.events, message });

/**
 * Replies to the direct gets of a connection. They share one subscription: one per request would cost the server two
 * more operations.
 */
class Answers {
  private static readonly ofConnection = new WeakMap<NatsConnection, Answers>();
  private readonly inbox: string;
  private readonly readers = new Map<string, (error: Error | null, message: Msg) => void>();
  private lastToken = 0;

  static of(nc: NatsConnection): Answers {
    const known = Answers.ofConnection.get(nc);
    if (known !== undefined) return known;
    const answers = new Answers(nc);
    Answers.ofConnection.set(nc, answers);
    return answers;
  }

  private constructor(nc: NatsConnection) {
    this.inbox = createInbox(inboxPrefixOf(nc));
    nc.subscribe(`${this.inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.readers.get(message.subject)?.(null, message);
        // The subscription was rejected, so no reader gets a reply; the next read creates another.
        else {
          Answers.ofConnection.delete(nc);
          for (const reader of [...this.readers.values()]) reader(error, message);
        }
      },
    });
  }

  /** A reply subject whose messages all go to the reader, until it is closed. */
  open(reader: (error: Error | null, message: Msg) => void): string {
    this.lastToken += 1;
    const reply = `${this.inbox}.${this.lastToken}`;
    this.readers.set(reply, reader);
    return reply;
  }

  close(reply: string): void {
    this.readers.delete(reply);
  }
}

/**
 * One batched direct get (ADR-31 of NATS). The client library's own `getBatch` keeps its subscription after the end of
 * a batch, so it is not used.
 */
const directGet = (nc: NatsConnection, request: object): Promise<RawEvent[]> =>
  new Promise((resolve, reject) => {
    const found: RawEvent[] = [];
    const answers = Answers.of(nc);
    const close = (): void => {
      clearTimeout(timer);
      answers.close(reply);
    };
    const failed = (message: string): void => {
      close();
      reject(failure(message));
    };
    const reply = answers.open((error, message) => {
      if (error !== null) return failed(error.message);
      const { code, description, subject, seq } = headOf(message);
      if (code === END_OF_BATCH || code === NOT_FOUND) {
        close();
        resolve(found);
      } else if (code !== 0) {
        failed(`${code} ${description}`.trim());
      } else {
        timer.refresh();
        found.push({ subject, seq, bytes: message.data });
      }
    });
    const timer = setTimeout(() => failed('timeout'), READ_TIMEOUT_MS);
    try {
      nc.publish(GET, JSON.stringify(request), { reply });
    } catch (error) {
      failed(String(error));
    }
  });

export const inboxPrefixOf = (nc: NatsConnection): string | undefined => {
  const options = (nc as NatsConnection & { readonly options?: { readonly inboxPrefix?: string } }).options;
  return options?.inboxPrefix;
};

/** Messages per read: about 300 KB of events. */
export const READ_BATCH = 1_000;

/**
 * All matching messages after a sequence, batch by batch. The server reads the next batch while the reader works on the
 * previous one.
 */
export async function* readAll(
  nc: NatsConnection,
  filter: string,
  afterSeq: number,
): AsyncGenerator<readonly RawEvent[]> {
  const begin = (after: number): Promise<RawEvent[]> => {
    const reading = readBatch(nc, filter, after, READ_BATCH);
    reading.catch(() => undefined); // Awaited later, or not at all if the reader stops early.
    return reading;
  };
  for (let batch = await begin(afterSeq); ;) {
    const last = batch.at(-1);
    if (last === undefined) return;
    const next = batch.length === READ_BATCH ? begin(last.seq) : undefined;
    yield batch;
    if (next === undefined) return;
    batch = await next;
  }
}

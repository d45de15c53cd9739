import { STREAMS, ExternalFailure } from '@fairlead/contracts';
import { createInbox, nuid, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { inboxPrefixOf, READ_BATCH, type RawEvent } from './direct.reader.js';

const TIMEOUT_MS = 5_000;
/** A consumer that is not deleted, because its reader crashed, expires after this time. */
const FORGOTTEN_AFTER_MS = 30_000;
/** Messages in transit while the reader works, so that the server continues meanwhile. */
const AHEAD_MAX = 8 * READ_BATCH;

/** Length of the random name, which each message carries; an existing name is rejected. */
const NAME_LENGTH = 10;

const nanosOf = (ms: number): number => ms * 1_000_000;

const failure = (message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'read the log in one pass', target: STREAMS.events, message });

interface Place {
  readonly seq: number;
  readonly delivered: number;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<times>.<seq>.<delivered>.<time>.<pending>`; another form has more tokens at both ends.
 */
const PLACE =
  /^\$JS\.ACK\.(?:[^.]+\.){2}\d+\.(\d+)\.(\d+)\.\d+\.\d+$|^\$JS\.ACK\.(?:[^.]+\.){4}\d+\.(\d+)\.(\d+)\.\d+\.\d+\.[^.]+$/;

/** A status message of the server has none. */
const placeOf = (reply: string): Place | undefined => {
  const [, seq, delivered, sameSeq, sameDelivered] = PLACE.exec(reply) ?? [];
  if (seq === undefined && sameSeq === undefined) return undefined;
  return { seq: Number(seq ?? sameSeq), delivered: Number(delivered ?? sameDelivered) };
};

interface Waiter {
  readonly count: number;
  readonly timer: NodeJS.Timeout;
  readonly resolve: (batch: readonly RawEvent[]) => void;
  readonly reject: (error: Error) => void;
}

/** Messages that a consumer has delivered and the reader has not taken. */
class Delivered {
  private messages: RawEvent[] = [];
  private delivered = 0;
  private failed: Error | undefined;
  private waiter: Waiter | undefined;

  readonly take = (error: Error | null, message: Msg): void => {
    if (error !== null) return this.fail(error);
    const place = placeOf(message.reply ?? '');
    if (place?.delivered !== this.delivered + 1)
      return this.fail(failure(`message ${this.delivered + 1} did not come`));
    this.delivered = place.delivered;
    this.messages.push({ subject: message.subject, seq: place.seq, bytes: message.data });
    this.waiter?.timer.refresh();
    if (this.messages.length === this.waiter?.count) this.serve(this.waiter);
  };

  /** The next `count` messages. */
  next(count: number): Promise<readonly RawEvent[]> {
    return new Promise((resolve, reject) => {
      if (this.failed !== undefined) return reject(this.failed);
      const timer = setTimeout(() => this.fail(failure('timeout')), TIMEOUT_MS);
      this.waiter = { count, timer, resolve, reject };
      if (this.messages.length >= count) this.serve(this.waiter);
    });
  }

  private serve({ count, timer, resolve }: Waiter): void {
    clearTimeout(timer);
    this.waiter = undefined;
    resolve(this.messages.splice(0, count));
  }

  private fail(error: Error): void {
    this.failed = error;
    clearTimeout(this.waiter?.timer);
    this.waiter?.reject(error);
    this.waiter = undefined;
  }
}

const create = async (
  nc: NatsConnection,
  consumer: string,
  { filter, afterSeq }: { readonly filter: string; readonly afterSeq: number },
): Promise<number> => {
  const config = {
    name: consumer,
    deliver_policy: 'by_start_sequence',
    opt_start_seq: afterSeq + 1,
    filter_subject: filter,
    ack_policy: 'none',
    replay_policy: 'instant',
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: nanosOf(FORGOTTEN_AFTER_MS),
  };
  const answer = await nc.request(
    `$JS.API.CONSUMER.CREATE.${STREAMS.events}.${consumer}`,
    JSON.stringify({ stream_name: STREAMS.events, config, action: 'create' }),
    { timeout: TIMEOUT_MS },
  );
  const { error, num_pending: pending } = answer.json<{
    readonly error?: { readonly description?: string };
    readonly num_pending?: number;
  }>();
  if (error !== undefined) throw failure(error.description ?? 'the server has made no consumer');
  return pending ?? 0;
};

/**
 * All messages after a sequence that match a filter, in order and in batches, up to the current end of the log. For
 * very many messages: a server-side consumer, created for this pass, delivers a message for half of the CPU time of a
 * direct get. Deliveries are counted, so that a missing message is detected.
 */
export async function* readPass(
  nc: NatsConnection,
  filter: string,
  afterSeq: number,
): AsyncGenerator<readonly RawEvent[]> {
  const consumer = nuid.next().slice(-NAME_LENGTH);
  let left = await create(nc, consumer, { filter, afterSeq });
  let unasked = left;
  const inbox = createInbox(inboxPrefixOf(nc));
  const delivered = new Delivered();
  const subscription = nc.subscribe(inbox, { callback: delivered.take });
  const ask = (): void => {
    const batch = Math.min(READ_BATCH, unasked);
    if (batch === 0) return;
    unasked -= batch;
    nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${STREAMS.events}.${consumer}`, JSON.stringify({ batch }), { reply: inbox });
  };
  try {
    for (let asked = 0; asked < AHEAD_MAX; asked += READ_BATCH) ask();
    while (left > 0) {
      const batch = await delivered.next(Math.min(READ_BATCH, left));
      left -= batch.length;
      ask();
      yield batch;
    }
  } finally {
    if (!nc.isClosed()) {
      subscription.unsubscribe();
      nc.publish(`$JS.API.CONSUMER.DELETE.${STREAMS.events}.${consumer}`);
    }
  }
}

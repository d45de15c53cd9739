import { STREAMS, WorldFailure } from '@fairlead/contracts';
import { createInbox, type Msg, type NatsConnection } from '@nats-io/transport-node';

/** A stored message, as JetStream's direct get answers it. */
export interface RawEvent {
  readonly subject: string;
  readonly seq: number;
  readonly bytes: Uint8Array;
}

const READ_TIMEOUT_MS = 5_000;
const END_OF_BATCH = 204;
const NOT_FOUND = 404;

/**
 * Reads up to `limit` messages of EVENTS after a sequence that match a subject filter, in order, by one batched direct get
 * (ADR-31 of NATS). The client library's own `getBatch` keeps its subscription after the end of a batch, so this is ours.
 */
export const readBatch = (nc: NatsConnection, filter: string, afterSeq: number, limit: number): Promise<RawEvent[]> =>
  new Promise((resolve, reject) => {
    const found: RawEvent[] = [];
    const inbox = createInbox(inboxPrefixOf(nc));
    const failed = (message: string): void => {
      subscription.unsubscribe();
      reject(new WorldFailure({ operation: 'read events', target: STREAMS.events, message }));
    };
    const onMessage = (error: Error | null, message: Msg): void => {
      if (error !== null) return failed(error.message);
      const code = message.headers?.code ?? 0;
      if (code === END_OF_BATCH || code === NOT_FOUND) {
        subscription.unsubscribe();
        resolve(found);
      } else if (code !== 0) {
        failed(`${code} ${message.headers?.description ?? ''}`.trim());
      } else {
        found.push(toRaw(message));
      }
    };
    const subscription = nc.subscribe(inbox, { callback: onMessage, timeout: READ_TIMEOUT_MS });
    const request = { seq: afterSeq + 1, next_by_subj: filter, batch: limit };
    try {
      nc.publish(`$JS.API.DIRECT.GET.${STREAMS.events}`, JSON.stringify(request), { reply: inbox });
    } catch (error) {
      failed(String(error));
    }
  });

const toRaw = (message: Msg): RawEvent => ({
  subject: message.headers?.last('Nats-Subject') ?? '',
  seq: Number(message.headers?.last('Nats-Sequence') ?? 0),
  bytes: message.data,
});

const inboxPrefixOf = (nc: NatsConnection): string | undefined => {
  const options = (nc as NatsConnection & { readonly options?: { readonly inboxPrefix?: string } }).options;
  return options?.inboxPrefix;
};

/** How many messages one read asks for: about 300 KB of events. */
export const READ_BATCH = 1_000;

/** All matching messages after a sequence, batch by batch. */
export async function* readAll(
  nc: NatsConnection,
  filter: string,
  afterSeq: number,
): AsyncGenerator<readonly RawEvent[]> {
  let after = afterSeq;
  for (;;) {
    const batch = await readBatch(nc, filter, after, READ_BATCH);
    if (batch.length === 0) return;
    yield batch;
    after = batch[batch.length - 1]?.seq ?? after;
    if (batch.length < READ_BATCH) return;
  }
}

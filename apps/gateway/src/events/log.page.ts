import type { LogMessage, StoredEvent } from '@fairlead/contracts';
import { entryOf, readBatch, READ_BATCH } from '@fairlead/event-sourcing/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { isUtf8 } from 'node:buffer';
import { tenantEventView } from './event.redaction.js';

/** A page ends with the message that makes it larger than this, and says where to read on. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

type RawEvent = Awaited<ReturnType<typeof readBatch>>[number];

export interface LogRequest {
  readonly filter: string;
  readonly after: number;
  readonly limit: number;
  /** May see the settings of connections. */
  readonly isAdministrator: boolean;
}

/** Whether a tenant may see the event as it is. */
const isWhole = (event: StoredEvent): boolean =>
  JSON.stringify(tenantEventView(event).data) === JSON.stringify(event.data);

const messageOf = (raw: RawEvent, isAdministrator: boolean): LogMessage => {
  const { seq, context, hash, event } = entryOf(raw);
  const isShown = isUtf8(raw.bytes) && (isAdministrator || (event !== undefined && isWhole(event)));
  return {
    seq,
    context,
    sha256: hash,
    prevHash: event?.meta.prevHash ?? '',
    message: isShown ? Buffer.from(raw.bytes).toString('utf8') : null,
  };
};

/** The log as it is stored, for those who check it themselves. */
export const readLogPage = async (
  nats: NatsConnection,
  { filter, after, limit, isAdministrator }: LogRequest,
): Promise<{ items: LogMessage[]; next: number | null }> => {
  const items: LogMessage[] = [];
  let last = after;
  let bytes = 0;
  for (;;) {
    const batch = await readBatch(nats, filter, last, READ_BATCH);
    for (const raw of batch) {
      if (items.length === limit || bytes >= PAGE_BYTES_MAX) return { items, next: last };
      items.push(messageOf(raw, isAdministrator));
      last = raw.seq;
      bytes += raw.bytes.length;
    }
    if (batch.length < READ_BATCH) return { items, next: null };
  }
};

import { isEventType, parseEventSubject, refuse, type StoredEvent } from '@fairlead/contracts';
import { decode, NATS, readBatch, READ_BATCH } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { RefusalError } from '../http/refusal.error.js';
import { PAGE_BYTES_MAX, readLogPage, type LogRequest } from './log.page.js';

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** Where to read on; null: the end of the log was reached. */
  readonly next: number | null;
}

/** Bounds what one request may read past without finding anything that it wants. */
const MESSAGES_READ_MAX = 50_000;

/** The types of a comma-separated list; undefined: all. */
export const typesOf = (list: string | undefined): ReadonlySet<string> | undefined => {
  if (list === undefined || list.trim() === '') return undefined;
  const types = list.split(',').map((type) => type.trim());
  const unknown = types.find((type) => !isEventType(type));
  if (unknown !== undefined)
    throw new RefusalError(refuse('request.malformed', { detail: `type: unknown event ${unknown}` }, 'type'));
  return new Set(types);
};

export interface PageRequest {
  readonly filter: string;
  readonly after: number;
  readonly limit: number;
  readonly types: ReadonlySet<string> | undefined;
}

/** Reads the log page by page. */
@Injectable()
export class EventReader {
  constructor(@Inject(NATS) private readonly nats: NatsConnection) {}

  /** Whether anything that matches was stated after the sequence. */
  async hasAny(filter: string, after: number): Promise<boolean> {
    return (await readBatch(this.nats, filter, after, 1)).length > 0;
  }

  /** Messages as they are stored, with their hashes. */
  messages(request: LogRequest): ReturnType<typeof readLogPage> {
    return readLogPage(this.nats, request);
  }

  async page({ filter, after, limit, types }: PageRequest): Promise<EventPage> {
    const events: StoredEvent[] = [];
    let last = after;
    let read = 0;
    let bytesFound = 0;
    for (;;) {
      const batch = await readBatch(this.nats, filter, last, READ_BATCH);
      for (const { subject, seq, bytes } of batch) {
        if (events.length === limit || bytesFound >= PAGE_BYTES_MAX) return { events, next: last };
        last = seq;
        const type = parseEventSubject(subject)?.type ?? '';
        if (types !== undefined && !types.has(type)) continue;
        const event = decode(subject, seq, bytes);
        if (event === undefined) continue;
        events.push(event);
        bytesFound += bytes.length;
      }
      read += batch.length;
      if (batch.length < READ_BATCH) return { events, next: null };
      if (read >= MESSAGES_READ_MAX) return { events, next: last };
    }
  }
}

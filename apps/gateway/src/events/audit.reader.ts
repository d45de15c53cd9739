import type { AuditView } from '@fairlead/contracts';
import { entryOf, NATS, readBatch, READ_BATCH } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { LRUCache } from 'lru-cache';
import type { ServerResponse } from 'node:http';
import { TokenSlots } from '../limits/token.slots.js';
import { AUDIT_BEGINNING, AuditReplay, type AuditPlace } from './audit.js';
import { PAGE_BYTES_MAX } from './log.page.js';

/** Places at which pages ended, for those who read on: without it a page is replayed from the beginning, as at another replica. */
const PLACES_MAX = 32;
const PLACE_KEPT_MS = 60_000;

export interface AuditPageRequest {
  readonly filter: string;
  /** From where on the history is the caller's to read. */
  readonly since: number;
  /** The page begins after it. */
  readonly after: number;
  /** Messages of the log on the page. */
  readonly limit: number;
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal;
}

/** Whose slot is taken until the response is over. */
export interface AuditReadBy {
  readonly tokenId: string;
  readonly response: Pick<ServerResponse, 'once'>;
}

type AuditPage = Pick<AuditView, 'items' | 'verification' | 'next'>;

interface Kept {
  readonly place: AuditPlace;
  readonly seq: number;
}

/** Replays histories page by page, in memory that is bounded by the page. */
@Injectable()
export class AuditReader {
  private readonly places = new LRUCache<string, Kept>({ max: PLACES_MAX, ttl: PLACE_KEPT_MS });

  constructor(
    @Inject(NATS) private readonly nats: NatsConnection,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  /** Refused when as many are read with the token already as may be. */
  async page(request: AuditPageRequest, { tokenId, response }: AuditReadBy): Promise<AuditPage> {
    this.slots.take('audits', tokenId, response);
    return this.replayed(request);
  }

  private async replayed({ filter, since, after, limit, signal }: AuditPageRequest): Promise<AuditPage> {
    const from = Math.max(since, after);
    const kept = this.places.get(keyOf(filter, since, from)) ?? { place: AUDIT_BEGINNING, seq: 0 };
    const replay = new AuditReplay(kept.place);
    let last = kept.seq;
    let sent = 0;
    let bytes = 0;
    for (;;) {
      if (signal.aborted) return { ...replay.page(), next: last };
      const batch = await readBatch(this.nats, filter, last, READ_BATCH);
      for (const message of batch) {
        if (sent === limit || bytes >= PAGE_BYTES_MAX) return this.endOf(replay, keyOf(filter, since, last), last);
        const entry = entryOf(message);
        last = entry.seq;
        if (entry.seq <= from) {
          replay.pass(entry, entry.seq > since);
          continue;
        }
        replay.tell(entry);
        sent += 1;
        bytes += message.bytes.length;
      }
      if (batch.length < READ_BATCH) return { ...replay.page(), next: null };
    }
  }

  private endOf(replay: AuditReplay, key: string, seq: number): AuditPage {
    this.places.set(key, { place: replay.place(), seq });
    return { ...replay.page(), next: seq };
  }
}

/** What one reader may see as a cause, another may not. */
const keyOf = (filter: string, since: number, seq: number): string => `${filter} ${since} ${seq}`;

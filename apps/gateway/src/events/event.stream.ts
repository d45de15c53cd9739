import { refuse, wordsOf, type EventView, type StoredEvent } from '@fairlead/contracts';
import { TAIL, type Tail } from '@fairlead/event-sourcing/jetstream';
import { deadlineAfter } from '@fairlead/service-kit';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { once } from 'node:events';
import type { HttpResponse } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { TokenSlots } from '../limits/token.slots.js';

const STREAMS_MAX = 500;
const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for so long is cut off; it comes back with Last-Event-ID and misses nothing. */
const STALLED_MS = 30_000;
/** How long a reader must wait before it connects again. */
const RETRY_MS = 1_000;

export interface StreamRequest {
  /** Of the token that asks. */
  readonly tokenId: string;
  readonly filter: string;
  readonly afterSeq: number;
  readonly types: ReadonlySet<string> | undefined;
  /** As the reader may see an event. */
  readonly view: (event: StoredEvent) => EventView;
  /** Whether the reader may see it, and what follows; false ends the stream. */
  readonly goesOn: (event: StoredEvent) => Promise<boolean>;
  /** Aborts when the reader has gone, or may no longer read. */
  readonly signal: AbortSignal;
}

const frame = (event: EventView): string =>
  `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/**
 * Server-sent events from the log. Each stream pulls from the log only as fast as its reader takes, so that nothing piles up
 * here. All end when the service stops, so that their readers go to another replica.
 */
@Injectable()
export class EventStreams implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private readonly log = new Logger('streams');
  private open = 0;

  constructor(
    @Inject(TAIL) private readonly tail: Tail,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Resolves when the stream has ended. */
  async serve(
    { tokenId, filter, afterSeq, types, view, goesOn, signal: ended }: StreamRequest,
    response: HttpResponse,
  ): Promise<void> {
    this.slots.take('streams', tokenId, response);
    if (this.open >= STREAMS_MAX) throw new Refused(refuse('system.too-many-streams', { max: STREAMS_MAX }));
    const signal = AbortSignal.any([ended, this.stopping.signal]);
    const heartbeat = setInterval(() => response.write(': still here\n\n'), HEARTBEAT_MS);
    this.open += 1;
    try {
      begin(response);
      for await (const event of this.tail(filter, afterSeq, signal)) {
        if (!(await goesOn(event))) break;
        if (types !== undefined && !types.has(event.type)) continue;
        if (!(await deliver(response, frame(view(event)), signal))) break;
      }
    } catch (error) {
      // The head is out: the reader learns of it by the end of the stream, and comes back.
      this.log.warn(`a stream of ${filter} ended: ${wordsOf(error)}`);
    } finally {
      this.open -= 1;
      clearInterval(heartbeat);
      response.end();
    }
  }
}

const begin = (response: HttpResponse): void => {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    Connection: 'keep-alive',
    // Proxies that buffer would hold events back.
    'X-Accel-Buffering': 'no',
  });
  response.write(`retry: ${RETRY_MS}\n\n`);
};

/** False when the reader has gone, or takes nothing any more. */
const deliver = async (response: HttpResponse, text: string, signal: AbortSignal): Promise<boolean> => {
  if (response.write(text)) return true;
  const stalled = deadlineAfter(STALLED_MS);
  const patience = AbortSignal.any([signal, stalled.signal]);
  return once(response, 'drain', { signal: patience })
    .then(
      () => true,
      () => false,
    )
    .finally(stalled.clear);
};

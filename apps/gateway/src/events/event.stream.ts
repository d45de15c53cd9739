import { refuse, wordsOf, type EventView, type StoredEvent } from '@fairlead/contracts';
import { TAIL, type Tail } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { beginStream, deliver, keepAlive } from '../http/server.sent.events.js';
import { TokenSlots } from '../limits/token.slots.js';

const STREAMS_MAX = 500;

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
    if (this.open >= STREAMS_MAX) throw new RefusalError(refuse('system.too-many-streams', { max: STREAMS_MAX }));
    const signal = AbortSignal.any([ended, this.stopping.signal]);
    this.open += 1;
    const alive = keepAlive(response);
    try {
      beginStream(response);
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
      alive.stop();
      response.end();
    }
  }
}

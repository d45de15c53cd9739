import type { StoredEvent } from '@fairlead/contracts';
import { TAIL, type Tail } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { HttpResponse } from '../http/http.types.js';
import { idOf } from './tokens.js';

const REVOCATIONS = 'evt.*.*.*.audit.ApiTokenRevoked';

const NEVER = new AbortController().signal;

/** What each token is used for right now, so that it ends when the token is revoked, at whichever replica that was. */
@Injectable()
export class TokenSessions implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly sessions = new Map<string, Set<AbortController>>();
  private readonly stopping = new AbortController();

  constructor(@Inject(TAIL) private readonly tail: Tail) {}

  onApplicationBootstrap(): void {
    void this.follow();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Aborts when the token is revoked before the response is over. */
  open(token: string, response: HttpResponse): AbortSignal {
    const id = idOf(token);
    if (id === undefined) return NEVER;
    const session = new AbortController();
    const others = this.sessions.get(id) ?? new Set();
    this.sessions.set(id, others.add(session));
    response.once('close', () => {
      others.delete(session);
      if (others.size === 0 && this.sessions.get(id) === others) this.sessions.delete(id);
    });
    return session.signal;
  }

  /** Ends whatever the token is used for at this replica. */
  end(id: string): void {
    for (const session of this.sessions.get(id) ?? []) session.abort();
  }

  private async follow(): Promise<void> {
    try {
      for await (const event of this.tail(REVOCATIONS, 0, this.stopping.signal)) this.take(event);
    } catch (error) {
      // The connection closes under a reader that is being stopped.
      if (!this.stopping.signal.aborted) throw error;
    }
  }

  private take(event: StoredEvent): void {
    if (event.type === 'ApiTokenRevoked') this.end(event.data.id);
  }
}

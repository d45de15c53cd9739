import { refuse, type Refusal, type StoredEvent } from '@fairlead/contracts';
import { TAIL, type Tail } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { HttpResponse } from '../http/http.types.js';

const REVOCATIONS = 'evt.*.*.*.audit.ApiTokenRevoked';

/** Longer timers would fire at once (2^31 ms are 24 days). */
const TIMER_MAX_MS = 2 ** 31 - 1;

export const expired = (expiresAt: Date): Refusal =>
  refuse('auth.token-expired', { expiresAt: expiresAt.toISOString() });

/** One use of a token. */
export interface TokenSession {
  /** Aborts when the token is revoked or ends before the response is over; its reason is the refusal. */
  readonly signal: AbortSignal;
  /** Ends the session at that time. */
  endAt(expiresAt: Date): void;
  /** Ends the session when `look` finds a reason, which it looks for this often, or fails. */
  watch(look: () => Promise<Refusal | undefined>, everyMs: number, response: HttpResponse): void;
}

/** What each token is used for right now, so that it ends when the token ends or is revoked, at whichever replica that was. */
@Injectable()
export class TokenSessions implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly sessions = new Map<string, Set<AbortController>>();
  private readonly stopping = new AbortController();
  private following: Promise<void> | undefined;

  constructor(
    @Inject(TAIL) private readonly tail: Tail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    this.following ??= this.follow();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /** Of a token, and of a session of the page if it is one; lasts as long as the response. */
  open(used: readonly (string | undefined)[], response: HttpResponse): TokenSession {
    const ids = used.filter((id) => id !== undefined);
    const session = new AbortController();
    for (const id of ids) this.keep(id, session, response);
    return {
      signal: session.signal,
      endAt: (expiresAt) => this.endAt(session, expiresAt, response),
      watch: (look, everyMs, until) => this.watch(session, { look, everyMs }, until),
    };
  }

  private keep(id: string, session: AbortController, response: HttpResponse): void {
    const others = this.sessions.get(id) ?? new Set();
    this.sessions.set(id, others.add(session));
    response.once('close', () => {
      others.delete(session);
      if (others.size === 0 && this.sessions.get(id) === others) this.sessions.delete(id);
    });
  }

  /** Ends whatever the token, or the session of the page, is used for at this replica. */
  end(id: string, refusal: Refusal = refuse('auth.token-unknown')): void {
    for (const session of this.sessions.get(id) ?? []) session.abort(refusal);
  }

  private watch(
    session: AbortController,
    { look, everyMs }: { readonly look: () => Promise<Refusal | undefined>; readonly everyMs: number },
    response: HttpResponse,
  ): void {
    let timer: NodeJS.Timeout | undefined;
    const again = (): void => {
      timer = setTimeout(() => {
        look().then(
          (refusal) => (refusal === undefined ? again() : session.abort(refusal)),
          () => session.abort(refuse('issuer.unavailable')),
        );
      }, everyMs);
    };
    again();
    response.once('close', () => clearTimeout(timer));
  }

  private endAt(session: AbortController, expiresAt: Date, response: HttpResponse): void {
    const leftMs = (): number => expiresAt.getTime() - this.clock.now().getTime();
    const wait = (): NodeJS.Timeout =>
      setTimeout(
        () => {
          if (leftMs() <= 0) session.abort(expired(expiresAt));
          else timer = wait();
        },
        Math.min(Math.max(leftMs(), 0), TIMER_MAX_MS),
      );
    let timer = wait();
    response.once('close', () => clearTimeout(timer));
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

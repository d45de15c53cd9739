import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import type { Credential } from './credential.js';
import { SessionsStore } from './sessions.store.js';
import { TokenSessions } from './token.sessions.js';
import { idOf } from '@fairlead/embedded/credentials';
import { TokenStore, type Identified } from './tokens.store.js';

/** Callers with an API token, or with a session of the page that stands for one. */
@Injectable()
export class TokenCallers {
  constructor(
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(SessionsStore) private readonly pageSessions: SessionsStore,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The session is open before the token is looked up, so that a revocation in between ends it as well. */
  async identify({ kind, text }: Credential, response: HttpResponse, request: HttpRequest): Promise<Identified> {
    const now = this.clock.now();
    const opened = kind === 'session' ? await this.pageSessions.find(text, now) : undefined;
    if (kind === 'session' && opened === undefined) return { kind: 'unknown' };
    const session = this.sessions.open(opened === undefined ? [idOf(text)] : [opened.tokenId, opened.id], response);
    const found = await (opened === undefined
      ? this.tokens.identify(text, now)
      : this.tokens.holder(opened.tokenId, now));
    if (found.kind === 'known' && found.identity.expiresAt !== undefined) session.endAt(found.identity.expiresAt);
    request.tokenEnded = session.signal;
    request.pageSession = opened?.id;
    return found;
  }
}

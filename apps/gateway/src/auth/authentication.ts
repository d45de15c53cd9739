import { refuse } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { LADYBUG } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { KIT_PATHS } from './access.js';
import { FailureLimit } from './failures.limit.js';
import type { Identity } from './identity.js';
import { TokenSessions } from './token.sessions.js';
import { hashOf } from './tokens.js';
import { TokenStore } from './tokens.store.js';

const BEARER = /^Bearer +([^ ]+)$/i;

/** Open to everybody: what is served without a token. Documents are served before any token is looked for. */
const OPEN_PATHS: ReadonlySet<string> = new Set([...KIT_PATHS, `/${LADYBUG}/healthy`]);

const tokenOf = (request: HttpRequest): string => {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) throw new Refused(refuse('auth.token-missing'));
  return token;
};

/** Finds out who asks, before anything else of the request is read. */
@Injectable()
export class Authentication {
  private readonly limit = new FailureLimit();

  constructor(
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
  ) {}

  /** Express middleware. What it throws is answered by the filter. */
  readonly middleware = async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    if (!OPEN_PATHS.has(request.path)) {
      const token = tokenOf(request);
      const address = request.ip ?? '';
      const hash = hashOf(token).toString('base64');
      const identity = await this.limit.inTurn(address, hash, () => this.identify(token, response, request));
      if (identity === undefined) throw new Refused(this.refusalOf(address, hash));
      this.limit.succeeded(hash);
      request.identity = identity;
    }
    next();
  };

  /** The session is open before the token is looked up, so that a revocation in between ends it as well. */
  private async identify(token: string, response: HttpResponse, request: HttpRequest): Promise<Identity | undefined> {
    const session = this.sessions.open(token, response);
    const identity = await this.tokens.identify(token);
    request.revoked = session;
    return identity;
  }

  private refusalOf(address: string, hash: string): ReturnType<typeof refuse> {
    const seconds = this.limit.failed(address, hash);
    return seconds > 0 ? refuse('auth.too-many-failures', { address, seconds }) : refuse('auth.token-unknown');
  }
}

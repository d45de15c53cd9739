import { refuse, type Refusal } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { LADYBUG } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { KIT_PATHS } from '../access/access.js';
import { FailureLimit } from './failures.limit.js';
import { expired, TokenSessions } from './token.sessions.js';
import { hashOf } from './tokens.js';
import { TokenStore, type Identified } from './tokens.store.js';

const BEARER = /^Bearer +([^ ]+)$/i;

/** Open to everyone: what is served without a token. Documents are served before any token is looked for. */
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
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Express middleware. What it throws is answered by the filter. */
  readonly middleware = async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    if (!OPEN_PATHS.has(request.path)) {
      const token = tokenOf(request);
      const address = request.ip ?? '';
      const hash = hashOf(token).toString('base64');
      const found = await this.limit.inTurn(address, hash, () => this.identify(token, response, request));
      if (found.kind !== 'known') throw new Refused(this.refusalOf(found, address, hash));
      this.limit.succeeded(hash);
      request.identity = found.identity;
    }
    next();
  };

  /** The session is open before the token is looked up, so that a revocation in between ends it as well. */
  private async identify(token: string, response: HttpResponse, request: HttpRequest): Promise<Identified> {
    const session = this.sessions.open(token, response);
    const found = await this.tokens.identify(token, this.clock.now());
    if (found.kind === 'known' && found.identity.expiresAt !== undefined) session.endAt(found.identity.expiresAt);
    request.tokenEnded = session.signal;
    return found;
  }

  /** One that has ended counts as a wrong one; only its holder can distinguish the two. */
  private refusalOf(found: Exclude<Identified, { kind: 'known' }>, address: string, hash: string): Refusal {
    const seconds = this.limit.failed(address, hash);
    if (seconds > 0) return refuse('auth.too-many-failures', { address, seconds });
    return found.kind === 'expired' ? expired(found.expiresAt) : refuse('auth.token-unknown');
  }
}

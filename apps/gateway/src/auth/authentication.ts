import { refuse, type Refusal } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { bothBases } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { KIT_PATHS } from '../access/access.js';
import { UNKNOWN, type Credential } from './credential.js';
import { FailureLimit } from './failures.limit.js';
import { askingOf } from './session.request.js';
import { isFromOwnPage, sessionIn } from './session.rules.js';
import { TokenCallers } from './token.callers.js';
import { expired } from './token.sessions.js';
import { hashOf } from '@fairlead/embedded/credentials';
import type { Identified } from './tokens.store.js';
import { UserCallers } from './user.callers.js';
import { ISSUER_PATHS } from './issuer.http.js';

const BEARER = /^Bearer +([^ ]+)$/i;

export const SIGN_IN = 'sign-in';

/** Open to everyone: what is served without a token. Documents are served before any token is looked for. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  ...KIT_PATHS,
  ...bothBases('healthy').map((path) => `/${path}`),
  ...bothBases(SIGN_IN).map((path) => `/${path}`),
  ...ISSUER_PATHS,
  ...['join', 'join/install.sh', 'join/agent.mjs', 'join/node.gz'].map((path) => `/${path}`),
]);

/** A token counts before a cookie: programs may run in a browser, too. */
const credentialOf = (request: HttpRequest): Credential => {
  const { authorization } = request.headers;
  const token = BEARER.exec(authorization ?? '')?.[1];
  if (token !== undefined) return { kind: 'token', text: token };
  const asking = askingOf(request);
  const session = authorization === undefined ? sessionIn(asking) : undefined;
  if (session === undefined) throw new RefusalError(refuse('auth.token-missing'));
  if (!isFromOwnPage(asking)) throw new RefusalError(refuse('session.other-origin'));
  return { kind: 'session', text: session };
};

/** Finds out who asks, before anything else of the request is read. */
@Injectable()
export class Authentication {
  private readonly limit = new FailureLimit();

  constructor(
    @Inject(TokenCallers) private readonly tokens: TokenCallers,
    @Inject(UserCallers) private readonly users: UserCallers,
  ) {}

  /** Express middleware. What it throws is answered by the filter. */
  readonly middleware = async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    if (!OPEN_PATHS.has(request.path)) {
      const credential = credentialOf(request);
      const callers = this.users.takes(credential) ? this.users : this.tokens;
      await this.inTurn(request, credential, () => callers.identify(credential, response, request));
    }
    next();
  };

  /** Looks up what a caller signs in with, under the same limit of wrong ones; sets the identity of the request. */
  async inTurn(request: HttpRequest, { kind, text }: Credential, lookUp: () => Promise<Identified>): Promise<void> {
    const address = request.ip ?? '';
    const hash = hashOf(text).toString('base64');
    const found = await this.limit.inTurn(address, hash, lookUp);
    if (found.kind !== 'known') throw new RefusalError(this.refusalOf(found, kind, { address, hash }));
    this.limit.succeeded(hash);
    request.identity = found.identity;
  }

  /** One that has ended counts as a wrong one; only its holder can distinguish the two. */
  private refusalOf(
    found: Exclude<Identified, { kind: 'known' }>,
    kind: Credential['kind'],
    { address, hash }: { readonly address: string; readonly hash: string },
  ): Refusal {
    const seconds = this.limit.failed(address, hash);
    if (seconds > 0) return refuse('auth.too-many-failures', { address, seconds });
    if (found.kind === 'expired') return expired(found.expiresAt);
    return refuse(UNKNOWN[kind]);
  }
}

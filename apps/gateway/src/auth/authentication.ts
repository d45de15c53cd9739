import { refuse, type Refusal, type RefusalCode } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { bothBases, LADYBUG } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { KIT_PATHS } from '../access/access.js';
import { FailureLimit } from './failures.limit.js';
import { askingOf } from './session.request.js';
import { isFromOwnPage, sessionIn } from './session.rules.js';
import { SessionsStore } from './sessions.store.js';
import { expired, TokenSessions, type TokenSession } from './token.sessions.js';
import { hashOf, idOf } from './tokens.js';
import { TokenStore, type Identified } from './tokens.store.js';
import { ISSUER_PATHS } from './issuer.http.js';
import { holdsStill } from './user.rules.js';
import { Users } from './users.js';

const BEARER = /^Bearer +([^ ]+)$/i;

export const SIGN_IN = 'sign-in';

/** Open to everyone: what is served without a token. Documents are served before any token is looked for. */
const OPEN_PATHS: ReadonlySet<string> = new Set([
  ...KIT_PATHS,
  `/${LADYBUG}/healthy`,
  ...bothBases(SIGN_IN).map((path) => `/${path}`),
  ...ISSUER_PATHS,
  ...['join', 'join/install.sh', 'join/agent.mjs', 'join/node.gz'].map((path) => `/${path}`),
]);

/** What a request proves its caller with. */
export interface Credential {
  readonly kind: 'token' | 'session' | 'code';
  readonly text: string;
}

const UNKNOWN = {
  token: 'auth.token-unknown',
  session: 'session.ended',
  code: 'session.code-unknown',
} as const satisfies Record<Credential['kind'], RefusalCode>;

/** A token counts before a cookie: programs may run in a browser, too. */
const credentialOf = (request: HttpRequest): Credential => {
  const { authorization } = request.headers;
  const token = BEARER.exec(authorization ?? '')?.[1];
  if (token !== undefined) return { kind: 'token', text: token };
  const asking = askingOf(request);
  const session = authorization === undefined ? sessionIn(asking) : undefined;
  if (session === undefined) throw new Refused(refuse('auth.token-missing'));
  if (!isFromOwnPage(asking)) throw new Refused(refuse('session.other-origin'));
  return { kind: 'session', text: session };
};

type Known = Extract<Identified, { readonly kind: 'known' }>;

/** Finds out who asks, before anything else of the request is read. */
@Injectable()
export class Authentication {
  private readonly limit = new FailureLimit();

  constructor(
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(SessionsStore) private readonly pageSessions: SessionsStore,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
    @Inject(Users) private readonly users: Users,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Express middleware. What it throws is answered by the filter. */
  readonly middleware = async (request: HttpRequest, response: HttpResponse, next: () => void): Promise<void> => {
    if (!OPEN_PATHS.has(request.path)) {
      const credential = credentialOf(request);
      const isUser = this.users.areNamedBy(credential.text);
      const lookUp = isUser ? this.identifyUser : this.identify;
      await this.inTurn(request, credential, () => lookUp.call(this, credential, response, request));
    }
    next();
  };

  /** Looks up what a caller signs in with, under the same limit of wrong ones; sets the identity of the request. */
  async inTurn(request: HttpRequest, { kind, text }: Credential, lookUp: () => Promise<Identified>): Promise<void> {
    const address = request.ip ?? '';
    const hash = hashOf(text).toString('base64');
    const found = await this.limit.inTurn(address, hash, lookUp);
    if (found.kind !== 'known') throw new Refused(this.refusalOf(found, kind, { address, hash }));
    this.limit.succeeded(hash);
    request.identity = found.identity;
  }

  /** The session is open before the token is looked up, so that a revocation in between ends it as well. */
  private async identify(
    { kind, text }: Credential,
    response: HttpResponse,
    request: HttpRequest,
  ): Promise<Identified> {
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

  /** A user: while the request is answered, its roles are looked up again as often as a next request would. */
  private async identifyUser(
    { kind, text }: Credential,
    response: HttpResponse,
    request: HttpRequest,
  ): Promise<Identified> {
    const session = this.sessions.open([idOf(text, 'user')], response);
    const found = await this.users.identify(text);
    if (found.kind === 'known') {
      if (found.identity.expiresAt !== undefined) session.endAt(found.identity.expiresAt);
      this.watch(text, { found, session, kind }, response);
    }
    request.tokenEnded = session.signal;
    request.userSession = kind === 'session' ? text : undefined;
    return found;
  }

  private watch(
    text: string,
    { found, session, kind }: { readonly found: Known; readonly session: TokenSession; readonly kind: Credential['kind'] },
    response: HttpResponse,
  ): void {
    const checkMs = this.users.checkMsOf(text);
    if (checkMs === undefined) return;
    const look = async (): Promise<Refusal | undefined> => {
      const now = await this.users.identify(text);
      if (now.kind !== 'known') return refuse(UNKNOWN[kind]);
      return holdsStill(found.identity.roles, now.identity.roles) ? undefined : refuse('issuer.roles-ended');
    };
    session.watch(look, checkMs, response);
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

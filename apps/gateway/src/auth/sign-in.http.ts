import { refuse, SignInCodeView, SignInRequest, StatusView, WhoamiView } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Body, Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { Authenticated, Public } from '../access/access.js';
import type { Identity } from '../access/identity.js';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { Authentication, SIGN_IN } from './authentication.js';
import { askingOf } from './session.request.js';
import { endedCookie, isFromOwnPage, isLoopback, sessionCookie } from './session.rules.js';
import { SessionsStore } from './sessions.store.js';
import { TokenSessions } from './token.sessions.js';
import { Users } from './users.js';
import { idOf } from '@fairlead/embedded/credentials';
import { TokenStore, type Identified } from './tokens.store.js';
import { whoamiView } from './whoami.http.js';

const NO_STORE = ['Cache-Control', 'no-store'] as const;

const refuseElsewhere = ({ socket }: HttpRequest): void => {
  if (!isLoopback(socket.remoteAddress)) throw new RefusalError(refuse('session.code-elsewhere'));
};

/** How a browser gets a session, which stands for an API token and opens no more than it. */
@Controller(bothBases(SIGN_IN))
export class SignInHttp {
  constructor(
    @Inject(Authentication) private readonly authentication: Authentication,
    @Inject(SessionsStore) private readonly store: SessionsStore,
    @Inject(TokenStore) private readonly tokens: TokenStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @HttpCode(200)
  @Public()
  @Documented({
    id: 'signIn',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Begin a session of the page, with an API token or a one-time code',
    description:
      'The session is a cookie that scripts cannot read. It ends after 12 hours, with its token, or when it is signed out; its requests are accepted only from the page of this gateway.',
    answers: [{ status: 200, description: 'Who is signed in', schema: WhoamiView }],
    refusals: ['session.code-unknown', 'session.code-elsewhere', 'session.other-origin', 'auth.token-expired'],
  })
  async signIn(
    @Body({ schema: SignInRequest }) request: SignInRequest,
    @Req() http: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<WhoamiView> {
    const asking = askingOf(http);
    if (!isFromOwnPage(asking)) throw new RefusalError(refuse('session.other-origin'));
    const identity = await this.identityOf(request, http);
    const session = await this.store.begin(identity.tokenId, this.clock.now(), identity.expiresAt);
    response.setHeader(...NO_STORE);
    response.setHeader('Set-Cookie', sessionCookie(asking, session.token, session.expiresAt));
    return whoamiView(identity);
  }

  @Post('codes')
  @HttpCode(201)
  @Authenticated()
  @Documented({
    id: 'createSignInCode',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Make a one-time code that signs a browser on this machine in, as the caller',
    description: 'It is good once, for 10 minutes, from the machine of the gateway.',
    answers: [{ status: 201, description: 'The code, shown this once', schema: SignInCodeView }],
    refusals: ['session.code-elsewhere', 'session.code-user', 'session.other-origin', 'session.ended'],
  })
  async createCode(
    @FromCaller() { identity }: Caller,
    @Req() http: HttpRequest,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<SignInCodeView> {
    refuseElsewhere(http);
    if (identity.isUser === true) throw new RefusalError(refuse('session.code-user'));
    const { token: code, expiresAt } = await this.store.issueCode(identity.tokenId, this.clock.now());
    response.setHeader(...NO_STORE);
    return { kind: 'SignInCode', code, expiresAt: expiresAt.toISOString() };
  }

  private async identityOf(request: SignInRequest, http: HttpRequest): Promise<Identity> {
    const isCode = 'code' in request;
    if (isCode) refuseElsewhere(http);
    const text = isCode ? request.code : request.token;
    const lookUp = isCode ? () => this.byCode(text) : () => this.tokens.identify(text, this.clock.now());
    await this.authentication.inTurn(http, { kind: isCode ? 'code' : 'token', text }, lookUp);
    if (http.identity === undefined) throw new Error('a caller that was identified has an identity');
    return http.identity;
  }

  private async byCode(code: string): Promise<Identified> {
    const now = this.clock.now();
    const opened = await this.store.takeCode(code, now);
    return opened === undefined ? { kind: 'unknown' } : this.tokens.holder(opened.tokenId, now);
  }
}

@Controller(bothBases('sign-out'))
export class SignOutHttp {
  constructor(
    @Inject(SessionsStore) private readonly store: SessionsStore,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
    @Inject(Users) private readonly users: Users,
  ) {}

  @Post()
  @HttpCode(200)
  @Authenticated()
  @Documented({
    id: 'signOut',
    tag: 'tokens',
    records: 'nothing',
    summary: 'End the session of the page that the request is sent with',
    answers: [{ status: 200, description: 'It has ended; a bearer token is not affected', schema: StatusView }],
    refusals: ['session.other-origin', 'session.ended'],
  })
  async signOut(@Req() http: HttpRequest, @Res({ passthrough: true }) response: HttpResponse): Promise<StatusView> {
    const { pageSession, userSession } = http;
    if (userSession !== undefined) {
      await this.users.end(userSession);
      response.once('finish', () => this.sessions.end(idOf(userSession, 'user') ?? '', refuse('session.ended')));
    }
    if (pageSession !== undefined) {
      await this.store.end(pageSession);
      response.once('finish', () => this.sessions.end(pageSession, refuse('session.ended')));
    }
    response.setHeader('Set-Cookie', endedCookie(askingOf(http)));
    return { kind: 'Status', code: 200, message: 'The session has ended.' };
  }
}

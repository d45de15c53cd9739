import { refuse, SignInIssuerView } from '@fairlead/contracts';
import { Controller, Get, Inject, Logger, Req, Res } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { Public } from '../access/access.js';
import { askingOf } from './session.request.js';
import { sessionCookie } from './session.rules.js';
import { Documented } from '../http/documented.js';
import { headerText, type HttpRequest, type HttpResponse } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { Issuer } from './issuer.client.js';
import { IssuerUnavailable } from '@fairlead/service-kit/http';
import { endedSignInCookie, newSignInSecret, proofOf, signInCookie, signInSecretIn } from './sign-in.proof.js';
import type { OidcSettings } from './user.settings.js';
import { orUnavailable, Users } from './users.js';

export const ISSUER_SIGN_IN = 'sign-in/issuer';
const BEGIN = 'begin';
const CALLBACK = 'callback';
/** Open to everyone. */
export const ISSUER_PATHS: readonly string[] = ['', `/${BEGIN}`, `/${CALLBACK}`].map(
  (path) => `/${ISSUER_SIGN_IN}${path}`,
);

const FOUND = 302;

interface ForPage {
  readonly pageUrl: string;
  readonly redirectUri: string;
  readonly isSecure: boolean;
}

/** How users sign in with OpenID Connect: programs at the issuer itself, browsers through the gateway. */
@Controller(ISSUER_SIGN_IN)
export class IssuerHttp {
  private readonly log = new Logger('issuer');

  constructor(
    @Inject(Issuer) private readonly issuer: Issuer,
    @Inject(Users) private readonly users: Users,
  ) {}

  @Get()
  @Public()
  @Documented({
    id: 'getSignInIssuer',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Where users sign in with OpenID Connect',
    description: 'What "fairlead login" and the page need to know before anybody is signed in; it holds no secret.',
    answers: [{ status: 200, description: 'The issuer', schema: SignInIssuerView }],
    refusals: ['issuer.none'],
  })
  async show(): Promise<SignInIssuerView> {
    const { issuer, cliClientId, scopes, bearer, pageUrl, caFile } = this.settings();
    const ca = caFile === undefined ? {} : { ca: await readFile(caFile, 'utf8') };
    return {
      kind: 'SignInIssuer',
      issuer,
      clientId: cliClientId,
      scopes,
      bearer,
      page: pageUrl !== undefined,
      ...ca,
    };
  }

  @Get(BEGIN)
  @Public()
  @Documented({
    id: 'beginIssuerSignIn',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Send a browser to the issuer to sign in',
    description: 'Answers 302 with the address of the issuer (authorization code flow with PKCE).',
    answers: [],
    refusals: ['issuer.none', 'issuer.no-page', 'issuer.unavailable'],
  })
  async begin(@Res() response: HttpResponse): Promise<void> {
    const { redirectUri, isSecure } = this.forPage();
    const secret = newSignInSecret();
    const url = await orUnavailable(this.issuer.authorizationUrl(redirectUri, proofOf(secret)));
    redirect(response, url, [signInCookie(secret, isSecure)]);
  }

  @Get(CALLBACK)
  @Public()
  @Documented({
    id: 'endIssuerSignIn',
    tag: 'tokens',
    records: 'nothing',
    summary: 'Take the browser back from the issuer, and begin a session of the page',
    description:
      'Answers 302 to the page, signed in or with the reason why not. The session is a cookie that scripts cannot read. It is checked at the issuer while it is used, and ends after 12 hours, with the session at the issuer, or when it is signed out.',
    answers: [],
    refusals: ['issuer.none', 'issuer.no-page'],
  })
  async end(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
    const { pageUrl, redirectUri, isSecure } = this.forPage();
    const ended = endedSignInCookie(isSecure);
    const secret = signInSecretIn(headerText(request.headers.cookie));
    const back = new URL(redirectUri);
    back.search = request.originalUrl.slice(request.path.length);
    try {
      const granted = secret === undefined ? undefined : await this.issuer.grantFor(back, proofOf(secret));
      if (granted === undefined) return redirect(response, `${pageUrl}/#/sign-in-refused/refused`, [ended]);
      const session = await this.users.begin(granted);
      redirect(response, `${pageUrl}/`, [ended, sessionCookie(askingOf(request), session.token, session.expiresAt)]);
    } catch (error) {
      if (!(error instanceof IssuerUnavailable)) throw error;
      this.log.warn(`a sign-in could not be completed: ${error.message}`);
      redirect(response, `${pageUrl}/#/sign-in-refused/unavailable`, [ended]);
    }
  }

  private settings(): OidcSettings {
    if (this.issuer.settings === undefined) throw new RefusalError(refuse('issuer.none'));
    return this.issuer.settings;
  }

  private forPage(): ForPage {
    const { pageUrl } = this.settings();
    if (pageUrl === undefined) throw new RefusalError(refuse('issuer.no-page'));
    const redirectUri = `${pageUrl}/${ISSUER_SIGN_IN}/${CALLBACK}`;
    return { pageUrl, redirectUri, isSecure: pageUrl.startsWith('https:') };
  }
}

const redirect = (response: HttpResponse, url: string, cookies: readonly string[]): void => {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.setHeader('Set-Cookie', [...cookies]);
  response.setHeader('Location', url);
  response.status(FOUND).end();
};

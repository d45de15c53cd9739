import { wordsOf, type NameSignIn } from '@fairlead/contracts';
import { IssuerUnavailable } from '@fairlead/service-kit/http';
import { randomBytes } from 'node:crypto';
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import * as z from 'zod';
import type { Origin } from '../routes/names.ports.js';
import {
  answerHeaders,
  cookieIn,
  requestHeaders,
  SESSION_COOKIE,
  SIGN_IN_COOKIE,
  type Visitor,
} from './headers.rules.js';
import type { SealedCookies } from './sealed.cookies.js';
import type { Issuers, SignInProof } from './sign-in.ports.js';

/** Paths of the tunnel at every published service. */
const OWN_PATH = '/.fairlead/';
const CALLBACK = `${OWN_PATH}callback`;
const SIGN_OUT = `${OWN_PATH}sign-out`;

/** Then the issuer is asked again; whoever is signed in there notices nothing. */
export const SESSION_MS = 15 * 60_000;
const SIGN_IN_MS = 10 * 60_000;
const PATH_LENGTH_MAX = 1_000;
const PROOF_BYTES = 32;
/** Until a service begins to answer. */
const ANSWER_WITHIN_MS = 10 * 60_000;
const GROUPS_MAX = 16;

const text = z.string().max(1_000);

const Session = z.strictObject({
  subject: text,
  username: text,
  email: text,
  groups: z.array(text).max(GROUPS_MAX),
  untilMs: z.number(),
});

const SignIn = z.strictObject({ state: text, nonce: text, verifier: text, path: text, untilMs: z.number() });

export interface SignInParts {
  /** How users sign in at a name that is held here; undefined: it is not, or it is no service. */
  readonly signInOf: (name: string) => NameSignIn | undefined;
  /** A connection to the service; undefined: it is not held here any more. */
  readonly open: (name: string, origin: Origin) => Promise<Duplex | undefined>;
  readonly issuers: Issuers;
  readonly cookies: SealedCookies;
  readonly now: () => Date;
  readonly onRefused: (reason: string) => void;
  readonly say: (level: 'warn', message: string) => void;
}

/** A request at a published service. */
interface Asked {
  readonly request: IncomingMessage;
  readonly name: string;
  readonly signIn: NameSignIn;
  readonly path: string;
}

const cookie = (name: string, value: string, maxAgeMs: number): string =>
  `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeMs / 1_000)}`;

const ended = (name: string): string => cookie(name, '', 0);

const OWN_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const answer = (response: ServerResponse, status: number, words: string, cookies: readonly string[] = []): void => {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, {
    ...OWN_HEADERS,
    'content-type': 'text/plain; charset=utf-8',
    connection: 'close',
    ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }),
  });
  response.end(`${words}\n`);
};

const redirect = (response: ServerResponse, location: string, cookies: readonly string[]): void => {
  response.writeHead(302, { ...OWN_HEADERS, location, 'set-cookie': [...cookies] }).end();
};

/** A page that a browser opens; what a page loads by itself cannot sign in. */
const isNavigation = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && (headers['sec-fetch-mode'] ?? 'navigate') === 'navigate';

const originOf = ({ socket }: IncomingMessage): Origin => ({
  address: socket.remoteAddress ?? '',
  port: socket.remotePort ?? 0,
});

const purposeOf = (kind: 'session' | 'sign-in', { clientId, issuerUrl }: NameSignIn, name: string): string =>
  `${kind} ${name} ${clientId} ${issuerUrl}`;

/** Sign-in by OpenID Connect in front of published services. Nothing of a session is kept here: it is in its cookie. */
export class SignInDoor {
  constructor(private readonly parts: SignInParts) {}

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const asked = this.asked(request);
      if (asked === undefined) return answer(response, 421, 'This name is not published here.');
      if (asked.path === CALLBACK) return await this.complete(asked, response);
      if (asked.path === SIGN_OUT) return answer(response, 200, 'You are signed out here.', [ended(SESSION_COOKIE)]);
      const visitor = this.visitorOf(asked);
      if (visitor === undefined) return await this.begin(asked, response);
      if (!isAllowed(visitor, asked.signIn)) return this.forbidden(response);
      await this.forward(asked, visitor, response);
    } catch (error) {
      this.parts.say('warn', `a request: ${wordsOf(error)}`);
      if (error instanceof IssuerUnavailable) answer(response, 503, 'The identity provider does not answer.');
      else answer(response, 502, 'The service does not answer.');
    }
  }

  /** Of a WebSocket: it cannot sign in by itself. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const asked = this.asked(request);
      const visitor = asked === undefined ? undefined : this.visitorOf(asked);
      const isFromHere = asked !== undefined && (request.headers.origin ?? asked.signIn.url) === asked.signIn.url;
      if (asked === undefined || visitor === undefined || !isAllowed(visitor, asked.signIn) || !isFromHere) {
        socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
        return;
      }
      await this.forwardUpgrade(asked, visitor, socket, head);
    } catch (error) {
      this.parts.say('warn', `a WebSocket: ${wordsOf(error)}`);
      socket.destroy();
    }
  }

  /** The name is that of the TLS connection, whatever the request says. undefined: they differ, or it is not held here. */
  private asked(request: IncomingMessage): Asked | undefined {
    const name = String((request.socket as TLSSocket).servername || '');
    const signIn = this.parts.signInOf(name);
    if (signIn === undefined || request.headers.host !== new URL(signIn.url).host) return undefined;
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    return { request, name, signIn, path };
  }

  private visitorOf({ request, name, signIn }: Asked): Visitor | undefined {
    const sealed = cookieIn(request.headers.cookie, SESSION_COOKIE);
    const session = this.parts.cookies.open(purposeOf('session', signIn, name), sealed, Session);
    return session === undefined || session.untilMs <= this.nowMs() ? undefined : session;
  }

  private async begin({ request, name, signIn }: Asked, response: ServerResponse): Promise<void> {
    if (!isNavigation(request)) return answer(response, 401, 'Sign in first: open the page in a browser.');
    const [state, nonce, verifier] = [secret(), secret(), secret()];
    const url = request.url ?? '/';
    const path = url.startsWith('/') && url.length <= PATH_LENGTH_MAX ? url : '/';
    const proof: SignInProof = { state, nonce, verifier };
    const value = { ...proof, path, untilMs: this.nowMs() + SIGN_IN_MS };
    const sealed = this.parts.cookies.seal(purposeOf('sign-in', signIn, name), value);
    const location = await this.parts.issuers.authorizationUrl(signIn, `${signIn.url}${CALLBACK}`, proof);
    redirect(response, location, [cookie(SIGN_IN_COOKIE, sealed, SIGN_IN_MS)]);
  }

  /** The browser is back from the issuer. */
  private async complete({ request, name, signIn }: Asked, response: ServerResponse): Promise<void> {
    const over = ended(SIGN_IN_COOKIE);
    const sealed = cookieIn(request.headers.cookie, SIGN_IN_COOKIE);
    const begun = this.parts.cookies.open(purposeOf('sign-in', signIn, name), sealed, SignIn);
    if (request.method !== 'GET' || begun === undefined || begun.untilMs <= this.nowMs())
      return answer(response, 400, 'This sign-in was not begun here, or took too long. Open the page again.', [over]);
    const url = new URL(request.url ?? '/', signIn.url);
    if (url.origin !== signIn.url) return answer(response, 400, 'This is not an answer to a sign-in.', [over]);
    const user = await this.parts.issuers.signedIn(signIn, url, begun);
    if (user === undefined)
      return answer(response, 401, 'The identity provider did not sign you in. Open the page again.', [over]);
    const groups = user.groups.filter((group) => signIn.groups.includes(group)).slice(0, GROUPS_MAX);
    if (groups.length === 0) return this.forbidden(response, [over, ended(SESSION_COOKIE)]);
    const session = { ...user, groups, untilMs: this.nowMs() + SESSION_MS };
    const kept = this.parts.cookies.seal(purposeOf('session', signIn, name), session);
    return redirect(response, `${signIn.url}${begun.path}`, [over, cookie(SESSION_COOKIE, kept, SESSION_MS)]);
  }

  private forbidden(response: ServerResponse, cookies: readonly string[] = []): void {
    this.parts.onRefused('group');
    answer(response, 403, 'You are signed in, and in no group that may use this service.', cookies);
  }

  private async connected({ request, name }: Asked): Promise<Duplex> {
    const wire = await this.parts.open(name, originOf(request));
    if (wire === undefined) throw new Error(`${name} is not held here any more`);
    return wire;
  }

  private headersFor({ request, signIn }: Asked, visitor: Visitor): string[] {
    const host = new URL(signIn.url).host;
    const { address } = originOf(request);
    return requestHeaders(request.rawHeaders, { visitor, host, address }).flat();
  }

  private async forward(asked: Asked, visitor: Visitor, response: ServerResponse): Promise<void> {
    const { request } = asked;
    const wire = await this.connected(asked);
    await new Promise<void>((resolve, reject) => {
      const sent = ask({
        createConnection: () => wire as never,
        method: request.method,
        path: request.url,
        headers: [...this.headersFor(asked, visitor), 'Connection', 'close'],
        setHost: false,
      });
      const late = setTimeout(() => sent.destroy(new Error(`${asked.name} says nothing`)), ANSWER_WITHIN_MS);
      const end = (error?: Error): void => {
        clearTimeout(late);
        wire.destroy();
        if (error === undefined) resolve();
        else reject(error);
      };
      sent.once('error', end);
      sent.once('response', (received) => {
        clearTimeout(late);
        response.writeHead(received.statusCode ?? 502, answerHeaders(received.rawHeaders).flat());
        received.once('error', end).once('close', () => end());
        received.pipe(response);
      });
      response.once('close', () => sent.destroy());
      request.pipe(sent);
    });
  }

  private async forwardUpgrade(asked: Asked, visitor: Visitor, socket: Duplex, head: Buffer): Promise<void> {
    const { request } = asked;
    const protocol = request.headers.upgrade;
    if (protocol?.toLowerCase() !== 'websocket') return void socket.destroy();
    const wire = await this.connected(asked);
    const headers = [...this.headersFor(asked, visitor), 'Connection', 'Upgrade', 'Upgrade', 'websocket'];
    const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ''}`] : []));
    const destroy = (): void => {
      wire.destroy();
      socket.destroy();
    };
    for (const side of [wire, socket]) side.once('error', destroy).once('close', destroy);
    wire.write(`GET ${request.url ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    wire.write(head);
    socket.pipe(wire).pipe(socket);
  }

  private nowMs(): number {
    return this.parts.now().getTime();
  }
}

const secret = (): string => randomBytes(PROOF_BYTES).toString('base64url');

const isAllowed = ({ groups }: Visitor, signIn: NameSignIn): boolean =>
  groups.some((group) => signIn.groups.includes(group));

import { createHash, randomBytes } from 'node:crypto';
import { RealmProblem } from './realm.problem.js';

const CODE_SECONDS = 60;
const SESSION_SECONDS = 30 * 60;
const KEPT_MAX = 1_000;
const MS_PER_SECOND = 1_000;

/** One user at one client. */
export interface RealmSession {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
}

/** What a client asks for when it sends a browser to sign in. */
export interface CodeRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string | undefined;
}

/** What a client redeems a code with. */
export interface CodeRedemption {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

interface Timed {
  readonly untilMs: number;
}

const random = (): string => randomBytes(24).toString('base64url');

/** Sessions of users with their refresh tokens, and the codes that begin them. */
export class RealmSessions {
  private readonly codes = new Map<string, CodeRequest & Timed & { readonly userId: string }>();
  private readonly sessions = new Map<string, RealmSession & Timed>();

  constructor(private readonly now: () => Date) {}

  /** The authorization response (RFC 6749, 4.1.2). */
  codeFor(request: CodeRequest, userId: string): string {
    const code = random();
    this.keep(this.codes, code, { ...request, userId, untilMs: this.after(CODE_SECONDS) });
    return code;
  }

  /** The access token request with PKCE (RFC 7636, 4.5). A code is good once. */
  redeem(
    code: string,
    { clientId, redirectUri, verifier }: CodeRedemption,
  ): { readonly session: RealmSession; readonly nonce: string | undefined } {
    const asked = this.codes.get(code);
    this.codes.delete(code);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const isTheirs = asked?.clientId === clientId && asked.redirectUri === redirectUri && asked.challenge === challenge;
    if (asked === undefined || !isTheirs || this.isOver(asked)) throw new RealmProblem(400, 'invalid_grant');
    return { session: this.begin(asked.userId, clientId), nonce: asked.nonce };
  }

  begin(userId: string, clientId: string): RealmSession {
    const session = { id: random(), clientId, userId };
    this.keep(this.sessions, session.id, { ...session, untilMs: this.after(SESSION_SECONDS) });
    return session;
  }

  /** The session of a refresh token of the client, which is the session's id. */
  refresh(refreshToken: string, clientId: string): RealmSession {
    const session = this.open(refreshToken);
    if (session?.clientId !== clientId) throw new RealmProblem(400, 'invalid_grant');
    return session;
  }

  /** undefined: it has ended. */
  open(id: string): RealmSession | undefined {
    const session = this.sessions.get(id);
    return session === undefined || this.isOver(session) ? undefined : session;
  }

  end(id: string, clientId: string): void {
    if (this.sessions.get(id)?.clientId === clientId) this.sessions.delete(id);
  }

  endAllOf(userId: string): void {
    for (const [id, session] of this.sessions) if (session.userId === userId) this.sessions.delete(id);
  }

  private after(seconds: number): number {
    return this.now().getTime() + seconds * MS_PER_SECOND;
  }

  private isOver({ untilMs }: Timed): boolean {
    return untilMs <= this.now().getTime();
  }

  private keep<Kept extends Timed>(all: Map<string, Kept>, id: string, kept: Kept): void {
    for (const [other, one] of all) if (this.isOver(one) || all.size >= KEPT_MAX) all.delete(other);
    all.set(id, kept);
  }
}

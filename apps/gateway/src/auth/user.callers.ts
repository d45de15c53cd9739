import { refuse, type Refusal } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { Identity } from '../access/identity.js';
import type { HttpRequest, HttpResponse } from '../http/http.types.js';
import { isJwt } from './issuer.client.js';
import { UNKNOWN, type Credential } from './credential.js';
import { TokenSessions, type TokenSession } from './token.sessions.js';
import { idOf } from '@fairlead/embedded/credentials';
import type { Identified } from './tokens.store.js';
import { holdsStill } from './user.rules.js';
import { Users } from './users.js';

/** Callers who signed in at the identity provider. */
@Injectable()
export class UserCallers {
  constructor(
    @Inject(Users) private readonly users: Users,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
  ) {}

  /** Whether the credential is of a user, and not one of Fairlead's own. */
  takes({ kind, text }: Credential): boolean {
    return this.users.signIn && (kind === 'session' ? idOf(text, 'user') !== undefined : isJwt(text));
  }

  /** While the request is answered, the roles are looked up again as often as a next request would. */
  async identify(credential: Credential, response: HttpResponse, request: HttpRequest): Promise<Identified> {
    const { kind, text } = credential;
    const session = this.sessions.open([idOf(text, 'user')], response);
    const found = await this.users.identify(text);
    if (found.kind === 'known') {
      if (found.identity.expiresAt !== undefined) session.endAt(found.identity.expiresAt);
      this.watch(credential, { identity: found.identity, session }, response);
    }
    request.tokenEnded = session.signal;
    request.userSession = kind === 'session' ? text : undefined;
    return found;
  }

  private watch(
    { kind, text }: Credential,
    { identity, session }: { readonly identity: Identity; readonly session: TokenSession },
    response: HttpResponse,
  ): void {
    const checkMs = this.users.checkMsOf(text);
    if (checkMs === undefined) return;
    const look = async (): Promise<Refusal | undefined> => {
      const now = await this.users.identify(text);
      if (now.kind !== 'known') return refuse(UNKNOWN[kind]);
      return holdsStill(identity.roles, now.identity.roles) ? undefined : refuse('issuer.roles-ended');
    };
    session.watch(look, checkMs, response);
  }
}

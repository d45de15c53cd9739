import { EVERY_NAMESPACE, refuse, wordsOf } from '@fairlead/contracts';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Identity } from '../access/identity.js';
import type { Issued } from './sessions.store.js';
import { idOf } from '@fairlead/embedded/credentials';
import type { Identified } from './tokens.store.js';
import { RefusalError } from '../http/refusal.error.js';
import { Issuer, type Granted } from './issuer.client.js';
import { IssuerUnavailable } from '@fairlead/service-kit/http';
import { userIdentity, userIdOf } from './user.identity.js';
import { rolesOf, type User } from './user.rules.js';
import { UserSessionsStore, type UserSession } from './user.sessions.store.js';
import type { OidcSettings } from './user.settings.js';

const UNKNOWN: Identified = { kind: 'unknown' };
/** How long a request waits for another replica that asks the issuer about the same session. */
const OTHER_REPLICA_WAIT_MS = 6_000;
const OTHER_REPLICA_AGAIN_MS = 150;

/** Answers 503 where the issuer is at fault. */
export const orUnavailable = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof IssuerUnavailable) throw new RefusalError(refuse('issuer.unavailable'));
    throw error;
  }
};

/** Users who signed in at the identity provider: by a token of it, or by a session of the page. */
@Injectable()
export class Users {
  /** Sessions about which this replica asks the issuer right now. */
  private readonly asking = new Map<string, Promise<UserSession | undefined>>();
  private readonly log = new Logger('users');

  constructor(
    @Inject(Issuer) private readonly issuer: Issuer,
    @Inject(UserSessionsStore) private readonly store: UserSessionsStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Whether this installation has an issuer. */
  get signIn(): boolean {
    return this.issuer.settings !== undefined;
  }

  /** How long what the issuer said is believed; undefined: until the token ends. */
  checkMsOf(text: string): number | undefined {
    const { bearer, checkMs } = this.required;
    return idOf(text, 'user') === undefined && bearer === 'id' ? undefined : checkMs;
  }

  /** Who holds the token or the session now. */
  async identify(text: string): Promise<Identified> {
    if (idOf(text, 'user') !== undefined) return this.inSession(text);
    const verified = await orUnavailable(this.issuer.bearer(text));
    if (verified.kind === 'wrong') return UNKNOWN;
    if (verified.kind === 'expired') return verified;
    return { kind: 'known', identity: await this.identityOf(verified.user, verified.expiresAt) };
  }

  begin(granted: Granted): Promise<Issued> {
    const id = userIdOf(this.required.issuer, granted.user.subject);
    return this.store.begin(id, granted, this.clock.now());
  }

  /**
   * Ends a session, and soon what it opens at the issuer. The request does not wait for the issuer: while it waits, its
   * own look would find the session ended, and refuse it.
   */
  async end(session: string): Promise<void> {
    const found = await this.store.find(session, this.clock.now());
    if (found === undefined) return;
    await this.store.end(found.id);
    if (found.refreshToken !== undefined) void this.revoke(found.refreshToken);
  }

  private async revoke(refreshToken: string): Promise<void> {
    try {
      await this.issuer.revoke(refreshToken);
    } catch (error) {
      this.log.warn(`a session was not ended at the issuer: ${wordsOf(error)}`);
    }
  }

  private get required(): OidcSettings {
    const { settings } = this.issuer;
    if (settings === undefined) throw new Error('no issuer is set, so it has no users');
    return settings;
  }

  private async identityOf(user: User, expiresAt: Date): Promise<Identity> {
    const settings = this.required;
    const named = rolesOf(user.groups, settings).map(({ namespace }) => namespace);
    const namespaces = new Set(await this.store.namespacesAmong(named)).add(EVERY_NAMESPACE);
    return userIdentity(user, settings, { namespaces, expiresAt });
  }

  private async inSession(text: string): Promise<Identified> {
    const found = await this.current(text);
    if (found === undefined) return UNKNOWN;
    return { kind: 'known', identity: await this.identityOf(found.user, found.expiresAt) };
  }

  /** The session, with what the issuer said about its user lately. */
  private async current(text: string): Promise<UserSession | undefined> {
    const now = this.clock.now();
    const found = await this.store.find(text, now);
    if (found === undefined || found.checkedAt.getTime() + this.required.checkMs > now.getTime()) return found;
    const asking = this.asking.get(text);
    if (asking !== undefined) return asking;
    const asked = this.check(text, found).finally(() => this.asking.delete(text));
    this.asking.set(text, asked);
    return asked;
  }

  private async check(text: string, session: UserSession): Promise<UserSession | undefined> {
    if (!(await this.store.claimCheck(session, this.clock.now()))) return this.checkedElsewhere(text);
    if (session.refreshToken === undefined) return this.unlessOver(session);
    try {
      const granted = await this.issuer.refreshed(session.refreshToken);
      if (granted?.user.subject !== session.user.subject) {
        await this.store.end(session.id);
        return undefined;
      }
      await this.store.checked(text, granted);
      return { ...session, user: granted.user, tokenExpiresAt: granted.expiresAt };
    } catch (error) {
      if (!(error instanceof IssuerUnavailable)) throw error;
      return this.unlessOver(session);
    }
  }

  /** What another replica got from the issuer. */
  private async checkedElsewhere(text: string): Promise<UserSession | undefined> {
    const untilMs = this.clock.now().getTime() + OTHER_REPLICA_WAIT_MS;
    for (;;) {
      const found = await this.store.find(text, this.clock.now());
      if (found === undefined || found.tokenExpiresAt > this.clock.now()) return found;
      if (this.clock.now().getTime() > untilMs) return this.unlessOver(found);
      await sleep(OTHER_REPLICA_AGAIN_MS);
    }
  }

  /** While the issuer does not answer, what it said last is good until the token that it gave ends. */
  private unlessOver(session: UserSession): UserSession {
    if (session.tokenExpiresAt > this.clock.now()) return session;
    throw new RefusalError(refuse('issuer.unavailable'));
  }
}

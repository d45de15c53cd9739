import {
  NONE,
  refuse,
  type CreatedTokenView,
  type EventData,
  type StreamId,
  type TokenRequest,
} from '@fairlead/contracts';
import type { Registered } from '@fairlead/domain';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { audit } from '../events/audit.decider.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, throwIfRefused, RefusalError } from '../http/refusal.error.js';
import { beyondOf, expiryFaults, mayManage, type Grant } from '../access/identity.js';
import { roleMissing } from './role.missing.js';
import { TokenSessions } from './token.sessions.js';
import { newToken, type NewToken } from '@fairlead/embedded/credentials';
import { TokenStore } from './tokens.store.js';

const AUDIT: StreamId = { namespace: NONE, cluster: NONE, context: 'audit' };

@Injectable()
export class TokenCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(TokenStore) private readonly store: TokenStore,
    @Inject(TokenSessions) private readonly sessions: TokenSessions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** `namespaces`: those that there are. A role is in one of them, and ends with it. */
  async create(
    { name, roles, expiresAt }: TokenRequest,
    namespaces: Registered['namespaces'],
    caller: Caller,
  ): Promise<CreatedTokenView & { readonly seq: number }> {
    const beyond = beyondOf(caller.identity, roles);
    if (beyond !== undefined) throw new RefusalError(roleMissing('admin', beyond.namespace));
    const end = expiresAt === undefined ? undefined : new Date(expiresAt);
    throwIfRefused(expiryFaults(caller.identity, end, this.clock.now()));
    const ending = end === undefined ? {} : { expiresAt: end.toISOString() };
    const fresh = newToken();
    // On record before it opens anything.
    const recorded = await this.record(fresh, { name, roles, ...ending }, caller);
    const { id, token, sha256, seq } = recorded;
    const createdAt = this.clock.now();
    const grants = roles.map((grant): Grant => {
      const since = namespaces.get(grant.namespace)?.since;
      return since === undefined ? grant : { ...grant, since };
    });
    const opens = await this.store.insertOrReplace({ id, name, sha256, roles: grants, createdAt, expiresAt: end });
    if (!opens) throw new RefusalError(refuse('token.unknown', { id }));
    return { id, kind: 'Token', name, roles, createdTime: createdAt.toISOString(), ...ending, token, seq };
  }

  /**
   * A repetition whose first answer was lost finds the token on record, but not its secret, which exists nowhere: the
   * token gets another one.
   */
  private async record(
    fresh: NewToken,
    data: Pick<EventData<'ApiTokenCreated'>, 'name' | 'roles' | 'expiresAt'>,
    caller: Caller,
  ): Promise<NewToken & { readonly seq: number }> {
    const { seq, events } = await this.created(fresh, data, causeOf(caller));
    const [recorded] = events;
    if (recorded?.type !== 'ApiTokenCreated' || recorded.data.id === fresh.id) return { ...fresh, seq };
    const again = newToken(recorded.data.id);
    const { identity, requestId } = caller;
    return { ...again, seq: (await this.created(again, data, causeOf({ identity, requestId }))).seq };
  }

  private async created(
    { id, sha256 }: NewToken,
    data: Pick<EventData<'ApiTokenCreated'>, 'name' | 'roles' | 'expiresAt'>,
    cause: ReturnType<typeof causeOf>,
  ) {
    const fact = { type: 'ApiTokenCreated', data: { id, ...data, sha256: sha256.toString('hex') } } as const;
    return unwrap(await this.handle(audit, AUDIT, { type: 'Record', data: fact }, cause));
  }

  /** Closed before it is on record: what must no longer open does not wait for the log. */
  async revoke(id: string, caller: Caller): Promise<number> {
    const outcome = await this.store.revoke({
      id,
      inUse: caller.identity.tokenId,
      mayRevoke: (token) => mayManage(caller.identity, token),
      at: this.clock.now(),
    });
    if (outcome !== 'revoked') throw new RefusalError(refuse(`token.${outcome}`, { id }));
    this.sessions.end(id);
    const fact = { type: 'ApiTokenRevoked', data: { id } } as const;
    return unwrap(await this.handle(audit, AUDIT, { type: 'Record', data: fact }, causeOf(caller))).seq;
  }
}

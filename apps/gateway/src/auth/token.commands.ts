import { NONE, refuse, type CreatedTokenView, type StreamId, type TokenRequest } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { audit } from '../events/audit.decider.js';
import { orRefuse, Refused } from '../http/refused.js';
import { newToken } from './tokens.js';
import { TokenStore } from './tokens.store.js';

const AUDIT: StreamId = { namespace: NONE, cluster: NONE, context: 'audit' };

@Injectable()
export class TokenCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(TokenStore) private readonly store: TokenStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async create({ name, roles }: TokenRequest, cause: Cause): Promise<CreatedTokenView & { readonly seq: number }> {
    const { id, token, sha256 } = newToken();
    // On record before it opens anything.
    const fact = { type: 'ApiTokenCreated', data: { id, name, roles } } as const;
    const { seq } = orRefuse(await this.handle(audit, AUDIT, { type: 'Record', data: fact }, cause));
    const createdAt = this.clock.now();
    await this.store.insert({ id, name, sha256, roles, createdAt });
    return { id, kind: 'Token', name, roles, createdTime: createdAt.toISOString(), token, seq };
  }

  /** Closed before it is on record: what must no longer open shall not wait for the log. */
  async revoke(id: string, cause: Cause): Promise<number> {
    if (!(await this.store.revoke(id, this.clock.now()))) throw new Refused(refuse('token.unknown', { id }));
    const fact = { type: 'ApiTokenRevoked', data: { id } } as const;
    return orRefuse(await this.handle(audit, AUDIT, { type: 'Record', data: fact }, cause)).seq;
  }
}

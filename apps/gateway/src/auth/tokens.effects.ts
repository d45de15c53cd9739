import { OnTask, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { Grant } from '../access/identity.js';
import type { TokenTask } from './tokens.reconciler.js';
import { TokenStore } from './tokens.store.js';

/** Puts into the database what the log says of tokens. Usually it is there already. */
@Controller()
export class TokenEffects {
  constructor(@Inject(TokenStore) private readonly store: Pick<TokenStore, 'insertOrReplace' | 'close'>) {}

  @OnTask('KeepToken', { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async keep({ data }: TaskOf<TokenTask>): Promise<void> {
    if ('revokedAt' in data) return this.store.close(data.id as string, new Date(data.revokedAt as string));
    const { id, name, roles, sha256, createdAt, expiresAt } = data as Extract<TokenTask, { readonly sha256: string }>;
    await this.store.insertOrReplace({
      ...{
        id,
        name,
        roles: roles as readonly Grant[],
        sha256: Buffer.from(sha256, 'hex'),
        createdAt: new Date(createdAt),
      },
      expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
    });
  }
}

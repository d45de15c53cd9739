import type { Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { TokenEffects } from './tokens.effects.js';
import { tokensReconciler, type TokenTask } from './tokens.reconciler.js';

const TIME = '2026-01-01T00:00:00.000Z';
const ID = '0123456789abcdef';
const roles = [{ namespace: 'default', role: 'viewer' }] as const;
const created = { id: ID, name: 'ci', roles, sha256: 'ab'.repeat(32), expiresAt: '2027-01-01T00:00:00.000Z' };

const tasksOf = (type: string, data: object) =>
  tokensReconciler.followUps?.(null, {
    event: stored({ type, data } as unknown as Fact, 1, { time: TIME }),
    now: TIME,
  }) ?? [];
const done = async (type: string, data: object): Promise<readonly unknown[]> => {
  const calls: unknown[] = [];
  const store = {
    insertOrReplace: async (record: unknown) => calls.push(['insert', record]) > 0,
    close: async (id: string, at: Date) => void calls.push(['close', id, at]),
  };
  for (const { data: of } of tasksOf(type, data))
    await new TokenEffects(store).keep({ data: of as TokenTask } as never);
  return calls;
};

describe('a token in the log', () => {
  it('is put into the database with the hash of its secret, its roles and its end', async () =>
    expect(await done('ApiTokenCreated', created)).toEqual([
      [
        'insert',
        {
          ...{ id: ID, name: 'ci', roles, sha256: Buffer.alloc(32, 0xab) },
          ...{ createdAt: new Date(TIME), expiresAt: new Date(created.expiresAt) },
        },
      ],
    ]));

  it('is closed there when it was revoked, by the same task, so that the later of both counts', async () => {
    expect(await done('ApiTokenRevoked', { id: ID })).toEqual([['close', ID, new Date(TIME)]]);
    const keys = [...tasksOf('ApiTokenCreated', created), ...tasksOf('ApiTokenRevoked', { id: ID })];
    expect(new Set(keys.map(({ key }) => key)).size).toBe(1);
  });

  it('without a hash is not put there', async () => {
    const { sha256: _sha256, ...early } = created;
    expect(await done('ApiTokenCreated', early)).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import type { Issuer } from './issuer.client.js';
import type { UserSession, UserSessionsStore } from './user.sessions.store.js';
import { Users } from './users.js';

const NOW = new Date('2026-11-30T10:00:00.000Z');

const signedOut = async (revoke: Issuer['revoke']): Promise<readonly string[]> => {
  const done: string[] = [];
  const session = { id: 's1', refreshToken: 'refresh' } as UserSession;
  const store = { find: async () => session, end: async (id: string) => void done.push(`ended ${id}`) };
  const issuer = {
    revoke: (token: string) => {
      done.push(`revoked ${token}`);
      return revoke(token);
    },
  };
  const users = new Users(issuer as Issuer, store as unknown as UserSessionsStore, { now: () => NOW });
  await users.end('session');
  return done;
};

describe('a user who signs out of the page', () => {
  it.each([
    ['does not answer', (): Promise<void> => new Promise(() => undefined)],
    ['fails', async (): Promise<void> => Promise.reject(new Error('it is down'))],
    ['answers', async (): Promise<void> => undefined],
  ] as const)('is out at once if the issuer %s, which is asked after that', async (_what, revoke) => {
    expect(await signedOut(revoke)).toEqual(['ended s1', 'revoked refresh']);
  });
});

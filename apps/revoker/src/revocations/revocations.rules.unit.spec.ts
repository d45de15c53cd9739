import type { StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { RENEWED_LATE_S, revocationsAt, withEvent, withoutEnded, type Revoked } from './revocations.rules.js';

const LIFETIME_S = 8 * 3_600;
const AT_S = 1_767_225_600;
const user = (letter: string): string => `U${letter.repeat(55)}`;

const revocation = (users: readonly string[], lifetimeSeconds = LIFETIME_S, atSeconds = AT_S) =>
  ({
    type: 'AgentCredentialsRevoked',
    data: { uid: 'x', users, lifetimeSeconds },
    meta: { time: new Date(atSeconds * 1_000).toISOString() },
  }) as unknown as StoredEvent<'AgentCredentialsRevoked'>;

const after = (...events: StoredEvent<'AgentCredentialsRevoked'>[]): Revoked =>
  events.reduce(withEvent, new Map<string, number>());

describe('a revoked user', () => {
  const [one, other] = [user('A'), user('B')];
  const end = AT_S + LIFETIME_S + RENEWED_LATE_S;

  it('is refused with claims of any time until the last that it could have been given has ended', () => {
    const revoked = after(revocation([one, other]));
    expect(revocationsAt(revoked, AT_S)).toEqual({ byUser: { [one]: end, [other]: end }, leftOut: 0 });
    expect(revocationsAt(revoked, end).byUser).toHaveProperty(one);
  });

  it('is left out of the claims when all that it could show has ended', () => {
    const revoked = after(revocation([one]), revocation([other], LIFETIME_S, AT_S + 60));
    expect(revocationsAt(revoked, end + 1)).toEqual({ byUser: { [other]: end + 60 }, leftOut: 0 });
    expect([...withoutEnded(revoked, end + 1).keys()]).toEqual([other]);
  });

  it('is refused no shorter because it is revoked again with a shorter lifetime', () =>
    expect(after(revocation([one]), revocation([one], 60)).get(one)).toBe(end));

  it('is reported when the claims are full: those whose claims end first are left out', () => {
    const revoked = after(revocation([one], LIFETIME_S, AT_S + 1), revocation([other]));
    expect(revocationsAt(revoked, AT_S, 1)).toEqual({ byUser: { [one]: end + 1 }, leftOut: 1 });
  });

  it('makes the same claims in whatever order it was read, so that replicas agree', () => {
    const events = [revocation([one]), revocation([other])] as const;
    const text = (revoked: Revoked): string => JSON.stringify(revocationsAt(revoked, AT_S));
    expect(text(after(events[0], events[1]))).toBe(text(after(events[1], events[0])));
  });
});

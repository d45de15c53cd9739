import type { StoredEvent } from '@fairlead/contracts';

/** Until when each user stays revoked, in seconds. Nothing that it could show is valid after that. */
export type Revoked = ReadonlyMap<string, number>;

/**
 * bootstrap-svc renews a user's claims until it has read of the removal. It reads a second after, and an hour covers a bootstrap-svc that
 * lags behind the log, and clocks that differ.
 */
export const RENEWED_LATE_S = 60 * 60;

/** So many fit into a message of NATS, with the rest of the account's claims. */
export const REVOCATIONS_MAX = 9_000;

const secondsOf = (time: string): number => Math.floor(Date.parse(time) / 1_000);

/** What is revoked after one more event. */
export const withEvent = (revoked: Revoked, { data, meta }: StoredEvent<'AgentCredentialsRevoked'>): Revoked => {
  const until = secondsOf(meta.time) + data.lifetimeSeconds + RENEWED_LATE_S;
  const more = data.users.map((user) => [user, Math.max(until, revoked.get(user) ?? 0)] as const);
  return new Map([...revoked, ...more]);
};

export interface Revocations {
  /** By user: claims that were issued until then are refused. Later than now, so that claims that are renewed late are, too. */
  readonly byUser: Readonly<Record<string, number>>;
  /** Users that should be revoked, too, and do not fit: those whose claims end first. */
  readonly leftOut: number;
}

/** What the account's claims have to say now: whatever could still be valid, and no more than fits. */
export const revocationsAt = (revoked: Revoked, nowSeconds: number, max = REVOCATIONS_MAX): Revocations => {
  const lasting = [...revoked]
    .filter(([, until]) => until >= nowSeconds)
    .toSorted(([one, first], [other, second]) => second - first || (one < other ? -1 : 1));
  return { byUser: Object.fromEntries(lasting.slice(0, max)), leftOut: Math.max(0, lasting.length - max) };
};

/** The same without what has ended. */
export const withoutEnded = (revoked: Revoked, nowSeconds: number): Revoked =>
  new Map([...revoked].filter(([, until]) => until >= nowSeconds));

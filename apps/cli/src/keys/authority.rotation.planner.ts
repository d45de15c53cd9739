import type { Authorities } from '@fairlead/embedded';

/** The next step in the rotation of NATS' authority, which depends only on the file of the authorities. */
export type AuthorityStep =
  /** All clients trust both authorities before the new one signs anything. */
  | { readonly kind: 'announce'; readonly authorities: Authorities }
  /** Agents receive the new authority when they renew their credentials. */
  | { readonly kind: 'wait'; readonly until: string }
  /** The new authority signs the server's certificate, and the key of the former one is destroyed. */
  | { readonly kind: 'switch'; readonly authorities: Authorities }
  /** The server presents a certificate of the new authority: the former one is not needed anymore. */
  | { readonly kind: 'finish'; readonly authorities: Authorities };

export interface AuthorityTimes {
  readonly now: Date;
  /** How long after the announcement an agent may not have received it. */
  readonly agentsForMs: number;
}

/** `made` is the new authority if a rotation starts; `certificateOf` extracts the certificate from a pair. */
export const nextAuthorityStep = (
  { current, other }: Authorities,
  { now, agentsForMs }: AuthorityTimes,
  { made, certificateOf }: { readonly made: string; readonly certificateOf: (pair: string) => string },
): AuthorityStep => {
  switch (other?.role) {
    case undefined: {
      const next = { role: 'next', pair: made, announcedAt: now.toISOString() } as const;
      return { kind: 'announce', authorities: { current, other: next } };
    }
    case 'next': {
      const until = new Date(Date.parse(other.announcedAt) + agentsForMs);
      if (now < until) return { kind: 'wait', until: until.toISOString() };
      const previous = { role: 'previous', certificate: certificateOf(current) } as const;
      return { kind: 'switch', authorities: { current: other.pair, other: previous } };
    }
    case 'previous':
      return { kind: 'finish', authorities: { current } };
  }
};

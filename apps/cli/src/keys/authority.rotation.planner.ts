import type { Authorities } from '@fairlead/embedded';

/** What a rotation of NATS' authority does next. The file of the authorities says how far it is. */
export type AuthorityStep =
  /** Everyone trusts the new one, too, before anything is signed with it. */
  | { readonly kind: 'announce'; readonly authorities: Authorities }
  /** Agents learn of it when they renew their credentials. */
  | { readonly kind: 'wait'; readonly until: string }
  /** From here on the new one signs the server's certificate, and the key of the former one is destroyed. */
  | { readonly kind: 'switch'; readonly authorities: Authorities }
  /** The server shows a certificate of the new one: nothing needs the former one. */
  | { readonly kind: 'finish'; readonly authorities: Authorities };

export interface AuthorityTimes {
  readonly now: Date;
  /** How long after the announcement an agent may still not know of it. */
  readonly agentsForMs: number;
}

/** `made` is the new authority, where a rotation begins; `certificateOf` takes the certificate out of a pair. */
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

import * as z from 'zod';

/** What a user got from the identity provider, kept in the context. */
export const SignedIn = z.strictObject({
  issuer: z.string(),
  clientId: z.string(),
  /** Authority of the issuer's certificate, PEM. */
  ca: z.string().optional(),
  /** Which token of the issuer the server takes. */
  bearer: z.enum(['id', 'access']),
  token: z.string(),
  expiresAt: z.iso.datetime(),
  refreshToken: z.string().optional(),
});
export type SignedIn = z.infer<typeof SignedIn>;

/** Refreshed so long before its end: a request takes a while, and clocks differ. */
const AHEAD_MS = 20_000;

export const isFresh = ({ expiresAt }: SignedIn, nowMs: number): boolean => Date.parse(expiresAt) - nowMs > AHEAD_MS;

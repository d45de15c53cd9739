import { createHash, randomBytes } from 'node:crypto';
import { COOKIE_SEPARATOR } from './session.rules.js';
import type { SignInProof } from './issuer.client.js';

const COOKIE = 'fairlead-sign-in';
const SECRET_BYTES = 32;
const SECRET = /^[\w-]{43}$/;
const MINUTES = 10;

/** Only the browser that began a sign-in has the secret, from which everything that proves it is derived. */
export const newSignInSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

const derived = (secret: string, use: string): string =>
  createHash('sha256').update(`${use} ${secret}`).digest('base64url');

export const proofOf = (secret: string): SignInProof => ({
  state: derived(secret, 'state'),
  nonce: derived(secret, 'nonce'),
  verifier: derived(secret, 'verifier'),
});

/** The browser comes back from another site, so the cookie is sent with such navigations, too. */
export const signInCookie = (secret: string, isSecure: boolean): string =>
  `${COOKIE}=${secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${MINUTES * 60}${isSecure ? '; Secure' : ''}`;

export const endedSignInCookie = (isSecure: boolean): string =>
  `${COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0${isSecure ? '; Secure' : ''}`;

/** undefined: the browser began no sign-in, or too long ago. */
export const signInSecretIn = (cookies: string | undefined): string | undefined => {
  for (const pair of cookies?.split(COOKIE_SEPARATOR) ?? []) {
    const [name, value] = pair.trim().split('=');
    if (name === COOKIE && value !== undefined && SECRET.test(value)) return value;
  }
  return undefined;
};

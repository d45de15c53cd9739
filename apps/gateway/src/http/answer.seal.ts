import { openSealed, seal } from '@fairlead/service-kit';
import { hkdfSync } from 'node:crypto';

/** Who may read a sealed answer: whoever has the token and the key of the request that it answers. Neither is stored. */
export interface Opener {
  readonly bearer: string;
  readonly key: string;
}

interface SealedBody {
  readonly sealed: string;
}

const CONTEXT = 'fairlead/idempotent-answer';
const KEY_BYTES = 32;

const keyOf = ({ bearer, key }: Opener): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', bearer, key, CONTEXT, KEY_BYTES));

export const sealBody = (body: unknown, opener: Opener): SealedBody => ({
  sealed: seal(keyOf(opener), Buffer.from(JSON.stringify(body)), CONTEXT),
});

const isSealed = (body: unknown): body is SealedBody =>
  typeof body === 'object' && body !== null && 'sealed' in body && typeof body.sealed === 'string';

/** undefined: it was sealed for another token. */
export const openBody = (body: unknown, opener: Opener): { readonly body: unknown } | undefined => {
  if (!isSealed(body)) return undefined;
  try {
    return { body: JSON.parse(openSealed(keyOf(opener), body.sealed, CONTEXT).toString('utf8')) as unknown };
  } catch {
    return undefined;
  }
};

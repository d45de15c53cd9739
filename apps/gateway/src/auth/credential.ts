import type { RefusalCode } from '@fairlead/contracts';

/** What a request proves its caller with. */
export interface Credential {
  readonly kind: 'token' | 'session' | 'code';
  readonly text: string;
}

export const UNKNOWN = {
  token: 'auth.token-unknown',
  session: 'session.ended',
  code: 'session.code-unknown',
} as const satisfies Record<Credential['kind'], RefusalCode>;

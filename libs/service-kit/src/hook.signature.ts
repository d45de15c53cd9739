import { hookSecretRef, oldHookSecretOf, oldHookSecretRef } from '@fairlead/contracts';
import { createHmac } from 'node:crypto';
import type { Clock } from './clock.js';
import type { SecretStore } from './secrets.js';

export const SIGNATURE_HEADER = 'fairlead-signature';
const MS_PER_SECOND = 1_000;

/**
 * The time, and per secret the HMAC-SHA256 of time and body. A receiver that knows one of the secrets can detect forged
 * and replayed requests.
 */
export const signatureOf = (secrets: readonly string[], body: string, at: Date): string => {
  const time = Math.floor(at.getTime() / MS_PER_SECOND);
  const signed = secrets.map((secret) => createHmac('sha256', secret).update(`${time}.${body}`).digest('hex'));
  return [`t=${time}`, ...signed.map((signature) => `v1=${signature}`)].join(',');
};

export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** The header, or why there is no signature. */
export type Signed = { readonly header: string } | { readonly why: string };

/** Signs requests with the hook secrets of namespaces. */
export class HookSigner {
  constructor(
    private readonly secrets: Pick<SecretStore, 'get'>,
    private readonly clock: Clock,
  ) {}

  async sign({ namespace, name }: SecretName, body: string): Promise<Signed> {
    const secret = await this.secrets.get(hookSecretRef(namespace, name));
    if (secret === undefined)
      return { why: `the namespace has no hook secret ${name}; set it with "fairlead hook set-secret"` };
    const now = this.clock.now();
    const old = await this.oldOf({ namespace, name }, now);
    // The previous secret comes last: a receiver that reads only the last signature still has that one.
    return { header: signatureOf([secret, ...old], body, now) };
  }

  private async oldOf({ namespace, name }: SecretName, now: Date): Promise<readonly string[]> {
    const text = await this.secrets.get(oldHookSecretRef(namespace, name));
    if (text === undefined) return [];
    const { value, validUntil } = oldHookSecretOf(text);
    return now.getTime() < Date.parse(validUntil) ? [value] : [];
  }
}

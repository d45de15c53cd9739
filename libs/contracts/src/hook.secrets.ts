import * as z from 'zod';
import { Namespace, PoolName, SecretRef } from './ids.js';

/**
 * Owner of the key that seals hook secrets. A separate owner, so that services that call hooks cannot open secrets
 * sealed with the installation's key.
 */
export const HOOK_SECRETS_OWNER = 'hooks';
/** Per namespace. */
export const HOOK_SECRETS_MAX = 50;

const LENGTH = { min: 32, max: 256 };
const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** How long the previous value stays valid after a new one is set. */
export const OLD_HOOK_SECRET_SECONDS = { default: DAY_SECONDS, max: 7 * DAY_SECONDS };

export const hookSecretRef = (namespace: string, name: string): SecretRef =>
  SecretRef.parse(`gateway.hook.${namespace}.${name}`);

/** The previous value, while it is still valid. */
export const oldHookSecretRef = (namespace: string, name: string): SecretRef =>
  SecretRef.parse(`gateway.hook.${namespace}.${name}.old`);

/** The sealed form. */
const OldHookSecret = z.strictObject({ value: z.string(), validUntil: z.iso.datetime() });
export type OldHookSecret = z.infer<typeof OldHookSecret>;

export const oldHookSecretText = (secret: OldHookSecret): string => JSON.stringify(secret);
export const oldHookSecretOf = (text: string): OldHookSecret => OldHookSecret.parse(JSON.parse(text));

export const HookSecretPath = z.object({ namespace: Namespace, secret: PoolName });
export type HookSecretPath = z.infer<typeof HookSecretPath>;

export const HookSecretRequest = z
  .strictObject({
    value: z
      .string()
      .min(LENGTH.min)
      .max(LENGTH.max)
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .describe('The key of HMAC-SHA256, as it is written here; it is sealed'),
    expireOldAfterSeconds: z
      .int()
      .min(0)
      .max(OLD_HOOK_SECRET_SECONDS.max)
      .optional()
      .describe(
        'For how long requests are signed with the value before, too; 0: with the new one only (default: 86400)',
      ),
  })
  .meta({ id: 'HookSecretRequest' });
export type HookSecretRequest = z.infer<typeof HookSecretRequest>;

export const HookSecretView = z
  .strictObject({
    kind: z.literal('HookSecret'),
    name: z.string(),
    setTime: z.iso.datetime().describe('When its value was set last'),
    oldValidUntil: z.iso
      .datetime()
      .optional()
      .describe(
        'Until then requests are signed with the value before, too; absent: there was none, or it ended at once',
      ),
  })
  .meta({ id: 'HookSecret', description: 'A secret that requests to hooks are signed with; its value is not shown' });
export type HookSecretView = z.infer<typeof HookSecretView>;

export const HookSecretValueView = z
  .strictObject({ kind: z.literal('HookSecretValue'), name: z.string(), value: z.string() })
  .meta({ id: 'HookSecretValue', description: 'The value of a secret that requests to hooks are signed with' });
export type HookSecretValueView = z.infer<typeof HookSecretValueView>;

export const HookSecretList = z
  .strictObject({ kind: z.literal('HookSecretList'), items: z.array(HookSecretView) })
  .meta({ id: 'HookSecretList' });
export type HookSecretList = z.infer<typeof HookSecretList>;

/** A hook whose secret does not exist in its namespace. */
export interface UnsignedHook {
  readonly hook: string;
  readonly secret: string;
}

export const unsignedHooks = (
  hooks: readonly { readonly name: string; readonly secretName?: string | undefined }[],
  secrets: readonly string[],
): readonly UnsignedHook[] =>
  hooks.flatMap(({ name: hook, secretName: secret }) =>
    secret === undefined || secrets.includes(secret) ? [] : [{ hook, secret }],
  );

/** The problem and its remedy, without a full stop. */
export const unsignedSentence = ({ hook, secret }: UnsignedHook): string =>
  `the hook ${hook} cannot be called: its namespace has no hook secret ${secret}. Set it with "fairlead hook set-secret ${secret}"`;

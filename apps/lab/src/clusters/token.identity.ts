import * as z from 'zod';

const Jwt = z.strictObject({
  issuer: z.strictObject({
    url: z.url({ protocol: /^https$/ }),
    audiences: z.array(z.string().min(1)).length(1),
    certificateAuthority: z.string().optional(),
  }),
  claimValidationRules: z.array(z.strictObject({ claim: z.string().min(1), requiredValue: z.string() })).default([]),
  claimMappings: z.strictObject({
    username: z.strictObject({ claim: z.string().min(1), prefix: z.string() }),
    groups: z.strictObject({ claim: z.string().min(1), prefix: z.string() }).optional(),
  }),
});
export type Jwt = z.infer<typeof Jwt>;

/** The part of an --authentication-config file that is simulated. */
export const AuthenticationFile = z.strictObject({
  apiVersion: z.literal('apiserver.config.k8s.io/v1beta1'),
  kind: z.literal('AuthenticationConfiguration'),
  jwt: z.array(Jwt).max(64),
});

export interface TokenUser {
  readonly name: string;
  readonly groups: readonly string[];
}

const texts = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
};

/**
 * The user of a token whose signature, issuer, audience and times are already verified, or undefined if its claims do
 * not permit access.
 */
export const userOf = (
  { claimMappings: { username, groups }, claimValidationRules }: Jwt,
  claims: Readonly<Record<string, unknown>>,
): TokenUser | undefined => {
  if (claimValidationRules.some(({ claim, requiredValue }) => claims[claim] !== requiredValue)) return undefined;
  const name = claims[username.claim];
  if (typeof name !== 'string') return undefined;
  if (username.claim === 'email' && 'email_verified' in claims && claims['email_verified'] !== true) return undefined;
  const given = groups === undefined ? undefined : claims[groups.claim];
  const listed = given === undefined ? [] : texts(given);
  if (listed === undefined) return undefined;
  return { name: `${username.prefix}${name}`, groups: listed.map((group) => `${groups?.prefix ?? ''}${group}`) };
};

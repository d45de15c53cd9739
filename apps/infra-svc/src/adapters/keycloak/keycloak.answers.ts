import * as z from 'zod';

/** The parts of Keycloak's responses that are used. Other fields are ignored. */

const id = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9_-]+$/);
const attributes = z.record(z.string(), z.unknown()).optional();

export const Discovery = z.object({
  issuer: z.string(),
  token_endpoint: z.url(),
  jwks_uri: z.url({ protocol: /^https$/ }),
  device_authorization_endpoint: z.url().optional(),
});
export type Discovery = z.infer<typeof Discovery>;

export const AccessToken = z.object({
  // Sent as a header, with the characters that RFC 6750 allows.
  access_token: z
    .string()
    .min(1)
    .max(32_768)
    .regex(/^[A-Za-z0-9._~+/=-]+$/),
});

export const ProtocolMapper = z.object({
  id,
  name: z.string(),
  protocolMapper: z.string(),
  config: z.record(z.string(), z.unknown()).default({}),
});
export type ProtocolMapper = z.infer<typeof ProtocolMapper>;

/** With the other fields, which are compared with what they should be. */
export const Client = z.looseObject({
  id,
  clientId: z.string(),
  attributes,
  protocolMappers: z.array(ProtocolMapper).default([]),
});
export type Client = z.infer<typeof Client>;
/** At most one has the requested ID. */
export const Clients = z.array(Client).max(10);
export const ManyClients = z.array(Client).max(1_000);

export const Group = z.object({ id, name: z.string(), attributes });
export type Group = z.infer<typeof Group>;
export const Groups = z.array(Group).max(1_000);

export const Realm = z.object({ realm: z.string(), enabled: z.boolean().optional(), attributes });
export const Role = z.looseObject({ id, name: z.string() });
export const Roles = z.array(Role).max(1_000);

export const Anything = z.unknown();

/** The codes of RFC 6749 and RFC 6750. */
const ERROR_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
  'invalid_token',
  'insufficient_scope',
] as const;

/** The standard error code of a rejected request, if any. */
export const Problem = z.object({ error: z.enum(ERROR_CODES).optional().catch(undefined) });

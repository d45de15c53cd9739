import * as z from 'zod';

const LENGTH_MAX = 255;
const text = z.string().min(1).max(LENGTH_MAX);

export const Mapper = z.looseObject({
  id: z.string().optional(),
  name: text,
  protocol: z.literal('openid-connect'),
  protocolMapper: z.string(),
  config: z.record(z.string(), z.string()).default({}),
});
export type Mapper = z.infer<typeof Mapper>;

/** The simulated part of a Keycloak client; other fields are kept as sent. */
export const Client = z.looseObject({
  id: z.string(),
  clientId: text,
  enabled: z.boolean().default(true),
  publicClient: z.boolean().default(false),
  secret: z.string().optional(),
  redirectUris: z.array(z.string()).default([]),
  attributes: z.record(z.string(), z.string()).default({}),
  protocolMappers: z.array(Mapper).max(50).default([]),
});
export type Client = z.infer<typeof Client>;

export const Group = z.object({
  id: z.string(),
  name: text,
  /** Absent: it is at the top. */
  parentId: z.string().optional(),
  attributes: z.record(z.string(), z.array(z.string())).default({}),
  /** Roles of the client realm-management. */
  roles: z.array(z.string()).default([]),
});
export type Group = z.infer<typeof Group>;

export const User = z.object({
  id: z.string(),
  username: text,
  enabled: z.boolean().default(true),
  groups: z.array(z.string()).default([]),
});
export type User = z.infer<typeof User>;

export const RealmState = z.object({
  clients: z.array(Client).default([]),
  groups: z.array(Group).default([]),
  users: z.array(User).default([]),
});
export type RealmState = z.infer<typeof RealmState>;

/** A realm that was created by the Admin API. */
export const CreatedRealm = z.object({
  realm: z.string().regex(/^[A-Za-z0-9_-]{1,63}$/),
  displayName: z.string().max(LENGTH_MAX).optional(),
  enabled: z.boolean().default(false),
  attributes: z.record(z.string(), z.string()).default({}),
  state: RealmState,
});
export type CreatedRealm = z.infer<typeof CreatedRealm>;

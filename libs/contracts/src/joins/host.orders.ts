import * as z from 'zod';

/** Bytes of data in a reply: base64-encoded with its envelope, it fits into one agent message. */
export const HOST_OUTPUT_BYTES_MAX = 16 * 1_024;
/** Bytes of a file in one order. */
export const HOST_FILE_BYTES_MAX = 256 * 1_024;
/** Characters of a command's standard input. A step with its parameters takes about a tenth of it. */
export const HOST_STDIN_LENGTH_MAX = 700_000;

const LIMIT_MS_MAX = 3_600_000;

const OrderId = z.string().regex(/^[A-Za-z0-9-]{1,64}$/);
const path = z
  .string()
  .max(512)
  .regex(/^\/[A-Za-z0-9._/-]+$/)
  .refine((text) => !text.split('/').includes('..'));
const Stream = z.enum(['stdout', 'stderr']);
export type HostStream = z.infer<typeof Stream>;

/** Orders from services to a joined host, over its own connection. All are idempotent. */
export const HostOrder = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ping'), id: OrderId }),
  z.strictObject({
    kind: z.literal('run'),
    id: OrderId,
    command: z.string().max(1_024),
    stdin: z.string().max(HOST_STDIN_LENGTH_MAX),
    limitMs: z.int().min(1).max(LIMIT_MS_MAX),
  }),
  z.strictObject({ kind: z.literal('ask'), id: OrderId }),
  z.strictObject({ kind: z.literal('read'), id: OrderId, stream: Stream, at: z.int().min(0) }),
  z.strictObject({ kind: z.literal('kill'), id: OrderId }),
  z.strictObject({ kind: z.literal('exists'), id: OrderId, path }),
  z.strictObject({ kind: z.literal('write'), id: OrderId, path, at: z.int().min(0), data: z.base64() }),
]);
export type HostOrder = z.infer<typeof HostOrder>;

/** A host's reply. Hosts are untrusted: everything is bounded, and only replies to an open order count. */
export const HostReply = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('alive'), id: OrderId }),
  z.strictObject({ kind: z.literal('running'), id: OrderId }),
  z.strictObject({ kind: z.literal('unknown'), id: OrderId }),
  z.strictObject({
    kind: z.literal('ended'),
    id: OrderId,
    code: z.int().nullable(),
    signal: z.string().max(16).nullable(),
    stdout: z.int().min(0),
    stderr: z.int().min(0),
    late: z.boolean().describe('It was ended because its time was over'),
  }),
  z.strictObject({
    kind: z.literal('output'),
    id: OrderId,
    stream: Stream,
    at: z.int().min(0),
    data: z.base64().max(Math.ceil((HOST_OUTPUT_BYTES_MAX * 4) / 3) + 4),
  }),
  z.strictObject({ kind: z.literal('exists'), id: OrderId, exists: z.boolean() }),
  z.strictObject({ kind: z.literal('written'), id: OrderId, size: z.int().min(0) }),
  z.strictObject({ kind: z.literal('failed'), id: OrderId, message: z.string().max(1_000) }),
]);
export type HostReply = z.infer<typeof HostReply>;

/** Files of a joined host's channel, on the host. */
export const HOST_CHANNEL_PATHS = {
  program: '/opt/fairlead/host.mjs',
  config: '/etc/fairlead/host.json',
  credentials: '/etc/fairlead/host.creds',
  /** The host's key. It never leaves the host. */
  seed: '/etc/fairlead/host.seed',
  unit: '/etc/systemd/system/fairlead-host.service',
} as const;

/** The channel's configuration. */
export const HostChannelConfig = z.strictObject({
  namespace: z.string().max(63),
  cluster: z.string().max(63),
  node: z.string().max(253),
  uid: z.string().max(64),
  natsUrls: z.array(z.string().max(2_048)).min(1).max(32),
  natsCa: z.string().max(65_536).optional(),
});
export type HostChannelConfig = z.infer<typeof HostChannelConfig>;

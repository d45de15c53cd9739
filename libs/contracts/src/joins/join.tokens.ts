import * as z from 'zod';
import { Labels } from '../labels.js';

/** How long a join token is valid, in seconds. */
export const JOIN_TOKEN_TTL_SECONDS = { min: 60, default: 3_600, max: 86_400 } as const;
/** Maximum unused tokens per cluster; those of hosts that no pool has claimed yet count. */
export const JOIN_TOKENS_MAX = 100;

export const JoinTokenId = z.string().regex(/^[0-9a-f]{12}$/, { error: 'is not the id of a join token' });
export type JoinTokenId = z.infer<typeof JoinTokenId>;

const SECRET_BYTES = 32;
const SECRET_LENGTH = Math.ceil((SECRET_BYTES * 4) / 3);
const TEXT = /^flj_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;

/** `flj_<id>_<secret>`: only the SHA-256 of the whole text is recorded. */
export const JoinTokenText = z
  .string()
  .length('flj_'.length + 12 + 1 + SECRET_LENGTH, { error: 'is not a join token' })
  .regex(TEXT, { error: 'is not a join token' });

export const joinTokenText = (id: JoinTokenId, secret: Uint8Array): string => {
  if (secret.length !== SECRET_BYTES) throw new Error(`the secret of a join token has ${SECRET_BYTES} bytes`);
  return `flj_${id}_${Buffer.from(secret).toString('base64url')}`;
};

export const joinTokenId = (text: string): JoinTokenId | undefined => TEXT.exec(text)?.[1];

/** Id of a joined host. It differs from the name of its node. */
export const HostId = z.string().regex(/^host-[0-9a-f]{12}$/, { error: 'is not the id of a joined host' });
export type HostId = z.infer<typeof HostId>;

const hasAny = (labels: Labels): boolean => Object.keys(labels).length > 0;

/** Labels of a host that is registered before its pool. They come from the operator who issues its token, never from the host. */
export const HostLabels = Labels.refine(hasAny, { error: 'must have at least one label' });

/** Which registered hosts a pool claims. */
export const HostSelector = z.strictObject({
  matchLabels: HostLabels.describe('A host that has all of these labels is claimed'),
});
export type HostSelector = z.infer<typeof HostSelector>;

export const isSelectedHost = ({ matchLabels }: HostSelector, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value);

/** The public half of an NKey of a NATS user. */
export const NatsUser = z.string().regex(/^U[A-Z2-7]{55}$/, { error: 'is not the public key of a NATS user' });

const CPUS_MAX = 4_096;
const MEMORY_MIB_MAX = 67_108_864;

/** A host's description of itself. The host belongs to a tenant, so it is only displayed, never trusted. */
export const HostFacts = z.strictObject({
  hostname: z
    .string()
    .max(253)
    .regex(/^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$/, { error: 'is not a host name' }),
  machineId: z.string().regex(/^[0-9a-f]{32}$/, { error: 'is not a machine id' }),
  address: z.union([z.ipv4(), z.ipv6()]).describe('From which the host reaches Fairlead, as the host sees it'),
  architecture: z.enum(['amd64', 'arm64']),
  cpus: z.int().min(1).max(CPUS_MAX),
  memoryMiB: z.int().min(1).max(MEMORY_MIB_MAX),
  instanceId: z
    .string()
    .regex(/^[A-Za-z0-9][-._A-Za-z0-9]{0,127}$/, { error: 'is not the id of a machine' })
    .optional()
    .describe('Which machine of a provider it is, by what cloud-init has left'),
});
export type HostFacts = z.infer<typeof HostFacts>;

import * as z from 'zod';
import { ClusterName, Namespace, NodeName, PoolName } from '../ids.js';
import { HostFacts, JOIN_TOKEN_TTL_SECONDS, JoinTokenText, NatsUser } from './join.tokens.js';

const { min, max, default: ttlDefault } = JOIN_TOKEN_TTL_SECONDS;

/** Body of POST /ns/{namespace}/clusters/{cluster}/pools/{pool}/join-tokens. */
export const JoinTokenRequest = z
  .strictObject({
    ttlSeconds: z.int().min(min).max(max).default(ttlDefault).describe('How long the token is valid'),
  })
  .meta({ id: 'JoinTokenRequest' });
export type JoinTokenRequest = z.output<typeof JoinTokenRequest>;

export const JoinTokenView = z
  .strictObject({
    kind: z.literal('JoinToken'),
    id: z.string(),
    namespace: z.string(),
    cluster: z.string(),
    pool: z.string(),
    token: z.string().describe('Shown this once'),
    expiresAt: z.iso.datetime(),
    script: z
      .strictObject({ path: z.string(), sha256: z.string() })
      .describe('The script that installs the agent, below the address of this API'),
  })
  .meta({ id: 'JoinToken' });
export type JoinTokenView = z.infer<typeof JoinTokenView>;

/** Body of POST /join: what a host sends until it is admitted, or refused. */
export const HostJoinRequest = z
  .strictObject({
    namespace: Namespace,
    cluster: ClusterName,
    token: JoinTokenText,
    user: NatsUser.describe('The key of this host; its private half stays there'),
    facts: HostFacts,
  })
  .meta({ id: 'HostJoinRequest' });
export type HostJoinRequest = z.infer<typeof HostJoinRequest>;

/** How the agent of an admitted host connects. */
export const HostCredential = z.strictObject({
  namespace: Namespace,
  cluster: ClusterName,
  node: NodeName,
  uid: z.string().max(64),
  jwt: z.string().max(8_192).describe('Claims for the key of the host; useless without its private half'),
  natsUrls: z.array(z.string().max(2_048)).min(1).max(32),
  natsCa: z.string().max(65_536).optional(),
});
export type HostCredential = z.infer<typeof HostCredential>;

export const HostJoinView = z
  .strictObject({
    kind: z.literal('HostJoin'),
    status: z.enum(['Waiting', 'Admitted', 'Rejected']),
    host: z.string(),
    pool: PoolName,
    message: z.string(),
    credential: HostCredential.optional().describe('Once admitted'),
  })
  .meta({ id: 'HostJoin' });
export type HostJoinView = z.infer<typeof HostJoinView>;

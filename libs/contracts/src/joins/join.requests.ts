import * as z from 'zod';
import { ClusterName, Namespace, NodeName, PoolName } from '../ids.js';
import { BootstrapFormat } from './bootstrap.data.js';
import { HostFacts, HostLabels, JOIN_TOKEN_TTL_SECONDS, JoinTokenText, NatsUser } from './join.tokens.js';

const { min, max, default: ttlDefault } = JOIN_TOKEN_TTL_SECONDS;

/** Body of POST /ns/{namespace}/clusters/{cluster}/pools/{pool}/join-tokens. */
export const JoinTokenRequest = z
  .strictObject({
    ttlSeconds: z.int().min(min).max(max).default(ttlDefault).describe('How long the token is valid'),
  })
  .meta({ id: 'JoinTokenRequest' });
export type JoinTokenRequest = z.output<typeof JoinTokenRequest>;

/** Body of POST /ns/{namespace}/clusters/{cluster}/hosts/join-tokens. */
export const HostTokenRequest = JoinTokenRequest.extend({
  labels: HostLabels.describe('Of the host: a pool whose hostSelector matches them claims it'),
}).meta({ id: 'HostTokenRequest' });
export type HostTokenRequest = z.output<typeof HostTokenRequest>;

export const JoinTokenView = z
  .strictObject({
    kind: z.literal('JoinToken'),
    id: z.string(),
    namespace: z.string(),
    cluster: z.string(),
    pool: z.string().optional().describe('Absent: its host waits until a pool claims it'),
    token: z.string().describe('Shown this once'),
    expiresAt: z.iso.datetime(),
    script: z
      .strictObject({ path: z.string(), sha256: z.string() })
      .describe('The script that installs the agent, below the address of this API'),
  })
  .meta({ id: 'JoinToken' });
export type JoinTokenView = z.infer<typeof JoinTokenView>;

/** Body of POST /join, which a host repeats until it is admitted or refused. */
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
    pool: PoolName.optional().describe('Absent: no pool has claimed the host yet'),
    message: z.string(),
    credential: HostCredential.optional().describe('Once admitted'),
  })
  .meta({ id: 'HostJoin' });
export type HostJoinView = z.infer<typeof HostJoinView>;

const URL_LENGTH_MAX = 2_048;
const AUTHORITY_LENGTH_MAX = 8_192;

/** Query of GET /ns/{namespace}/clusters/{cluster}/pools/{pool}/bootstrap-data. */
export const BootstrapDataQuery = z.strictObject({
  server: z
    .url({ protocol: /^https?$/, error: 'is not an http or https URL' })
    .max(URL_LENGTH_MAX)
    .describe('Address at which the hosts reach this API'),
  format: BootstrapFormat.default('cloud-config').describe('Data that the manifest gives have their own format'),
  authority: z
    .base64()
    .max(AUTHORITY_LENGTH_MAX)
    .optional()
    .describe('Certificates (PEM, in base64) that sign that of the server. Left out: those of the system of the host'),
});
export type BootstrapDataQuery = z.infer<typeof BootstrapDataQuery>;

export const BootstrapDataView = z
  .strictObject({
    kind: z.literal('BootstrapData'),
    namespace: z.string(),
    cluster: z.string(),
    pool: z.string(),
    format: BootstrapFormat,
    source: z.enum(['generated', 'given']).describe('given: by bootstrap.data of the pool'),
    data: z.string().describe('With a token: a secret, until it expires'),
    expiresAt: z.iso.datetime().describe('From then on, its token admits no more hosts'),
  })
  .meta({ id: 'BootstrapData' });
export type BootstrapDataView = z.infer<typeof BootstrapDataView>;

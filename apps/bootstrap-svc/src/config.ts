import type { NodeSigning } from '@fairlead/embedded/credentials';
import { DEFAULT_TUNING, type Tuning } from '@fairlead/node-scripts';
import { AGENT_CREDENTIAL_LIFETIME_MAX_S, HEARTBEAT_INTERVAL_MS, SignedBy } from '@fairlead/contracts';
import { ConfigurationError, parseEnvironment, rereading, type Env } from '@fairlead/service-kit';
import { addressRanges, type AddressRange } from '@fairlead/service-kit/http';
import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import { DEFAULT_LIMITS, type Limits } from './bootstrap/bootstrap.reconciler.js';

const milliseconds = (defaultMs: number) => z.coerce.number().int().min(1).default(defaultMs);

/** The longest time that a deletion waits for load balancers and volumes of its cluster. */
export const RELEASE_TIMEOUT_MAX_MS = 20 * 60_000;

const file = z.string().refine((path) => existsSync(path), 'there is no such file');

const KubeadmTuning = z
  .string()
  .default('{}')
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: 'custom', message: 'is not JSON' });
      return z.NEVER;
    }
  })
  .pipe(
    z.strictObject({
      cgroupDriver: z.enum(['systemd', 'cgroupfs']).default(DEFAULT_TUNING.cgroupDriver),
      failSwapOn: z.boolean().default(DEFAULT_TUNING.failSwapOn),
      kubeProxyMode: z.enum(['iptables', 'ipvs', 'nftables']).default(DEFAULT_TUNING.kubeProxyMode),
      tuneConntrack: z.boolean().default(DEFAULT_TUNING.tuneConntrack),
      imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default(DEFAULT_TUNING.imagePullPolicy),
      imageRepository: z.string().exactOptional(),
      resolvConf: z.string().exactOptional(),
      ignorePreflightErrors: z.array(z.string()).default([]),
      failCgroupV1: z.boolean().exactOptional(),
    }),
  );

const Environment = z.object({
  NATS_URL: z.string().min(1),
  NATS_CA_FILE: file.optional(),
  AGENT_BUNDLE: file.describe('The agent as one file, built by apps/node-agent'),
  SOFTWARE_BUNDLES: z.string().min(1).optional().describe('Folder of the bundles that connections may name'),
  SOFTWARE_SIGNERS: z
    .string()
    .transform((text) => text.split(','))
    .pipe(SignedBy)
    .optional()
    .describe(
      'Public keys, separated by commas: one must have signed the catalogue of a mirror whose connection was registered before connections said why a mirror may be believed',
    ),
  AGENT_NODE_BINARY: z.string().default('/usr/bin/node').describe('The Node runtime on the hosts'),
  AGENT_NATS_URLS: z.string().optional().describe('Where agents find NATS, separated by commas; default: NATS_URL'),
  AGENT_NATS_CA_FILE: file
    .optional()
    .describe('Authority of the certificates of AGENT_NATS_URLS, PEM; default: NATS_CA_FILE'),
  AGENT_HEARTBEAT_INTERVAL_MS: milliseconds(HEARTBEAT_INTERVAL_MS),
  NATS_NODE_SIGNING_FILE: file
    .optional()
    .describe(
      'The account of the nodes and the key that signs their credentials; absent: the NATS server asks for none',
    ),
  AGENT_CREDENTIAL_LIFETIME_S: z.coerce
    .number()
    .int()
    .min(1)
    .max(AGENT_CREDENTIAL_LIFETIME_MAX_S)
    .default(24 * 60 * 60)
    .describe("An agent's NATS credential ends after so long; the agent renews it after a third of that"),
  KUBEADM_TUNING: KubeadmTuning.describe('What differs between kinds of hosts, as JSON'),
  SSH_TRIES_MAX: z.coerce.number().int().min(1).max(100).default(15),
  SSH_DEADLINE_MS: milliseconds(180_000),
  SSH_IDLE_MS: milliseconds(20_000),
  SSH_CONNECTIONS_MAX: z.coerce.number().int().min(1).default(300),
  JOIN_TOKEN_TTL_S: z.coerce
    .number()
    .int()
    .min(60)
    .max(24 * 60 * 60)
    .default(15 * 60)
    .describe(
      'A token with which nodes join ends after so long; no join begins with one that has less than half of that left',
    ),
  AGENT_LIMIT_MS: milliseconds(DEFAULT_LIMITS.agentMs),
  NODE_READY_LIMIT_MS: milliseconds(DEFAULT_LIMITS.readyMs),
  DRAIN_LIMIT_MS: milliseconds(5 * 60_000),
  NODE_DELETION_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .default(10_000)
    .describe('After so long the removal of a node goes on although Kubernetes has not deleted its Node; 0: it fails'),
  RELEASE_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(RELEASE_TIMEOUT_MAX_MS)
    .default(2 * 60_000)
    .describe('After so long a deletion goes on although the cluster has not released its load balancers and volumes'),
  POLL_INTERVAL_MS: milliseconds(500).describe('How often a step looks again at what the API shows while it waits'),
  HOOK_ADDRESSES_ALLOWED: addressRanges.describe('Ranges besides public addresses that hooks of manifests may be at'),
  HOOK_RETRY_MIN_MS: milliseconds(10_000).describe('No hook is asked again sooner'),
  HELM_PROGRAM: file.optional().describe('The helm program; absent: add-ons cannot be installed'),
  CATALOGUE_ADDRESSES_ALLOWED: addressRanges.describe(
    'Ranges besides public addresses that chart repositories may be at',
  ),
  ADDONS_INTERVAL_MS: milliseconds(5 * 60_000).describe('How often it is checked that add-ons are as deployed'),
  TASK_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(96),
});

/** The configuration of this service in addition to the common one; parsed once, frozen. */
export interface Settings {
  readonly agent: {
    readonly bundle: string;
    readonly nodeBinary: string;
    /** The folder of the bundles in connections; absent: none. */
    readonly softwareFolder?: string;
    readonly softwareSigners: readonly string[];
    readonly natsUrls: readonly string[];
    /** CA certificates of NATS, PEM, as the file currently has them; if set, agents require TLS. */
    readonly natsCa?: () => string;
    readonly heartbeatIntervalMs: number;
    /** Signs the agents' credentials; null: the NATS server requires none. */
    readonly signing: NodeSigning | null;
    readonly credentialLifetimeSeconds: number;
  };
  readonly tuning: Tuning;
  readonly ssh: {
    readonly triesMax: number;
    readonly deadlineMs: number;
    readonly idleMs: number;
    readonly connectionsMax: number;
  };
  readonly joinTokenTtlSeconds: number;
  readonly limits: Limits;
  readonly drainLimitMs: number;
  /** 0: a node is not removed before Kubernetes has deleted its Node. */
  readonly nodeDeletionTimeoutMs: number;
  /** After this time a deletion continues although the cluster has not released its load balancers and volumes. */
  readonly releaseTimeoutMs: number;
  /** Polling interval of steps that wait for something that no event reports. */
  readonly lookEveryMs: number;
  readonly hookAddressesAllowed: readonly AddressRange[];
  /** Minimum interval between two calls of a hook. */
  readonly hookAgainAfterMs: number;
  /** undefined: add-ons cannot be installed. */
  readonly helmProgram: string | undefined;
  readonly catalogueAddressesAllowed: readonly AddressRange[];
  /** Interval at which add-ons are compared with their deployment. */
  readonly addonsEveryMs: number;
  readonly taskConcurrency: number;
}

const natsCaOf = (caFile: string | undefined): { readonly natsCa?: () => string } => {
  const natsCa = rereading(caFile);
  return natsCa === undefined ? {} : { natsCa };
};

const SigningFile = z.strictObject({ accountPublicKey: z.string(), signingSeed: z.string() });

const readSigning = (signingFile: string): NodeSigning => {
  const parsed = SigningFile.safeParse(JSON.parse(readFileSync(signingFile, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new ConfigurationError([
    `NATS_NODE_SIGNING_FILE: ${signingFile} does not name an account and its signing seed`,
  ]);
};

/** Throws ConfigurationError with all errors at once. */
export const readSettings = (env: Env): Settings => {
  const parsed = parseEnvironment(Environment, env);
  const signingFile = parsed.NATS_NODE_SIGNING_FILE;
  const signing = signingFile === undefined ? null : readSigning(signingFile);
  return Object.freeze({
    agent: {
      bundle: parsed.AGENT_BUNDLE,
      nodeBinary: parsed.AGENT_NODE_BINARY,
      ...(parsed.SOFTWARE_BUNDLES === undefined ? {} : { softwareFolder: parsed.SOFTWARE_BUNDLES }),
      softwareSigners: parsed.SOFTWARE_SIGNERS ?? [],
      natsUrls: (parsed.AGENT_NATS_URLS ?? parsed.NATS_URL).split(','),
      ...natsCaOf(parsed.AGENT_NATS_CA_FILE ?? parsed.NATS_CA_FILE),
      heartbeatIntervalMs: parsed.AGENT_HEARTBEAT_INTERVAL_MS,
      signing,
      credentialLifetimeSeconds: parsed.AGENT_CREDENTIAL_LIFETIME_S,
    },
    tuning: parsed.KUBEADM_TUNING as Tuning,
    ssh: {
      triesMax: parsed.SSH_TRIES_MAX,
      deadlineMs: parsed.SSH_DEADLINE_MS,
      idleMs: parsed.SSH_IDLE_MS,
      connectionsMax: parsed.SSH_CONNECTIONS_MAX,
    },
    joinTokenTtlSeconds: parsed.JOIN_TOKEN_TTL_S,
    limits: { agentMs: parsed.AGENT_LIMIT_MS, readyMs: parsed.NODE_READY_LIMIT_MS },
    drainLimitMs: parsed.DRAIN_LIMIT_MS,
    nodeDeletionTimeoutMs: parsed.NODE_DELETION_TIMEOUT_MS,
    releaseTimeoutMs: parsed.RELEASE_TIMEOUT_MS,
    lookEveryMs: parsed.POLL_INTERVAL_MS,
    hookAddressesAllowed: parsed.HOOK_ADDRESSES_ALLOWED,
    hookAgainAfterMs: parsed.HOOK_RETRY_MIN_MS,
    helmProgram: parsed.HELM_PROGRAM,
    catalogueAddressesAllowed: parsed.CATALOGUE_ADDRESSES_ALLOWED,
    addonsEveryMs: parsed.ADDONS_INTERVAL_MS,
    taskConcurrency: parsed.TASK_CONCURRENCY,
  });
};

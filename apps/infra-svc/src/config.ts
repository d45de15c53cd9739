import { DnsName, Ed25519PublicKey } from '@fairlead/contracts';
import { ConfigurationError, parseEnvironment } from '@fairlead/service-kit';
import { addressRanges, type AddressRange } from '@fairlead/service-kit/http';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import type { PublishSettings } from './publication/publication.ports.js';

const milliseconds = (byDefault: number) => z.coerce.number().int().min(1).default(byDefault);

const RESOURCES_POLL_MS = 100;
const REALM_FRESH_FOR_MS = 1_000;
/**
 * A waiting cluster continues within 15 s after its realm is ready, of which this and the longest delay of
 * identity.effects.ts are a part.
 */
const REALM_TIMEOUT_MS = 5_000;

const PUBLISHED_PORT = 443;
const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/;
const portNumber = z.coerce.number().int().min(1).max(65_535);
/** As Compose gives a variable that is not set. */
const emptyIsNone = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === '' ? undefined : value), schema.optional());

const Environment = z.object({
  INFRA_TASK_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(128),
  INFRA_CONNECTION_TASKS_MAX: z.coerce.number().int().min(1).max(1_000).default(40),
  INFRA_PROVIDER_CALLS_MAX: z.coerce.number().int().min(1).max(1_000).default(16),
  INFRA_PROVIDER_TIMEOUT_MS: milliseconds(30_000),
  INFRA_MACHINES_TIMEOUT_MS: milliseconds(15 * 60_000),
  INFRA_OFFERS_FRESH_FOR_MS: milliseconds(10_000),
  INFRA_RESOURCES_FRESH_FOR_MS: milliseconds(60_000),
  INFRA_RESOURCES_TIMEOUT_MS: milliseconds(120_000),
  INFRA_WATCH_INTERVAL_MS: z.coerce.number().int().min(100).default(60_000),
  INFRA_WATCH_TIMEOUT_MS: milliseconds(30_000),
  CATALOGUE_INTERVAL_MS: z.coerce.number().int().min(1_000).default(3_600_000),
  CATALOGUE_ADDRESSES_ALLOWED: addressRanges.describe(
    'Ranges besides public addresses that chart repositories may be at',
  ),
  AGENT_NATS_URLS: z
    .string()
    .optional()
    .describe('Where agents find NATS, separated by commas: no network of pods or services may contain it'),
  REALM_ADDRESSES_ALLOWED: addressRanges.describe('Ranges besides public addresses that identity realms may be at'),
  GATEWAY_URL: emptyIsNone(z.url({ protocol: /^https?$/ })).describe(
    'Where machines that join by themselves reach the gateway',
  ),
  PUBLISH_DOMAIN: emptyIsNone(DnsName).describe(
    'Names of clusters are below it, e.g. api.<cluster>.<domain>; left out: no cluster is published',
  ),
  PUBLISH_PORT: portNumber.default(PUBLISHED_PORT).describe('Where clients reach the tunnel by TLS'),
  TUNNEL_ADDRESS: emptyIsNone(z.string().regex(HOST_PORT, 'is not <host>:<port>')).describe(
    'Where control planes reach the tunnel by SSH, <host>:<port>; left out: tunnel.<domain>:2222',
  ),
  TUNNEL_PUBLIC_KEY_FILE: z.string().min(1).optional().describe('The public half of its SSH host key'),
  GATEWAY_CA: emptyIsNone(z.string().max(65_536)).describe('Certificates (PEM) that sign that of the gateway'),
});

/** Throws ConfigurationError: a name without the key of the tunnel could be held by anyone in between. */
const publishSettingsOf = (parsed: z.output<typeof Environment>): PublishSettings | undefined => {
  const { PUBLISH_DOMAIN: domain, PUBLISH_PORT: port, TUNNEL_PUBLIC_KEY_FILE: file } = parsed;
  if (domain === undefined) return undefined;
  if (file === undefined) throw new ConfigurationError(['PUBLISH_DOMAIN needs TUNNEL_PUBLIC_KEY_FILE']);
  const hostKey = readFileSync(file, 'utf8').trim().split(' ').slice(0, 2).join(' ');
  if (!Ed25519PublicKey.safeParse(hostKey).success)
    throw new ConfigurationError([`TUNNEL_PUBLIC_KEY_FILE: ${file} holds no ssh-ed25519 key`]);
  const [, address, name, tunnelPort] = HOST_PORT.exec(parsed.TUNNEL_ADDRESS ?? `tunnel.${domain}:2222`) ?? [];
  return { domain, port, tunnel: { host: address ?? name ?? '', port: Number(tunnelPort), hostKey } };
};

/** The settings of this service besides those of every service; parsed once and frozen. */
export interface Settings {
  /** How many jobs a replica runs concurrently. Jobs mostly wait for a provider, so this may be large. */
  readonly taskConcurrency: number;
  /** How many of them may use the same connection: if its provider hangs, the others use the rest. */
  readonly connectionTasksMax: number;
  /** How many concurrent calls one connection's provider receives, not counting waits for machines. */
  readonly providerCallsMax: number;
  /** Timeout of one call to a provider. */
  readonly providerTimeoutMs: number;
  /** Timeout for all machines of a cluster to respond after they were requested. */
  readonly machinesTimeoutMs: number;
  /** How long an offer is cached. */
  readonly offersFreshForMs: number;
  /** How long ensured shared resources are cached, because they may be deleted at the provider. */
  readonly resourcesFreshForMs: number;
  /** Timeout for ensuring the shared resources of a connection. */
  readonly resourcesTimeoutMs: number;
  /** Interval between two checks of the machines of a connection. */
  readonly watchIntervalMs: number;
  /** Timeout for listing the machines of a connection. */
  readonly watchTimeoutMs: number;
  /** Interval between two synchronizations of an application of the catalogue. */
  readonly catalogueIntervalMs: number;
  /** Address ranges of chart repositories that are allowed besides public addresses. */
  readonly catalogueAddressesAllowed: readonly AddressRange[];
  /** Address ranges of identity realms that are allowed besides public addresses. */
  readonly realmAddressesAllowed: readonly AddressRange[];
  /** URLs at which agents reach NATS; empty: unknown here. */
  readonly agentNatsUrls: readonly string[];
  /** The URL at which joining machines reach the gateway; undefined: joining is not possible. */
  readonly gatewayUrl: string | undefined;
  /** PEM; undefined: the CAs of the machines. */
  readonly gatewayCa: string | undefined;
  /** Where names of clusters are published; undefined: none is. */
  readonly publish: PublishSettings | undefined;
  /** How long a replica caches its check of a realm, for all clusters that wait for it. */
  readonly realmFreshForMs: number;
  /** Timeout of a check of a realm. */
  readonly realmTimeoutMs: number;
  /** How often a replica checks whether another one has ensured shared resources. */
  readonly resourcesPollMs: number;
}

/** Throws a ConfigurationError with all problems at once. */
export const readSettings = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    taskConcurrency: parsed.INFRA_TASK_CONCURRENCY,
    connectionTasksMax: parsed.INFRA_CONNECTION_TASKS_MAX,
    providerCallsMax: parsed.INFRA_PROVIDER_CALLS_MAX,
    providerTimeoutMs: parsed.INFRA_PROVIDER_TIMEOUT_MS,
    machinesTimeoutMs: parsed.INFRA_MACHINES_TIMEOUT_MS,
    offersFreshForMs: parsed.INFRA_OFFERS_FRESH_FOR_MS,
    resourcesFreshForMs: parsed.INFRA_RESOURCES_FRESH_FOR_MS,
    resourcesTimeoutMs: parsed.INFRA_RESOURCES_TIMEOUT_MS,
    watchIntervalMs: parsed.INFRA_WATCH_INTERVAL_MS,
    watchTimeoutMs: parsed.INFRA_WATCH_TIMEOUT_MS,
    catalogueIntervalMs: parsed.CATALOGUE_INTERVAL_MS,
    catalogueAddressesAllowed: parsed.CATALOGUE_ADDRESSES_ALLOWED,
    realmAddressesAllowed: parsed.REALM_ADDRESSES_ALLOWED,
    agentNatsUrls: parsed.AGENT_NATS_URLS?.split(',') ?? [],
    gatewayUrl: parsed.GATEWAY_URL,
    gatewayCa: parsed.GATEWAY_CA,
    publish: publishSettingsOf(parsed),
    realmFreshForMs: REALM_FRESH_FOR_MS,
    realmTimeoutMs: REALM_TIMEOUT_MS,
    resourcesPollMs: RESOURCES_POLL_MS,
  });
};

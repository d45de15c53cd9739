import { parseEnvironment } from '@fairlead/service-kit';
import { addressRanges, type AddressRange } from '@fairlead/service-kit/http';
import * as z from 'zod';

const milliseconds = (byDefault: number) => z.coerce.number().int().min(1).default(byDefault);

const RESOURCES_POLL_MS = 100;
const REALM_FRESH_FOR_MS = 1_000;
/** A cluster that waits for a realm goes on within 15 s after it is ready: this, and the longest wait of identity.effects.ts, are part of that. */
const REALM_TIMEOUT_MS = 5_000;

const Environment = z.object({
  INFRA_JOB_CONCURRENCY: z.coerce.number().int().min(1).max(1_000).default(128),
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
  GATEWAY_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Where machines that join by themselves reach the gateway'),
  GATEWAY_CA: z.string().max(65_536).optional().describe('Certificates (PEM) that sign that of the gateway'),
});

/** What this service needs to know beyond what every service does; parsed once, frozen. */
export interface Settings {
  /** How many jobs a replica works on at a time. Most of that time a job waits for a provider, so it may be many. */
  readonly jobConcurrency: number;
  /** How many of them may need the same connection: if its provider hangs, the others have the rest. */
  readonly connectionTasksMax: number;
  /** How many calls to one connection's provider may be under way at a time; waiting for machines does not count. */
  readonly providerCallsMax: number;
  /** One call to a provider may take so long. */
  readonly providerTimeoutMs: number;
  /** All machines of a cluster must answer within this time after they were desired. */
  readonly machinesTimeoutMs: number;
  /** An offer is asked for again after this time. */
  readonly offersFreshForMs: number;
  /** Shared resources are ensured again after this time: someone may have deleted them at the provider. */
  readonly resourcesFreshForMs: number;
  /** Ensuring the shared resources of a connection may take so long. */
  readonly resourcesTimeoutMs: number;
  /** Between two looks at the machines of a connection. */
  readonly watchIntervalMs: number;
  /** A provider has so long to list the machines of a connection. */
  readonly watchTimeoutMs: number;
  /** Between two synchronizations of an application of the catalogue. */
  readonly catalogueIntervalMs: number;
  /** Besides public addresses: where chart repositories may be. */
  readonly catalogueAddressesAllowed: readonly AddressRange[];
  /** Besides public addresses: where identity realms may be. */
  readonly realmAddressesAllowed: readonly AddressRange[];
  /** Where agents find NATS; empty: that is not known here. */
  readonly agentNatsUrls: readonly string[];
  /** Where machines that join by themselves reach the gateway; undefined: none can. */
  readonly gatewayUrl: string | undefined;
  /** PEM; undefined: the authorities of the machines. */
  readonly gatewayCa: string | undefined;
  /** However many clusters wait for a realm, a replica looks at it no more often. */
  readonly realmFreshForMs: number;
  /** A look at a realm may take so long. */
  readonly realmTimeoutMs: number;
  /** How often a replica looks whether another one is done with them. */
  readonly resourcesPollMs: number;
}

/** Throws ConfigurationError with all faults at once. */
export const readSettings = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    jobConcurrency: parsed.INFRA_JOB_CONCURRENCY,
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
    realmFreshForMs: REALM_FRESH_FOR_MS,
    realmTimeoutMs: REALM_TIMEOUT_MS,
    resourcesPollMs: RESOURCES_POLL_MS,
  });
};

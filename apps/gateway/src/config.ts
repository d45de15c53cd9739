import { DnsName, MaintenanceWindow } from '@fairlead/contracts';
import { parseEnvironment, type Env } from '@fairlead/service-kit';
import * as z from 'zod';
import type { Rate } from './limits/rates.rules.js';
import { OIDC_ENVIRONMENT, oidcSettings, type OidcSettings } from './auth/user.settings.js';

export const SETTINGS = Symbol('gateway.settings');

const WINDOW = /^([a-z,]+) (\d{2}:\d{2})-(\d{2}:\d{2})$/;

/** `sat,sun 01:00-05:00; wed 02:00-04:00`, in UTC. */
const windows = z.string().transform((text, context): readonly MaintenanceWindow[] =>
  text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [, days = '', from, to] = WINDOW.exec(part) ?? [];
      const parsed = MaintenanceWindow.safeParse({ days: days.split(','), from, to });
      if (parsed.success) return [parsed.data];
      context.addIssue({ code: 'custom', message: `"${part}" is not a window like "sat,sun 01:00-05:00"` });
      return [];
    }),
);

const RATE = /^(\d{1,6}(?:\.\d{1,3})?)\/(\d{1,9})$/;

/** `20/5000`: so many a second without end, and so many at once. */
const rate = (otherwise: string) =>
  z
    .string()
    .default(otherwise)
    .transform((text, context): Rate => {
      const [, perSecond = '', burst = ''] = RATE.exec(text) ?? [];
      if (Number(perSecond) > 0 && Number(burst) > 0) return { perSecond: Number(perSecond), burst: Number(burst) };
      context.addIssue({
        code: 'custom',
        message: `"${text}" is not a limit like "${otherwise}": <a second>/<at once>`,
      });
      return z.NEVER;
    });

const atOnce = (otherwise: number) => z.coerce.number().int().min(1).max(1_000_000).default(otherwise);

const MIB = 1024 * 1024;

/** A host and a port. */
export interface HostPort {
  /** A DNS name or an address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/;
const PORT_MAX = 65_535;

/** `fairlead.example.com:7443`, `[2001:db8::1]:7443`; left out, or empty. */
const hostPort = z.string().transform((text, context): HostPort | undefined => {
  if (text === '') return undefined;
  const [, address, name, port = ''] = HOST_PORT.exec(text) ?? [];
  const host = address ?? name;
  if (host !== undefined && Number(port) <= PORT_MAX) return { host, port: Number(port) };
  context.addIssue({ code: 'custom', message: `"${text}" is not <host>:<port>` });
  return z.NEVER;
});

const Environment = z.object({
  FAIRLEAD_LOCAL_TOKEN_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'File of the local administrator token; made at the first start. Left out: tokens exist only in the database',
    ),
  CERTIFICATE_RENEWAL: z
    .enum(['report', 'renew'])
    .default('report')
    .describe('What follows when certificates of a cluster end in less than 90 days: renew begins a rollout by itself'),
  CERTIFICATE_RENEWAL_WINDOWS: windows
    .prefault('')
    .describe('When control planes may be touched for it, e.g. "sat,sun 01:00-05:00" (UTC); empty: always'),
  AGENT_NATS_URLS: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where agents find NATS, the same value as for bootstrap-svc: own hosts that cannot reach it are refused; left out: not checked',
    ),
  TOKEN_CHANGES_LIMIT: rate('20/5000').describe('Requests of a token that change something: a second/at once'),
  TOKEN_READS_LIMIT: rate('200/20000').describe('Other requests of a token: a second/at once'),
  NAMESPACE_CHANGES_LIMIT: rate('40/10000').describe('The same of all tokens with a role in a namespace together'),
  NAMESPACE_READS_LIMIT: rate('400/40000').describe('The same of all tokens with a role in a namespace together'),
  TOKEN_STREAMS_MAX: atOnce(64).describe('Event streams of a token at once'),
  TOKEN_WAITS_MAX: atOnce(256).describe('Requests of a token at once that wait for the end of what they asked for'),
  TOKEN_AUDITS_MAX: atOnce(4).describe('Pages of audits that are read with a token at once'),
  ANSWER_MAX_MIB: z.coerce.number().int().min(1).max(1024).default(64).describe('A larger answer is refused'),
  REQUEST_TIMEOUT_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(300)
    .default(10)
    .describe('A request must arrive within it'),
  AUTOSCALER_ADDRESS: hostPort
    .optional()
    .describe(
      'Where Cluster Autoscaler of a cluster reaches the gateway by gRPC, <host>:<port>; left out: it is not served',
    ),
  AUTOSCALER_LISTEN: hostPort
    .optional()
    .describe('Where the gateway listens for it; left out: the port of AUTOSCALER_ADDRESS on all addresses'),
  STALLED_AFTER_MINUTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(7 * 24 * 60)
    .default(30)
    .describe('A cluster whose step takes longer is Degraded, with the condition Stalled'),
  METRICS_NAMES: z
    .enum(['hide', 'show'])
    .default('hide')
    .describe(
      'show: gauges of virtual addresses name namespaces, clusters and nodes, although /metrics needs no token',
    ),
  PRICE_LIST: z
    .string()
    .min(1)
    .optional()
    .describe('A file with what machines cost by connection and machine type; left out: no costs are shown'),
  AGENT_BUNDLE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'The agent that hosts get that join by themselves, dist/agent.mjs of apps/node-agent; left out: none join',
    ),
  PUBLISH_DOMAIN: z
    .preprocess((value) => (value === '' ? undefined : value), DnsName.optional())
    .describe('The same value as for infra-svc: names of clusters are below it; left out: no cluster is published'),
  PAGE_DIR: z
    .string()
    .min(1)
    .optional()
    .describe("The built operator's page, apps/web/dist/page of a checkout; left out: / only says how to get it"),
  LOG_DISK_RESERVE_MIB: z.coerce
    .number()
    .int()
    .min(0)
    .max(1024 * 1024 * 1024)
    .default(1024)
    .describe('With less free space for the event log, commands that start new work are refused'),
  NATS_STORE_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('A folder on the file system where NATS keeps the log; left out: its free space is not watched'),
  NATS_MONITOR_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Monitoring of NATS, e.g. http://127.0.0.1:8222; left out: its max_file_store is not watched'),
  ...OIDC_ENVIRONMENT,
});

/** Limits of one replica. */
export interface RequestBounds {
  readonly tokenChanges: Rate;
  readonly tokenReads: Rate;
  readonly namespaceChanges: Rate;
  readonly namespaceReads: Rate;
  readonly tokenStreams: number;
  readonly tokenWaits: number;
  readonly tokenAudits: number;
  readonly answerBytes: number;
  /** So long may a request take to arrive. */
  readonly requestMs: number;
}

/** How the disk of the log is watched. */
export interface DiskConfig {
  readonly reserveBytes: number;
  readonly storeDir: string | undefined;
  readonly monitorUrl: string | undefined;
}

export interface Settings {
  /** undefined: not known here. */
  readonly agentNatsUrls: readonly string[] | undefined;
  readonly localTokenFile: string | undefined;
  readonly renewal: 'report' | 'renew';
  readonly renewalWindows: readonly MaintenanceWindow[];
  readonly limits: RequestBounds;
  /** How autoscalers of clusters are served; undefined: not at all. */
  readonly autoscaler: { readonly address: HostPort; readonly listen: HostPort } | undefined;
  /** A step in progress for longer is stalled. */
  readonly stalledAfterMs: number;
  /** Metrics may name clusters and nodes. */
  readonly metricsNames: boolean;
  /** The file with the prices of machines; undefined: no costs are shown. */
  readonly priceList: string | undefined;
  readonly disk: DiskConfig;
  /** The agent for hosts that join by themselves; undefined: none may join. */
  readonly agentBundle: string | undefined;
  /** Names of clusters are below it; undefined: none is published. */
  readonly publishDomain: string | undefined;
  /** Where the page is; undefined: not served. */
  readonly pageDir: string | undefined;
  /** How users sign in with OpenID Connect; undefined: only API tokens are accepted. */
  readonly oidc: OidcSettings | undefined;
}

const autoscalerOf = ({
  AUTOSCALER_ADDRESS: address,
  AUTOSCALER_LISTEN,
}: z.output<typeof Environment>): Settings['autoscaler'] =>
  address === undefined ? undefined : { address, listen: AUTOSCALER_LISTEN ?? { host: '0.0.0.0', port: address.port } };

export const readSettings = (env: Env): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    localTokenFile: parsed.FAIRLEAD_LOCAL_TOKEN_FILE,
    agentNatsUrls: parsed.AGENT_NATS_URLS?.split(','),
    renewal: parsed.CERTIFICATE_RENEWAL,
    renewalWindows: parsed.CERTIFICATE_RENEWAL_WINDOWS,
    limits: {
      tokenChanges: parsed.TOKEN_CHANGES_LIMIT,
      tokenReads: parsed.TOKEN_READS_LIMIT,
      namespaceChanges: parsed.NAMESPACE_CHANGES_LIMIT,
      namespaceReads: parsed.NAMESPACE_READS_LIMIT,
      tokenStreams: parsed.TOKEN_STREAMS_MAX,
      tokenWaits: parsed.TOKEN_WAITS_MAX,
      tokenAudits: parsed.TOKEN_AUDITS_MAX,
      answerBytes: parsed.ANSWER_MAX_MIB * MIB,
      requestMs: parsed.REQUEST_TIMEOUT_SECONDS * 1_000,
    },
    autoscaler: autoscalerOf(parsed),
    stalledAfterMs: parsed.STALLED_AFTER_MINUTES * 60_000,
    metricsNames: parsed.METRICS_NAMES === 'show',
    priceList: parsed.PRICE_LIST,
    agentBundle: parsed.AGENT_BUNDLE,
    pageDir: parsed.PAGE_DIR,
    publishDomain: parsed.PUBLISH_DOMAIN,
    oidc: oidcSettings(parsed),
    disk: {
      reserveBytes: parsed.LOG_DISK_RESERVE_MIB * MIB,
      storeDir: parsed.NATS_STORE_DIR,
      monitorUrl: parsed.NATS_MONITOR_URL,
    },
  });
};

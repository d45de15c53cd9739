import { databaseUrlOver, isLoopback } from '@fairlead/embedded/trust';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { ConfigurationError } from './configuration.error.js';
import type { TlsFiles } from './http.tls.js';
import { MasterKeyFile, type MasterKeySource } from './master.key.file.js';

export { ConfigurationError } from './configuration.error.js';

/** Empty counts as absent: Compose passes unset variables as empty. */
const filePath = z
  .string()
  .optional()
  .transform((path) => (path === '' ? undefined : path));
const plainText = z.enum(['refuse', 'allow']).default('refuse');

/** Environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

const Environment = z.object({
  NATS_URL: z.string().min(1).describe('nats://host:port, several separated by commas'),
  NATS_CA_FILE: z
    .string()
    .optional()
    .describe("Authority of the NATS server's certificate, PEM; then TLS is required. Read again at each connect"),
  NATS_CREDS: z.string().optional().describe("File with the service's NATS credentials"),
  DATABASE_URL: z.url().optional().describe("postgres:// URL of the service's own database"),
  DATABASE_URL_FILE: z.string().optional().describe('File that contains it, since it carries a password'),
  DATABASE_CA_FILE: filePath.describe("Authority of PostgreSQL's certificate, PEM; then TLS is required"),
  DATABASE_PLAIN_TEXT: plainText.describe(
    'allow: PostgreSQL on another machine may be called without TLS, where its URL does not ask for it',
  ),
  TLS_CERT_FILE: filePath.describe('Certificate of the HTTP address with its chain, PEM; read again when it changes'),
  TLS_KEY_FILE: filePath.describe('Key of that certificate, PEM'),
  HTTP_PLAIN_TEXT: plainText.describe(
    'allow: requests that carry tokens may come without TLS from other machines; for a proxy that terminates TLS',
  ),
  PORT: z.coerce.number().int().min(0).max(65_535).default(0).describe('HTTP port, 0 for any free one'),
  HOST: z.string().default('127.0.0.1').describe('HTTP address to listen on'),
  FAIRLEAD_MASTER_KEY_FILE: z
    .string()
    .min(1)
    .describe('File with 32 bytes, base64: the key over all keys of secrets; read again while it is rotated'),
  STALL_AFTER_MS: z.coerce
    .number()
    .int()
    .min(100)
    .max(3_600_000)
    .default(30_000)
    .describe('A partition of the log that has not moved for so long while events wait makes the service not ready'),
  DEPENDENCIES_WAIT_MS: z.coerce
    .number()
    .int()
    .min(0)
    .max(86_400_000)
    .default(600_000)
    .describe('How long a start waits for NATS and PostgreSQL'),
  LOG_FORMAT: z.enum(['json', 'pretty']).default('json'),
  LOG_LEVEL: z.enum(['error', 'warn', 'log', 'debug']).default('log'),
});

/** The configuration of every service; parsed once and frozen. */
export interface ServiceConfig {
  readonly natsUrls: readonly string[];
  readonly natsCredentials: string | undefined;
  /** CAs of the NATS server, PEM, read from the file on each call. */
  readonly natsCa: (() => string) | undefined;
  readonly databaseUrl: string;
  readonly host: string;
  /** Files of the certificate for HTTPS; undefined: plain text. */
  readonly tls: TlsFiles | undefined;
  /** Whether requests with tokens from other machines may use plain text. */
  readonly plainHttp: boolean;
  readonly port: number;
  readonly masterKeys: MasterKeySource;
  readonly stallAfterMs: number;
  readonly dependenciesWaitMs: number;
  readonly logFormat: 'json' | 'pretty';
  readonly logLevel: 'error' | 'warn' | 'log' | 'debug';
}

/**
 * Parses environment variables by a schema; throws ConfigurationError with all faults. Also for a service's own
 * variables.
 */
export const parseEnvironment = <Shape extends z.ZodType>(schema: Shape, env: Env): z.output<Shape> => {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
};

const masterKeysIn = (file: string): MasterKeySource => {
  try {
    return new MasterKeyFile(file);
  } catch (error) {
    throw new ConfigurationError([
      `FAIRLEAD_MASTER_KEY_FILE: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
};

const givenDatabaseUrl = (parsed: z.output<typeof Environment>): string => {
  if (parsed.DATABASE_URL !== undefined) return parsed.DATABASE_URL;
  if (parsed.DATABASE_URL_FILE !== undefined) return readFileSync(parsed.DATABASE_URL_FILE, 'utf8').trim();
  throw new ConfigurationError(['DATABASE_URL: set it, or DATABASE_URL_FILE']);
};

/** The parameters of the URL determine TLS, so that all clients connect in the same way. */
const databaseUrlOf = (parsed: z.output<typeof Environment>): string => {
  const trust = { caFile: parsed.DATABASE_CA_FILE, plainText: parsed.DATABASE_PLAIN_TEXT === 'allow' };
  const over = databaseUrlOver(givenDatabaseUrl(parsed), trust);
  if ('fault' in over) throw new ConfigurationError([`DATABASE_URL: it ${over.fault}`]);
  return over.url;
};

const tlsOf = ({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile }: z.output<typeof Environment>) => {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new ConfigurationError(['TLS_CERT_FILE, TLS_KEY_FILE: set both, or none']);
};

/** Throws ConfigurationError if tokens would cross a network in plain text without explicit permission. */
export const refusePlainTokens = ({
  host,
  tls,
  plainHttp,
}: Pick<ServiceConfig, 'host' | 'tls' | 'plainHttp'>): void => {
  if (tls !== undefined || plainHttp || isLoopback(host)) return;
  throw new ConfigurationError([
    `HOST: ${host} is reached from other machines, whose tokens would come in plain text. Set TLS_CERT_FILE and TLS_KEY_FILE, or HTTP_PLAIN_TEXT=allow behind a proxy that terminates TLS`,
  ]);
};

/** Reads a file on each call, because it may be replaced; throws immediately if it cannot be read now. */
export const rereading = (file: string | undefined): (() => string) | undefined => {
  if (file === undefined) return undefined;
  const read = (): string => readFileSync(file, 'utf8');
  read();
  return read;
};

export const readServiceConfig = (env: Env): ServiceConfig => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    natsUrls: parsed.NATS_URL.split(','),
    natsCredentials: parsed.NATS_CREDS === undefined ? undefined : readFileSync(parsed.NATS_CREDS, 'utf8'),
    natsCa: rereading(parsed.NATS_CA_FILE),
    databaseUrl: databaseUrlOf(parsed),
    host: parsed.HOST,
    tls: tlsOf(parsed),
    plainHttp: parsed.HTTP_PLAIN_TEXT === 'allow',
    port: parsed.PORT,
    masterKeys: masterKeysIn(parsed.FAIRLEAD_MASTER_KEY_FILE),
    stallAfterMs: parsed.STALL_AFTER_MS,
    dependenciesWaitMs: parsed.DEPENDENCIES_WAIT_MS,
    logFormat: parsed.LOG_FORMAT,
    logLevel: parsed.LOG_LEVEL,
  });
};

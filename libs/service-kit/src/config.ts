import { readFileSync } from 'node:fs';
import { z } from 'zod';

const MASTER_KEY_BYTES = 32;

const Environment = z.object({
  NATS_URL: z.string().min(1).describe('nats://host:port, several separated by commas'),
  NATS_CA_FILE: z.string().optional().describe("Authority of the NATS server's certificate, PEM; then TLS is required"),
  NATS_CREDS: z.string().optional().describe("File with the service's NATS credentials"),
  DATABASE_URL: z.url().optional().describe("postgres:// URL of the service's own database"),
  DATABASE_URL_FILE: z.string().optional().describe('File that holds it, for it carries a password'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(0).describe('HTTP port, 0 for any free one'),
  HOST: z.string().default('127.0.0.1').describe('HTTP address to listen on'),
  FAIRLEAD_MASTER_KEY_FILE: z.string().min(1).describe('File with 32 bytes, base64: the key over all keys of secrets'),
  JOB_ACK_WAIT_MS: z.coerce
    .number()
    .int()
    .min(500)
    .max(600_000)
    .default(5_000)
    .describe('After so long without a sign of life a job goes to another replica'),
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

/** What every service needs to know; parsed once, frozen. */
export interface ServiceConfig {
  readonly natsUrls: readonly string[];
  readonly natsCredentials: string | undefined;
  /** PEM. */
  readonly natsCa: string | undefined;
  readonly databaseUrl: string;
  readonly host: string;
  readonly port: number;
  readonly masterKey: Uint8Array;
  readonly jobAckWaitMs: number;
  readonly stallAfterMs: number;
  readonly dependenciesWaitMs: number;
  readonly logFormat: 'json' | 'pretty';
  readonly logLevel: 'error' | 'warn' | 'log' | 'debug';
}

/** A configuration that cannot be used: every fault at once, each with the name of its variable. */
export class ConfigurationError extends Error {
  constructor(faults: readonly string[]) {
    super(`the configuration cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigurationError';
  }
}

/** Parses environment variables by a schema; throws ConfigurationError with all faults. For a service's own variables too. */
export const parseEnvironment = <Shape extends z.ZodType>(
  schema: Shape,
  env: Readonly<Record<string, string | undefined>>,
): z.output<Shape> => {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  throw new ConfigurationError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
};

const readMasterKey = (file: string): Uint8Array => {
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== MASTER_KEY_BYTES)
    throw new ConfigurationError([`FAIRLEAD_MASTER_KEY_FILE: ${file} must hold ${MASTER_KEY_BYTES} bytes in base64`]);
  return key;
};

const databaseUrlOf = (parsed: z.output<typeof Environment>): string => {
  if (parsed.DATABASE_URL !== undefined) return parsed.DATABASE_URL;
  if (parsed.DATABASE_URL_FILE !== undefined) return readFileSync(parsed.DATABASE_URL_FILE, 'utf8').trim();
  throw new ConfigurationError(['DATABASE_URL: set it, or DATABASE_URL_FILE']);
};

export const readServiceConfig = (env: Readonly<Record<string, string | undefined>>): ServiceConfig => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    natsUrls: parsed.NATS_URL.split(','),
    natsCredentials: parsed.NATS_CREDS === undefined ? undefined : readFileSync(parsed.NATS_CREDS, 'utf8'),
    natsCa: parsed.NATS_CA_FILE === undefined ? undefined : readFileSync(parsed.NATS_CA_FILE, 'utf8'),
    databaseUrl: databaseUrlOf(parsed),
    host: parsed.HOST,
    port: parsed.PORT,
    masterKey: readMasterKey(parsed.FAIRLEAD_MASTER_KEY_FILE),
    jobAckWaitMs: parsed.JOB_ACK_WAIT_MS,
    stallAfterMs: parsed.STALL_AFTER_MS,
    dependenciesWaitMs: parsed.DEPENDENCIES_WAIT_MS,
    logFormat: parsed.LOG_FORMAT,
    logLevel: parsed.LOG_LEVEL,
  });
};

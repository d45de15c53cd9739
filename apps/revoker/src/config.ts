import { ConfigurationError, parseEnvironment, rereading } from '@fairlead/service-kit/config';
import type { AccountSigning } from '@fairlead/embedded/credentials';
import { readFileSync } from 'node:fs';
import * as z from 'zod';

const Environment = z.object({
  NATS_URL: z.string().min(1).describe('nats://host:port, several separated by commas'),
  NATS_CA_FILE: z.string().optional().describe("Authority of the NATS server's certificate, PEM; then TLS is required"),
  NATS_CREDS: z.string().min(1).describe('File with the credentials that may read revocations in the log'),
  NATS_SYSTEM_CREDS: z.string().min(1).describe('File with the credentials of the system account'),
  NATS_ACCOUNT_SIGNING_FILE: z.string().min(1).describe('The key that signs the claims of the account of the nodes'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(0).describe('HTTP port, 0 for any free one'),
  HOST: z.string().default('127.0.0.1').describe('HTTP address to listen on'),
  DEPENDENCIES_WAIT_MS: z.coerce.number().int().min(0).max(86_400_000).default(600_000),
});

const SigningFile = z.strictObject({ operatorSigningSeed: z.string(), accountJwt: z.string() });

export interface Settings {
  readonly natsUrls: readonly string[];
  /** Authorities of the NATS server, PEM, as the file has them now. */
  readonly natsCa: (() => string) | undefined;
  readonly credentials: string;
  readonly systemCredentials: string;
  readonly signing: AccountSigning;
  readonly host: string;
  readonly port: number;
  readonly dependenciesWaitMs: number;
}

const signingIn = (file: string): AccountSigning => {
  const parsed = SigningFile.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new ConfigurationError([`NATS_ACCOUNT_SIGNING_FILE: ${file} does not hold a signing seed and an account`]);
};

/** Throws ConfigurationError with all faults at once. */
export const readSettings = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    natsUrls: parsed.NATS_URL.split(','),
    natsCa: rereading(parsed.NATS_CA_FILE),
    credentials: readFileSync(parsed.NATS_CREDS, 'utf8'),
    systemCredentials: readFileSync(parsed.NATS_SYSTEM_CREDS, 'utf8'),
    signing: signingIn(parsed.NATS_ACCOUNT_SIGNING_FILE),
    host: parsed.HOST,
    port: parsed.PORT,
    dependenciesWaitMs: parsed.DEPENDENCIES_WAIT_MS,
  });
};

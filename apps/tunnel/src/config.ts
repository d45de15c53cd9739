import { parseEnvironment, rereading } from '@fairlead/service-kit/config';
import { addressRanges, type AddressRange } from '@fairlead/service-kit/http';
import { readFileSync } from 'node:fs';
import * as z from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Empty counts as absent: Compose passes unset variables as empty. */
const filePath = z
  .string()
  .optional()
  .transform((path) => (path === '' ? undefined : path));

const Environment = z.object({
  NATS_URL: z.string().min(1).describe('nats://host:port, several separated by commas'),
  NATS_CA_FILE: z.string().optional().describe("Authority of the NATS server's certificate, PEM; then TLS is required"),
  NATS_CREDS: z.string().optional().describe('File with the credentials that may read and hold names'),
  TUNNEL_HOST_KEY_FILE: z.string().min(1).describe('Its SSH host key, which clusters pin'),
  TUNNEL_CERTIFICATE_FILE: filePath.describe(
    'A certificate for names of published services and its key, PEM; it is read again each minute',
  ),
  TUNNEL_AUTHORITY_FILE: filePath.describe(
    'An authority and its key, PEM: it issues certificates for names that no other certificate has',
  ),
  REALM_ADDRESSES_ALLOWED: addressRanges.describe('Ranges besides public addresses that identity realms may be at'),
  TUNNEL_HOST: z.string().default('127.0.0.1').describe('Address on which clusters and clients connect'),
  TUNNEL_SSH_PORT: port.default(0).describe('Where clusters connect by SSH, 0 for any free one'),
  TUNNEL_TLS_PORT: port.default(0).describe('Where clients connect by TLS, 0 for any free one'),
  TUNNEL_PEER_PORT: port.default(0).describe('Where other replicas connect, 0 for any free one'),
  TUNNEL_PEER_HOST: z
    .string()
    .optional()
    .describe('The name or address by which other replicas reach this one; absent: there are none'),
  PORT: port.default(0).describe('HTTP port, 0 for any free one'),
  HOST: z.string().default('127.0.0.1').describe('HTTP address to listen on'),
  DEPENDENCIES_WAIT_MS: z.coerce.number().int().min(0).max(86_400_000).default(600_000),
});

export interface Settings {
  readonly natsUrls: readonly string[];
  /** Authorities of the NATS server, PEM, as the file has them now. */
  readonly natsCa: (() => string) | undefined;
  readonly credentials: string | undefined;
  readonly hostKey: string;
  /** Certificates of published services, as the files have them now. */
  readonly certificates: {
    readonly given: (() => string) | undefined;
    readonly authority: (() => string) | undefined;
  };
  readonly realmAddressesAllowed: readonly AddressRange[];
  readonly tunnelHost: string;
  readonly sshPort: number;
  readonly tlsPort: number;
  readonly peerPort: number;
  readonly peerHost: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly dependenciesWaitMs: number;
}

/** Throws ConfigurationError with all faults at once. */
export const readSettings = (env: Readonly<Record<string, string | undefined>>): Settings => {
  const parsed = parseEnvironment(Environment, env);
  return Object.freeze({
    natsUrls: parsed.NATS_URL.split(','),
    natsCa: rereading(parsed.NATS_CA_FILE),
    credentials: parsed.NATS_CREDS === undefined ? undefined : readFileSync(parsed.NATS_CREDS, 'utf8'),
    hostKey: readFileSync(parsed.TUNNEL_HOST_KEY_FILE, 'utf8'),
    certificates: {
      given: rereading(parsed.TUNNEL_CERTIFICATE_FILE),
      authority: rereading(parsed.TUNNEL_AUTHORITY_FILE),
    },
    realmAddressesAllowed: parsed.REALM_ADDRESSES_ALLOWED,
    tunnelHost: parsed.TUNNEL_HOST,
    sshPort: parsed.TUNNEL_SSH_PORT,
    tlsPort: parsed.TUNNEL_TLS_PORT,
    peerPort: parsed.TUNNEL_PEER_PORT,
    peerHost: parsed.TUNNEL_PEER_HOST,
    host: parsed.HOST,
    port: parsed.PORT,
    dependenciesWaitMs: parsed.DEPENDENCIES_WAIT_MS,
  });
};

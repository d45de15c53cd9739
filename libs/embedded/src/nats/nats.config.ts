import type { AccountToken } from '../credentials/operator.store.js';

export interface NatsConfig {
  readonly host: string;
  readonly port: number;
  readonly monitorPort: number;
  readonly storeDir: string;
  /** File with the server's certificate and key. With it the server talks to nobody without TLS. */
  readonly certificateFile?: string;
  readonly auth: {
    readonly operatorJwt: string;
    readonly system: AccountToken;
    readonly account: AccountToken;
    readonly nodes: AccountToken;
  };
}

/** Larger than any event or job; a cluster's body with its names fits a hundred times. */
const PAYLOAD_MAX_BYTES = 1024 * 1024;

/**
 * The server's configuration. `sync_interval` must be quoted: bare, the server takes it for a number and falls back to two minutes,
 * and a power failure would lose events that were acknowledged.
 */
export const natsConfig = ({
  host,
  port,
  monitorPort,
  storeDir,
  certificateFile,
  auth,
}: NatsConfig): string => `server_name: fairlead
listen: ${quoted(`${host}:${port}`)}
http: ${quoted(`127.0.0.1:${monitorPort}`)}
max_payload: ${PAYLOAD_MAX_BYTES}
write_deadline: "10s"
${certificateFile === undefined ? '' : tlsConfig(certificateFile)}
jetstream {
  store_dir: ${quoted(storeDir)}
  sync_interval: "always"
}

operator: ${auth.operatorJwt}
system_account: ${auth.system.publicKey}
resolver: MEMORY
resolver_preload: {
  ${auth.system.publicKey}: ${auth.system.jwt}
  ${auth.account.publicKey}: ${auth.account.jwt}
  ${auth.nodes.publicKey}: ${auth.nodes.jwt}
}
`;

/** The file is given twice: each of the two takes from it what it needs. */
const tlsConfig = (file: string): string => `
tls {
  cert_file: ${quoted(file)}
  key_file: ${quoted(file)}
  min_version: "1.3"
  timeout: 10
}
`;

const quoted = (text: string): string => JSON.stringify(text);

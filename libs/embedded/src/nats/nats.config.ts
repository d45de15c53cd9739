import { NATS_CONNECTIONS_MAX } from '@fairlead/contracts';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { AccountToken } from '../credentials/operator.store.js';

export interface NatsConfig {
  readonly host: string;
  readonly port: number;
  /** Where monitoring, which requires no credentials, listens; loopback by default. */
  readonly monitorHost?: string;
  readonly monitorPort: number;
  readonly storeDir: string;
  /** The most that JetStream keeps on disk; undefined: three quarters of what it finds free, as nats-server chooses. */
  readonly storeMaxBytes?: number;
  /** File with the server's certificate and key. With it the server requires TLS. */
  readonly certificateFile?: string;
  /** Where it listens for websockets as well, by which agents pass where only HTTPS does; undefined: nowhere. */
  readonly websocketPort?: number;
  /** Undefined: a single server. */
  readonly cluster?: NatsCluster;
  readonly auth: {
    readonly operatorJwt: string;
    readonly system: AccountToken;
    readonly account: AccountToken;
    readonly nodes: AccountToken;
  };
}

/** Servers that share their streams. Each has the same configuration, and its name from the command line (`--name`). */
export interface NatsCluster {
  /** By which the servers reach each other; names of the certificate. */
  readonly hosts: readonly string[];
  /** On each of them, for the others. */
  readonly port: number;
  /** What they trust of each other. */
  readonly caFile: string;
}

const CLUSTER_NAME = 'fairlead';

/** Larger than any event or job; a cluster's body with its names fits a hundred times. */
const PAYLOAD_MAX_BYTES = 1024 * 1024;

/** A client shows its credential in its first line; nats-server's default of 4 KiB leaves room for some 80 permissions. */
const CONTROL_LINE_MAX_BYTES = 16 * 1024;

/**
 * The server's configuration. `sync_interval` must be quoted: bare, the server takes it for a number and falls back to two minutes,
 * and a power failure would lose events that were acknowledged.
 */
export const natsConfig = ({
  host,
  port,
  monitorHost = '127.0.0.1',
  monitorPort,
  storeDir,
  storeMaxBytes,
  certificateFile,
  websocketPort,
  cluster,
  auth,
}: NatsConfig): string => `${cluster === undefined ? 'server_name: fairlead\n' : ''}listen: ${quoted(`${host}:${port}`)}
http: ${quoted(`${monitorHost}:${monitorPort}`)}
max_payload: ${PAYLOAD_MAX_BYTES}
max_control_line: ${CONTROL_LINE_MAX_BYTES}
max_connections: ${NATS_CONNECTIONS_MAX}
write_deadline: "10s"
# A client signs a nonce before it counts as known, which takes a busy machine longer than the default of two seconds.
authorization { timeout: 10 }
${certificateFile === undefined ? '' : tlsConfig(certificateFile)}${websocketPort === undefined ? '' : websocketConfig(`${host}:${websocketPort}`, certificateFile)}${cluster === undefined || certificateFile === undefined ? '' : clusterConfig(host, certificateFile, cluster)}
jetstream {
  store_dir: ${quoted(storeDir)}${storeMaxBytes === undefined ? '' : `\n  max_file_store: ${storeMaxBytes}`}
  sync_interval: "always"
}

operator: ${auth.operatorJwt}
system_account: ${auth.system.publicKey}
# Claims that the revoker brings are kept; those below count until there are newer ones.
resolver: {
  type: full
  dir: ${quoted(join(storeDir, 'accounts'))}
  allow_delete: false
  limit: 16
}
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

/** Its clients authenticate as all others. Without a certificate it is for loopback, as the rest of the server is then. */
const websocketConfig = (listen: string, file: string | undefined): string => `
websocket {
  listen: ${quoted(listen)}
  compression: false
${
  file === undefined
    ? '  no_tls: true'
    : `  tls {
    cert_file: ${quoted(file)}
    key_file: ${quoted(file)}
    min_version: "1.3"
    timeout: 10
  }`
}
}
`;

/** A server lets in only one that has the certificate, too. Clients keep to the addresses that they are given: others may be out of their reach. */
const clusterConfig = (host: string, certificateFile: string, { hosts, port, caFile }: NatsCluster): string => `
cluster {
  name: ${CLUSTER_NAME}
  listen: ${quoted(`${host}:${port}`)}
  routes: [${hosts.map((other) => quoted(`nats://${addressText(other)}:${port}`)).join(', ')}]
  no_advertise: true
  tls {
    cert_file: ${quoted(certificateFile)}
    key_file: ${quoted(certificateFile)}
    ca_file: ${quoted(caFile)}
    verify: true
    min_version: "1.3"
    timeout: 10
  }
}
`;

const addressText = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

const quoted = (text: string): string => JSON.stringify(text);

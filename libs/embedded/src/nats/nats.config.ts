import { NATS_CONNECTIONS_MAX } from '@fairlead/contracts';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { AccountToken } from '../credentials/operator.store.js';

export interface NatsConfig {
  readonly host: string;
  readonly port: number;
  /** Address of the monitoring endpoint, which requires no credentials; loopback by default. */
  readonly monitorHost?: string;
  readonly monitorPort: number;
  readonly storeDir: string;
  /** Maximum disk space of JetStream; undefined: nats-server's default, three quarters of the free space. */
  readonly storeMaxBytes?: number;
  /** File with the server's certificate and key. If set, the server requires TLS. */
  readonly certificateFile?: string;
  /** Port for websockets, for agents that can only use HTTPS; undefined: none. */
  readonly websocketPort?: number;
  /** undefined: a single server. */
  readonly cluster?: NatsCluster;
  readonly auth: {
    readonly operatorJwt: string;
    readonly system: AccountToken;
    readonly account: AccountToken;
    readonly nodes: AccountToken;
  };
}

/** Servers that share their streams. All have the same configuration, and a name from the command line (`--name`). */
export interface NatsCluster {
  /** Names by which the servers connect to each other; included in the certificate. */
  readonly hosts: readonly string[];
  /** Cluster port of each server. */
  readonly port: number;
  /** CA for connections between the servers. */
  readonly caFile: string;
}

const CLUSTER_NAME = 'fairlead';

/** Larger than any event or job; a cluster's body with its names is a hundredth of it. */
const PAYLOAD_MAX_BYTES = 1024 * 1024;

/** A client sends its credential in its first line; nats-server's default of 4 KiB allows about 80 permissions. */
const CONTROL_LINE_MAX_BYTES = 16 * 1024;

/**
 * The server's configuration. `sync_interval` must be quoted: unquoted, the server parses a number and falls back to
 * two minutes, and a power failure would lose acknowledged events.
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

/** The file is given twice: each setting reads its own part. */
const tlsConfig = (file: string): string => `
tls {
  cert_file: ${quoted(file)}
  key_file: ${quoted(file)}
  min_version: "1.3"
  timeout: 10
}
`;

/**
 * Its clients authenticate like all others. Without a certificate it is for loopback only, like the rest of the server.
 */
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

/**
 * A server accepts only peers with the certificate. Clients keep to the configured addresses: advertised ones may be
 * unreachable for them.
 */
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

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { authenticatorOf } from '../credentials/creds.js';
import type { NatsCredentials } from '../credentials/operator.store.js';
import { natsTrustIn, type NatsCertificates } from '../credentials/authority.store.js';
import { writeUnlessSame } from '../folder/files.js';
import { natsServers } from '../credentials/trust.js';
import { freePorts, LOOPBACK } from '../process/ports.js';
import { Supervisor } from '../supervisor/supervisor.js';
import { checkServer } from './nats.check.js';
import { natsConfig } from './nats.config.js';

export const NATS_PROCESS = 'nats';
const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const ANY_ADDRESS = '0.0.0.0';
/** Go collects garbage when the heap has grown by 40 % instead of 100 %. */
export const NATS_MEMORY = { GOGC: '40' };
const CONNECT_TIMEOUT_MS = 5_000;

export interface StartNatsOptions {
  readonly dataDir: string;
  /** Path of the nats-server program. */
  readonly binary: string;
  readonly auth: NatsCredentials;
  readonly port?: number;
  readonly monitorPort?: number;
  /** Port for websockets; undefined: none. */
  readonly websocketPort?: number;
  /** The address to listen on; loopback by default. The monitoring port is always on loopback. */
  readonly host?: string;
  /** Maximum disk space of JetStream; undefined: nats-server's default. */
  readonly storeMaxBytes?: number;
  /** If set, all clients must use TLS. */
  readonly certificates?: NatsCertificates | undefined;
  /** The supervisor that runs it; without one, it gets its own, which `stop` ends too. */
  readonly supervisor?: Supervisor;
}

export interface RunningNats {
  readonly url: string;
  readonly monitorUrl: string;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/**
 * Starts JetStream with files that are synced at each write, and the credentials' operator; resolves when the server is
 * healthy.
 */
export const startNats = async (options: StartNatsOptions): Promise<RunningNats> => {
  const { dataDir, binary, auth, certificates, host = LOOPBACK } = options;
  const [freePort = 0, freeMonitorPort = 0] = await freePorts(dataDir, 2);
  const { port = freePort, monitorPort = freeMonitorPort } = options;
  const supervisor = options.supervisor ?? new Supervisor({ dataDir, runName: NATS_PROCESS });
  const configFile = join(dataDir, 'nats', 'nats.conf');
  writeUnlessSame(
    configFile,
    natsConfig({
      host,
      port,
      monitorPort,
      storeDir: join(dataDir, 'nats'),
      auth,
      ...(options.storeMaxBytes === undefined ? {} : { storeMaxBytes: options.storeMaxBytes }),
      ...(options.websocketPort === undefined ? {} : { websocketPort: options.websocketPort }),
      ...(certificates === undefined ? {} : { certificateFile: certificates.serverFile }),
    }),
  );
  const monitorUrl = `http://${LOOPBACK}:${monitorPort}`;
  const url = `${certificates === undefined ? 'nats' : 'tls'}://${host === ANY_ADDRESS ? LOOPBACK : host}:${port}`;
  try {
    await supervisor.start({
      name: NATS_PROCESS,
      command: binary,
      args: ['-c', configFile],
      env: { ...NATS_MEMORY, ...process.env },
      readyUrl: `${monitorUrl}/healthz`,
      readyTimeoutMs: READY_TIMEOUT_MS,
      stopTimeoutMs: STOP_TIMEOUT_MS,
    });
    await checkWith(url, { credsFile: auth.credsFile('admin'), caFile: certificates?.caFile });
  } catch (error) {
    if (options.supervisor === undefined) await supervisor.stop();
    throw error;
  }
  return {
    url,
    monitorUrl,
    get pid() {
      return supervisor.status().find(({ name }) => name === NATS_PROCESS)?.pid;
    },
    stop: () => (options.supervisor === undefined ? supervisor.stop() : supervisor.hold(NATS_PROCESS)),
  };
};

/** How a client authenticates, and verifies the server; absent fields are not required. */
export interface NatsIdentity {
  readonly credsFile: string | undefined;
  readonly caFile: string | undefined;
}

/** Connects once, and rejects a server that is too old. */
export const checkWith = async (url: string, { credsFile, caFile }: NatsIdentity): Promise<void> => {
  const connection = await connect({
    servers: [...natsServers(url)],
    name: 'fairlead-check',
    timeout: CONNECT_TIMEOUT_MS,
    reconnect: false,
    ...natsTrustIn(caFile, natsServers(url)),
    ...(credsFile === undefined ? {} : { authenticator: authenticatorOf(readFileSync(credsFile, 'utf8')) }),
  });
  try {
    await checkServer(connection);
  } finally {
    await connection.close();
  }
};

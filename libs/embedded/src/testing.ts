import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { inboxPrefix } from '@fairlead/contracts';
import { connect, credsAuthenticator, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node';
import type { CredentialName } from './credentials/operator.store.js';
import { natsTrustIn } from './credentials/authority.store.js';
import { natsServers } from './credentials/trust.js';
import { startEnvironment, type Environment, type NatsAccess } from './environment/environment.js';
import { NATS_PROCESS } from './nats/nats.server.js';
import { POSTGRES_PROCESS } from './postgres/postgres.server.js';
import { cacheFolder } from './folder/cache-folder.js';
import { fillFromTemplate } from './environment/template.js';
import { throwawayFolder } from './environment/throwaway-folder.js';

/** A throwaway environment for tests: its own folder and ports, the cache's programs. */
export interface TestEnvironment extends Environment {
  readonly dataDir: string;
  /** A connection with the permissions and inbox of that service; closed by the test or by `stop`. */
  connect(name?: CredentialName, options?: ConnectionOptions): Promise<NatsConnection>;
  /** SIGKILL; it stays down until it is started again, with the same data and address. */
  killNats(): Promise<void>;
  startNats(): Promise<void>;
  killPostgres(): Promise<void>;
  startPostgres(): Promise<void>;
}

export interface TestEnvironmentOptions {
  /**
   * True to make each PostgreSQL commit wait for the disk, as in a real environment. A killed process loses nothing
   * either way.
   */
  readonly durable?: boolean;
  readonly log?: (sentence: string) => void;
  /** An address for NATS to listen on instead of loopback, with TLS. */
  readonly natsHost?: string;
  /** Port for websockets of NATS. */
  readonly natsWebsocketPort?: number;
  /** Maximum disk space of NATS. */
  readonly natsStoreMaxBytes?: number;
}

/**
 * Starts one; `stop` ends it and removes its folder. NATS_URL and DATABASE_URL are ignored: nothing existing is
 * touched.
 */
export const testEnvironment = async (options: TestEnvironmentOptions = {}): Promise<TestEnvironment> => {
  const { NATS_URL: _nats, DATABASE_URL: _database, ...env } = process.env;
  const dataDir = throwawayFolder();
  const discard = (): Promise<void> => rm(dataDir, { recursive: true, force: true });
  try {
    const { durable = false, log = () => undefined, natsHost, natsWebsocketPort, natsStoreMaxBytes } = options;
    await fillFromTemplate({ dataDir, cacheDir: cacheFolder(env, dataDir), env, log });
    const environment = await startEnvironment({
      dataDir,
      env,
      durable,
      log,
      ...(natsHost === undefined ? {} : { natsHost }),
      ...(natsWebsocketPort === undefined ? {} : { natsWebsocketPort }),
      ...(natsStoreMaxBytes === undefined ? {} : { natsStoreMaxBytes }),
    });
    return withTestControls(environment, dataDir, discard);
  } catch (error) {
    await discard();
    throw error;
  }
};

const withTestControls = (environment: Environment, dataDir: string, discard: () => Promise<void>): TestEnvironment => {
  const connections: NatsConnection[] = [];
  const { supervisor, nats } = environment;
  return {
    ...environment,
    dataDir,
    connect: async (name = 'admin', options = {}) => {
      const connection = await connect({
        servers: [...natsServers(nats.url)],
        name,
        ...credentialOf(nats.credsFile(name)),
        ...trustOf(nats),
        ...inboxOf(name),
        ...options,
      });
      connections.push(connection);
      return connection;
    },
    killNats: () => supervisor.hold(NATS_PROCESS, 'SIGKILL'),
    startNats: () => supervisor.resume(NATS_PROCESS),
    killPostgres: () => supervisor.hold(POSTGRES_PROCESS, 'SIGKILL'),
    startPostgres: () => supervisor.resume(POSTGRES_PROCESS),
    stop: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
      await environment.stop();
      await discard();
    },
  };
};

const credentialOf = (file: string | undefined): ConnectionOptions =>
  file === undefined ? {} : { authenticator: credsAuthenticator(readFileSync(file)) };

const trustOf = ({ url, caFile }: NatsAccess): ConnectionOptions => natsTrustIn(caFile, natsServers(url));

const inboxOf = (name: CredentialName): ConnectionOptions =>
  name === 'admin' ? {} : { inboxPrefix: inboxPrefix(name) };

import { inboxPrefix } from '@fairlead/contracts';
import { authenticatorOf, natsTrust } from '@fairlead/embedded/credentials';
import { checkServer, KERNEL_MIGRATIONS } from '@fairlead/event-sourcing/jetstream';
import { Logger } from '@nestjs/common';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import pg from 'pg';
import { DataSource } from 'typeorm';
import type { ServiceConfig } from './config.js';
import type { ServiceDefinition } from './definition.js';
import { migrateUnderLock } from './migrate.js';
import { patiently, type Patience } from './patience.js';
import { SteadyClient } from './steady.client.js';

const CONNECTIONS_MAX = 12;
/** Kept while idle: a new connection costs both sides about ten milliseconds of key derivation. */
const CONNECTIONS_MIN = 1;
const CONNECT_TIMEOUT_MS = 5_000;

/** A service's dependencies: NATS with JetStream, and its own migrated database. */
export interface Connections {
  readonly nc: NatsConnection;
  readonly pool: pg.Pool;
  readonly database: DataSource;
}

/** Waits until both are usable. */
export const connectDependencies = async (
  definition: ServiceDefinition,
  config: ServiceConfig,
  patience: Patience,
): Promise<Connections> => {
  const nats = `NATS at ${config.natsUrls.map(withoutSecrets).join(', ')}`;
  const postgres = `PostgreSQL at ${withoutSecrets(config.databaseUrl)}`;
  const [natsReached, databaseReached] = await Promise.allSettled([
    patiently(nats, () => connectNats(definition, config), patience),
    patiently(postgres, () => connectDatabase(definition, config), patience),
  ]);
  if (natsReached.status === 'fulfilled' && databaseReached.status === 'fulfilled')
    return { nc: natsReached.value, ...databaseReached.value };
  if (natsReached.status === 'fulfilled') await natsReached.value.close();
  if (databaseReached.status === 'fulfilled') await closeDatabase(databaseReached.value);
  throw natsReached.status === 'rejected' ? natsReached.reason : (databaseReached as PromiseRejectedResult).reason;
};

export const closeWorld = async ({ nc, pool, database }: Connections): Promise<void> => {
  await Promise.allSettled([nc.close(), closeDatabase({ pool, database })]);
};

const closeDatabase = async ({ pool, database }: Pick<Connections, 'pool' | 'database'>): Promise<void> => {
  await Promise.allSettled([pool.end(), database.destroy()]);
};

const withoutSecrets = (url: string): string => {
  const { host, pathname } = new URL(url);
  return `${host}${pathname === '/' ? '' : pathname}`;
};

const connectNats = async (definition: ServiceDefinition, config: ServiceConfig): Promise<NatsConnection> => {
  const nc = await connect({
    servers: [...config.natsUrls],
    name: definition.name,
    inboxPrefix: inboxPrefix(definition.name),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: 10_000,
    // A restarting server may briefly reject a credential; two rejections must not close the connection permanently.
    ignoreAuthErrorAbort: true,
    // Otherwise every request creates an Error in advance for its stack trace.
    noAsyncTraces: true,
    ...natsTrust(config.natsCa, config.natsUrls),
    ...(config.natsCredentials === undefined ? {} : { authenticator: authenticatorOf(config.natsCredentials) }),
  });
  try {
    await checkServer(nc);
    return nc;
  } catch (error) {
    await nc.close();
    throw error;
  }
};

const connectDatabase = async (
  definition: ServiceDefinition,
  config: ServiceConfig,
): Promise<Pick<Connections, 'pool' | 'database'>> => {
  const lost = (error: Error): void => new Logger('database').warn(`an idle connection was lost: ${error.message}`);
  const database = new DataSource({
    type: 'postgres',
    driver: pg, // Otherwise TypeORM looks for it at run time outside the bundle.
    url: config.databaseUrl,
    migrations: [...KERNEL_MIGRATIONS, ...definition.migrations],
    poolSize: CONNECTIONS_MAX,
    applicationName: definition.name,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    poolErrorHandler: lost,
    extra: { Client: SteadyClient, min: CONNECTIONS_MIN },
  });
  try {
    await database.initialize();
    await migrateUnderLock(database);
  } catch (error) {
    if (database.isInitialized) await database.destroy().catch(() => undefined); // The original failure is already reported.
    throw error;
  }
  const pool = poolOfPartitions(`${definition.name}-partitions`, config.databaseUrl);
  pool.on('error', lost);
  return { pool, database };
};

/** Connection pool for the statements of partitions. */
export const poolOfPartitions = (name: string, databaseUrl: string): pg.Pool =>
  new pg.Pool({
    connectionString: databaseUrl,
    min: CONNECTIONS_MIN,
    max: CONNECTIONS_MAX,
    application_name: name,
    keepAlive: true,
    Client: SteadyClient,
    // Generic plans for all statements, which access rows by key: PostgreSQL would otherwise plan each one again at
    // every use, because it estimates fewer rows for the array parameters. As a statement, because PgBouncer rejects it
    // as a startup parameter. The pool waits for the promise, although its types do not say so.
    onConnect: (client): unknown => client.query('set plan_cache_mode = force_generic_plan'),
  });

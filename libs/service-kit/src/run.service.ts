import { wordsOf, type ServiceName } from '@fairlead/contracts';
import { reconcilerProcess, type EventStore } from '@fairlead/event-sourcing';
import {
  askPrepared,
  consumerNames,
  DatabasePositions,
  EVENT_STORE,
  HANDLE,
  JetStreamStore,
  JetStreamStrategy,
  FOLLOW_UP_FAILURES,
  TasksProgress,
  makeHandle,
  makeTail,
  NATS,
  PARTITIONS,
  POSITIONS,
  PostgresLeases,
  RecentEntries,
  TAIL,
  TASK_LEASES,
  type Consumers,
  type Handle,
  type PartitionConsumers,
  rebuildProjection,
  type Rebuilt,
  type RecordFollowUpFailure,
} from '@fairlead/event-sourcing/jetstream';
import {
  Catch,
  ConsoleLogger,
  Global,
  Logger,
  Module,
  type DynamicModule,
  type Provider,
  type RpcExceptionFilter,
  type Type,
} from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import 'reflect-metadata';
import { throwError, type Observable } from 'rxjs';
import { Alarms } from './alarms.js';
import { systemClock } from './clock.js';
import { ConfigurationError, readServiceConfig, refusePlainTokens, type Env, type ServiceConfig } from './config.js';
import { closeWorld, connectDependencies, type Connections } from './connections.js';
import type { ServiceDefinition } from './definition.js';
import { givenEnvironment } from './given.environment.js';
import { recordBlock } from './event.loop.events.js';
import { watchEventLoop, type BlockReport } from './event.loop.js';
import { HealthHttp } from './health.http.js';
import { boundRequests } from './http.timeouts.js';
import { followTlsFiles, tlsPair } from './http.tls.js';
import { LatePartitionConsumers } from './late.partition.consumers.js';
import { LogOwnership, whileHeld, whileReadable } from './log.ownership.js';
import { LogProgress } from './log.progress.js';
import { DependencyAway, EXIT_DEPENDENCY_AWAY, patienceOf, patiently, type Patience } from './patience.js';
import { NatsSecrets } from './secrets.nats.js';
import { logGauges, tasksGauge } from './metrics/log.gauges.js';
import { MetricsHttp } from './metrics/metrics.http.js';
import { measureRequests } from './metrics/request.metrics.js';
import { ServiceMetrics } from './metrics/service.metrics.js';
import { ServiceLiveness } from './liveness.js';
import { ASK, CLOCK, DATABASE, METRICS, SECRETS, SERVICE_CONFIG } from './tokens.js';

/** Grace period for requests in progress at shutdown. */
const HTTP_DRAIN_MS = 1_000;
/** Timeout for a request to arrive, and for an idle connection. */
const REQUEST_MS = 10_000;
/** Timeout for a TLS handshake. */
const HANDSHAKE_MS = 10_000;
/** Where other replicas read this one's position to answer clients that wait for their own writes. */
const POSITIONS_READ_AFTER_MS = 250;
/** Elsewhere positions only determine where a restart resumes. */
const POSITIONS_AFTER_MS = 5_000;
/** After a failed start, connections that do not close within this time are abandoned. */
const CLOSE_TIMEOUT_MS = 10_000;

/** A running service: its port, and how to stop it. */
export interface RunningService {
  readonly port: number;
  /** The provider of a token in the service's modules. For tests. */
  get<T>(token: symbol): T;
  /** Rows of the service's own database. For tests. */
  query<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** Rebuilds a projection from the log while the service runs, and compares the rows. */
  rebuild(projection: string): Promise<Rebuilt>;
  stop(): Promise<void>;
  /**
   * Resolves when the service must end: its connection to NATS closed permanently, or the log belongs to another
   * installation. With the reason, unless `stop` was called.
   */
  readonly lost: Promise<string | undefined>;
}

interface World extends Connections {
  readonly config: ServiceConfig;
  readonly partitions: LatePartitionConsumers;
  readonly store: EventStore;
  readonly handle: Handle;
  readonly recent: RecentEntries;
  readonly leases: PostgresLeases;
  readonly metrics: ServiceMetrics;
  readonly signs: ServiceLiveness;
  readonly progress: TasksProgress;
  readonly ownership: LogOwnership;
}

@Global()
@Module({})
class ServiceRoot {}

/** The strategy handles errors of handlers; Nest must neither log nor swallow them. */
@Catch()
class PassOn implements RpcExceptionFilter<unknown> {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

const providersOf = (
  definition: ServiceDefinition,
  { config, nc, pool, database, partitions, store, handle, leases, metrics, signs, progress, ownership }: World,
): Provider[] => {
  return [
    { provide: SERVICE_CONFIG, useValue: config },
    { provide: NATS, useValue: nc },
    { provide: DATABASE, useValue: database },
    { provide: ASK, useValue: askPrepared(pool) },
    { provide: CLOCK, useValue: systemClock },
    { provide: EVENT_STORE, useValue: store },
    { provide: HANDLE, useValue: handle },
    { provide: TASK_LEASES, useValue: leases },
    { provide: METRICS, useValue: metrics },
    { provide: ServiceLiveness, useValue: signs },
    { provide: TasksProgress, useValue: progress },
    { provide: LogOwnership, useValue: ownership },
    { provide: Alarms, useValue: new Alarms() },
    { provide: LogProgress, useValue: new LogProgress(partitions, config.stallAfterMs) },
    { provide: SECRETS, useValue: new NatsSecrets(nc, definition.name, config.masterKeys) },
    { provide: TAIL, useValue: makeTail(nc, (listener) => partitions.onUnpushed(listener)) },
    { provide: PARTITIONS, useValue: partitions },
    {
      provide: POSITIONS,
      useValue: new DatabasePositions({ nc, pool, partitions, consumers: consumerNames(consumersOf(definition)) }),
    },
  ];
};

const consumersOf = (definition: ServiceDefinition): Consumers => ({
  projections: definition.projections,
  processes: definition.reconcilers.map(reconcilerProcess),
});

const rootOf = (definition: ServiceDefinition, world: World): DynamicModule => {
  const providers = providersOf(definition, world);
  return {
    module: ServiceRoot,
    global: true,
    imports: [definition.module],
    controllers: [HealthHttp, MetricsHttp],
    providers,
    exports: providers.map((provider) => (provider as { provide: symbol | Type<unknown> }).provide),
  };
};

/**
 * Most services record no failures of follow-ups. Looked up by ModuleRef, because the application logs missing
 * providers.
 */
const failuresOf = (app: NestExpressApplication): RecordFollowUpFailure => {
  try {
    return app.get(ModuleRef).get<RecordFollowUpFailure>(FOLLOW_UP_FAILURES, { strict: false });
  } catch {
    return async () => undefined;
  }
};

const rebuild = (
  definition: ServiceDefinition,
  at: { readonly nc: NatsConnection; readonly pool: pg.Pool },
  name: string,
): Promise<Rebuilt> => {
  const projection = consumersOf(definition).projections.find((candidate) => candidate.name === name);
  if (projection === undefined) {
    const names = definition.projections.map((candidate) => candidate.name).join(', ');
    throw new ConfigurationError([`${definition.name} has no projection ${name}; it has: ${names}`]);
  }
  return rebuildProjection({ ...at, projection });
};

/**
 * `main.js rebuild [projection ...]`: rebuilds rows beside the running service; prints one JSON line per projection.
 */
const runRebuild = async (definition: ServiceDefinition, names: readonly string[]): Promise<void> => {
  const config = readServiceConfig(process.env);
  const connections = await connectDependencies(
    definition,
    config,
    patienceOf(definition.name, config.dependenciesWaitMs, process.stderr),
  );
  try {
    for (const name of names.length > 0 ? names : definition.projections.map((projection) => projection.name)) {
      process.stdout.write(`${JSON.stringify(await rebuild(definition, connections, name))}\n`);
    }
  } finally {
    await closeWorld(connections);
  }
};

/** A service's dependencies, created before Nest. */
const worldOf = (definition: ServiceDefinition, config: ServiceConfig, connections: Connections): World => {
  const { nc, pool, database } = connections;
  const store = new JetStreamStore({ nc, source: `/${definition.name}`, now: () => new Date(), newId: randomUUID });
  const recent = new RecentEntries();
  const metricsLog = new Logger('metrics');
  const world: World = {
    config,
    nc,
    pool,
    database,
    partitions: new LatePartitionConsumers(),
    store,
    // Users' commands are decided on the whole log; tasks may be decided on recent entries, because they start some
    // time after they are desired anyway.
    handle: makeHandle(
      definition.takesTokens === true || definition.reconcilers.length === 0 ? store : recent.over(store),
    ),
    recent,
    leases: new PostgresLeases(pool, new Logger('leases')),
    metrics: new ServiceMetrics(definition.name, (words) => metricsLog.warn(words)),
    signs: new ServiceLiveness(nc, definition.name),
    progress: new TasksProgress(() => performance.now()),
    ownership: new LogOwnership(nc, definition.answersReads === true ? whileReadable : whileHeld),
  };
  for (const gauge of logGauges({ database, partitions: world.partitions })) world.metrics.addGauge(gauge);
  return world;
};

/**
 * Starts a service: configuration, NATS, database and migrations, Nest, partitions, tasks, timers, health. If a
 * dependency is unreachable or fails during the start, it waits and starts again.
 */
export const startService = async (definition: ServiceDefinition, env: Env): Promise<RunningService> => {
  const config = readServiceConfig(env);
  if (definition.takesTokens === true) refusePlainTokens(config);
  const patience = patienceOf(definition.name, config.dependenciesWaitMs);
  return patiently(
    'what its start asks of NATS and PostgreSQL',
    () => startOnce(definition, config, patience),
    patience,
  );
};

const startOnce = async (
  definition: ServiceDefinition,
  config: ServiceConfig,
  patience: Patience,
): Promise<RunningService> => {
  const httpsOptions =
    config.tls === undefined ? undefined : { ...tlsPair(config.tls), handshakeTimeout: HANDSHAKE_MS };
  const connections = await connectDependencies(definition, config, patience);
  let app: NestExpressApplication | undefined;
  try {
    const world = worldOf(definition, config, connections);
    await patiently('an installation that holds its log', () => world.ownership.require(), patience);
    app = await NestFactory.create<NestExpressApplication>(rootOf(definition, world), {
      logger: new ConsoleLogger({
        json: config.logFormat === 'json',
        colors: config.logFormat === 'pretty',
        logLevels: levelsOf(config.logLevel),
      }),
      abortOnError: false,
      ...(httpsOptions === undefined ? {} : { httpsOptions }),
    });
    await serve(definition, world, app);
    return runningOf(definition, world, app);
  } catch (error) {
    await Promise.race([app?.close().catch(() => undefined), sleep(CLOSE_TIMEOUT_MS)]);
    await closeWorld(connections);
    throw error;
  }
};

const serve = async (definition: ServiceDefinition, world: World, app: NestExpressApplication): Promise<void> => {
  const { config, nc, pool } = world;
  const strategy = new JetStreamStrategy(
    {
      service: definition.name,
      nc,
      pool,
      databaseUrl: config.databaseUrl,
      consumers: consumersOf(definition),
      reconcilers: definition.reconcilers,
      leases: world.leases,
      handle: world.handle,
      recent: world.recent,
      positionsAfterMs: definition.answersReads === true ? POSITIONS_READ_AFTER_MS : POSITIONS_AFTER_MS,
      commitsWaitMs: definition.commitsWaitMs,
      progress: world.progress,
      recordFollowUpFailure: failuresOf(app),
      taskConcurrency: definition.taskConcurrency,
      groupLimit: definition.groupLimit ?? definition.taskConcurrency,
      log: new Logger('partitions'),
      meter: world.metrics,
    },
    (partitions: PartitionConsumers) => world.partitions.set(partitions),
  );
  world.metrics.addGauge(tasksGauge(strategy));
  const microservice = app.connectMicroservice({ strategy }, { inheritAppConfig: false, deferInitialization: true });
  microservice.useGlobalFilters(new PassOn());
  app.use(measureRequests(world.metrics));
  boundRequests(app.getHttpServer() as Server, REQUEST_MS);
  await definition.configureHttp?.(app);
  await app.startAllMicroservices();
  await app.listen(config.port, config.host);
  world.signs.start();
};

/** Logged immediately, and recorded as an event, which administrators of all namespaces can read. */
const reportBlocks = ({ name }: ServiceDefinition, { handle, metrics }: World): (() => void) => {
  const log = new Logger('event loop');
  return watchEventLoop(metrics, (block: BlockReport) => {
    log.warn(`blocked for ${Math.round(block.blockedMs)} ms; under way: ${block.work.join(', ')}`);
    recordBlock(handle, name, block).catch((error: unknown) => {
      log.warn(`the block could not be recorded: ${wordsOf(error)}`);
    });
  });
};

const runningOf = (definition: ServiceDefinition, world: World, app: NestExpressApplication): RunningService => {
  const { config, nc, pool, database } = world;
  const address = app.getHttpServer().address() as { port: number };
  const unfollow = config.tls === undefined ? undefined : followTlsFiles(app.getHttpServer() as Server, config.tls);
  const unwatch = reportBlocks(definition, world);
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    world.ownership.stop();
    unfollow?.();
    unwatch();
    world.signs.stop();
    // Browsers open idle connections in advance; each would delay the shutdown by up to a minute.
    const cut = setTimeout(() => app.getHttpServer().closeAllConnections(), HTTP_DRAIN_MS);
    await app.close();
    clearTimeout(cut);
    await world.leases.stop();
    await Promise.all([pool.end(), database.destroy()]);
    if (!nc.isClosed()) await nc.drain();
  };
  const query = <Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> =>
    database.query(sql, [...parameters]);
  return {
    port: address.port,
    get: (token) => app.get(token, { strict: false }),
    query,
    rebuild: (name) => rebuild(definition, { nc, pool }, name),
    stop,
    lost: Promise.race([
      nc
        .closed()
        .then((error) =>
          stopping
            ? undefined
            : `the connection to NATS has ended for good: ${wordsOf(error ?? 'the connection was closed')}`,
        ),
      world.ownership.lost(),
    ]),
  };
};

const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug'] as const;
const levelsOf = (level: ServiceConfig['logLevel']): (typeof LEVELS)[number][] =>
  LEVELS.slice(0, LEVELS.indexOf(level) + 1);

const textOf = (error: unknown): string => {
  if (error instanceof ConfigurationError || error instanceof DependencyAway) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
};

const exitCodeOf = (error: unknown): number =>
  error instanceof ConfigurationError ? 2 : error instanceof DependencyAway ? EXIT_DEPENDENCY_AWAY : 1;

/**
 * A service's whole main.ts: starts it, prints `FAIRLEAD READY <name> <port>`, and stops it gracefully on SIGTERM and
 * SIGINT. Exits with code 2 and all faults if the configuration is invalid, and with 75 after waiting in vain for NATS
 * or PostgreSQL.
 */
export const runService = async (name: ServiceName, serviceOf: (env: Env) => ServiceDefinition): Promise<void> => {
  try {
    const env = await givenEnvironment(process.env, process.stdin);
    const definition = serviceOf(env);
    const [verb, ...projections] = process.argv.slice(2);
    if (verb === 'rebuild') return await runRebuild(definition, projections);
    const service = await startService(definition, env);
    let stopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (stopping) return;
      stopping = true;
      new Logger(name).log(`${signal}: finishing what is under way`);
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          new Logger(name).error(error instanceof Error ? (error.stack ?? error.message) : String(error));
          process.exit(1);
        },
      );
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
    void service.lost.then((words) => {
      if (words === undefined) return;
      process.stderr.write(`${name}: ${words}\n`);
      process.exit(EXIT_DEPENDENCY_AWAY);
    });
    process.stdout.write(`FAIRLEAD READY ${name} ${service.port}\n`);
  } catch (error) {
    process.stderr.write(`${name}: ${textOf(error)}\n`);
    process.exit(exitCodeOf(error));
  }
};

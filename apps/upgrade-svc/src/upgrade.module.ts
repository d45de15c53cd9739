import { JOB_FAILURES, type RecordJobFailure } from '@fairlead/event-sourcing/jetstream';
import { Logger, Module } from '@nestjs/common';
import { DesiredEffects } from './desired/desired.effects.js';
import { HealthEffects } from './health/health.effects.js';
import { HealthEvents } from './health/health.events.js';
import { NodesHealthHttp } from './health/health.http.js';
import { HeartbeatListener } from './health/heartbeats.listener.js';
import { WatchedNodes } from './health/watched.nodes.js';
import { HEALTH_OPTIONS, readHealthOptions } from './health/health.options.js';
import { NodesQueries } from './nodes/nodes.queries.js';

/** Only the log or the database can fail here; neither is a fact about the cluster, and the job goes on when they are back. */
const logFailure: RecordJobFailure = async ({ type, namespace, cluster }, { cause, attempt, attemptsMax }) => {
  new Logger('jobs').warn(
    `${type} of ${namespace}/${cluster}: ${cause.message} (attempt ${attempt} of ${attemptsMax})`,
  );
};

@Module({
  controllers: [DesiredEffects, HealthEvents, NodesHealthHttp],
  providers: [
    NodesQueries,
    HeartbeatListener,
    WatchedNodes,
    HealthEffects,
    { provide: JOB_FAILURES, useValue: logFailure },
    { provide: HEALTH_OPTIONS, useFactory: () => readHealthOptions(process.env) },
  ],
})
export class UpgradeModule {}

import { defineService, type Env, type ServiceDefinition } from '@fairlead/service-kit';
import { readConfig } from './config.js';
import { connectionsProcess } from './connections/connections.process.js';
import { connectionsProjection, namespacesProjection } from './connections/connections.projection.js';
import { InfraModule } from './infra.module.js';
import { machinesProcess } from './machines/machines.process.js';
import { clustersProjection, machinesProjection } from './machines/machines.projection.js';
import { InfraTables1763700000000 } from './migrations/1763700000000-infra.tables.js';
import { resourcesProjection } from './resources/resources.projection.js';

const projections = [
  namespacesProjection,
  connectionsProjection,
  resourcesProjection,
  clustersProjection,
  machinesProjection,
];

/** Everything that makes this service infra-svc. */
export const infraDefinition = (env: Env): ServiceDefinition =>
  defineService({
    name: 'infra-svc',
    module: InfraModule,
    projections,
    processes: [connectionsProcess, machinesProcess],
    migrations: [InfraTables1763700000000],
    jobConcurrency: readConfig(env).jobConcurrency,
  });

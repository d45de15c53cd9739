import type { Process, Projection } from '@fairlead/event-sourcing';
import type { ServiceDefinition } from '@fairlead/service-kit';
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
export const infraDefinition = (env: Readonly<Record<string, string | undefined>>): ServiceDefinition => ({
  name: 'infra-svc',
  module: InfraModule,
  projections: projections as unknown as readonly Projection<never>[],
  processes: [connectionsProcess, machinesProcess] as unknown as readonly Process<never>[],
  migrations: [InfraTables1763700000000],
  entities: [],
  // Read while the service starts, so that a fault is reported as every other fault of the configuration is.
  get jobConcurrency() {
    return readConfig(env).jobConcurrency;
  },
});

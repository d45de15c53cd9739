import type { Process, Projection } from '@fairlead/event-sourcing';
import type { ServiceDefinition } from '@fairlead/service-kit';
import { desiredProcess } from './desired/desired.process.js';
import { Nodes1790000000000 } from './migrations/nodes.migration.js';
import { nodesProjection } from './nodes/nodes.projection.js';
import { UpgradeModule } from './upgrade.module.js';

/** What makes this process upgrade-svc. */
export const upgradeService: ServiceDefinition = {
  name: 'upgrade-svc',
  module: UpgradeModule,
  projections: [nodesProjection as Projection<never>],
  processes: [desiredProcess as unknown as Process<never>],
  migrations: [Nodes1790000000000],
  entities: [],
  jobConcurrency: 16,
};

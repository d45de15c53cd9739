import type { Process, Projection } from '@fairlead/event-sourcing';
import type { ServiceDefinition } from '@fairlead/service-kit';
import { certificatesProcess } from './certificates/certificates.process.js';
import { readSettings, type Settings } from './config.js';
import { desiredProcess } from './desired/desired.process.js';
import { restoreProcess } from './etcd/restore.process.js';
import { snapshotsProcess } from './etcd/snapshots.process.js';
import { Nodes1790000000000 } from './migrations/nodes.migration.js';
import { nodesProjection } from './nodes/nodes.projection.js';
import { rolloutProcess } from './rollout/rollout.process.js';
import { upgradeModule } from './upgrade.module.js';

/** What makes this process upgrade-svc. */
export const upgradeService = (settings: Settings = readSettings(process.env)): ServiceDefinition => ({
  name: 'upgrade-svc',
  module: upgradeModule(settings),
  projections: [nodesProjection as Projection<never>],
  processes: [desiredProcess, rolloutProcess, snapshotsProcess, restoreProcess, certificatesProcess].map(
    (process) => process as unknown as Process<never>,
  ),
  migrations: [Nodes1790000000000],
  entities: [],
  jobConcurrency: settings.jobConcurrency,
});

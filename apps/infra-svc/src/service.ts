import { defineService, type ServiceDefinition } from '@fairlead/service-kit';
import type { Settings } from './config.js';
import { catalogueProcess } from './catalogue/catalogue.process.js';
import { connectionsProcess } from './connections/connections.process.js';
import { connectionsProjection } from './connections/connections.projection.js';
import { identityReconciler } from './identity/identity.reconciler.js';
import { infraModule } from './infra.module.js';
import { clustersProjection, machinesProjection } from './machines/machines.projection.js';
import { machinesReconciler } from './machines/machines.reconciler.js';
import { InfraTables1763700000000 } from './migrations/1763700000000-infra.tables.js';
import { DropNamespaces1764300000000 } from './migrations/1764300000000-drop.namespaces.js';
import { realmsProcess } from './realms/realms.process.js';
import { resourcesProjection } from './resources/resources.projection.js';
import { sshKeysReconciler } from './ssh-keys/ssh-keys.reconciler.js';
import { orphansProcess } from './watch/orphans.process.js';

const projections = [connectionsProjection, resourcesProjection, clustersProjection, machinesProjection];

/** Everything that makes infra-svc this service. */
export const infraService = (settings: Settings): ServiceDefinition =>
  defineService({
    name: 'infra-svc',
    module: infraModule(settings),
    projections,
    processes: [connectionsProcess, orphansProcess, realmsProcess, catalogueProcess(settings.catalogueIntervalMs)],
    reconcilers: [machinesReconciler, identityReconciler, sshKeysReconciler],
    migrations: [InfraTables1763700000000, DropNamespaces1764300000000],
    jobConcurrency: settings.jobConcurrency,
    groupLimit: settings.connectionTasksMax,
  });

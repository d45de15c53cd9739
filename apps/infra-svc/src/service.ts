import { defineService, type ServiceDefinition } from '@fairlead/service-kit';
import type { Settings } from './config.js';
import { catalogueReconciler } from './catalogue/catalogue.reconciler.js';
import { connectionsReconciler } from './connections/connections.reconciler.js';
import { connectionsProjection } from './connections/connections.projection.js';
import { identityReconciler } from './identity/identity.reconciler.js';
import { infraModule } from './infra.module.js';
import { clustersProjection, machinesProjection } from './machines/machines.projection.js';
import { machinesReconciler } from './machines/machines.reconciler.js';
import { InfraTables1763700000000 } from './migrations/1763700000000-infra.tables.js';
import { DropNamespaces1764300000000 } from './migrations/1764300000000-drop.namespaces.js';
import { powerReconciler } from './power/power.reconciler.js';
import { publicationReconciler } from './publication/publication.reconciler.js';
import { realmsReconciler } from './realms/realms.reconciler.js';
import { resourcesProjection } from './resources/resources.projection.js';
import { sshKeysReconciler } from './ssh-keys/ssh-keys.reconciler.js';
import { orphansReconciler } from './watch/orphans.reconciler.js';

const projections = [connectionsProjection, resourcesProjection, clustersProjection, machinesProjection];

/** The definition of infra-svc. */
export const infraService = (settings: Settings): ServiceDefinition =>
  defineService({
    name: 'infra-svc',
    module: infraModule(settings),
    projections,
    reconcilers: [
      machinesReconciler,
      identityReconciler,
      publicationReconciler,
      powerReconciler,
      sshKeysReconciler,
      connectionsReconciler,
      orphansReconciler,
      realmsReconciler,
      catalogueReconciler(settings.catalogueIntervalMs),
    ],
    migrations: [InfraTables1763700000000, DropNamespaces1764300000000],
    taskConcurrency: settings.taskConcurrency,
    groupLimit: settings.connectionTasksMax,
  });

import { defineService, type ServiceDefinition } from '@fairlead/service-kit';
import { actionsReconciler } from './actions/actions.reconciler.js';
import { certificatesReconciler } from './certificates/certificates.reconciler.js';
import type { Settings } from './config.js';
import { driftReconciler } from './drift/drift.reconciler.js';
import { desiredReconciler } from './desired/desired.reconciler.js';
import { backupsReconciler } from './etcd/backups.reconciler.js';
import { removalsReconciler } from './etcd/removals.reconciler.js';
import { restoreReconciler } from './etcd/restore.reconciler.js';
import { snapshotsReconciler } from './etcd/snapshots.reconciler.js';
import { networkReconciler } from './network/network.reconciler.js';
import { Nodes1790000000000 } from './migrations/nodes.migration.js';
import { nodesProjection } from './nodes/nodes.projection.js';
import { remediationReconciler } from './remediation/remediation.reconciler.js';
import { rolloutReconciler } from './rollout/rollout.reconciler.js';
import { upgradeModule } from './upgrade.module.js';

/** One step in the creation of a cluster waits for a commit of this service. */
const COMMITS_WAIT_MS = 100;

/** The definition of upgrade-svc. */
export const upgradeService = (settings: Settings): ServiceDefinition =>
  defineService({
    name: 'upgrade-svc',
    module: upgradeModule(settings),
    projections: [nodesProjection],
    reconcilers: [
      desiredReconciler,
      rolloutReconciler,
      snapshotsReconciler,
      backupsReconciler({ othersKept: settings.snapshotsKept }),
      removalsReconciler,
      restoreReconciler,
      certificatesReconciler,
      remediationReconciler,
      driftReconciler,
      actionsReconciler,
      networkReconciler,
    ],
    migrations: [Nodes1790000000000],
    taskConcurrency: settings.taskConcurrency,
    commitsWaitMs: COMMITS_WAIT_MS,
  });

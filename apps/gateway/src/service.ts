import { boundRequests, defineService, type ServiceDefinition } from '@fairlead/service-kit';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { applicationsProjection, applicationVersionsProjection } from './applications/applications.projection.js';
import { Authentication } from './auth/authentication.js';
import { tokensReconciler } from './auth/tokens.reconciler.js';
import { certificatesProjection } from './certificates/certificates.projection.js';
import { renewalReconciler } from './certificates/renewal.reconciler.js';
import { cleanupReconciler } from './clusters/cleanup.reconciler.js';
import { bootstrapDataReconciler } from './joins/bootstrap.reconciler.js';
import { recreationReconciler } from './clusters/recreation.reconciler.js';
import { clustersProjection } from './clusters/clusters.projection.js';
import { lifetimeReconciler } from './clusters/lifetime.reconciler.js';
import { SETTINGS, type Settings } from './config.js';
import { connectionsProjection } from './connections/connections.projection.js';
import { serveDocuments } from './documents/serve.documents.js';
import { etcdProjection } from './etcd/etcd.projection.js';
import { gatewayModule } from './gateway.module.js';
import { holdsProjection } from './holds/holds.projection.js';
import { readBodies } from './http/body.js';
import { checkEdge } from './http/edge.js';
import { nameRequest } from './http/request-id.js';
import { answerUnreadable } from './http/unreadable.js';
import { boundAnswers } from './limits/answer.limit.js';
import { GatewayTables1763700000000 } from './migrations/0001-gateway.migration.js';
import { UpgradeTables1763800000000 } from './migrations/0002-upgrades.migration.js';
import { TokenExpiry1763900000000 } from './migrations/0003-token-expiry.migration.js';
import { IdempotencyLeases1764000000000 } from './migrations/0004-idempotency-leases.migration.js';
import { manifestsProjection } from './lifecycle/manifests.projection.js';
import { unmetReconciler } from './manifest/unmet.reconciler.js';
import { ManifestTable1764100000000 } from './migrations/0005-manifests.migration.js';
import { TemplateTable1764200000000 } from './migrations/0006-templates.migration.js';
import { ApplicationTables1764400000000 } from './migrations/0007-applications.migration.js';
import { SessionTables1764500000000 } from './migrations/0008-sessions.migration.js';
import { UserSessionTable1764600000000 } from './migrations/0009-user-sessions.migration.js';
import { MachineHoursTable1764700000000 } from './migrations/0010-machine-hours.migration.js';
import { machineHoursProjection } from './costs/machine-hours.projection.js';
import { namespacesProjection } from './namespaces/namespaces.projection.js';
import { nodesProjection } from './nodes/nodes.projection.js';
import { operationsProjection } from './operations/operations.projection.js';
import { servePage } from './page/serve.page.js';
import { quarantineProjection } from './quarantine/quarantine.projection.js';
import { templatesProjection } from './templates/templates.projection.js';
import { upgradeNodesProjection } from './upgrades/upgrade.nodes.projection.js';
import { upgradesProjection } from './upgrades/upgrades.projection.js';

const projections = [
  namespacesProjection,
  connectionsProjection,
  clustersProjection,
  manifestsProjection,
  templatesProjection,
  nodesProjection,
  operationsProjection,
  machineHoursProjection,
  quarantineProjection,
  upgradesProjection,
  upgradeNodesProjection,
  holdsProjection,
  etcdProjection,
  certificatesProjection,
  applicationsProjection,
  applicationVersionsProjection,
];

/** No step of a cluster waits for its rows; who reads them waits so much longer while the processors are saturated. */
const COMMITS_WAIT_MS = 100;

/** What the gateway's HTTP has beside its routes. The order is that in which a request meets it. */
export const configureHttp = (app: NestExpressApplication): void => {
  const { limits } = app.get<Settings>(SETTINGS);
  boundRequests(app.getHttpServer(), limits.requestMs);
  answerUnreadable(app.getHttpServer());
  app.disable('x-powered-by');
  app.use(nameRequest);
  servePage(app, app.get<Settings>(SETTINGS).pageDir);
  serveDocuments(app);
  app.use(boundAnswers(limits.answerBytes));
  app.use(checkEdge(app));
  app.use(app.get(Authentication).middleware);
  readBodies(app);
};

/** Everything that makes the gateway this service. */
export const gatewayService = (settings: Settings): ServiceDefinition =>
  defineService({
    name: 'gateway',
    module: gatewayModule(settings),
    projections,
    reconcilers: [
      renewalReconciler,
      cleanupReconciler,
      recreationReconciler,
      lifetimeReconciler,
      bootstrapDataReconciler,
      unmetReconciler,
      tokensReconciler,
    ],
    migrations: [
      GatewayTables1763700000000,
      UpgradeTables1763800000000,
      TokenExpiry1763900000000,
      IdempotencyLeases1764000000000,
      ManifestTable1764100000000,
      TemplateTable1764200000000,
      ApplicationTables1764400000000,
      SessionTables1764500000000,
      UserSessionTable1764600000000,
      MachineHoursTable1764700000000,
    ],
    taskConcurrency: 4,
    commitsWaitMs: COMMITS_WAIT_MS,
    takesTokens: true,
    answersReads: true,
    configureHttp,
  });

import { JOB_FAILURES, type Job, type JobFailure, type RecordJobFailure } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, SERVICE_CONFIG, type SecretStore, type ServiceConfig } from '@fairlead/service-kit';
import { NodeSshShell, type HostShell } from '@fairlead/service-kit/ssh';
import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { labKind } from './adapters/lab/lab.kind.js';
import { nspawnKind } from './adapters/nspawn/nspawn.kind.js';
import { AdvisoryLocks } from './adapters/postgres/advisory.locks.js';
import { sshKind, type SshWorld } from './adapters/ssh/ssh.kind.js';
import { opensshKeys } from './adapters/ssh-keys/openssh.keys.js';
import { readConfig, type Config } from './config.js';
import { RegisteredConnections } from './connections/connections.effects.js';
import { ConnectionsQueries } from './connections/connections.queries.js';
import { LogTenancy } from './connections/tenancy.effects.js';
import { ConnectionFailures, ConnectionJobs, type OfConnection } from './connections/verification.effects.js';
import { Admission } from './machines/admission.effects.js';
import { AnswerDeadline } from './machines/answer.deadline.effects.js';
import { ClusterTurns } from './machines/cluster.turns.effects.js';
import { Creation } from './machines/creation.effects.js';
import { Deletion } from './machines/deletion.effects.js';
import { MachinesFailures, MachinesJobs } from './machines/machines.effects.js';
import { MachinesLog, type ClusterJob } from './machines/machines.log.effects.js';
import { SiteSurvey } from './machines/sites.effects.js';
import { SurgeCreation, SurgeJobs } from './machines/surge.effects.js';
import { Requests, RequestsEvents } from './machines/requests.effects.js';
import type { ProviderKinds } from './providers/provider.ports.js';
import { ProviderOffers } from './resources/offers.effects.js';
import { ConnectionResources } from './resources/resources.effects.js';
import { ResourceSteps } from './resources/resource.steps.effects.js';
import { ResourcesLog } from './resources/resources.log.effects.js';
import { SealedKeys } from './resources/sealed.keys.effects.js';
import { ResourcesQueries } from './resources/resources.queries.js';
import { StockLog } from './stock/stock.log.effects.js';
import type { Stock, Trust } from './stock/stock.ports.js';
import { LogTrust } from './stock/trust.log.effects.js';
import * as tokens from './tokens.js';
import { WorldValidation } from './validation/validation.effects.js';

/** A provider is known to Fairlead by being listed here. */
const kindsOf = (
  config: Config,
  hosts: Pick<SshWorld, 'stock' | 'trust' | 'shell'>,
  secrets: SecretStore,
): ProviderKinds => {
  const limits = { callsMax: config.providerCallsMax, timeoutMs: config.providerTimeoutMs };
  const ssh = sshKind({ ...hosts, sshKeys: opensshKeys, secret: (ref) => secrets.get(ref) });
  return new Map([labKind(limits), ssh, nspawnKind(process.env)].map((kind) => [kind.name, kind]));
};

/** Hosts of inventories are looked at often and for a moment. */
const SSH_LIMITS = { idleMs: 10_000, connectionsMax: 200 };

const failuresOf =
  (machines: MachinesFailures, connections: ConnectionFailures): RecordJobFailure =>
  (job: Job, failure: JobFailure) =>
    'connection' in job.data
      ? connections.record(job as Job<OfConnection>, failure)
      : machines.record(job as ClusterJob, failure);

/** The composition root: each port meets its adapter here and nowhere else. */
@Module({
  controllers: [MachinesJobs, SurgeJobs, RequestsEvents, ConnectionJobs],
  providers: [
    { provide: tokens.CONFIG, useFactory: () => readConfig(process.env) },
    { provide: tokens.STOCK, useClass: StockLog },
    { provide: tokens.TRUST, useClass: LogTrust },
    { provide: tokens.HOST_SHELL, useFactory: () => new NodeSshShell(SSH_LIMITS) },
    {
      provide: tokens.OWN_HOSTS,
      useFactory: (stock: Stock, trust: Trust, shell: HostShell) => ({ stock, trust, shell }),
      inject: [tokens.STOCK, tokens.TRUST, tokens.HOST_SHELL],
    },
    {
      provide: tokens.PROVIDER_KINDS,
      useFactory: kindsOf,
      inject: [tokens.CONFIG, tokens.OWN_HOSTS, SECRETS],
    },
    {
      provide: tokens.LOCKS,
      useFactory: (config: ServiceConfig) => new AdvisoryLocks(config.databaseUrl),
      inject: [SERVICE_CONFIG],
    },
    { provide: tokens.SSH_KEYS, useValue: opensshKeys },
    { provide: tokens.CONNECTIONS, useClass: RegisteredConnections },
    { provide: tokens.TENANCY, useClass: LogTenancy },
    { provide: tokens.OFFERS, useClass: ProviderOffers },
    { provide: tokens.SHARED_RESOURCES, useClass: ConnectionResources },
    { provide: tokens.VALIDATION, useClass: WorldValidation },
    { provide: JOB_FAILURES, useFactory: failuresOf, inject: [MachinesFailures, ConnectionFailures] },
    ConnectionsQueries,
    ResourcesQueries,
    ResourcesLog,
    SealedKeys,
    ResourceSteps,
    MachinesLog,
    Admission,
    AnswerDeadline,
    SiteSurvey,
    Creation,
    Deletion,
    SurgeCreation,
    ClusterTurns,
    Requests,
    MachinesFailures,
    ConnectionFailures,
  ],
})
export class InfraModule implements OnApplicationShutdown {
  constructor(
    @Inject(tokens.LOCKS) private readonly locks: AdvisoryLocks,
    @Inject(tokens.HOST_SHELL) private readonly shell: HostShell,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.shell.close();
    await this.locks.close();
  }
}

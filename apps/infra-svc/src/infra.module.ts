import type { EventStore } from '@fairlead/event-sourcing';
import {
  EVENT_STORE,
  FOLLOW_UP_FAILURES,
  TasksProgress,
  NATS,
  TASK_LEASES,
  type RecordFollowUpFailure,
  type TaskLeases,
} from '@fairlead/event-sourcing/jetstream';
import {
  CLOCK,
  LogOwnership,
  METRICS,
  SECRETS,
  type Clock,
  type SecretStore,
  type ServiceMetrics,
} from '@fairlead/service-kit';
import { CheckedHttp } from '@fairlead/service-kit/http';
import { NodeSshShell, type HostShell } from '@fairlead/service-kit/ssh';
import type { NatsConnection } from '@nats-io/transport-node';
import { Inject, Module, type OnApplicationShutdown, type Provider, type Type } from '@nestjs/common';
import { awsKind } from './adapters/aws/aws.kind.js';
import { externalKind } from './adapters/external/external.kind.js';
import { HelmRepository } from './adapters/helm/helm.repository.js';
import { joinKind } from './adapters/join/join.kind.js';
import { LogJoinedHosts, type JoinedHosts } from './adapters/join/joined.hosts.js';
import { keycloak } from './adapters/keycloak/keycloak.provider.js';
import { labKind } from './adapters/lab/lab.kind.js';
import { nspawnKind } from './adapters/nspawn/nspawn.kind.js';
import { openstackKind } from './adapters/openstack/openstack.kind.js';
import { sshKind, type SshWorld } from './adapters/ssh/ssh.kind.js';
import { NatsTunnelNames } from './adapters/tunnel/nats.tunnel.names.js';
import { opensshKeys } from './adapters/ssh-keys/openssh.keys.js';
import { Applications } from './catalogue/applications.effects.js';
import { CatalogueEffects } from './catalogue/catalogue.effects.js';
import type { ChartRepository } from './catalogue/catalogue.ports.js';
import { Synchronization } from './catalogue/synchronization.effects.js';
import type { Settings } from './config.js';
import { RegisteredConnections } from './connections/connections.effects.js';
import { ConnectionPlaces } from './connections/places.effects.js';
import { LogTenancy } from './connections/tenancy.effects.js';
import { ConnectionFailures, ConnectionEffects } from './connections/verification.effects.js';
import { IdentityEffects } from './identity/identity.effects.js';
import { Adoption } from './machines/adoption.effects.js';
import { AdmissionEffects } from './machines/admission.effects.js';
import { AnswerDeadline } from './machines/answer.deadline.effects.js';
import { CreationEffects } from './machines/creation.effects.js';
import { DeletionEffects } from './machines/deletion.effects.js';
import { Placement } from './machines/placement.effects.js';
import { PowerEffects, PowerLog, type OfHostPower } from './power/power.effects.js';
import type { ProviderKinds } from './providers/provider.ports.js';
import { CurrentKeys } from './resources/current.keys.effects.js';
import { PublicationEffects } from './publication/publication.effects.js';
import { RealmLooks } from './realms/looks.effects.js';
import type { IdentityProviders } from './realms/realm.ports.js';
import { RegisteredRealms } from './realms/realms.effects.js';
import { RealmEffects } from './realms/verification.effects.js';
import { ProviderOffers } from './resources/offers.effects.js';
import { ConnectionResources } from './resources/resources.effects.js';
import { ResourceSteps } from './resources/resource.steps.effects.js';
import { ResourcesLog } from './resources/resources.log.effects.js';
import { SealedKeys } from './resources/sealed.keys.effects.js';
import { ResourcesQueries } from './resources/resources.queries.js';
import { HostsOfRotation } from './ssh-keys/hosts.of.rotation.effects.js';
import { RotatedKeys } from './ssh-keys/rotated.keys.effects.js';
import { SshKeysEffects } from './ssh-keys/ssh-keys.effects.js';
import { StockLog } from './stock/stock.log.effects.js';
import type { Stock, Trust } from './stock/stock.ports.js';
import { LogTrust } from './stock/trust.log.effects.js';
import * as tokens from './tokens.js';
import { ProviderValidation } from './validation/validation.effects.js';
import { ConnectionAnswers } from './watch/answers.effects.js';
import { FindingsLog } from './watch/findings.log.effects.js';
import { ProviderListing } from './watch/listing.effects.js';
import { OrphanEffects, OrphansLog, type OfOrphan } from './watch/orphans.effects.js';
import { UserData } from './machines/user.data.effects.js';
import { ReservationEffects } from './machines/reservation.effects.js';
import { PlannedMachines } from './machines/planned.machines.effects.js';
import { ProviderWatch } from './watch/watch.effects.js';
import { WatchQueries } from './watch/watch.queries.js';

/** The supported providers. */
const kindsOf = (
  settings: Settings,
  { joined, ...hosts }: Pick<SshWorld, 'stock' | 'trust' | 'shell'> & { readonly joined: JoinedHosts },
  secrets: SecretStore,
  ownership: LogOwnership,
): ProviderKinds => {
  const limits = { callsMax: settings.providerCallsMax, timeoutMs: settings.providerTimeoutMs };
  const ssh = sshKind({
    ...hosts,
    sshKeys: opensshKeys,
    secret: (ref) => secrets.get(ref),
    epoch: () => ownership.epoch,
  });
  return new Map(
    [
      ...[labKind(limits), ssh, nspawnKind(process.env), joinKind(joined)],
      ...[openstackKind(limits), awsKind(limits), externalKind(limits)],
    ].map((kind) => [kind.name, kind]),
  );
};

/** The supported identity providers. */
const identityProvidersOf = ({ realmAddressesAllowed: allowed }: Settings): IdentityProviders => {
  const http = new CheckedHttp({ allowed, setting: 'REALM_ADDRESSES_ALLOWED' });
  return new Map([keycloak(http)].map((provider) => [provider.name, provider]));
};

const chartRepositoryOf = ({ catalogueAddressesAllowed: allowed }: Settings): ChartRepository =>
  new HelmRepository(new CheckedHttp({ allowed, setting: 'CATALOGUE_ADDRESSES_ALLOWED' }));

/** Inspections of inventory hosts are frequent and short. */
const SSH_LIMITS = { idleMs: 10_000, connectionsMax: 200 };

/** Checks of realms and synchronizations have already recorded their failures. */
const failuresOf =
  (connections: ConnectionFailures, orphans: OrphansLog, power: PowerLog): RecordFollowUpFailure =>
  async ({ type, data }, cause, failure) => {
    if (type === 'ControlHostPower' && failure.nextAttemptAt === null)
      await power.failed(data as OfHostPower, failure.cause, cause);
    const { connection, id } = data as OfOrphan;
    if (type === 'DeleteOrphan') await orphans.keep({ connection, id }, failure.cause.message, cause);
    if (type === 'VerifyConnection' || type === 'AcceptHost') await connections.record(connection, cause, failure);
  };

type WatchParts = [ProviderListing, ConnectionAnswers, WatchQueries, TaskLeases, ServiceMetrics];

const providersOf = (settings: Settings): Provider[] => [
  { provide: tokens.SETTINGS, useValue: settings },
  { provide: tokens.STOCK, useClass: StockLog },
  { provide: tokens.TRUST, useClass: LogTrust },
  { provide: tokens.HOST_SHELL, useFactory: () => new NodeSshShell(SSH_LIMITS) },
  {
    provide: tokens.OWN_HOSTS,
    useFactory: (stock: Stock, trust: Trust, shell: HostShell, store: EventStore) => ({
      ...{ stock, trust, shell },
      joined: new LogJoinedHosts(store),
    }),
    inject: [tokens.STOCK, tokens.TRUST, tokens.HOST_SHELL, EVENT_STORE],
  },
  {
    provide: tokens.PROVIDER_KINDS,
    useFactory: kindsOf,
    inject: [tokens.SETTINGS, tokens.OWN_HOSTS, SECRETS, LogOwnership],
  },
  { provide: tokens.IDENTITY_PROVIDERS, useFactory: identityProvidersOf, inject: [tokens.SETTINGS] },
  { provide: tokens.TUNNEL_NAMES, useFactory: (nc: NatsConnection) => new NatsTunnelNames(nc), inject: [NATS] },
  { provide: tokens.PUBLISH_SETTINGS, useValue: settings.publish },
  RegisteredRealms,
  RealmLooks,
  { provide: tokens.CHART_REPOSITORY, useFactory: chartRepositoryOf, inject: [tokens.SETTINGS] },
  Applications,
  Synchronization,
  { provide: tokens.SSH_KEYS, useValue: opensshKeys },
  { provide: tokens.CONNECTIONS, useClass: RegisteredConnections },
  { provide: tokens.TENANCY, useClass: LogTenancy },
  { provide: tokens.OFFERS, useClass: ProviderOffers },
  { provide: tokens.SHARED_RESOURCES, useClass: ConnectionResources },
  { provide: FOLLOW_UP_FAILURES, useFactory: failuresOf, inject: [ConnectionFailures, OrphansLog, PowerLog] },
  ResourcesQueries,
  ResourcesLog,
  SealedKeys,
  CurrentKeys,
  ResourceSteps,
  RotatedKeys,
  HostsOfRotation,
  ProviderValidation,
  Placement,
  Adoption,
  AnswerDeadline,
  UserData,
  ConnectionFailures,
  WatchQueries,
  PlannedMachines,
  OrphansLog,
  PowerLog,
  FindingsLog,
  ProviderListing,
  ConnectionAnswers,
  {
    provide: ConnectionPlaces,
    useFactory: (progress: TasksProgress, log: ResourcesLog, clock: Clock) =>
      new ConnectionPlaces({ progress, log, clock }),
    inject: [TasksProgress, ResourcesLog, CLOCK],
  },
  {
    provide: ProviderWatch,
    useFactory: (...[eye, answers, queries, leases, metrics]: WatchParts) =>
      new ProviderWatch({ eye, answers, queries, leases, settings, metrics }),
    inject: [ProviderListing, ConnectionAnswers, WatchQueries, TASK_LEASES, METRICS],
  },
];

/** The composition root. Each settings value gets its own module class, as Nest requires. */
export const infraModule = (settings: Settings): Type<unknown> => {
  @Module({
    controllers: [
      AdmissionEffects,
      CreationEffects,
      DeletionEffects,
      ReservationEffects,
      ConnectionEffects,
      OrphanEffects,
      SshKeysEffects,
      RealmEffects,
      CatalogueEffects,
      IdentityEffects,
      PublicationEffects,
      PowerEffects,
    ],
    providers: providersOf(settings),
  })
  class InfraModule implements OnApplicationShutdown {
    constructor(@Inject(tokens.HOST_SHELL) private readonly shell: HostShell) {}

    async onApplicationShutdown(): Promise<void> {
      await this.shell.close();
    }
  }
  return InfraModule;
};

import { Module, type Provider, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ActionsHttp } from './actions/actions.http.js';
import { ApplicationCommands } from './applications/applications.commands.js';
import { ApplicationsHttp } from './applications/applications.http.js';
import { ApplicationQueries } from './applications/applications.queries.js';
import { AccessGuard } from './auth/access.guard.js';
import { Authentication } from './auth/authentication.js';
import { LocalToken } from './auth/local.token.js';
import { TokenCallers } from './auth/token.callers.js';
import { TokenCommands } from './auth/token.commands.js';
import { RevokedInterceptor } from './auth/revoked.interceptor.js';
import { SessionsStore } from './auth/sessions.store.js';
import { SignInHttp, SignOutHttp } from './auth/sign-in.http.js';
import { TokenSessions } from './auth/token.sessions.js';
import { TokenEffects } from './auth/tokens.effects.js';
import { TokensHttp } from './auth/tokens.http.js';
import { WhoamiHttp } from './auth/whoami.http.js';
import { TokenStore } from './auth/tokens.store.js';
import { AutoscalerAccess } from './autoscaler/autoscaler.access.js';
import { AutoscalerAuthority } from './autoscaler/autoscaler.authority.js';
import { AutoscalerCalls } from './autoscaler/autoscaler.calls.js';
import { AutoscalerServer } from './autoscaler/autoscaler.server.js';
import { AutoscalerHttp } from './autoscaler/autoscaler.http.js';
import { AutoscalerCredentials } from './autoscaler/credentials.commands.js';
import { ChangesHttp } from './changes/changes.http.js';
import { ChangeQueries } from './changes/changes.queries.js';
import { CertificatesHttp } from './certificates/certificates.http.js';
import { CertificateQueries } from './certificates/certificates.queries.js';
import { RenewalEffects } from './certificates/renewal.effects.js';
import { RenewalSchedule } from './certificates/renewal.schedule.js';
import { CleanupEffects } from './clusters/cleanup.effects.js';
import { RecreationEffects } from './clusters/recreation.effects.js';
import { LifetimeEffects } from './clusters/lifetime.effects.js';
import { ClusterCommands } from './clusters/clusters.commands.js';
import { ClusterReadsHttp } from './clusters/cluster.reads.http.js';
import { ClustersHttp } from './clusters/clusters.http.js';
import { PauseHttp } from './clusters/pause.http.js';
import { AroundClusters } from './clusters/around.queries.js';
import { ClusterQueries } from './clusters/clusters.queries.js';
import { PastClusters } from './clusters/past.queries.js';
import { KubeconfigHttp } from './clusters/kubeconfig.http.js';
import { Kubeconfigs } from './clusters/kubeconfigs.js';
import { SETTINGS, type Settings } from './config.js';
import { DurationQueries } from './fleet/durations.queries.js';
import { FleetActivityIndex } from './fleet/fleet.activity.js';
import { DurationsHttp } from './fleet/durations.http.js';
import { FleetHttp } from './fleet/fleet.http.js';
import { FleetQueries } from './fleet/fleet.queries.js';
import { PastFleet } from './fleet/past.fleet.js';
import { HandoverGuard } from './handover/handover.guard.js';
import { HandoverHttp } from './handover/handover.http.js';
import { History } from './common/history.js';
import { ReleaseCommands } from './releases/releases.commands.js';
import { ReleasesHttp, ReleaseSignersHttp } from './releases/releases.http.js';
import { Registry } from './common/registry.js';
import { ConnectionAccess } from './connections/connection.access.js';
import { ConnectionCommands } from './connections/connections.commands.js';
import { RegistrationChecks } from './connections/registration.checks.js';
import { ConnectionsHttp, SpecsHttp } from './connections/connections.http.js';
import { OrphansHttp } from './connections/orphans.http.js';
import { HostPowerHttp } from './connections/host.power.http.js';
import { ConnectionQueries } from './connections/connections.queries.js';
import { LadybugHealthHttp, VersionHttp } from './documents/system.http.js';
import { HooksHttp } from './hooks/hooks.http.js';
import { NetworkHttp } from './network/network.http.js';
import { EtcdHttp } from './etcd/etcd.http.js';
import { EtcdQueries } from './etcd/etcd.queries.js';
import { AuditReader } from './events/audit.reader.js';
import { EventReader } from './events/event.reader.js';
import { EventStreams } from './events/event.stream.js';
import { ClusterEventsHttp, EventsHttp } from './events/events.http.js';
import { BootstrapDataHttp } from './joins/bootstrap.data.http.js';
import { BootstrapDataEffects } from './joins/bootstrap.effects.js';
import { HostsHttp } from './joins/hosts.http.js';
import { JoinFiles } from './joins/join.files.js';
import { JoinHostsHttp } from './joins/join.hosts.http.js';
import { JoiningPools } from './joins/joining.pools.queries.js';
import { JoinCommands } from './joins/joins.commands.js';
import { JoinTokensHttp } from './joins/joins.http.js';
import { RegisteredHosts } from './joins/registered.hosts.queries.js';
import { CommandAnswers } from './http/command.answers.js';
import { Executions } from './executions/executions.js';
import { ExecutionsHttp } from './executions/executions.http.js';
import { LogStreams } from './executions/log.streams.js';
import { HoldsHttp } from './holds/holds.http.js';
import { HoldQueries } from './holds/holds.queries.js';
import { IdempotencyInterceptor } from './http/idempotency.js';
import { IdempotencyStore } from './http/idempotency.store.js';
import { LogFollower } from './http/log.follower.js';
import { OwnWrites } from './http/own.writes.js';
import { OwnWritesInterceptor } from './http/own.writes.interceptor.js';
import { PreferenceInterceptor } from './http/preference.interceptor.js';
import { RefusedFilter } from './http/refused.filter.js';
import { RequestPipe } from './http/validation.pipe.js';
import { ClusterIndex } from './lifecycle/cluster.index.queries.js';
import { LadybugInterceptor } from './ladybug/ladybug.interceptor.js';
import { DiskReserve } from './limits/disk.reserve.js';
import { StoresWatch } from './metrics/stores.watch.js';
import { LimitsGuard } from './limits/limits.guard.js';
import { RequestLimits } from './limits/request.limits.js';
import { TokenSlots } from './limits/token.slots.js';
import { ChangeAnswers } from './manifest/change.answers.js';
import { ManifestCommands } from './manifest/manifest.commands.js';
import { ChangeChecks } from './manifest/change.checks.js';
import { VirtualAddressChecks } from './manifest/virtual-addresses.checks.js';
import { GenerationsHttp } from './manifest/generations.http.js';
import { GenerationQueries } from './manifest/generations.queries.js';
import { ManifestHttp, SchemasHttp } from './manifest/manifest.http.js';
import { UsersKubeconfigHttp } from './manifest/users.kubeconfig.http.js';
import { ManifestQueries } from './manifest/manifest.queries.js';
import { PastManifests } from './manifest/past.manifests.js';
import { AdoptionHttp } from './manifest/adoption.http.js';
import { RemovalHttp } from './manifest/removal.http.js';
import { ScaleHttp } from './manifest/scale.http.js';
import { UnmetEffects } from './manifest/unmet.effects.js';
import { UnmetManifests } from './manifest/unmet.queries.js';
import { AddressMetrics } from './metrics/address.metrics.js';
import { FleetMetrics } from './metrics/fleet.metrics.js';
import { TemplateMetrics } from './metrics/template.metrics.js';
import { CostMetrics } from './costs/cost.metrics.js';
import { PRICES, readPrices } from './costs/price.list.js';
import { Incarnations } from './namespaces/incarnations.js';
import { PastMoments } from './namespaces/past.moments.js';
import { NamespaceDeletionHttp } from './namespaces/deletion.http.js';
import { AddonSecretsHttp } from './namespaces/addon.secrets.http.js';
import { SealedAddonValues } from './namespaces/addon.secrets.values.js';
import { HookSecretValues } from './namespaces/hook.secrets.values.js';
import { NamespaceContents } from './namespaces/namespace.contents.js';
import { HookSecretsHttp } from './namespaces/hook.secrets.http.js';
import { NamespacesHttp } from './namespaces/namespaces.http.js';
import { NamespaceQueries } from './namespaces/namespaces.queries.js';
import { NodesHttp } from './clusters/nodes.http.js';
import { NodeQueries } from './nodes/nodes.queries.js';
import { QualifiedNamesGuard } from './nodes/qualified.names.guard.js';
import { OperationsHttp } from './operations/operations.http.js';
import { OperationQueries } from './operations/operations.queries.js';
import { QuarantineHttp } from './quarantine/quarantine.http.js';
import { RealmCommands } from './realms/realms.commands.js';
import { RealmQueries } from './realms/realms.queries.js';
import { RealmsHttp } from './realms/realms.http.js';
import { ReplacementsHttp } from './replacements/replacements.http.js';
import { TemplateChoices } from './templates/template.choice.js';
import { TemplateUsers } from './templates/template.users.js';
import { TemplateCommands } from './templates/templates.commands.js';
import { TemplatesHttp } from './templates/templates.http.js';
import { TemplateQueries } from './templates/templates.queries.js';
import { InstallationReleases } from '@fairlead/service-kit';
import { Issuer } from './auth/issuer.client.js';
import { IssuerHttp } from './auth/issuer.http.js';
import { UserSessionsStore } from './auth/user.sessions.store.js';
import { UserCallers } from './auth/user.callers.js';
import { Users } from './auth/users.js';
import { SteeringHttp } from './upgrades/steering.http.js';
import { UpgradeAnswers } from './upgrades/upgrade.answers.js';
import { UpgradeCommands } from './upgrades/upgrades.commands.js';
import { UpgradesHttp } from './upgrades/upgrades.http.js';
import { UpgradeQueries } from './upgrades/upgrades.queries.js';

const CONTROLLERS: Type<unknown>[] = [
  NamespacesHttp,
  NamespaceDeletionHttp,
  HookSecretsHttp,
  AddonSecretsHttp,
  RealmsHttp,
  ConnectionsHttp,
  OrphansHttp,
  HostPowerHttp,
  SpecsHttp,
  ApplicationsHttp,
  DurationsHttp,
  FleetHttp,
  ReleasesHttp,
  ReleaseSignersHttp,
  ClusterReadsHttp,
  ChangesHttp,
  ClustersHttp,
  CleanupEffects,
  RecreationEffects,
  LifetimeEffects,
  UnmetEffects,
  TokenEffects,
  PauseHttp,
  KubeconfigHttp,
  UsersKubeconfigHttp,
  ManifestHttp,
  GenerationsHttp,
  ScaleHttp,
  AdoptionHttp,
  RemovalHttp,
  AutoscalerHttp,
  SchemasHttp,
  TemplatesHttp,
  ActionsHttp,
  ExecutionsHttp,
  NodesHttp,
  JoinTokensHttp,
  HostsHttp,
  BootstrapDataHttp,
  BootstrapDataEffects,
  JoinHostsHttp,
  UpgradesHttp,
  SteeringHttp,
  HoldsHttp,
  ReplacementsHttp,
  EtcdHttp,
  NetworkHttp,
  HooksHttp,
  CertificatesHttp,
  RenewalEffects,
  OperationsHttp,
  ClusterEventsHttp,
  EventsHttp,
  QuarantineHttp,
  TokensHttp,
  WhoamiHttp,
  SignInHttp,
  SignOutHttp,
  IssuerHttp,
  VersionHttp,
  HandoverHttp,
  LadybugHealthHttp,
];

const PROVIDERS: Provider[] = [
  // In this order: what a caller may ask, whether this installation does it, then how much of it.
  { provide: APP_GUARD, useClass: AccessGuard },
  { provide: APP_GUARD, useClass: HandoverGuard },
  { provide: APP_GUARD, useClass: LimitsGuard },
  { provide: APP_GUARD, useClass: QualifiedNamesGuard },
  { provide: APP_PIPE, useClass: RequestPipe },
  // The first is the outermost: a repeated answer is checked too, and a stored one is whole but for what is CB-Ladybug's.
  { provide: APP_INTERCEPTOR, useClass: RevokedInterceptor },
  { provide: APP_INTERCEPTOR, useClass: LadybugInterceptor },
  { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
  { provide: APP_INTERCEPTOR, useClass: OwnWritesInterceptor },
  { provide: APP_INTERCEPTOR, useClass: PreferenceInterceptor },
  { provide: APP_FILTER, useClass: RefusedFilter },
  AuditReader,
  Authentication,
  AutoscalerAccess,
  AutoscalerAuthority,
  AutoscalerCalls,
  AutoscalerCredentials,
  AutoscalerServer,
  CertificateQueries,
  ChangeAnswers,
  RenewalSchedule,
  ClusterCommands,
  ClusterIndex,
  AroundClusters,
  ClusterQueries,
  PastClusters,
  PastManifests,
  PastMoments,
  ChangeQueries,
  CommandAnswers,
  ConnectionAccess,
  ConnectionCommands,
  RegistrationChecks,
  ConnectionQueries,
  DiskReserve,
  StoresWatch,
  EtcdQueries,
  EventReader,
  EventStreams,
  AddressMetrics,
  Executions,
  DurationQueries,
  FleetActivityIndex,
  FleetMetrics,
  TemplateMetrics,
  CostMetrics,
  {
    provide: PRICES,
    useFactory: ({ priceList }: Pick<Settings, 'priceList'>) => readPrices(priceList),
    inject: [SETTINGS],
  },
  FleetQueries,
  PastFleet,
  History,
  HoldQueries,
  Kubeconfigs,
  IdempotencyStore,
  JoinCommands,
  JoiningPools,
  RegisteredHosts,
  JoinFiles,
  Incarnations,
  LocalToken,
  ManifestCommands,
  VirtualAddressChecks,
  ChangeChecks,
  ManifestQueries,
  UnmetManifests,
  GenerationQueries,
  NamespaceQueries,
  HookSecretValues,
  SealedAddonValues,
  NamespaceContents,
  RealmCommands,
  RealmQueries,
  ApplicationCommands,
  ApplicationQueries,
  ReleaseCommands,
  InstallationReleases,
  NodeQueries,
  OperationQueries,
  LogFollower,
  LogStreams,
  OwnWrites,
  Registry,
  RequestLimits,
  SessionsStore,
  TemplateChoices,
  TemplateCommands,
  TemplateQueries,
  TemplateUsers,
  TokenCallers,
  TokenCommands,
  TokenSessions,
  TokenSlots,
  TokenStore,
  UpgradeAnswers,
  UpgradeCommands,
  UpgradeQueries,
  Issuer,
  UserCallers,
  UserSessionsStore,
  Users,
];

/** Where tokens meet what they stand for. Nest needs a module class for each value of the settings. */
export const gatewayModule = (settings: Settings): Type<unknown> => {
  @Module({ controllers: CONTROLLERS, providers: [...PROVIDERS, { provide: SETTINGS, useValue: settings }] })
  class GatewayModule {}
  return GatewayModule;
};

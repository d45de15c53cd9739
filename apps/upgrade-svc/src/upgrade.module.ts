import { EVENT_STORE, HANDLE, NATS, type Handle } from '@fairlead/event-sourcing/jetstream';
import type { EventStore } from '@fairlead/event-sourcing';
import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';
import {
  CLOCK,
  InstallationReleases,
  METRICS,
  SECRETS,
  type Clock,
  type SecretStore,
  type ServiceMetrics,
} from '@fairlead/service-kit';
import { NatsSnapshots } from '@fairlead/service-kit/snapshots';
import { Inject, Module, type OnApplicationShutdown, type Provider, type Type } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { CheckedHttp, HookCaller, HookSigner } from '@fairlead/service-kit/http';
import { NatsAgents } from './adapters/nats/nats.agents.js';
import { ActionHooksEffects } from './actions/action.hooks.effects.js';
import { ActionsEffects } from './actions/actions.effects.js';
import { FactsRecorder } from './agents/facts.effects.js';
import { FactsLog } from './agents/facts.log.effects.js';
import { RejectionReports } from './agents/rejections.effects.js';
import { AgentStates } from './agents/state.effects.js';
import { AGENT_CHANNEL } from './agents/tokens.js';
import type { Settings } from './config.js';
import { ChangesEffects } from './desired/changes.effects.js';
import { DesiredEffects } from './desired/desired.effects.js';
import { DriftEffects } from './drift/drift.effects.js';
import { EmptyEffects } from './drain/empty.effects.js';
import { BackupsEffects } from './etcd/backups.effects.js';
import { SnapshotKeeper } from './etcd/snapshot.keeper.js';
import { RemovalsEffects } from './etcd/removals.effects.js';
import { RestoreEffects } from './etcd/restore.effects.js';
import { SnapshotsEffects } from './etcd/snapshots.effects.js';
import { GatesEffects } from './gates/gates.effects.js';
import type { GateSources } from './gates/gates.ports.js';
import { HooksEffects } from './hooks/hooks.effects.js';
import { HealthEffects } from './health/health.effects.js';
import { HealthEvents } from './health/health.events.js';
import { NodesHealthHttp } from './health/health.http.js';
import { HeardHeartbeats } from './health/heard.heartbeats.js';
import { HeartbeatListener } from './health/heartbeats.listener.js';
import { WatchedNodes } from './health/watched.nodes.js';
import { ClusterAccess } from './kubernetes/cluster.access.js';
import type { KubernetesApi } from './kubernetes/kubernetes.ports.js';
import { NetworkEffects } from './network/network.effects.js';
import { NodesQueries } from './nodes/nodes.queries.js';
import { PresenceEffects } from './presence/presence.effects.js';
import { ClusterSurvey } from './preflight/cluster.survey.effects.js';
import { KubeadmDryRuns } from './preflight/kubeadm.dry-run.effects.js';
import { OfflineRenewal } from './preflight/offline.renewal.effects.js';
import { CheckEffects, type ChecksByAgents, type CheckSources } from './preflight/check.effects.js';
import { RemediationEffects } from './remediation/remediation.effects.js';
import { ReplacementEffects } from './replacement/replacement.effects.js';
import {
  CHECKS_BY_AGENTS,
  CHECK_SOURCES,
  CLUSTER_ACCESS,
  CLUSTER_SURVEY,
  GATE_SOURCES,
  HOOK_CALLER,
  KUBERNETES_API,
  SETTINGS,
  SNAPSHOT_KEEPER,
} from './tokens.js';

type PresenceParts = readonly [WatchedNodes, HeartbeatListener, ClusterAccess, Handle, ServiceMetrics];

const presenceProvider = (settings: Settings): Provider => ({
  provide: PresenceEffects,
  useFactory: (...[nodes, heartbeats, access, handle, metrics]: PresenceParts) =>
    new PresenceEffects({ nodes, heartbeats, access, handle, metrics, settings }),
  inject: [WatchedNodes, HeartbeatListener, CLUSTER_ACCESS, HANDLE, METRICS],
});

const agentChecksProvider = (settings: Settings): Provider => ({
  provide: CHECKS_BY_AGENTS,
  useFactory: (
    ...[store, handle, clusters, survey, clock]: readonly [EventStore, Handle, ClusterAccess, ClusterSurvey, Clock]
  ): ChecksByAgents => ({
    renewal: new OfflineRenewal({ store, handle, clusters, survey }),
    dryRuns: new KubeadmDryRuns({ store, handle, lookEveryMs: settings.lookEveryMs, now: () => clock.now() }),
  }),
  inject: [EVENT_STORE, HANDLE, CLUSTER_ACCESS, CLUSTER_SURVEY, CLOCK],
});

const CHECKS: readonly Provider[] = [
  InstallationReleases,
  {
    provide: CHECK_SOURCES,
    useFactory: (clusters: ClusterAccess, survey: ClusterSurvey, releases: InstallationReleases): CheckSources => ({
      clusters,
      survey,
      releases,
    }),
    inject: [CLUSTER_ACCESS, CLUSTER_SURVEY, InstallationReleases],
  },
];

const providersOf = (settings: Settings): Provider[] => [
  NodesQueries,
  HeartbeatListener,
  WatchedNodes,
  { provide: AGENT_CHANNEL, useFactory: (nc: NatsConnection) => new NatsAgents(nc), inject: [NATS] },
  FactsLog,
  RejectionReports,
  FactsRecorder,
  HealthEffects,
  { provide: SETTINGS, useValue: settings },
  {
    provide: GATE_SOURCES,
    useFactory: (survey: ClusterSurvey, secrets: SecretStore, clock: Clock): GateSources => ({
      survey,
      signer: new HookSigner(secrets, clock),
      http: new CheckedHttp({ setting: 'GATE_ADDRESSES_ALLOWED', allowed: settings.gateAddressesAllowed }),
    }),
    inject: [CLUSTER_SURVEY, SECRETS, CLOCK],
  },
  {
    provide: HOOK_CALLER,
    useFactory: (secrets: SecretStore, clock: Clock) => {
      const http = new CheckedHttp({ setting: 'HOOK_ADDRESSES_ALLOWED', allowed: settings.hookAddressesAllowed });
      return new HookCaller({
        http,
        signer: new HookSigner(secrets, clock),
        clock,
        againAfterMs: settings.hookAgainAfterMs,
      });
    },
    inject: [SECRETS, CLOCK],
  },
  { provide: KUBERNETES_API, useFactory: () => new ClientNodeKubernetes() },
  {
    provide: CLUSTER_ACCESS,
    useFactory: (api: KubernetesApi, secrets: SecretStore) => new ClusterAccess(api, secrets),
    inject: [KUBERNETES_API, SECRETS],
  },
  {
    provide: SNAPSHOT_KEEPER,
    useFactory: (nc: NatsConnection, secrets: SecretStore, store: EventStore) =>
      new SnapshotKeeper({
        snapshots: new NatsSnapshots(nc, secrets),
        secrets,
        store,
        bytesMax: settings.snapshotMaxBytes,
      }),
    inject: [NATS, SECRETS, EVENT_STORE],
  },
  ...CHECKS,
  {
    provide: CLUSTER_SURVEY,
    useFactory: (store: EventStore, listener: HeartbeatListener, clock: Clock) =>
      new ClusterSurvey({
        store,
        heartbeats: new HeardHeartbeats(listener, settings.nodeLostAfterMs),
        now: () => clock.now(),
        passIntervalMs: settings.passIntervalMs,
      }),
    inject: [EVENT_STORE, HeartbeatListener, CLOCK],
  },
  agentChecksProvider(settings),
  presenceProvider(settings),
];

/** Binds ports to adapters. Each settings object has its own module class, as Nest requires. */
export const upgradeModule = (settings: Settings): Type<unknown> => {
  @Module({
    controllers: [
      DesiredEffects,
      ChangesEffects,
      CheckEffects,
      SnapshotsEffects,
      BackupsEffects,
      RemovalsEffects,
      RestoreEffects,
      EmptyEffects,
      RemediationEffects,
      ReplacementEffects,
      DriftEffects,
      ActionsEffects,
      ActionHooksEffects,
      GatesEffects,
      HooksEffects,
      NetworkEffects,
      HealthEvents,
      AgentStates,
      NodesHealthHttp,
    ],
    providers: providersOf(settings),
  })
  class UpgradeModule implements OnApplicationShutdown {
    constructor(@Inject(KUBERNETES_API) private readonly kubernetes: KubernetesApi) {}

    onApplicationShutdown(): void {
      this.kubernetes.close();
    }
  }
  return UpgradeModule;
};

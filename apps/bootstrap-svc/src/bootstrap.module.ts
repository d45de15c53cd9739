import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, NATS } from '@fairlead/event-sourcing/jetstream';
import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';
import { CLOCK, type Clock, LogOwnership, SECRETS, type SecretStore } from '@fairlead/service-kit';
import { NatsSnapshots } from '@fairlead/service-kit/snapshots';
import { NodeSshShell } from '@fairlead/service-kit/ssh';
import { Inject, Module, type OnApplicationShutdown, type Provider, type Type } from '@nestjs/common';
import type { NatsConnection } from '@nats-io/transport-node';
import { CheckedHttp, HookCaller, HookSigner, type HookHttp } from '@fairlead/service-kit/http';
import { DownloadedArchives } from './adapters/helm/chart.archives.js';
import { HelmProgram } from './adapters/helm/helm.program.js';
import { LogCloudConnections } from './adapters/nats/cloud.connections.js';
import { HostChannels } from './adapters/nats/host.channels.js';
import { NatsLogReaders } from './adapters/nats/nats.log.readers.js';
import { AddonsEffects } from './addons/addons.effects.js';
import {
  AGENT_KIT,
  CLUSTER_ACCESS,
  ETCD_AUTHORITIES,
  HOOK_CALLER,
  HOST_ACCESS,
  HOST_SHELL,
  HOSTS_KNOWN,
  JOIN_CREDENTIALS,
  KUBERNETES_API,
  LOG_READERS,
  RELEASE_ENGINES,
  RELEASE_SOURCES,
  REMEMBERED_SECRETS,
  SETTINGS,
  SNAPSHOTS,
} from './bootstrap/tokens.js';
import type { Settings } from './config.js';
import { BalancingEffects } from './control-plane/balancing.effects.js';
import { PublishingEffects } from './control-plane/publishing.effects.js';
import { EtcdAuthorities } from './control-plane/etcd.authority.js';
import { ExternalEtcdEffects } from './control-plane/external-etcd.effects.js';
import { ControlPlaneEffects } from './control-plane/control-plane.effects.js';
import { JoinCredentialsSource } from './joins/join.credentials.js';
import { JoinsEffects } from './joins/joins.effects.js';
import { AuthenticationEffects } from './authentication/authentication.effects.js';
import { LabelsEffects } from './joins/labels.effects.js';
import { DeclaredEffects } from './restore/declared.effects.js';
import { ExecutionsEffects } from './executions/executions.effects.js';
import { FollowsEffects } from './executions/follows.effects.js';
import { HooksEffects } from './hooks/hooks.effects.js';
import { AdmissionEffects } from './hosts/admission.effects.js';
import { AgentCredentialsEffects } from './hosts/agent.credentials.effects.js';
import { AgentKit } from './hosts/agent.kit.js';
import { AgentUpdatesEffects } from './hosts/agent.updates.effects.js';
import { HostAccess, type HostsKnown } from './hosts/host.access.js';
import { LogHostKeys } from './hosts/host.keys.effects.js';
import { HostsEffects } from './hosts/hosts.effects.js';
import type { HostShell } from './hosts/hosts.ports.js';
import { SshKeysEffects } from './hosts/ssh.keys.effects.js';
import { TakeOverEffects } from './hosts/takeover.effects.js';
import { KubeconfigsEffects } from './kubeconfigs/kubeconfigs.effects.js';
import { ClusterAccess } from './kubernetes/cluster.access.js';
import type { KubernetesApi } from './kubernetes/kubernetes.ports.js';
import { AppliedObjects } from './releases/applied.objects.js';
import { ReleasesEffects } from './releases/releases.effects.js';
import type { ReleaseEngines } from './releases/releases.ports.js';
import { ReleaseSources } from './releases/releases.sources.js';
import { OpenedValues } from './releases/sealed.values.js';
import { SnapshotsEffects } from './restore/snapshots.effects.js';
import { VerificationEffects } from './restore/verification.effects.js';
import { DismantlingEffects } from './removal/dismantling.effects.js';
import { RememberedSecrets } from './secrets.cache.js';
import { NodeRemovalEffects } from './removal/node-removal.effects.js';

/** The service's adapters; specs replace them. */
export interface Adapters {
  readonly shell: () => HostShell;
  readonly kubernetes: () => KubernetesApi;
  /** Absent: the real client. */
  readonly hooks?: () => HookHttp;
}

/**
 * The steps of a creation use a cluster's client in quick succession; afterwards it is rarely used. A client takes
 * about 50 KB, mostly outside of V8's heap.
 */
const CLIENT_KEPT_MS = 60_000;

const realAdapters = (settings: Settings): Adapters => ({
  shell: () => new NodeSshShell(settings.ssh),
  kubernetes: () => new ClientNodeKubernetes(CLIENT_KEPT_MS),
});

const hookHttpOf = ({ hookAddressesAllowed: allowed }: Settings): HookHttp =>
  new CheckedHttp({ allowed, setting: 'HOOK_ADDRESSES_ALLOWED' });

/** The engines of add-ons, and the sources of their content. */
const releaseProvidersOf = (settings: Settings): readonly Provider[] => [
  {
    provide: RELEASE_ENGINES,
    useFactory: (): ReleaseEngines => ({
      charts: new HelmProgram(settings.helmProgram),
      manifests: new AppliedObjects(),
    }),
  },
  {
    provide: RELEASE_SOURCES,
    useFactory: (store: EventStore, secrets: SecretStore) => {
      const { catalogueAddressesAllowed: allowed } = settings;
      const http = new CheckedHttp({ allowed, setting: 'CATALOGUE_ADDRESSES_ALLOWED' });
      return new ReleaseSources(
        new DownloadedArchives(store, secrets, http),
        new OpenedValues(secrets),
        new LogCloudConnections(store, secrets),
      );
    },
    inject: [EVENT_STORE, SECRETS],
  },
];

const providersOf = (settings: Settings, adapters: Adapters): Provider[] => [
  AgentCredentialsEffects,
  { provide: SETTINGS, useValue: settings },
  { provide: HOST_SHELL, useFactory: adapters.shell },
  { provide: KUBERNETES_API, useFactory: adapters.kubernetes },
  {
    provide: HOOK_CALLER,
    useFactory: (secrets: SecretStore, clock: Clock) => {
      const http = adapters.hooks?.() ?? hookHttpOf(settings);
      return new HookCaller({
        http,
        signer: new HookSigner(secrets, clock),
        clock,
        againAfterMs: settings.hookAgainAfterMs,
      });
    },
    inject: [SECRETS, CLOCK],
  },
  { provide: AGENT_KIT, useFactory: () => new AgentKit(settings.agent, settings.tuning) },
  {
    provide: REMEMBERED_SECRETS,
    useFactory: (secrets: SecretStore) => new RememberedSecrets(secrets),
    inject: [SECRETS],
  },
  {
    provide: HOSTS_KNOWN,
    useFactory: (store: EventStore, ownership: LogOwnership, nc: NatsConnection): HostsKnown => ({
      keys: new LogHostKeys(store),
      epoch: () => ownership.epoch,
      channels: new HostChannels(nc),
    }),
    inject: [EVENT_STORE, LogOwnership, NATS],
  },
  {
    provide: HOST_ACCESS,
    useFactory: (shell: HostShell, secrets: RememberedSecrets, known: HostsKnown) =>
      new HostAccess(shell, secrets, settings.ssh, known),
    inject: [HOST_SHELL, REMEMBERED_SECRETS, HOSTS_KNOWN],
  },
  {
    provide: CLUSTER_ACCESS,
    useFactory: (api: KubernetesApi, secrets: RememberedSecrets) => new ClusterAccess(api, secrets),
    inject: [KUBERNETES_API, REMEMBERED_SECRETS],
  },
  {
    provide: ETCD_AUTHORITIES,
    useFactory: (secrets: RememberedSecrets, clock: Clock) => new EtcdAuthorities(secrets, clock),
    inject: [REMEMBERED_SECRETS, CLOCK],
  },
  {
    provide: JOIN_CREDENTIALS,
    useFactory: (hosts: HostAccess, secrets: RememberedSecrets, clock: Clock) =>
      new JoinCredentialsSource(hosts, secrets, clock, settings),
    inject: [HOST_ACCESS, REMEMBERED_SECRETS, CLOCK],
  },
  ...releaseProvidersOf(settings),
  { provide: LOG_READERS, useFactory: (nc: NatsConnection) => new NatsLogReaders(nc), inject: [NATS] },
  {
    provide: SNAPSHOTS,
    useFactory: (nc: NatsConnection, secrets: SecretStore) => new NatsSnapshots(nc, secrets),
    inject: [NATS, SECRETS],
  },
];

/** Binds ports to adapters. Nest needs a module class for each value of the settings. */
export const bootstrapModule = (settings: Settings, adapters = realAdapters(settings)): Type<unknown> => {
  @Module({
    controllers: [
      HostsEffects,
      AdmissionEffects,
      TakeOverEffects,
      AgentUpdatesEffects,
      BalancingEffects,
      PublishingEffects,
      ExternalEtcdEffects,
      ControlPlaneEffects,
      JoinsEffects,
      LabelsEffects,
      DeclaredEffects,
      AuthenticationEffects,
      AddonsEffects,
      ReleasesEffects,
      NodeRemovalEffects,
      SnapshotsEffects,
      VerificationEffects,
      DismantlingEffects,
      HooksEffects,
      KubeconfigsEffects,
      ExecutionsEffects,
      FollowsEffects,
      SshKeysEffects,
    ],
    providers: providersOf(settings, adapters),
  })
  class BootstrapModule implements OnApplicationShutdown {
    constructor(
      @Inject(HOST_SHELL) private readonly shell: HostShell,
      @Inject(KUBERNETES_API) private readonly kubernetes: KubernetesApi,
    ) {}

    async onApplicationShutdown(): Promise<void> {
      this.kubernetes.close();
      await this.shell.close();
    }
  }
  return BootstrapModule;
};

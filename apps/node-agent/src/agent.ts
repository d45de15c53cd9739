import { wordsOf, type AgentConfig, type NodeLoadBalancing } from '@fairlead/contracts';
import { ADDRESSES, BALANCER } from '@fairlead/node-scripts';
import { KnownReleases } from './node/known.releases.js';
import { openSource } from './adapters/files/open.source.js';
import { httpAsk } from './adapters/host/http.ask.js';
import { KubernetesNodeWatch } from './adapters/kubernetes/node.watch.js';
import { NatsPlatform } from './adapters/nats/nats.platform.js';
import { AgentLoop } from './agent/agent.effects.js';
import type { AgentClock, AgentLog, HostPort } from './node/host.ports.js';
import type { Platform } from './agent/agent.ports.js';
import type { Ask } from './change/change.ports.js';
import { CredentialRenewal } from './credentials/credential.renewal.js';
import { removeAbandonedSteps } from './files/abandoned.steps.js';
import type { HostFiles } from './files/files.ports.js';
import { hostSoftware, type HostSoftware } from './software/host.software.js';
import { newState } from './agent/agent.state.js';
import { Journal } from './agent/journal.js';
import { loadState } from './agent/state.store.js';
import { kubernetesReach } from './adapters/kubernetes/kubernetes.reach.js';
import { hostAddressLooks } from './adapters/host/address.looks.js';
import { AddressesPart, type AddressesOptions } from './network/addresses.part.js';
import { FirewallPart } from './network/firewall.part.js';
import { NetworkLoop } from './network/network.effects.js';
import type { NetworkPart, Reach } from './network/network.ports.js';
import { SshdPart } from './network/sshd.part.js';
import { ApiAddressProbe, type ApiAddressProbeOptions } from './probes/api.address.probe.effects.js';
import { AddressProbes, type AddressLooks, type AddressProbesOptions } from './probes/address.probes.effects.js';
import { sharedMetronome, type Metronome } from './time/metronome.js';

/** Without local state, the services are asked for the node's last facts; the start does not fail if they are away. */
const RECOVERY_WAIT_MS = 3_000;

export interface AgentOptions {
  readonly config: AgentConfig;
  readonly host: HostPort;
  /** Required if the profile installs software from files. */
  readonly files?: HostFiles;
  /** The contents of a NATS creds file; empty if the server requires none. */
  readonly credentials: string;
  readonly clock?: AgentClock;
  /** In [0, 1); spreads heartbeats and retries. */
  readonly random?: () => number;
  readonly log?: AgentLog;
  /** Sends the requests of probes and health checks; over HTTP unless a spec replaces it. */
  readonly ask?: Ask;
  /** Observes virtual addresses; those of this machine, unless the host is simulated in this process. */
  readonly addressLooks?: AddressLooks;
}

export interface RunningAgent {
  /** Resolves when NATS was first reached. */
  readonly connected: Promise<void>;
  /** Aborts current work and closes connections; facts that are not in the log yet remain in the local state. */
  stop(): Promise<void>;
}

const recoverWithin = (journal: Journal, platform: Platform, metronome: Metronome, log: AgentLog): Promise<void> =>
  new Promise((resolve) => {
    let isOver = false;
    const over = (): void => {
      isOver = true;
      cancel();
      resolve();
    };
    const cancel = metronome.after(RECOVERY_WAIT_MS, () => {
      log('warn', 'the services are away, so the node starts as if it had stated nothing');
      over();
    });
    platform.onConnected(() => {
      if (isOver) return;
      journal.recover().then(over, (error: unknown) => log('warn', 'recovery failed', { cause: String(error) }));
    });
  });

/** A step that cannot be removed must not prevent the start of the agent. */
const removeSteps = async (files: HostFiles, clock: AgentClock, log: AgentLog): Promise<void> => {
  try {
    await removeAbandonedSteps(files, clock.now().getTime());
  } catch (error) {
    log('warn', 'abandoned steps could not be removed', { cause: wordsOf(error) });
  }
};

interface NetworkPartsOptions {
  readonly node: AgentConfig['node'];
  readonly host: HostPort;
  readonly files: HostFiles | undefined;
  readonly platform: NatsPlatform;
  readonly software: HostSoftware;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onServed: AddressesOptions['onServed'];
}

/** For hosts whose files cannot be removed: files are renamed, so that they are ignored. */
const puttingAside = (host: HostPort): Pick<HostFiles, 'at' | 'remove'> => ({
  at: (path) => path,
  remove: async (path) => {
    if (await host.exists(path)) await host.rename(path, `${path}.removed`);
  },
});

const networkParts = (options: NetworkPartsOptions): readonly NetworkPart[] => {
  const { node, host, files, platform, software, sleep, onServed } = options;
  const reach: Reach = {
    nats: (limitMs) => platform.check(limitMs),
    api: (limitMs) => kubernetesReach(host, limitMs),
  };
  const require = (packages: readonly string[]): Promise<void> => software.require(packages);
  const own = files ?? puttingAside(host);
  return [
    new SshdPart({ host, files: own }),
    new FirewallPart({ host, files: own, reach, sleep, require }),
    new AddressesPart({ node, host, files: own, require, onServed }),
  ];
};

const addressProbes = (
  { uid, node }: AgentConfig,
  { journal, ...parts }: Pick<AddressProbesOptions, 'metronome' | 'log' | 'looks'> & { readonly journal: Journal },
): AddressProbes =>
  new AddressProbes({
    ...parts,
    identity: { uid, node },
    say: (facts) => journal.record(facts, null),
  });

/** Only control planes share the address of the API. */
const apiAddressProbe = (
  { uid, node, role }: AgentConfig,
  {
    journal,
    ...parts
  }: Pick<ApiAddressProbeOptions, 'host' | 'metronome' | 'log' | 'looks'> & { readonly journal: Journal },
): ApiAddressProbe | undefined =>
  role === 'control-plane'
    ? new ApiAddressProbe({ ...parts, identity: { uid, node }, say: (facts) => journal.record(facts, null) })
    : undefined;

/**
 * Starts the agent of one node and resolves once it works; its results are in the event log. Many agents may run in one
 * process and share one timer. Rejects only if the host's own state cannot be read.
 */
export const startAgent = async (options: AgentOptions): Promise<RunningAgent> => {
  const { config, host, files, credentials } = options;
  const { clock = { now: () => new Date() }, random = Math.random, log = () => undefined } = options;
  const metronome = sharedMetronome;
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const releases = new KnownReleases();
  const software = hostSoftware({ config, host, files, openSource, architecture, releases, log });
  const saved = await loadState(host, config.uid, log);
  if (files !== undefined) await removeSteps(files, clock, log);
  const common = { host, metronome, random, log };
  const platform = new NatsPlatform({ config, credentials, random, log });
  const onDrained = (): void => loop.wake();
  const journal = new Journal(saved ?? newState(config.uid), {
    ...common,
    config,
    platform,
    clock,
    onDrained,
  });
  const loop = new AgentLoop({
    ...common,
    config,
    software,
    releases,
    platform,
    journal,
    ask: options.ask ?? httpAsk,
    removeFile: files && ((path) => files.remove(path)),
    copyFile: files && ((from, to, mode) => files.copy(from, to, mode)),
    watchNode: (listener) => new KubernetesNodeWatch({ node: config.node, ...common }, listener),
    clock,
  });
  const { node } = config;
  const looks = options.addressLooks ?? hostAddressLooks(ADDRESSES.stats);
  const addresses = addressProbes(config, { metronome, log, journal, looks });
  const apiLooks = options.addressLooks ?? hostAddressLooks(BALANCER.stats);
  const apiAddress = apiAddressProbe(config, { host, metronome, log, journal, looks: apiLooks });
  const onServed = (balancing: NodeLoadBalancing | null): void => addresses.set(balancing);
  const sleep = (ms: number): Promise<void> => network.sleep(ms);
  const network = new NetworkLoop({
    ...common,
    config,
    platform,
    parts: networkParts({ node, host, files, platform, software, sleep, onServed }),
    say: (facts, cause) => journal.record(facts, cause),
  });
  const renewal = new CredentialRenewal(credentials, config.natsCa, { ...common, platform, clock });
  if (saved === undefined) await recoverWithin(journal, platform, metronome, log);
  await network.start();
  await loop.start();
  renewal.start();
  apiAddress?.start();
  return {
    connected: new Promise((resolve) => platform.onConnected(resolve)),
    stop: async () => {
      renewal.stop();
      await network.stop();
      addresses.stop();
      apiAddress?.stop();
      await loop.stop();
      await journal.close();
      await platform.close();
    },
  };
};

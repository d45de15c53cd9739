import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ApiServer } from './api/api.server.js';
import { cloudRoutes } from './api/api.routes.js';
import { Addresses, claimAddresses, type AddressClaim } from './cloud/addresses.js';
import { imageNamed } from './cloud/catalogue.js';
import { Fault, Faults, upgradeRefusal } from './faults/faults.js';
import { Groups } from './cloud/groups.js';
import { LoadBalancers } from './cloud/load.balancers.js';
import type { Machine } from './cloud/machine.js';
import { Reservations, sizeBehind } from './cloud/reservations.js';
import { Firewall, Network, Resources, SshKey } from './cloud/resources.js';
import { Stats } from './stats/stats.js';
import { Clusters } from './clusters/clusters.js';
import { installedVersion } from './commands/apt.commands.js';
import type { CommandWorld } from './commands/command.js';
import { CommandRunner } from './programs/run.command.js';
import { FullPlatform } from './full/full.platform.js';
import { LightPlatform } from './light/light.platform.js';
import type { Host } from './hosts/host.js';
import type { HostPlatform, RunningHost } from './hosts/host.platform.js';
import type { HostFacts } from './hosts/host.record.js';
import { IdentityServer } from './identity/identity.server.js';
import type { LabConfig } from './lab.config.js';
import { DocumentStore } from './persistence/document.store.js';
import { NO_DELAYS, REAL_DELAYS } from './time/delays.js';

const LOOPBACK = '127.0.0.1';
const SETTINGS = 'lab';
const DAY_MS = 24 * 3_600_000;
const WRITE_DELAY_MS = { light: 2_000, full: 150 } as const;
const MACHINES_MAX = { light: 20_000, full: 200 } as const;
/** The delays of simulated Kubernetes with `--delays none`: pods start and stop at once. */
const NO_CLUSTER_DELAYS = { podStartMs: 0, podStopMs: 0, jobRunMs: 0 } as const;

const Settings = z.object({
  octet: z.int(),
  next: z.object({ machine: z.int(), loadBalancer: z.int() }),
  faults: z.array(Fault),
});

export interface LabHandle {
  readonly port: number;
  /** Stops every host and stores all state; a lab on the same folder resumes from there. */
  stop(): Promise<void>;
}

/** Starts a lab on a data folder, which may be that of an earlier lab. */
export const startLab = async (config: LabConfig, onBug: (error: unknown) => void): Promise<LabHandle> => {
  await mkdir(config.dataFolder, { recursive: true, mode: 0o700 });
  const folder = await realpath(config.dataFolder);
  const store = new DocumentStore(
    join(folder, 'state'),
    config.light ? WRITE_DELAY_MS.light : WRITE_DELAY_MS.full,
    onBug,
  );
  const [stored] = await store.readAll(SETTINGS);
  const settings = stored === undefined ? undefined : Settings.parse(stored);
  const claim = await claimAddresses(folder, settings?.octet);
  const lab = new Lab(config, { folder, store, claim, settings, onBug });
  return { port: await lab.start(), stop: () => lab.stop() };
};

interface LabParts {
  readonly folder: string;
  readonly store: DocumentStore;
  readonly claim: AddressClaim;
  readonly settings: z.infer<typeof Settings> | undefined;
  onBug(error: unknown): void;
}

/** The composition root of the lab. */
class Lab {
  private readonly stats = new Stats();
  private readonly faults: Faults;
  private readonly addresses: Addresses;
  private readonly clusters: Clusters;
  private readonly loadBalancers: LoadBalancers;
  private readonly groups: Groups;
  private readonly reservations: Reservations;
  private readonly networks: Resources<z.infer<typeof Network>>;
  private readonly firewalls: Resources<z.infer<typeof Firewall>>;
  private readonly sshKeys: Resources<z.infer<typeof SshKey>>;
  private readonly platform: HostPlatform;
  private readonly api: ApiServer;
  private identity: IdentityServer | undefined;

  constructor(
    private readonly config: LabConfig,
    private readonly parts: LabParts,
  ) {
    const { store, settings, claim, onBug } = parts;
    const { stats } = this;
    const delays = config.delays === 'real' ? REAL_DELAYS : NO_DELAYS;
    this.faults = new Faults(settings?.faults ?? [], () => this.saveSettings());
    this.addresses = new Addresses(claim.octet, settings?.next ?? { machine: 0, loadBalancer: 0 }, () =>
      this.saveSettings(),
    );
    this.networks = new Resources('network', Network, store, stats);
    this.firewalls = new Resources('firewall', Firewall, store, stats);
    this.sshKeys = new Resources('sshKey', SshKey, store, stats);
    this.loadBalancers = new LoadBalancers(store, stats, this.addresses, (id) => this.reachableAddress(id));
    this.clusters = new Clusters({
      store,
      stats,
      delays: {
        ...(config.delays === 'real' ? {} : NO_CLUSTER_DELAYS),
        nodeMonitorGraceMs: config.nodeMonitorGraceMs,
      },
      certificateAgeMs: config.certificateAgeDays * DAY_MS,
      faults: this.faults,
      resolve: (host, port) => this.loadBalancers.targetsOf(host, port) ?? [{ host, port }],
    });
    // Acknowledged changes are on disk even if the lab is killed now. A light lab is for load tests and may lose its
    // last two seconds.
    const settled = (): Promise<void> => (config.light ? Promise.resolve() : store.flush());
    const world: CommandWorld = {
      delays,
      clusters: this.clusters,
      upgradeRefusal: (machine) => upgradeRefusal(this.faults, machine),
      drops: (address, port) => this.drops(address, port),
      shutDown: (host, again) => this.shutDown(host, again),
    };
    this.platform = this.createPlatform(new CommandRunner(world, this.faults, stats, settled));
    const machinesMax = config.light ? MACHINES_MAX.light : MACHINES_MAX.full;
    this.reservations = new Reservations({
      store,
      stats,
      faults: this.faults,
      reservableMax: machinesMax,
      now: () => new Date(),
    });
    this.groups = new Groups({
      store,
      stats,
      delays,
      addresses: this.addresses,
      faults: this.faults,
      clusters: this.clusters,
      machinesMax,
      hasNetwork: (name) => this.networks.find(name) !== undefined,
      hasFirewall: (name) => this.firewalls.find(name) !== undefined,
      reservationFault: (spec) => this.reservations.faultOf(spec),
      authorizedKeys: (name) => this.authorizedKeys(name),
      createHost: (machine) => this.createHost(machine),
    });
    this.api = new ApiServer({
      routes: cloudRoutes({ ...this.cloud() }),
      token: config.token,
      faults: this.faults,
      settled,
      onBug,
    });
  }

  async start(): Promise<number> {
    this.saveSettings();
    await Promise.all([this.networks.load(), this.firewalls.load(), this.sshKeys.load()]);
    await this.clusters.load();
    await this.loadBalancers.load();
    await this.reservations.load();
    await this.groups.load();
    this.identity = await this.startIdentity();
    return this.api.open(LOOPBACK, this.config.port);
  }

  async stop(): Promise<void> {
    await this.api.close();
    await this.identity?.stop();
    await this.groups.close();
    await this.loadBalancers.close();
    this.saveSettings();
    await this.parts.store.flush();
    await this.clusters.close();
    await this.parts.claim.release();
  }

  private async startIdentity(): Promise<IdentityServer | undefined> {
    const { identityPort: port, token: clientSecret } = this.config;
    if (port === undefined) return undefined;
    const { store, onBug } = this.parts;
    const administrator = { clientId: 'fairlead', clientSecret };
    return IdentityServer.start({ store, administrator, port, now: () => new Date(), onBug });
  }

  private cloud() {
    const { networks, firewalls, sshKeys, groups, reservations, loadBalancers, clusters, faults, stats } = this;
    const applyFaults = async (): Promise<void> => {
      for (const machine of groups.all()) {
        await machine.applyHostLostFault();
        await machine.applyRuntimeHungFault();
        await machine.applyNetworkLostFault();
        await machine.applyDiskFullFault();
      }
    };
    return {
      networks,
      firewalls,
      sshKeys,
      groups,
      reservations,
      loadBalancers,
      clusters,
      faults,
      stats,
      applyFaults,
      identity: () => this.identity?.access,
    };
  }

  private createPlatform(runner: CommandRunner): HostPlatform {
    const { folder } = this.parts;
    const simulatedChanged = (host: Host): Promise<void> => this.simulatedChanged(host);
    const parts = { folder, runner, stats: this.stats, simulatedChanged };
    return this.config.light
      ? new LightPlatform(parts)
      : new FullPlatform({ ...parts, nodeBinary: this.config.nodeBinary });
  }

  /** Called when a kubelet or a container runtime was started or stopped. */
  private simulatedChanged(host: Host): Promise<void> {
    return this.clusters.hostChanged(host, installedVersion(host, 'kubelet'));
  }

  private createHost(machine: Machine): Promise<RunningHost> {
    const { record } = machine;
    const spec = sizeBehind(record.request.spec);
    const facts: HostFacts = {
      machineId: record.id,
      name: record.request.name,
      get address() {
        return record.address;
      },
      cpuCount: spec?.cpuCount ?? 1,
      memoryGiB: spec?.memoryGiB ?? 1,
      region: record.region,
      zone: record.zone,
      osImage: imageNamed(record.request.image)?.os ?? '',
    };
    return this.platform.create(facts, record.host, {
      fresh: !record.booted,
      storedFiles: record.files,
      changed: () => this.groups.saveMachine(machine),
    });
  }

  private authorizedKeys(name: string): readonly string[] {
    const key = this.sshKeys.find(name);
    return key === undefined ? [] : [key.publicKey];
  }

  private reachableAddress(machineId: string): string | undefined {
    const machine = this.groups.find(machineId);
    return machine?.isReachable === true ? machine.record.address : undefined;
  }

  /** A load balancer is out of reach if all of its targets are. */
  private drops(address: string, port: number): boolean {
    const targets = this.loadBalancers.targetsOf(address, port) ?? [{ host: address, port }];
    return (
      targets.length > 0 &&
      targets.every((target) => {
        const machine = this.clusters.machineAt(target.host);
        return machine !== undefined && this.faults.drops(machine, target.port);
      })
    );
  }

  private shutDown(host: Host, again: boolean): void {
    this.groups.find(host.facts.machineId)?.shutDown(again);
  }

  private saveSettings(): void {
    const { octet } = this.parts.claim;
    this.parts.store.put(SETTINGS, SETTINGS, () => ({
      octet,
      next: this.addresses.position(),
      faults: this.faults.list(),
    }));
  }
}

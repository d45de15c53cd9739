import {
  refuse,
  PROVIDER_REFUSED,
  ExternalFailure,
  type ClusterUid,
  type HostProfile,
  type MachineSpec,
  type NodeName,
  type Refusal,
} from '@fairlead/contracts';
import {
  diskRoom,
  fileWatches,
  hasRootfs,
  HOST_SYSTEMS,
  machineIsUnified,
  noRoomOnDisk,
  noRoomToWatch,
  obstacles,
  type Host,
  type HostSystem,
  type Local,
} from '@fairlead/nspawn';
import { existsSync } from 'node:fs';
import pLimit from 'p-limit';
import type {
  Capabilities,
  CapacityRequest,
  Firewall,
  GroupRef,
  Image,
  InfrastructureProvider,
  ListedMachine,
  LoadBalancer,
  LoadBalancerSpec,
  MachineAnswer,
  MachineGroup,
  MachineReport,
  Network,
  ProviderOperation,
  Region,
  SshKey,
  DesiredMachine,
} from '../../providers/provider.ports.js';
import { MIRROR_AT, profileOf, SPECS } from './nspawn.hosts.js';
import { NspawnStore } from './nspawn.store.js';

export interface NspawnOptions {
  readonly connection: string;
  /** Opens the folder of the connection's hosts; throws a ExternalFailure if hosts cannot run there. */
  readonly local: () => Local;
  readonly cidr: string;
  readonly mirror: string;
  readonly system: HostSystem;
  readonly zones: readonly string[];
  readonly profile: HostProfile | undefined;
  /** The capacity of the machine; absent: it is measured. */
  readonly disk?: () => ReturnType<typeof diskRoom>;
  readonly watches?: typeof fileWatches;
}

const REGION = 'local';
const MIB_PER_GIB = 1_024;
const SSH_PORT = 22;
/** Limits concurrent boots: each keeps a CPU busy for a second or two. */
const BOOTING_MAX = 8;

const LABEL = {
  group: 'fairlead.dev/group',
  uid: 'fairlead.dev/uid',
  zone: 'fairlead.dev/zone',
  sshKey: 'fairlead.dev/ssh-key',
} as const;

/** Local hosts as machines. Both have the same name, because names are never reused. */
export class NspawnProvider implements InfrastructureProvider {
  private readonly booting = pLimit(BOOTING_MAX);

  constructor(private readonly options: NspawnOptions) {}

  async verify(signal: AbortSignal): Promise<Capabilities> {
    signal.throwIfAborted();
    const running = this.local.hosts.all().filter(({ status }) => status === 'running');
    const found = await obstacles({ hostsRunning: running.length, folder: this.local.places.stateDir });
    if (found.length > 0) throw this.failure('verify connection', found.join('; '), false);
    if (!existsSync(this.options.mirror)) {
      const help = 'make it with "npm run kubernetes:build", or name another one in the setting "mirror"';
      throw this.failure('verify connection', `there is no mirror in ${this.options.mirror}: ${help}`, false);
    }
    this.requireImage('verify connection');
    return { nlb: true, simulated: false };
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    signal.throwIfAborted();
    return SPECS;
  }

  async resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    signal.throwIfAborted();
    return region === REGION ? { name: REGION, zones: this.options.zones } : undefined;
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    signal.throwIfAborted();
    return SPECS.find((spec) => spec.name === name);
  }

  async resolveImage(signal: AbortSignal): Promise<Image> {
    signal.throwIfAborted();
    this.requireImage('resolve image');
    return { name: this.options.system, os: HOST_SYSTEMS[this.options.system].title };
  }

  /** Overrides the requested range: networks of local hosts must be within 198.18.0.0/15. */
  async ensureNetwork({ name, subnet }: Network, signal: AbortSignal): Promise<Network> {
    signal.throwIfAborted();
    const { cidr } = await this.local.networks.ensure(name, this.options.cidr);
    return { name, subnet, cidr };
  }

  /** The hosts are reachable only from this machine, and nothing is routed, so there is nothing to filter. */
  async ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall> {
    signal.throwIfAborted();
    return desired;
  }

  async ensureSshKey({ name, publicKey }: SshKey, signal: AbortSignal): Promise<SshKey> {
    signal.throwIfAborted();
    return { name, publicKey: this.store.ensureKey(name, publicKey) };
  }

  async deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.store.removeKey(name);
  }

  /**
   * Without enough file watches a host runs no kubelet, and on a full disk no pods: the cluster would be created only
   * in part.
   */
  async checkCapacity({ specs, controlPlanes }: CapacityRequest, signal: AbortSignal): Promise<Refusal | undefined> {
    signal.throwIfAborted();
    const { disk = () => diskRoom(this.local.places.stateDir), watches = fileWatches } = this.options;
    const detail = noRoomToWatch(watches(), controlPlanes, specs.length - controlPlanes) ?? noRoomOnDisk(disk());
    return detail === undefined
      ? undefined
      : refuse('connection.machine-full', { connection: this.options.connection, detail });
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    signal.throwIfAborted();
    this.refuseBuried(group);
    await this.local.networks.ensure(group.network, this.options.cidr);
    const waiting = new Map(
      group.machines.map((machine, at) => [
        at,
        this.booting(() => this.make(group, machine, signal)).then((answer) => ({ at, answer })),
      ]),
    );
    // Machines that are no longer waited for are aborted by the signal.
    for (const each of waiting.values()) each.catch(() => undefined);
    while (waiting.size > 0) {
      const { at, answer } = await Promise.race(waiting.values());
      waiting.delete(at);
      yield answer;
    }
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    signal.throwIfAborted();
    return this.hostsOf(group).map((host) => this.reportOf(host));
  }

  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    signal.throwIfAborted();
    return this.local.hosts.all().flatMap((host) => {
      const group = host.labels[LABEL.group] ?? '';
      return group.endsWith(`.${this.options.connection}`) ? [{ ...this.reportOf(host), group }] : [];
    });
  }

  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.local.hosts.delete(id);
  }

  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.store.bury(group.uid);
    const hosts = this.hostsOf(group).filter(({ labels }) => labels[LABEL.uid] === group.uid);
    await Promise.all(hosts.map(({ name }) => this.local.hosts.delete(name)));
  }

  async ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    signal.throwIfAborted();
    const { name, targetPort: port, healthPath, targets } = desired;
    const hosts = targets.flatMap((id) => this.local.hosts.find(id) ?? []);
    const network = hosts[0]?.network ?? this.local.networks.all()[0]?.name ?? '';
    const { address } = await this.local.balancers.ensure({
      name,
      network,
      port,
      healthPath,
      targets: hosts.map((host) => ({ name: host.name, address: host.address, port })),
    });
    return { name, host: address, port, placement: 'provider' };
  }

  async deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.local.balancers.delete(name);
  }

  private get local(): Local {
    return this.options.local();
  }

  private get store(): NspawnStore {
    return new NspawnStore(this.local.places.stateDir);
  }

  private hostsOf(group: GroupRef): readonly Host[] {
    return this.local.hosts.all().filter(({ labels }) => labels[LABEL.group] === group.name);
  }

  /** A failed host remains failed until it is deleted; one that lost its power later is started again. */
  private async make(group: MachineGroup, machine: DesiredMachine, signal: AbortSignal): Promise<MachineAnswer> {
    signal.throwIfAborted();
    const { hosts } = this.local;
    const known = hosts.find(machine.name);
    // A host that already exists keeps its original key.
    const sshKey = known?.labels[LABEL.sshKey] ?? group.sshKey;
    const key = this.store.key(sshKey);
    if (key === undefined) throw this.failure('create machines', `there is no SSH key ${sshKey}`, true);
    const failed = known === undefined ? undefined : this.reportOf(known);
    if (failed?.status === 'failed') return failed;
    try {
      await hosts.ensure(this.desiredHost(group, machine, key));
      if (this.store.isBuried(group.uid)) {
        await hosts.delete(machine.name);
        this.refuseBuried(group);
      }
      return this.runningOf(await hosts.untilReachable(machine.name, signal));
    } catch (error) {
      signal.throwIfAborted();
      const host = hosts.find(machine.name);
      if (!(error instanceof ExternalFailure) || host === undefined) throw error;
      return { ...this.reportedOf(host), status: 'failed', message: error.message };
    }
  }

  private desiredHost(group: MachineGroup, { name, spec, zone, labels }: DesiredMachine, key: string) {
    const size = SPECS.find((each) => each.name === spec);
    if (size === undefined) throw this.failure('create machines', `there is no machine size ${spec}`, false);
    return {
      name,
      network: group.network,
      system: this.options.system,
      authorizedKeys: [key],
      cpus: size.cpuCount,
      memoryMiB: size.memoryGiB * MIB_PER_GIB,
      readOnly: { [MIRROR_AT]: this.options.mirror },
      labels: {
        ...labels,
        [LABEL.group]: group.name,
        [LABEL.uid]: group.uid,
        [LABEL.sshKey]: group.sshKey,
        [LABEL.zone]: zone ?? this.options.zones[0] ?? REGION,
      },
    };
  }

  private reportOf(host: Host): MachineReport {
    if (host.status === 'running')
      return host.reached ? this.runningOf(host) : { ...this.reportedOf(host), status: 'creating' };
    if (host.status === 'creating') return { ...this.reportedOf(host), status: 'creating' };
    if (host.reached) return { ...this.reportedOf(host), status: 'stopped' };
    const message = `it ended while it booted${this.local.hosts.lastWords(host.name)}`;
    return { ...this.reportedOf(host), status: 'failed', message };
  }

  private runningOf(host: Host): Extract<MachineReport, { status: 'running' }> {
    const { address, hostKey, labels } = host;
    return {
      ...this.reportedOf(host),
      status: 'running',
      // The host has only this address.
      publicIp: address,
      privateIp: address,
      region: REGION,
      zone: labels[LABEL.zone] ?? REGION,
      ssh: { host: address, port: SSH_PORT, user: 'root', hostKey },
      ...(labels[LABEL.sshKey] === undefined ? {} : { sshKey: labels[LABEL.sshKey] }),
      profile: profileOf(machineIsUnified(), this.options.profile),
    };
  }

  private reportedOf({ name, labels }: Host): Pick<MachineReport, 'id' | 'name' | 'uid'> {
    return { id: name, name: name as NodeName, uid: (labels[LABEL.uid] ?? '') as ClusterUid };
  }

  private refuseBuried({ name, uid }: GroupRef): void {
    if (this.store.isBuried(uid)) throw this.failure('create machines', `${name} was deleted`, false);
  }

  private requireImage(operation: ProviderOperation): void {
    const { system } = this.options;
    if (hasRootfs(this.local.places.cacheDir, system)) return;
    const help = `build it with "npm run hosts -- --system ${system} rootfs"; "fairlead up --provider nspawn" does so by itself`;
    throw this.failure(operation, `the root file system of local hosts of ${system} is not built: ${help}`, false);
  }

  private failure(operation: ProviderOperation, message: string, retryable: boolean): ExternalFailure {
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    return new ExternalFailure({ operation, target: this.options.connection, message, retryable, reason });
  }
}

import {
  JOINED_MACHINE_TYPE,
  refuse,
  ExternalFailure,
  type HostProfile,
  type MachineSpec,
  type NodeName,
  type Refusal,
} from '@fairlead/contracts';
import type {
  Capabilities,
  CapacityRequest,
  Connection,
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
} from '../../providers/provider.ports.js';
import type { JoinedHost, JoinedHosts } from './joined.hosts.js';

/** The machine size of every host: the minimum of a node. The actual size is in its facts. */
export const JOINED_SPEC: MachineSpec = { name: JOINED_MACHINE_TYPE, cpuCount: 2, memoryGiB: 2, cpuClockGHz: null };
const IMAGE: Image = { name: 'as-installed', os: 'as installed' };
const REGION = 'joined';
const SSH_PORT = 22;

type Running = Extract<MachineReport, { status: 'running' }>;

/**
 * Hosts that join by themselves. Nothing is created: a host belongs to this connection from its admission until its
 * node leaves. There is no external inventory, so only its agent shows whether it exists.
 */
export class JoinProvider implements InfrastructureProvider {
  constructor(
    private readonly connection: Connection & { readonly profile: HostProfile | undefined },
    private readonly hosts: JoinedHosts,
    /** IDs that were released: no longer machines, even before the log records it. */
    private readonly givenBack: Set<string>,
  ) {}

  async verify(signal: AbortSignal): Promise<Capabilities> {
    signal.throwIfAborted();
    return { nlb: false, simulated: false };
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    signal.throwIfAborted();
    return [JOINED_SPEC];
  }

  async resolveSpec(name: string): Promise<MachineSpec | undefined> {
    return name === JOINED_SPEC.name ? JOINED_SPEC : undefined;
  }

  async resolveRegion(region: string): Promise<Region | undefined> {
    return region === this.connection.region ? { name: region, zones: [this.zone] } : undefined;
  }

  async resolveImage(): Promise<Image> {
    return IMAGE;
  }

  /** Each host has its own network. */
  async ensureNetwork(desired: Network): Promise<Network> {
    return desired;
  }

  async ensureFirewall(desired: Firewall): Promise<Firewall> {
    return desired;
  }

  /** The key is not installed on any host. */
  async ensureSshKey({ name, publicKey }: SshKey): Promise<SshKey> {
    return { name, publicKey };
  }

  async deleteSshKey(): Promise<void> {}

  /** The capacity is the number of hosts that were admitted to the cluster and are not nodes yet. */
  async checkCapacity({ group, specs }: CapacityRequest): Promise<Refusal | undefined> {
    const free = (await this.all()).filter(({ uid, node }) => uid === group.uid && node === undefined);
    const { name: connection } = this.connection;
    return specs.length <= free.length
      ? undefined
      : refuse('join.machine-none', { connection, wanted: specs.length - free.length });
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    signal.throwIfAborted();
    const hosts = await this.all();
    for (const { name, adopts } of group.machines) {
      const host = hosts.find(({ id, uid }) => id === adopts?.id && uid === group.uid);
      if (host !== undefined) yield this.runningOf(host, name);
      else
        yield {
          id: name,
          name,
          uid: group.uid,
          status: 'failed',
          message: refuse('join.machine-none', { connection: this.connection.name, wanted: 1 }).message,
        };
    }
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    signal.throwIfAborted();
    return (await this.all()).flatMap((host) =>
      host.node !== undefined && host.namespace === group.namespace && host.cluster === group.cluster
        ? [this.runningOf(host, host.node)]
        : [],
    );
  }

  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    signal.throwIfAborted();
    return (await this.all()).map((host) => ({
      ...this.runningOf(host, host.node ?? (host.id as string as NodeName)),
      group: `${host.namespace}.${host.cluster}.${this.connection.name}`,
      spec: JOINED_SPEC.name,
      image: IMAGE.name,
    }));
  }

  /** The host itself belongs to its owner; it was already reset through its own connection. */
  async deleteMachine(id: string): Promise<void> {
    this.givenBack.add(id);
  }

  async deleteGroup(group: GroupRef): Promise<void> {
    for (const { id, uid } of await this.all()) if (uid === group.uid) this.givenBack.add(id);
  }

  async ensureLoadBalancer({ name }: LoadBalancerSpec): Promise<LoadBalancer> {
    throw this.failure('ensure load balancer', `${name}: control planes do not join by themselves`);
  }

  async deleteLoadBalancer(): Promise<void> {}

  private async all(): Promise<readonly JoinedHost[]> {
    return (await this.hosts.on(this.connection.name)).filter(({ id }) => !this.givenBack.has(id));
  }

  private get zone(): string {
    return this.connection.zone || this.connection.region || REGION;
  }

  private runningOf({ id, uid, facts: { address } }: JoinedHost, name: NodeName): Running {
    const { profile } = this.connection;
    return {
      id,
      name,
      uid,
      status: 'running',
      publicIp: address,
      privateIp: address,
      region: this.connection.region,
      zone: this.zone,
      reach: 'agent',
      ssh: { host: address, port: SSH_PORT, user: 'root', hostKey: null },
      ...(profile === undefined ? {} : { profile }),
    };
  }

  private failure(operation: ProviderOperation, message: string): ExternalFailure {
    return new ExternalFailure({ operation, target: this.connection.name, message, retryable: false });
  }
}

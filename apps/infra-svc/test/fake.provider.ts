import { ExternalFailure, type MachineSpec, type NodeName } from '@fairlead/contracts';
import type {
  Capabilities,
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
  DesiredReservation,
  ReservationReport,
  Reservations,
} from '../src/providers/provider.ports.js';

interface StoredMachine extends Omit<DesiredMachine, 'adopts'> {
  readonly image?: string;
  readonly id: string;
  readonly group: string;
  readonly uid: GroupRef['uid'];
  readonly sshKey: string;
}

/** Hooks around a call that can fail: before it reaches the cloud, or after it has. */
export interface Weather {
  before(operation: ProviderOperation): Promise<void>;
  after(operation: ProviderOperation): Promise<void>;
}

export const CALM: Weather = { before: async () => undefined, after: async () => undefined };

export const SPECS: readonly MachineSpec[] = [
  { name: 'lab.tiny', cpuCount: 1, memoryGiB: 1, cpuClockGHz: null },
  { name: 'lab.thin', cpuCount: 1, memoryGiB: 4, cpuClockGHz: 2.5 },
  { name: 'lab.medium', cpuCount: 2, memoryGiB: 4, cpuClockGHz: null },
];

/** A cloud in memory, whose state outlives provider objects. */
export class FakeCloud {
  readonly machines = new Map<string, StoredMachine>();
  readonly networks = new Map<string, Network>();
  readonly firewalls = new Map<string, Firewall>();
  readonly sshKeys = new Map<string, SshKey>();
  readonly balancers = new Map<string, LoadBalancerSpec>();
  /** The requested groups, with the machines of each, in request order. */
  readonly requests: { readonly group: string; readonly machines: readonly NodeName[] }[] = [];
  /** How often each resource was created, by `<kind> <name>`. */
  readonly creations = new Map<string, number>();
  /** Machines that fail to boot, with the cloud's message. Read when the machine is created. */
  readonly bootFailures = new Map<string, string>();
  readonly failed = new Map<string, string>();
  /** Machines that run without an address. */
  readonly withoutPublicIp = new Set<string>();
  readonly withoutPrivateIp = new Set<string>();
  /** Machines that are reported with the ID of another one. */
  readonly reportedAs = new Map<string, string>();
  /** Machines whose deletion is accepted but has no effect. */
  readonly undeletable = new Set<string>();
  readonly deletedUids = new Set<string>();
  /** By name. */
  readonly reservations = new Map<string, DesiredReservation>();
  readonly released = new Set<string>();
  /** Why no reservation is created or changed; undefined: it is. */
  denial: string | undefined;
  /** Reservations with a start time are `pending` until this is set. */
  hasBegun = true;
  reserves = true;
  /** Sizes that reservations map; undefined: all of theirs. */
  mapped: readonly string[] | undefined;
  machinesMax = Number.POSITIVE_INFINITY;
  nlb = true;
  /** The address of the API, which may be that of a machine. */
  address: Pick<LoadBalancer, 'host' | 'placement'> = { host: '127.2.0.1' };
  zones: readonly string[] = ['lab-1a', 'lab-1b', 'lab-1c'];
  calls = 0;

  count(kind: string, name: string): void {
    const key = `${kind} ${name}`;
    this.creations.set(key, (this.creations.get(key) ?? 0) + 1);
  }
}

const failure = (operation: ProviderOperation, message: string, retryable: boolean): ExternalFailure =>
  new ExternalFailure({ operation, target: 'fake', message, retryable });

/** Like a network call, ends as soon as the signal aborts. */
const orAborted = <T>(signal: AbortSignal, call: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    void call.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });

export class FakeProvider implements InfrastructureProvider {
  constructor(
    readonly cloud: FakeCloud,
    private readonly weather: Weather = CALM,
  ) {}

  verify(signal: AbortSignal): Promise<Capabilities> {
    return this.call('verify connection', signal, () => ({ nlb: this.cloud.nlb, simulated: true }));
  }

  listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    return this.call('list specs', signal, () => SPECS);
  }

  resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    return this.call('resolve region', signal, () =>
      region === 'lab-1' ? { name: region, zones: this.cloud.zones } : undefined,
    );
  }

  resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    return this.call('resolve spec', signal, () => SPECS.find((spec) => spec.name === name));
  }

  resolveImage(signal: AbortSignal): Promise<Image> {
    return this.call('resolve image', signal, () => ({ name: 'debian-12', os: 'Debian 12' }));
  }

  ensureNetwork(desired: Network, signal: AbortSignal): Promise<Network> {
    return this.call('ensure network', signal, () => this.ensure('network', this.cloud.networks, desired));
  }

  ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall> {
    return this.call('ensure firewall', signal, () => this.ensure('firewall', this.cloud.firewalls, desired));
  }

  ensureSshKey(desired: SshKey, signal: AbortSignal): Promise<SshKey> {
    return this.call('ensure SSH key', signal, () => this.ensure('ssh-key', this.cloud.sshKeys, desired));
  }

  async deleteSshKey(name: string, signal: AbortSignal): Promise<void> {
    await this.call('delete SSH key', signal, () => this.cloud.sshKeys.delete(name));
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    await this.call('create machines', signal, () => this.makeAll(group));
    for (const { name } of group.machines) {
      const report = await this.call('create machines', signal, () => this.reportOf(name));
      if (report.status === 'running' || report.status === 'failed') yield report;
    }
  }

  describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    return this.call('describe machines', signal, () =>
      [...this.cloud.machines.values()]
        .filter((machine) => machine.group === group.name)
        .map(({ name }) => this.reportOf(name)),
    );
  }

  listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    return this.call('list machines', signal, () =>
      [...this.cloud.machines.values()].map(({ name, group, spec, image = 'debian-12' }) => ({
        ...this.reportOf(name),
        ...{ group, spec, image },
      })),
    );
  }

  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    await this.call('delete machine', signal, () => this.remove((machine) => machine.id === id));
  }

  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    await this.call('delete machines', signal, () => {
      this.cloud.deletedUids.add(group.uid);
      this.remove((machine) => machine.group === group.name && machine.uid === group.uid);
    });
  }

  ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    return this.call('ensure load balancer', signal, () => {
      if (!this.cloud.balancers.has(desired.name)) this.cloud.count('balancer', desired.name);
      this.cloud.balancers.set(desired.name, desired);
      return { name: desired.name, ...this.cloud.address, port: 6443 };
    });
  }

  async deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void> {
    await this.call('delete load balancer', signal, () => this.cloud.balancers.delete(name));
  }

  get reservations(): Reservations | undefined {
    if (!this.cloud.reserves) return undefined;
    return {
      ensure: (desired, signal) => this.call('reserve machines', signal, () => this.reserve(desired)),
      describe: (name, signal) =>
        this.call('reserve machines', signal, () => {
          const found = this.cloud.reservations.get(name);
          return found && this.reservation(found);
        }),
      release: (name, signal) =>
        this.call('release reservation', signal, () => {
          this.cloud.released.add(name);
          this.cloud.reservations.delete(name);
        }),
    };
  }

  private reserve(desired: DesiredReservation): ReservationReport {
    const { cloud } = this;
    if (cloud.released.has(desired.name)) return { status: 'denied', message: `${desired.name} was released` };
    if (cloud.denial !== undefined) return { status: 'denied', message: cloud.denial };
    if (!cloud.reservations.has(desired.name)) cloud.count('reservation', desired.name);
    cloud.reservations.set(desired.name, desired);
    return this.reservation(desired);
  }

  private reservation({ machines }: DesiredReservation): ReservationReport {
    const { mapped } = this.cloud;
    const sizes = Object.fromEntries(
      machines.flatMap(({ spec }) => (mapped?.includes(spec) === false ? [] : [[spec, `${spec}.reserved`]])),
    );
    return { status: this.cloud.hasBegun ? 'active' : 'pending', sizes };
  }

  private async call<T>(operation: ProviderOperation, signal: AbortSignal, effect: () => T): Promise<T> {
    signal.throwIfAborted();
    const arrived = this.weather.before(operation).then(() => {
      // The request to create machines was already sent: it takes effect even if its caller does not wait for it.
      if (operation !== 'create machines') signal.throwIfAborted();
      this.cloud.calls += 1;
      return effect();
    });
    const result = await orAborted(signal, arrived);
    await this.weather.after(operation);
    return result;
  }

  private ensure<T extends { readonly name: string }>(kind: string, things: Map<string, T>, desired: T): T {
    const found = things.get(desired.name);
    if (found !== undefined) return found;
    this.cloud.count(kind, desired.name);
    things.set(desired.name, desired);
    return desired;
  }

  /** Keeps the ID; the former name no longer exists. */
  private move({ name, labels, adopts }: DesiredMachine, to: GroupRef): void {
    const { machines } = this.cloud;
    const found = [...machines.values()].find(({ id }) => id === adopts?.id);
    if (found?.group !== adopts?.group || found === undefined)
      throw failure('create machines', `${adopts?.id} is not in group ${adopts?.group}`, false);
    machines.delete(found.name);
    machines.set(name, { ...found, name, labels, group: to.name, uid: to.uid });
    this.cloud.count('adoption', name);
  }

  private makeAll(group: MachineGroup): void {
    const { cloud } = this;
    cloud.requests.push({ group: group.name, machines: group.machines.map(({ name }) => name) });
    if (cloud.deletedUids.has(group.uid)) throw failure('create machines', `${group.name} was deleted`, false);
    const absent = group.machines.filter(({ name }) => !cloud.machines.has(name));
    for (const machine of absent) if (machine.adopts !== undefined) this.move(machine, group);
    const missing = absent.filter(({ adopts }) => adopts === undefined);
    if (cloud.machines.size + missing.length > cloud.machinesMax) {
      throw failure('create machines', `Quota exceeded: at most ${cloud.machinesMax} machines`, false);
    }
    for (const machine of missing) {
      cloud.count('machine', machine.name);
      const id = `m-${machine.name}`;
      cloud.machines.set(machine.name, { ...machine, id, group: group.name, uid: group.uid, sshKey: group.sshKey });
      const words = cloud.bootFailures.get(machine.name);
      if (words === undefined) cloud.failed.delete(machine.name);
      else cloud.failed.set(machine.name, words);
    }
  }

  private remove(isMeant: (machine: StoredMachine) => boolean): void {
    for (const machine of this.cloud.machines.values()) {
      if (isMeant(machine) && !this.cloud.undeletable.has(machine.name)) this.cloud.machines.delete(machine.name);
    }
  }

  private reportOf(name: NodeName): MachineReport {
    const machine = this.cloud.machines.get(name);
    if (machine === undefined) throw failure('create machines', `${name} is not there`, true);
    const { uid, sshKey, zone = 'lab-1a' } = machine;
    const id = this.cloud.reportedAs.get(name) ?? machine.id;
    const words = this.cloud.failed.get(name);
    if (words !== undefined) return { id, name, uid, status: 'failed', message: words };
    const publicIp = this.cloud.withoutPublicIp.has(name) ? '' : '127.1.0.1';
    const privateIp = this.cloud.withoutPrivateIp.has(name) ? '' : '10.0.0.1';
    const ssh = { host: '127.1.0.1', port: 22, user: 'root', hostKey: null };
    const at = { publicIp, privateIp, region: 'lab-1', zone };
    return { id, name, uid, status: 'running', ...at, ssh, sshKey };
  }
}

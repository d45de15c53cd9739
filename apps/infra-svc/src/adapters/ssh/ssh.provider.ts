import {
  AGENT_PATHS,
  apiAddressesOf,
  isRefusal,
  NO_PROXY_MAX,
  nodeAddressOf,
  refuse,
  PROVIDER_REFUSED,
  ExternalFailure,
  type HostProfile,
  type MachineSpec,
  type OwnHost,
  type Refusal,
  type SecretRef,
  type SshSettings,
} from '@fairlead/contracts';
import type { HostKeys } from '@fairlead/domain';
import { isKeyRefused, isOfJumpHost } from '@fairlead/service-kit/ssh';
import pLimit from 'p-limit';
import type {
  Capabilities,
  Connection,
  Firewall,
  GroupRef,
  HostsPower,
  HostState,
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
  CapacityRequest,
  Reservations,
  SshKey,
} from '../../providers/provider.ports.js';
import { UnusableHosts } from '../../providers/unusable.hosts.js';
import type { Candidates, Claim, Holding, Stock, StockView, Trust } from '../../stock/stock.ports.js';
import { verdictsOf } from './inventory.verdict.js';
import type { OwnHosts, Used } from './own.hosts.js';
import type { PowerSwitch } from '../power/power.switch.js';
import { SshReservations } from './ssh.reservations.js';
import { specsOf } from './ssh.specs.js';

/** Limits how many hosts are inspected or reset concurrently. */
const HOSTS_AT_ONCE_MAX = 20;
const API_PORT = 6443;
/** Without a configured network, exceptions for the proxy list at most this many hosts. */
const DIRECT_MAX = 30;
/** How many hosts are tried for probing an address until one responds. */
const ASKED_MAX = 3;

const NO_CANDIDATES: Candidates = { hosts: [], unfit: [], baselines: new Map(), ownSince: null, now: '' };

/** The common settings of an inventory host and the jump host. */
interface Hop {
  readonly address: string;
  readonly port: number;
  readonly user: string;
  readonly keyRef?: SecretRef | undefined;
}

type Running = Extract<MachineReport, { status: 'running' }>;

export interface SshConnection extends Connection {
  readonly own: SshSettings;
  /** The public half of the connection's key in OpenSSH format. */
  readonly publicKey: string;
}

/**
 * The ID of a host while it is a machine. It is unique per allocation, so requests of other clusters cannot refer to
 * it.
 */
const idOf = ({ host, machine }: Holding): string => `${host.name}/${machine}`;

interface KnownHosts {
  readonly stock: Stock;
  readonly trust: Trust;
  readonly power: PowerSwitch;
  /** RFC 3339: bookings begin and end by it. */
  readonly now: () => string;
}

/** Existing hosts. Nothing is created: hosts are allocated from an inventory, and released clean. */
export class SshProvider implements InfrastructureProvider {
  readonly reservations: Reservations;
  readonly power: HostsPower;
  private readonly switch: PowerSwitch;
  private readonly stock: Stock;
  private readonly trust: Trust;
  private readonly now: () => string;
  private readonly atOnce = pLimit(HOSTS_AT_ONCE_MAX);

  constructor(
    private readonly connection: SshConnection,
    private readonly hosts: OwnHosts,
    { stock, trust, now, power }: KnownHosts,
  ) {
    this.stock = stock;
    this.trust = trust;
    this.now = now;
    this.switch = power;
    this.power = {
      act: async (host, action, signal) => power.act(this.hostNamed(host), action, signal),
      cycleMachine: (id, signal) => this.cycleMachine(id, signal),
    };
    const candidates = async (group: GroupRef, signal: AbortSignal): Promise<Candidates> =>
      this.candidates(group, await stock.look(connection.name), signal);
    this.reservations = new SshReservations(connection.name, { stock, candidates, now });
  }

  async verify(signal: AbortSignal): Promise<Capabilities> {
    // The operator may have just changed something.
    this.hosts.forget();
    const view = await this.stock.look(this.connection.name);
    const looked = await this.every(async (host) => ({ host, found: await this.hosts.look(host, signal) }));
    const states = verdictsOf(looked, view, this.connection.own.profile).map(
      ({ name, problem, warning, checks }): HostState => {
        return { name, problem, ...(warning === '' ? {} : { warning }), checks };
      },
    );
    if (states.some(({ problem }) => problem === '')) return { nlb: false, simulated: false, hosts: states };
    throw new UnusableHosts({ operation: 'verify connection', target: this.connection.name }, states);
  }

  async listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]> {
    const looked = await this.every(async (host) => ({ host, found: await this.hosts.look(host, signal) }));
    return specsOf(looked.flatMap(({ host, found }) => (found.kind === 'found' ? [{ host, look: found.look }] : [])));
  }

  async resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined> {
    return (await this.listSpecs(signal)).find((spec) => spec.name === name);
  }

  async resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined> {
    signal.throwIfAborted();
    if (region !== this.connection.region) return undefined;
    return { name: region, zones: [...new Set(this.inventory.flatMap(({ zone }) => zone || []))].sort() };
  }

  /** Hosts have their system preinstalled. */
  async resolveImage(): Promise<Image> {
    return { name: 'as-installed', os: 'as installed' };
  }

  /** The network and its filters are not managed by Fairlead. */
  async ensureNetwork(desired: Network): Promise<Network> {
    return { ...desired, cidr: this.connection.own.networkCidr ?? desired.cidr };
  }

  async ensureFirewall(desired: Firewall): Promise<Firewall> {
    return desired;
  }

  /** The hosts already accept this key. */
  async ensureSshKey({ name }: SshKey): Promise<SshKey> {
    const { publicKey, secretRef } = this.connection;
    return secretRef === null ? { name, publicKey } : { name, publicKey, ref: secretRef };
  }

  /** The key belongs to the user. */
  async deleteSshKey(): Promise<void> {}

  async checkCapacity(
    { group, specs, controlPlanes, endsAt }: CapacityRequest,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const claim = this.claimOf(group);
    const desired = specs.map((spec, at) => ({
      machine: `desired-${at}` as Holding['machine'],
      spec,
      zone: undefined,
    }));
    const view = await this.stock.look(this.connection.name);
    const candidates = { ...(await this.candidates(group, view, signal)), endsAt };
    const refusal = await this.stock.refusal(claim, desired, candidates);
    if (refusal !== undefined || controlPlanes === 0) return refusal;
    if (this.addresses.length > 0) {
      const usable = await this.usableAddresses(claim, signal);
      return isRefusal(usable) ? usable : this.stock.addressRefusal(claim, usable);
    }
    return controlPlanes === 1 ? undefined : this.addressMissing(controlPlanes);
  }

  async *ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer> {
    signal.throwIfAborted();
    const desired = group.machines.map(({ name, spec, zone }) => ({ machine: name, spec, zone }));
    const view = await this.stock.look(this.connection.name);
    const has = new Set<string>(view.held.filter(({ uid }) => uid === group.uid).map(({ machine }) => machine));
    const enough = desired.every(({ machine }) => has.has(machine));
    const candidates = enough ? NO_CANDIDATES : await this.candidates(group, view, signal);
    const taken = await this.stock.take(this.claimOf(group), desired, candidates);
    if (isRefusal(taken)) throw this.failure('create machines', taken.message, false);
    const keys = await this.trust.hostKeys();
    for (const holding of taken) yield this.runningOf(holding, keys);
  }

  async describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]> {
    signal.throwIfAborted();
    const { held } = await this.stock.look(this.connection.name);
    const keys = await this.trust.hostKeys();
    return held
      .filter(({ namespace, cluster }) => namespace === group.namespace && cluster === group.cluster)
      .map((holding) => this.runningOf(holding, keys));
  }

  /** A host is a machine of its cluster until it is released, even while it is off. */
  async listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]> {
    signal.throwIfAborted();
    const { held } = await this.stock.look(this.connection.name);
    const keys = await this.trust.hostKeys();
    return held.map((holding) => ({
      ...this.runningOf(holding, keys),
      group: `${holding.namespace}.${holding.cluster}.${this.connection.name}`,
    }));
  }

  async deleteMachine(id: string, signal: AbortSignal): Promise<void> {
    const { held } = await this.stock.look(this.connection.name);
    const holding = held.find((candidate) => idOf(candidate) === id);
    if (holding !== undefined) await this.giveBack(holding, signal);
  }

  /** First prevents further allocations for the group; then releases every host, even if some are unreachable. */
  async deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void> {
    const claim = this.claimOf(group);
    await this.stock.close(claim);
    const { held } = await this.stock.look(this.connection.name);
    const own = held.filter(({ uid }) => uid === group.uid);
    await this.all(own, (holding) => this.giveBack(holding, signal));
    await this.stock.returnAddress(claim);
  }

  async ensureLoadBalancer({ name, group, targets }: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer> {
    signal.throwIfAborted();
    if (this.addresses.length === 0) return this.unbalanced(name, targets);
    const usable = await this.usableAddresses(this.claimOf(group), signal);
    const address = isRefusal(usable) ? usable : await this.stock.takeAddress(this.claimOf(group), usable);
    if (isRefusal(address)) throw this.failure('ensure load balancer', address.message, false);
    const { apiEndpoint, apiPort } = this.connection.own;
    if (apiEndpoint === undefined) return { name, host: address, port: apiPort, placement: 'control-planes' };
    const at = apiEndpoint.lastIndexOf(':');
    const host = apiEndpoint.slice(0, at).replace(/^\[|\]$/g, '');
    return { name, host, port: Number(apiEndpoint.slice(at + 1)), placement: 'elsewhere' };
  }

  /** The address belongs to the incarnation and is released with its hosts: until then one of them may hold it. */
  async deleteLoadBalancer(): Promise<void> {
    // Done by deleteGroup.
  }

  async recover(signal: AbortSignal): Promise<void> {
    const { withheld } = await this.stock.look(this.connection.name);
    await this.all(withheld, async (kept) => {
      const { host } = kept;
      try {
        await this.reset(kept, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ExternalFailure) return; // It remains quarantined; verify reports why.
        throw error;
      }
      await this.stock.readmit(this.connection.name, host.name);
    });
  }

  async accept(name: string, asOf: number): Promise<void> {
    const host = this.connection.own.hosts.find((own) => own.name === name);
    if (host === undefined) return; // It was removed from the inventory in the meantime.
    await this.stock.accept({ connection: this.connection.name, host: name, address: host.address, asOf });
  }

  private hostNamed(name: string): OwnHost {
    const host = this.connection.own.hosts.find((own) => own.name === name);
    if (host === undefined) throw this.failure('control power', `its inventory has no host ${name}`, false);
    return host;
  }

  private async cycleMachine(id: string, signal: AbortSignal): Promise<boolean> {
    const { held } = await this.stock.look(this.connection.name);
    const holding = held.find((candidate) => idOf(candidate) === id);
    if (holding === undefined) return false;
    await this.switch.act(this.asNow(holding.host), 'cycle', signal);
    return true;
  }

  private usedBy({ uid, baseline }: Holding): Used {
    return { of: uid, baseline, keepRuntime: this.connection.own.profile?.nodeBinary === AGENT_PATHS.node };
  }

  private get inventory(): readonly OwnHost[] {
    const { own, zone } = this.connection;
    return own.hosts.filter((host) => zone === '' || host.zone === zone);
  }

  private get addresses(): readonly string[] {
    const { apiEndpoint } = this.connection.own;
    return apiEndpoint === undefined ? apiAddressesOf(this.connection.own) : [apiEndpoint];
  }

  /** Hosts that can be allocated and those in use, so that a refusal can count them. */
  private async candidates(group: GroupRef, view: StockView, signal: AbortSignal): Promise<Candidates> {
    // A host in use counts as matching, so that a refusal can count it. Under another name it is detected by its agent.
    const inUse = new Set([...view.held, ...view.withheld].map(({ host }) => host.name));
    const looked = await this.all(this.inventory, async (host) => {
      return { host, found: inUse.has(host.name) ? undefined : await this.hosts.look(host, signal) };
    });
    const verdicts = verdictsOf(looked, view, this.connection.own.profile);
    const isFit = (at: number): boolean => inUse.has(looked[at]!.host.name) || verdicts[at]!.problem === '';
    const fit = looked.filter((_, at) => isFit(at));
    const unfit = verdicts.filter((_, at) => !isFit(at));
    const shared = this.connection.own.hostReuse === 'any-namespace';
    return {
      hosts: fit.map(({ host }) => host),
      unfit: unfit.map(({ name, problem }) => `${name}: ${problem}`),
      baselines: new Map(
        fit.flatMap(({ host, found }) => (found?.kind === 'found' ? [[host.name, found.look.baseline]] : [])),
      ),
      ownSince: shared ? null : await this.trust.namespaceSince(group.namespace),
      now: this.now(),
    };
  }

  /**
   * The API addresses except those in use by something else, from which keepalived would take them over. The cluster's
   * current address stays usable.
   */
  private async usableAddresses(claim: Claim, signal: AbortSignal): Promise<readonly string[] | Refusal> {
    if (this.connection.own.apiEndpoint !== undefined) return this.addresses;
    const free = await this.stock.freeAddresses(claim, this.addresses);
    if (free.length === 0) return this.addresses;
    const answering = await this.answering(free, signal);
    const usable = this.addresses.filter((address) => !answering.includes(address));
    const isNoneLeft = free.every((address) => answering.includes(address));
    return isNoneLeft
      ? refuse('stock.api-address-answers', { connection: this.connection.name, detail: answering.join(', ') })
      : usable;
  }

  /** Probes from the first host that responds; if none does, no address counts as in use. */
  private async answering(addresses: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    for (const host of this.inventory.slice(0, ASKED_MAX)) {
      try {
        return await this.hosts.answering(host, addresses, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ExternalFailure)) throw error;
      }
    }
    return [];
  }

  /** A single control plane needs no load balancer: its own address does not change during its lifetime. */
  private async unbalanced(name: string, targets: readonly string[]): Promise<LoadBalancer> {
    const { held } = await this.stock.look(this.connection.name);
    const [only, ...others] = held.filter((holding) => targets.includes(idOf(holding)));
    if (only !== undefined && others.length === 0)
      return { name, host: nodeAddressOf(this.asNow(only.host)), port: API_PORT, placement: 'elsewhere' };
    throw this.failure('ensure load balancer', this.addressMissing(targets.length).message, false);
  }

  private addressMissing(count: number): Refusal {
    return refuse('stock.api-address-missing', { connection: this.connection.name, count });
  }

  /** A host that cannot be reset is released from its cluster nevertheless, so that nothing waits for a dead host. */
  private async giveBack(holding: Holding, signal: AbortSignal): Promise<void> {
    const { uid, machine } = holding;
    const back = { connection: this.connection.name, uid, machine, host: holding.host.name };
    try {
      await this.reset(holding, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      await this.stock.withhold(back, error.toCause());
      return;
    }
    await this.stock.giveBack(back);
  }

  /**
   * A host that does not answer is power-cycled and reset again. One that cannot be reset even then is switched off, so
   * that nothing of its former cluster runs on.
   */
  private async reset(holding: Holding, signal: AbortSignal): Promise<void> {
    const host = this.asNow(holding.host);
    const used = this.usedBy(holding);
    try {
      return await this.hosts.reset(host, used, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (host.power === undefined || !isUnanswered(error)) throw error;
      await this.switched(host, 'cycle', error, signal);
    }
    try {
      await this.hosts.reset(host, used, signal, 'boot');
    } catch (error) {
      signal.throwIfAborted();
      if (!isUnanswered(error)) throw error;
      await this.switched(host, 'off', error, signal);
      throw withWords(error, 'it was power-cycled and still does not answer, so its power was switched off');
    }
  }

  /** Rejects with why the host does not answer, and why its power could not be switched. */
  private async switched(
    host: OwnHost,
    action: 'cycle' | 'off',
    why: ExternalFailure,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.switch.act(host, action, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      throw withWords(why, `its power could not be switched: ${error.message}`);
    }
  }

  /** The current settings of the host in the inventory, or the last known ones if it was removed. */
  private asNow(host: OwnHost): OwnHost {
    return this.connection.own.hosts.find(({ name }) => name === host.name) ?? host;
  }

  private runningOf(holding: Holding, keys: HostKeys): Running {
    const { own, secretRef, region } = this.connection;
    const host = this.asNow(holding.host);
    const hop = (to: Hop, hostKey: string | null) => {
      const keyRef = to.keyRef ?? secretRef;
      return { host: to.address, port: to.port, user: to.user, hostKey, ...(keyRef === null ? {} : { keyRef }) };
    };
    return {
      id: idOf(holding),
      name: holding.machine,
      uid: holding.uid,
      status: 'running',
      publicIp: host.address,
      privateIp: nodeAddressOf(host),
      region,
      zone: host.zone,
      ssh: {
        ...hop(host, this.hosts.keyOf(keys, host)),
        ...(own.jump === undefined ? {} : { jump: hop(own.jump, this.hosts.jumpKey(keys)) }),
      },
      ...(own.profile === undefined ? {} : { profile: withDirectNetwork(own.profile, own) }),
      ...(host.power === undefined ? {} : { power: true }),
      ...(Object.keys(host.labels).length === 0 ? {} : { labels: host.labels }),
    };
  }

  private claimOf({ uid, namespace, cluster }: GroupRef): Claim {
    return { connection: this.connection.name, uid, namespace, cluster };
  }

  private every<T>(work: (host: OwnHost) => Promise<T>): Promise<readonly T[]> {
    return this.all(this.inventory, work);
  }

  private all<Item, T>(items: readonly Item[], work: (item: Item) => Promise<T>): Promise<readonly T[]> {
    return Promise.all(items.map((item) => this.atOnce(() => work(item))));
  }

  private failure(operation: ProviderOperation, message: string, retryable = true): ExternalFailure {
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    return new ExternalFailure({ operation, target: this.connection.name, message, retryable, reason });
  }
}

/** Whether no SSH server answered: its power may help. */
const isUnanswered = (error: unknown): error is ExternalFailure =>
  error instanceof ExternalFailure &&
  error.operation === 'open SSH' &&
  error.reason === undefined &&
  !isKeyRefused(error) &&
  !isOfJumpHost(error);

const withWords = ({ operation, target, message }: ExternalFailure, more: string): ExternalFailure =>
  new ExternalFailure({ operation, target, message: `${message}; ${more}` });

/** Hosts connect to each other without their proxy. */
const withDirectNetwork = (profile: HostProfile, own: SshSettings): HostProfile => {
  const { proxy } = profile;
  if (proxy === undefined) return profile;
  const hosts = own.networkCidr === undefined ? own.hosts.map(nodeAddressOf).slice(0, DIRECT_MAX) : [own.networkCidr];
  const no = [...new Set([...hosts, ...apiAddressesOf(own).slice(0, DIRECT_MAX), ...(proxy.no ?? [])])];
  return { ...profile, proxy: { ...proxy, no: no.slice(0, NO_PROXY_MAX) } };
};

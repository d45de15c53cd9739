import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { WorldFailure } from '@fairlead/contracts';
import { isAlive, runCommand, signalProcess, waitUntil, type CommandResult } from '@fairlead/embedded/process';
import { machineGroupsFor, removeGroups, groupsNamed } from '../machine/cgroups.js';
import { run } from '../machine/commands.js';
import { startDetached } from '../machine/detached.js';
import { Turns } from '../machine/turns.js';
import { AddressClaims } from '../network/claims.js';
import { saysNoDevice } from '../network/links.rules.js';
import { BRIDGE, devicesOf, VOID, type HostNetwork, type Networks } from '../network/network.js';
import { tagOf } from '../places.js';
import { DEFAULT_SYSTEM, type HostSystem } from '../rootfs/recipe.rules.js';
import { hasRootfs, ensureRootfs } from '../rootfs/rootfs.js';
import { HOST_FOLDERS, hostFiles } from './host.files.js';
import { generateHostKey } from './host.keys.js';
import { HOST_FILES, type HostRecord } from './host.record.js';
import { childOf, HostStore } from './host.store.js';
import { keeperScript, NSPAWN_LOCKS, portOf, WITHHELD } from './keeper.script.js';
import { untilGreets } from './reach.js';

export interface DesiredHost {
  /** A host name: lowercase letters, digits and hyphens. */
  readonly name: string;
  /** A network that exists. */
  readonly network: string;
  /** Absent: the default one. */
  readonly system?: HostSystem;
  /** OpenSSH public keys that open root and the sudo user. */
  readonly authorizedKeys: readonly string[];
  /** null: as much as the machine has. */
  readonly cpus: number | null;
  readonly memoryMiB: number | null;
  /** Folders of the machine that the host sees read-only: host path to machine path. Those that are not there are left out. */
  readonly readOnly: Readonly<Record<string, string>>;
  /** Arbitrary data of its creator. */
  readonly labels: Readonly<Record<string, string>>;
}

/** running: it has power, and answers sooner or later. stopped: it has none. creating: it was cut short while being made. */
export type HostStatus = 'creating' | 'running' | 'stopped';

export interface Host extends Omit<HostRecord, 'layers' | 'machineId'> {
  readonly status: HostStatus;
  /** It has answered SSH at least once. */
  readonly reached: boolean;
  /** How often it was booted: a reboot counts. */
  readonly boots: number;
  readonly partitioned: boolean;
  /** What the host printed while it booted and ended. */
  readonly consoleFile: string;
}

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const GROUP_PREFIX = 'fairlead-host-';
const START_TIMEOUT_MS = 30_000;
const END_TIMEOUT_MS = 10_000;
const POLL_MS = 10;
const MACHINE_ID_BYTES = 16;
const CONSOLE_TAIL = 2_000;
const COMMAND_TIMEOUT_MS = 30_000;

/** What systemd-nspawn and its machine leave behind when they are killed, by the host's tag. */
const REMNANTS = ['/run/systemd/nspawn/propagate', '/run/systemd/nspawn/unix-export'];

/** Local hosts: what they are is on disk, so every instance of this class, in any process, knows the same ones. */
export class Hosts {
  private readonly store: HostStore;
  private readonly turns = new Turns();

  constructor(
    private readonly places: { readonly stateDir: string; readonly cacheDir: string },
    private readonly networks: Networks,
  ) {
    this.store = new HostStore(places.stateDir);
  }

  all(): readonly Host[] {
    return this.store.names().flatMap((name) => this.find(name) ?? []);
  }

  find(name: string): Host | undefined {
    const record = this.store.find(name);
    if (record === undefined) return undefined;
    const { layers: _layers, machineId: _machineId, ...known } = record;
    return {
      ...known,
      status: !this.store.isPrepared(name) ? 'creating' : this.store.keeper(name) === undefined ? 'stopped' : 'running',
      reached: this.store.wasReached(name),
      boots: this.store.boots(name),
      partitioned: this.store.bridge(name) === VOID,
      consoleFile: this.store.console(name),
    };
  }

  /** The host exists and has power. One that exists is left as it is. */
  ensure(desired: DesiredHost): Promise<Host> {
    return this.turns.of(desired.name, async () => {
      const record = this.store.find(desired.name) ?? (await this.define(desired));
      if (!this.store.isPrepared(desired.name)) this.prepare(record, desired.authorizedKeys);
      await this.power(record);
      return this.found(desired.name);
    });
  }

  /** Resolves when the host answers SSH. Rejects when it loses its power before, with what it printed last. */
  async untilReachable(name: string, signal: AbortSignal): Promise<Host> {
    const { address } = this.found(name);
    const gone = (): boolean => this.store.keeper(name) === undefined;
    if (await untilGreets(address, gone, signal)) {
      this.store.setReached(name);
      return this.found(name);
    }
    throw new WorldFailure({
      operation: 'boot host',
      target: name,
      message: `it ended while it booted${this.lastWords(name)}`,
    });
  }

  /** Gives power to every host that had it when it was last seen: after the machine itself was switched off, none has. */
  async resume(): Promise<void> {
    const lost = this.all().filter(({ name, status }) => status === 'stopped' && this.store.power(name) === 'on');
    await Promise.all(lost.map(({ name }) => this.start(name)));
  }

  /** Shuts down every host; `resume` gives power again to those that had it. */
  async suspend(): Promise<void> {
    const desired = this.all().filter(({ name }) => this.store.power(name) === 'on');
    await Promise.all(this.all().map(({ name }) => this.stop(name)));
    for (const { name } of desired) this.store.setPower(name, 'on');
  }

  /** Gives power to a host that has none. */
  start(name: string): Promise<void> {
    return this.turns.of(name, () => this.power(this.known(name)));
  }

  /** Asks the host to power itself off, and takes its power when it has not done so in time. */
  stop(name: string, timeoutMs = END_TIMEOUT_MS): Promise<void> {
    return this.turns.of(name, async () => {
      const boot = this.store.boot(name);
      const keeper = this.store.keeper(name);
      this.store.setPower(name, 'off');
      if (boot !== undefined && keeper !== undefined) {
        signalProcess(keeper.pid, 'SIGTERM');
        if (await waitUntil(() => !isAlive(keeper), { timeoutMs, everyMs: POLL_MS })) return;
      }
      await this.end(this.known(name));
    });
  }

  /** The host's first process dies without a word, as all of it does when its power fails. Its disk keeps what was written. */
  powerCut(name: string): Promise<void> {
    return this.turns.of(name, async () => {
      const boot = this.store.boot(name);
      const first = boot === undefined ? undefined : childOf(boot.pid);
      this.store.setPower(name, 'off');
      if (first !== undefined) signalProcess(first, 'SIGKILL');
      const off = (): boolean => this.store.keeper(name) === undefined;
      await waitUntil(off, { timeoutMs: END_TIMEOUT_MS, everyMs: POLL_MS });
      await this.end(this.known(name)); // Also of a host without a keeper.
    });
  }

  /** Cuts the host off in both directions, also after a reboot; its link stays up. */
  partition(name: string): Promise<void> {
    return this.turns.of(name, () => this.plugInto(name, VOID));
  }

  heal(name: string): Promise<void> {
    return this.turns.of(name, () => this.plugInto(name, BRIDGE));
  }

  /** Nothing of the host is left: no process, group, device or file. One that is not there is gone already. */
  delete(name: string): Promise<void> {
    return this.turns.of(name, async () => {
      const record = this.store.find(name);
      if (record !== undefined) await this.end(record);
      // Also of a host that was cut short before anything but its address was there.
      for (const network of this.networks.all()) this.claimsOf(network.name).release(name);
      this.store.erase(name);
    });
  }

  /**
   * Runs a program inside a running host, as root, in all of its namespaces, with no more rights than the host itself has: who only
   * enters namespaces keeps the machine's, and could set its clock. Rejects when the host has no power; never for what the program does.
   */
  async execute(name: string, words: readonly string[], timeoutMs = COMMAND_TIMEOUT_MS): Promise<CommandResult> {
    const boot = this.store.boot(name);
    const first = boot === undefined ? undefined : childOf(boot.pid);
    if (first === undefined) {
      throw new WorldFailure({ operation: 'run a command on host', target: name, message: 'it has no power' });
    }
    const withoutRights = ['--bounding-set', WITHHELD.map((name) => `-${name}`).join(','), '--inh-caps', '-all'];
    return runCommand('setpriv', [...withoutRights, 'nsenter', '--target', String(first), '--all', ...words], {
      timeoutMs,
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    });
  }

  /** What a host printed last, as the end of a sentence. */
  lastWords(name: string): string {
    const file = this.store.console(name);
    const words = existsSync(file) ? readFileSync(file, 'utf8').slice(-CONSOLE_TAIL).trim() : '';
    return words === '' ? '' : `; it printed: ${words}`;
  }

  /** Prefix of the names of all groups that hosts of this state folder have. */
  groupPrefix(): string {
    return `${GROUP_PREFIX}${tagOf(this.places.stateDir)}-`;
  }

  private groupName({ tag }: HostRecord): string {
    return `${this.groupPrefix()}${tag}`;
  }

  private known(name: string): HostRecord {
    const record = this.store.find(name);
    if (record !== undefined) return record;
    throw new WorldFailure({
      operation: 'find host',
      target: name,
      message: 'there is no such host',
      retryable: false,
    });
  }

  private found(name: string): Host {
    this.known(name);
    return this.find(name) as Host;
  }

  private networkOf(name: string): HostNetwork {
    const network = this.networks.find(name);
    if (network !== undefined) return network;
    throw new WorldFailure({
      operation: 'create host',
      target: name,
      message: 'there is no such network',
      retryable: false,
    });
  }

  private claimsOf(network: string): AddressClaims {
    return new AddressClaims(this.networks.folderOf(network));
  }

  private async define(desired: DesiredHost): Promise<HostRecord> {
    const { name, system = DEFAULT_SYSTEM, cpus, memoryMiB, labels, readOnly } = desired;
    if (!NAME.test(name)) throw refusal(name, 'a host name has lowercase letters, digits and hyphens');
    if (!hasRootfs(this.places.cacheDir, system))
      throw refusal(name, `the root file system of local hosts of ${system} is not built yet`);
    const network = this.networkOf(desired.network);
    const { base, node } = await ensureRootfs(this.places.cacheDir, undefined, system);
    const record: HostRecord = {
      name,
      tag: tagOfHost(this.places.stateDir, name),
      network: network.name,
      address: this.claimsOf(network.name).claim(name, this.networks.planOf(network).hosts),
      cpus,
      memoryMiB,
      layers: [node, base],
      readOnly: Object.fromEntries(Object.entries(readOnly).filter(([, from]) => existsSync(from))),
      hostKey: '',
      machineId: randomBytes(MACHINE_ID_BYTES).toString('hex'),
      labels,
      createdAt: new Date().toISOString(),
    };
    return this.prepare(record, desired.authorizedKeys);
  }

  /** Its key is new each time, so the record follows with it; only a prepared host ever answers. */
  private prepare(unkeyed: HostRecord, authorizedKeys: readonly string[]): HostRecord {
    const { name } = unkeyed;
    const hostKey = generateHostKey(`root@${name}`);
    const record = { ...unkeyed, hostKey: hostKey.fingerprint };
    this.store.save(record);
    const network = this.networkOf(record.network);
    const { prefix, gateway } = this.networks.planOf(network);
    this.store.prepare(name, {
      folders: HOST_FOLDERS,
      files: hostFiles({ ...record, prefix, gateway, authorizedKeys, hostKey }),
      keeper: keeperScript(record, this.store.folderOf(name), network.namespace),
      bridge: BRIDGE,
    });
    return record;
  }

  private async power(record: HostRecord): Promise<void> {
    const { name } = record;
    if (this.store.keeper(name) !== undefined) return;
    this.store.setPower(name, 'on');
    const { ended } = this.startKeeper(record);
    const up = (): boolean => this.store.boot(name) !== undefined;
    await waitUntil(() => up() || ended(), { timeoutMs: START_TIMEOUT_MS, everyMs: POLL_MS });
    if (up()) return;
    throw new WorldFailure({
      operation: 'start host',
      target: name,
      message: `it did not start${this.lastWords(name)}`,
    });
  }

  private startKeeper(record: HostRecord): { readonly ended: () => boolean } {
    const keeper = join(this.store.folderOf(record.name), HOST_FILES.keeper);
    // /proc/sys/net is the host's own and may be written, everything else there is the machine's.
    const env = { SYSTEMD_NSPAWN_API_VFS_WRITABLE: 'network' };
    const groups = machineGroupsFor(this.groupName(record));
    return startDetached(['sh', keeper, ...groups], this.store.console(record.name), env);
  }

  /** Takes the power from a host, whatever is left of it. */
  private async end(record: HostRecord): Promise<void> {
    const { name, network } = record;
    this.store.setPower(name, 'off');
    for (const identity of [this.store.keeper(name), this.store.boot(name)]) {
      if (identity !== undefined) signalProcess(identity.pid, 'SIGKILL');
    }
    const left = await removeGroups(groupsNamed(this.groupName(record)));
    if (left.length > 0) {
      throw new WorldFailure({
        operation: 'stop host',
        target: name,
        message: `these groups are still in use: ${left.join(', ')}`,
      });
    }
    await this.removePort(record, this.networks.find(network));
    for (const folder of REMNANTS) rmSync(join(folder, record.tag), { recursive: true, force: true });
    const lock = this.store.nspawnLock(name);
    if (lock !== undefined) rmSync(join(NSPAWN_LOCKS, lock), { force: true });
  }

  /** The host's end of its cable goes with its namespace, which the kernel takes down a moment after its last process. */
  private async removePort({ name, tag }: HostRecord, network: HostNetwork | undefined): Promise<void> {
    if (network === undefined || !existsSync(join('/run/netns', network.namespace))) return;
    const port = portOf(tag);
    if (!(await devicesOf(network.namespace, name)).has(port)) return;
    const { code, stderr } = await runCommand('ip', ['-n', network.namespace, 'link', 'delete', port], {
      timeoutMs: END_TIMEOUT_MS,
    });
    if (code === 0 || saysNoDevice(stderr)) return;
    throw new WorldFailure({ operation: 'stop host', target: name, message: stderr.trim() });
  }

  private async plugInto(name: string, bridge: string): Promise<void> {
    const { tag, network } = this.known(name);
    this.store.setBridge(name, bridge);
    const { namespace } = this.networkOf(network);
    const port = portOf(tag);
    if (!(await devicesOf(namespace, name)).has(port)) return;
    const operation = bridge === VOID ? 'partition host' : 'heal host';
    await run({ operation, target: name }, 'ip', ['-n', namespace, 'link', 'set', port, 'master', bridge]);
  }
}

export const tagOfHost = (stateDir: string, name: string): string => `h${tagOf(stateDir, 'host', name)}`;

const refusal = (target: string, message: string): WorldFailure =>
  new WorldFailure({ operation: 'create host', target, message, retryable: false });

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ExternalFailure } from '@fairlead/contracts';
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
  /** An existing network. */
  readonly network: string;
  /** Absent: the default. */
  readonly system?: HostSystem;
  /** OpenSSH public keys that can log in as root and as the sudo user. */
  readonly authorizedKeys: readonly string[];
  /** null: unlimited. */
  readonly cpus: number | null;
  readonly memoryMiB: number | null;
  /** Folders of the machine that are mounted read-only: host path to machine path. Missing folders are skipped. */
  readonly readOnly: Readonly<Record<string, string>>;
  /** Arbitrary data of its creator. */
  readonly labels: Readonly<Record<string, string>>;
}

/** running: it has power, and answers sooner or later. stopped: no power. creating: its creation was interrupted. */
export type HostStatus = 'creating' | 'running' | 'stopped';

export interface Host extends Omit<HostRecord, 'layers' | 'machineId'> {
  readonly status: HostStatus;
  /** It has answered SSH at least once. */
  readonly reached: boolean;
  /** Number of boots, including reboots. */
  readonly boots: number;
  readonly partitioned: boolean;
  /** The host's console output. */
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

/** Leftovers of a killed systemd-nspawn and its machine, by the host's tag. */
const REMNANTS = ['/run/systemd/nspawn/propagate', '/run/systemd/nspawn/unix-export'];

/** Local hosts. Their state is on disk, so every instance of this class, in any process, sees the same ones. */
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

  /** The host exists and has power. An existing one is left unchanged. */
  ensure(desired: DesiredHost): Promise<Host> {
    return this.turns.of(desired.name, async () => {
      const record = this.store.find(desired.name) ?? (await this.define(desired));
      if (!this.store.isPrepared(desired.name)) this.prepare(record, desired.authorizedKeys);
      await this.power(record);
      return this.found(desired.name);
    });
  }

  /** Resolves when the host answers SSH. Rejects if it loses power before, with its last console output. */
  async untilReachable(name: string, signal: AbortSignal): Promise<Host> {
    const { address } = this.found(name);
    const gone = (): boolean => this.store.keeper(name) === undefined;
    if (await untilGreets(address, gone, signal)) {
      this.store.setReached(name);
      return this.found(name);
    }
    throw new ExternalFailure({
      operation: 'boot host',
      target: name,
      message: `it ended while it booted${this.lastWords(name)}`,
    });
  }

  /** Powers on every host that should be on: after a reboot of the machine, none is running. */
  async resume(): Promise<void> {
    const lost = this.all().filter(({ name, status }) => status === 'stopped' && this.store.power(name) === 'on');
    await Promise.all(lost.map(({ name }) => this.start(name)));
  }

  /** Shuts down every host; `resume` powers those on again that were on. */
  async suspend(): Promise<void> {
    const desired = this.all().filter(({ name }) => this.store.power(name) === 'on');
    await Promise.all(this.all().map(({ name }) => this.stop(name)));
    for (const { name } of desired) this.store.setPower(name, 'on');
  }

  /** Powers on a stopped host. */
  start(name: string): Promise<void> {
    return this.turns.of(name, () => this.power(this.known(name)));
  }

  /** Asks the host to shut down, and cuts its power after the timeout. */
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

  /** Kills the host's init process, like a power failure. Its disk keeps what was written. */
  powerCut(name: string): Promise<void> {
    return this.turns.of(name, async () => {
      const boot = this.store.boot(name);
      const first = boot === undefined ? undefined : childOf(boot.pid);
      this.store.setPower(name, 'off');
      if (first !== undefined) signalProcess(first, 'SIGKILL');
      const off = (): boolean => this.store.keeper(name) === undefined;
      await waitUntil(off, { timeoutMs: END_TIMEOUT_MS, everyMs: POLL_MS });
      await this.end(this.known(name)); // Also for a host without a keeper.
    });
  }

  /** Cuts the host off in both directions, including after a reboot; its link stays up. */
  partition(name: string): Promise<void> {
    return this.turns.of(name, () => this.plugInto(name, VOID));
  }

  heal(name: string): Promise<void> {
    return this.turns.of(name, () => this.plugInto(name, BRIDGE));
  }

  /** Deletes everything of the host: processes, group, devices and files. A missing host is already deleted. */
  delete(name: string): Promise<void> {
    return this.turns.of(name, async () => {
      const record = this.store.find(name);
      if (record !== undefined) await this.end(record);
      // Also for a host whose creation was interrupted after its address was claimed.
      for (const network of this.networks.all()) this.claimsOf(network.name).release(name);
      this.store.erase(name);
    });
  }

  /**
   * Runs a program inside a running host, as root, in all of its namespaces, with only the host's own privileges:
   * entering namespaces alone keeps the machine's, which could set its clock. Rejects if the host has no power; never
   * because of the program's result.
   */
  async execute(name: string, words: readonly string[], timeoutMs = COMMAND_TIMEOUT_MS): Promise<CommandResult> {
    const boot = this.store.boot(name);
    const first = boot === undefined ? undefined : childOf(boot.pid);
    if (first === undefined) {
      throw new ExternalFailure({ operation: 'run a command on host', target: name, message: 'it has no power' });
    }
    const withoutRights = ['--bounding-set', WITHHELD.map((name) => `-${name}`).join(','), '--inh-caps', '-all'];
    return runCommand('setpriv', [...withoutRights, 'nsenter', '--target', String(first), '--all', ...words], {
      timeoutMs,
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    });
  }

  /** The host's last console output, as the end of a sentence. */
  lastWords(name: string): string {
    const file = this.store.console(name);
    const words = existsSync(file) ? readFileSync(file, 'utf8').slice(-CONSOLE_TAIL).trim() : '';
    return words === '' ? '' : `; it printed: ${words}`;
  }

  /** Prefix of the names of all groups of hosts in this state folder. */
  groupPrefix(): string {
    return `${GROUP_PREFIX}${tagOf(this.places.stateDir)}-`;
  }

  private groupName({ tag }: HostRecord): string {
    return `${this.groupPrefix()}${tag}`;
  }

  private known(name: string): HostRecord {
    const record = this.store.find(name);
    if (record !== undefined) return record;
    throw new ExternalFailure({
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
    throw new ExternalFailure({
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

  /** Its key is new each time, and so is the record; only a prepared host ever answers. */
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
    throw new ExternalFailure({
      operation: 'start host',
      target: name,
      message: `it did not start${this.lastWords(name)}`,
    });
  }

  private startKeeper(record: HostRecord): { readonly ended: () => boolean } {
    const keeper = join(this.store.folderOf(record.name), HOST_FILES.keeper);
    // /proc/sys/net is the host's own and writable, everything else there belongs to the machine.
    const env = { SYSTEMD_NSPAWN_API_VFS_WRITABLE: 'network' };
    const groups = machineGroupsFor(this.groupName(record));
    return startDetached(['sh', keeper, ...groups], this.store.console(record.name), env);
  }

  /** Cuts a host's power, whatever is still running of it. */
  private async end(record: HostRecord): Promise<void> {
    const { name, network } = record;
    this.store.setPower(name, 'off');
    for (const identity of [this.store.keeper(name), this.store.boot(name)]) {
      if (identity !== undefined) signalProcess(identity.pid, 'SIGKILL');
    }
    const left = await removeGroups(groupsNamed(this.groupName(record)));
    if (left.length > 0) {
      throw new ExternalFailure({
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

  /** The host's end of its cable is removed with its namespace, shortly after its last process. */
  private async removePort({ name, tag }: HostRecord, network: HostNetwork | undefined): Promise<void> {
    if (network === undefined || !existsSync(join('/run/netns', network.namespace))) return;
    const port = portOf(tag);
    if (!(await devicesOf(network.namespace, name)).has(port)) return;
    const { code, stderr } = await runCommand('ip', ['-n', network.namespace, 'link', 'delete', port], {
      timeoutMs: END_TIMEOUT_MS,
    });
    if (code === 0 || saysNoDevice(stderr)) return;
    throw new ExternalFailure({ operation: 'stop host', target: name, message: stderr.trim() });
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

const refusal = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'create host', target, message, retryable: false });

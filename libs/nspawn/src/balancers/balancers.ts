import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ExternalFailure } from '@fairlead/contracts';
import {
  isAlive,
  readIfAny,
  runCommand,
  signalProcess,
  waitUntil,
  writeWhole,
  type ProcessIdentity,
} from '@fairlead/embedded/process';
import * as z from 'zod';
import { startDetached } from '../machine/detached.js';
import { runningProcesses } from '../machine/processes.js';
import { Turns } from '../machine/turns.js';
import { AddressClaims } from '../network/claims.js';
import { saysNoAddress, saysNoDevice } from '../network/links.rules.js';
import { BRIDGE, type HostNetwork, type Networks } from '../network/network.js';
import { askHaproxy } from './haproxy.admin.js';
import { ADMIN_SOCKET, haproxyConfig } from './haproxy.config.js';
import { ASK_SERVERS, serverOf, serversIn } from './haproxy.state.rules.js';
import { BALANCER_FILES, balancerKeeperScript } from './keeper.script.js';

const Balancer = z.strictObject({
  name: z.string(),
  network: z.string(),
  address: z.string(),
  port: z.int(),
});
/** An existing load balancer: its address never changes. */
export type Balancer = z.infer<typeof Balancer>;

export interface DesiredBalancer {
  readonly name: string;
  readonly network: string;
  readonly port: number;
  readonly healthPath: string;
  /** They need not answer yet. */
  readonly targets: readonly { readonly name: string; readonly address: string; readonly port: number }[];
}

const NAME = /^[a-z0-9]([a-z0-9.-]{0,126}[a-z0-9])?$/;
const START_TIMEOUT_MS = 5_000;
/** How long haproxy may take to serve with a changed configuration, and how often it is signalled to reload. */
const RELOAD_TIMEOUT_MS = 2_000;
const RELOADS_MAX = 5;
const END_TIMEOUT_MS = 5_000;
const COMMAND_TIMEOUT_MS = 10_000;
const POLL_MS = 10;
const WORDS_MAX = 500;
const FOLDER_MODE = 0o700;

/** Load balancers in the hosts' namespaces. Their state is on disk, as with hosts. */
export class Balancers {
  private readonly turns = new Turns();

  constructor(
    private readonly stateDir: string,
    private readonly networks: Networks,
  ) {}

  all(): readonly Balancer[] {
    const folder = join(this.stateDir, 'balancers');
    return existsSync(folder) ? readdirSync(folder).flatMap((name) => this.find(name) ?? []) : [];
  }

  find(name: string): Balancer | undefined {
    const text = readIfAny(this.at(name, BALANCER_FILES.record));
    return text === undefined ? undefined : Balancer.parse(JSON.parse(text));
  }

  /** Whether its keeper is running. */
  isKept(name: string): boolean {
    return this.keeper(name) !== undefined;
  }

  /**
   * The load balancer exists, keeps its address, and from now on sends new connections only to these targets: a removed
   * target may then be stopped. A change of targets loses no connection.
   */
  ensure(desired: DesiredBalancer): Promise<Balancer> {
    return this.turns.of(desired.name, async () => {
      const network = this.networkOf(desired);
      const balancer = this.find(desired.name) ?? this.define(desired, network);
      const config = haproxyConfig({ ...desired, ...balancer });
      const isChange = readIfAny(this.at(desired.name, BALANCER_FILES.config)) !== config;
      if (isChange) await this.configure(desired.name, config);
      const keeper = this.keeper(desired.name);
      if (keeper === undefined) await this.start(balancer, network);
      else if (isChange) signalProcess(keeper.pid, 'SIGHUP');
      await this.untilBalancesOver(desired);
      return balancer;
    });
  }

  /** Stops the keepers; `resume` restores the load balancers. */
  async suspend(): Promise<void> {
    await Promise.all(this.all().map(({ name }) => this.turns.of(name, () => this.end(name))));
  }

  /** Restarts what is no longer running, for example after a reboot of the machine. */
  async resume(): Promise<void> {
    const lost = this.all().filter(({ name }) => !this.isKept(name));
    await Promise.all(
      lost.map((balancer) =>
        this.turns.of(balancer.name, async () => {
          const network = this.networks.find(balancer.network);
          const isConfigured = readIfAny(this.at(balancer.name, BALANCER_FILES.config)) !== undefined;
          if (network !== undefined && isConfigured && !this.isKept(balancer.name)) await this.start(balancer, network);
        }),
      ),
    );
  }

  /** Deletes all of it. */
  delete(name: string): Promise<void> {
    return this.turns.of(name, async () => {
      const balancer = this.find(name);
      if (balancer === undefined) return;
      await this.end(name);
      await this.removeAddress(balancer);
      this.claimsOf(balancer.network).release(ownerOf(name));
      rmSync(this.folderOf(name), { recursive: true, force: true });
    });
  }

  private folderOf(name: string): string {
    return join(this.stateDir, 'balancers', name);
  }

  private at(name: string, file: string): string {
    return join(this.folderOf(name), file);
  }

  private claimsOf(network: string): AddressClaims {
    return new AddressClaims(this.networks.folderOf(network));
  }

  private networkOf({ name, network }: DesiredBalancer): HostNetwork {
    const found = this.networks.find(network);
    if (found === undefined) throw failure(name, `there is no network ${network}`, false);
    return found;
  }

  private keeper(name: string): ProcessIdentity | undefined {
    const text = readIfAny(this.at(name, BALANCER_FILES.keeperIdentity));
    if (text === undefined || text === '') return undefined;
    const identity = JSON.parse(text) as ProcessIdentity;
    return isAlive(identity) ? identity : undefined;
  }

  private define({ name, port }: DesiredBalancer, network: HostNetwork): Balancer {
    if (!NAME.test(name)) throw failure(name, 'a name has lowercase letters, digits, dots and hyphens', false);
    const address = this.claimsOf(network.name).claim(ownerOf(name), this.networks.planOf(network).balancers);
    const balancer = { name, network: network.name, address, port };
    mkdirSync(this.folderOf(name), { recursive: true, mode: FOLDER_MODE });
    writeWhole(this.at(name, BALANCER_FILES.record), `${JSON.stringify(balancer)}\n`);
    return balancer;
  }

  /** Whether the haproxy that accepts connections has these targets: it may still be reading its configuration. */
  private async balancesOver({ name, targets }: DesiredBalancer): Promise<boolean> {
    const answer = await askHaproxy(this.folderOf(name), ADMIN_SOCKET, ASK_SERVERS);
    return answer !== undefined && serversIn(answer).join() === targets.map(serverOf).toSorted().join();
  }

  /** A haproxy that has just started may lose the signal to reload its configuration, so the signal is repeated. */
  private async untilBalancesOver(desired: DesiredBalancer): Promise<void> {
    const { name } = desired;
    for (let reloads = 0; reloads < RELOADS_MAX; reloads += 1) {
      const took = { timeoutMs: RELOAD_TIMEOUT_MS, everyMs: POLL_MS };
      if (await waitUntil(() => this.balancesOver(desired), took)) return;
      const keeper = this.keeper(name);
      if (keeper !== undefined) signalProcess(keeper.pid, 'SIGHUP');
    }
    throw failure(name, `its haproxy has not taken its targets${this.lastWords(name)}`, true);
  }

  /** haproxy validates a new configuration before it replaces the current one. */
  private async configure(name: string, config: string): Promise<void> {
    const next = this.at(name, `${BALANCER_FILES.config}.next`);
    writeFileSync(next, config);
    const { code, stderr, stdout } = await runCommand('haproxy', ['-c', '-f', next], {
      timeoutMs: COMMAND_TIMEOUT_MS,
      cwd: this.folderOf(name),
    });
    if (code !== 0) throw failure(name, `haproxy refuses its configuration: ${stderr}${stdout}`, false);
    writeWhole(this.at(name, BALANCER_FILES.config), config);
    rmSync(next);
  }

  private async start({ name, address }: Balancer, { namespace }: HostNetwork): Promise<void> {
    const folder = this.folderOf(name);
    const keeper = this.at(name, BALANCER_FILES.keeper);
    writeWhole(keeper, balancerKeeperScript({ name, folder, namespace, bridge: BRIDGE, address }));
    const log = this.at(name, BALANCER_FILES.log);
    const { ended } = startDetached(['sh', keeper], log);
    await waitUntil(() => this.isKept(name) || ended(), { timeoutMs: START_TIMEOUT_MS, everyMs: POLL_MS });
    if (!this.isKept(name)) throw failure(name, `it did not start${this.lastWords(name)}`, true);
  }

  /** The keeper first, which would start another haproxy; its own dies with it, and so do its workers. */
  private async end(name: string): Promise<void> {
    const keeper = this.keeper(name);
    if (keeper !== undefined) signalProcess(keeper.pid, 'SIGKILL');
    const folder = `${this.folderOf(name)}/`;
    const left = (): readonly number[] =>
      runningProcesses()
        .filter(({ words }) => words.some((word) => word.startsWith(folder)))
        .map(({ pid }) => pid);
    const isGone = (): boolean => {
      const pids = left();
      for (const pid of pids) signalProcess(pid, 'SIGKILL');
      return pids.length === 0;
    };
    if (await waitUntil(isGone, { timeoutMs: END_TIMEOUT_MS, everyMs: POLL_MS })) return;
    throw failure(name, `processes ${left().join(', ')} of it do not end`, true);
  }

  /** haproxy's last output, as the end of a sentence. */
  private lastWords(name: string): string {
    const words = (readIfAny(this.at(name, BALANCER_FILES.log)) ?? '').slice(-WORDS_MAX).trim();
    return words === '' ? '' : `; it printed: ${words}`;
  }

  private async removeAddress({ name, address, network }: Balancer): Promise<void> {
    const found = this.networks.find(network);
    if (found === undefined || !existsSync(join('/run/netns', found.namespace))) return;
    const { code, stderr } = await runCommand(
      'ip',
      ['-n', found.namespace, 'address', 'delete', `${address}/32`, 'dev', BRIDGE],
      { timeoutMs: COMMAND_TIMEOUT_MS, env: { ...process.env, LC_ALL: 'C' } },
    );
    if (code !== 0 && !saysNoAddress(stderr) && !saysNoDevice(stderr)) throw failure(name, stderr, true);
  }
}

/** Hosts and load balancers claim addresses of the same network; this owner name is not a valid host name. */
const ownerOf = (name: string): string => `balancer/${name}`;

const failure = (target: string, message: string, retryable: boolean): ExternalFailure =>
  new ExternalFailure({ operation: 'ensure load balancer', target, message, retryable });

import { randomUUID } from 'node:crypto';
import type { HostFiles } from '../files/host.files.js';
import type { ServiceManager } from '../services/service.manager.js';
import { BRIDGE_SYSCTLS, DEFAULT_SYSCTLS, KERNEL_VERSION, type HostFacts, type HostRecord } from './host.record.js';

export type HostPower = 'on' | 'off' | 'partitioned';

/** Settings that software on hosts reads from /proc. */
const SHOWN_SYSCTLS: readonly string[] = ['net.ipv4.ip_forward', ...BRIDGE_SYSCTLS];
const CONSOLE_LENGTH_MAX = 64 * 1024;
const SWAP_LINE = '/swapfile                               file\t\t1048572\t\t0\t\t-2\n';

export interface HostHooks {
  changed(host: Host): void;
  programsChanged(host: Host): Promise<void>;
}

/**
 * The operating system of one simulated machine: its settings, files, packages and services. Identical in full and in
 * light mode.
 */
export class Host {
  power: HostPower = 'off';
  services!: ServiceManager;
  private consoleText = '';
  private up = new AbortController();

  constructor(
    readonly facts: HostFacts,
    readonly record: HostRecord,
    readonly files: HostFiles,
    private readonly hooks: HostHooks,
  ) {}

  /** Aborted when the host goes down, which ends everything that runs on it. */
  get upSignal(): AbortSignal {
    return this.up.signal;
  }

  get isOn(): boolean {
    return this.power === 'on';
  }

  /** If true, the kubelet runs and reports that the container runtime does not respond. */
  get runtimeHangs(): boolean {
    return this.record.hungBootId === this.record.bootId;
  }

  /** Lasts until the next boot. */
  hangRuntime(): void {
    this.record.hungBootId = this.record.bootId;
    this.changed();
  }

  /** If true, the configuration of its pod network is missing. */
  get lacksNetwork(): boolean {
    return this.record.networkLostBootId === this.record.bootId;
  }

  /** Lasts until the next boot, when the network plugin writes its configuration again. */
  loseNetwork(): void {
    this.record.networkLostBootId = this.record.bootId;
    this.changed();
  }

  get isDiskFull(): boolean {
    return this.record.diskFull;
  }

  setDiskFull(full: boolean): void {
    this.record.diskFull = full;
    this.changed();
  }

  /** Must be called after a change of `record`, so that it is stored. */
  changed(): void {
    this.hooks.changed(this);
  }

  /** Must be called after packages changed, so that exactly the installed programs are linked. */
  programsChanged(): Promise<void> {
    return this.hooks.programsChanged(this);
  }

  /** Boots the operating system: applies settings from files and starts enabled units. */
  async boot(): Promise<void> {
    this.record.bootId = randomUUID();
    this.record.bootedAtMs = Date.now();
    this.record.modules = await this.configuredModules();
    this.record.sysctls = { ...DEFAULT_SYSCTLS };
    for (const module of this.record.modules) this.moduleLoaded(module);
    await this.applySysctlFiles();
    this.record.swapOn = await this.swapInFstab();
    for (const unit of Object.values(this.record.units)) {
      unit.started = unit.enabled;
      unit.outlivesRuntime = false;
    }
    this.log(`Linux booted (simulated by Fairlead lab), boot id ${this.record.bootId}`);
    await this.resume();
  }

  /** Resumes after a restart of the lab, with the same boot ID and the same units. */
  async resume(): Promise<void> {
    this.power = 'on';
    if (this.up.signal.aborted) this.up = new AbortController();
    await this.writeKernelFiles();
    this.changed();
    await this.services.startDesired();
  }

  /** Stops everything on the host at once, like a power failure. */
  async powerOff(words: string): Promise<void> {
    if (this.power === 'off') return;
    this.power = 'off';
    this.up.abort();
    this.log(words);
    await this.services.killAll();
    this.changed();
  }

  async loadModule(name: string): Promise<void> {
    if (!this.record.modules.includes(name)) this.record.modules.push(name);
    this.moduleLoaded(name);
    this.changed();
    await this.writeModules();
    await this.writeSettings(BRIDGE_SYSCTLS);
  }

  async unloadModule(name: string): Promise<void> {
    this.record.modules = this.record.modules.filter((loaded) => loaded !== name);
    if (name === 'br_netfilter') for (const key of BRIDGE_SYSCTLS) delete this.record.sysctls[key];
    this.changed();
    await this.writeModules();
    await this.writeSettings(BRIDGE_SYSCTLS);
  }

  /** Applies every `sysctl.d` file in the kernel's order. Returns the applied settings. */
  async applySysctlFiles(): Promise<readonly (readonly [string, string])[]> {
    const applied: (readonly [string, string])[] = [];
    for (const file of ['/etc/sysctl.conf', ...(await this.configFiles('/etc/sysctl.d'))]) {
      const text = (await this.files.readText(file)) ?? '';
      for (const [key, value] of parseSettings(text)) {
        if (await this.setSysctl(key, value)) applied.push([key, value]);
      }
    }
    return applied;
  }

  /** Returns false if the kernel has no such setting. */
  async setSysctl(key: string, value: string): Promise<boolean> {
    if (!(key in this.record.sysctls) && isBridgeSysctl(key)) return false;
    this.record.sysctls[key] = value;
    this.changed();
    await this.writeSettings([key]);
    return true;
  }

  /** One line on the machine's console. */
  log(line: string): void {
    this.consoleText = `${this.consoleText}${new Date().toISOString()} ${line}\n`.slice(-CONSOLE_LENGTH_MAX);
  }

  console(): string {
    return this.consoleText;
  }

  setSwap(on: boolean): Promise<void> {
    this.record.swapOn = on;
    this.changed();
    return this.writeKernelFiles();
  }

  /** Files of /proc that software on hosts reads. */
  private async writeKernelFiles(): Promise<void> {
    const swaps = `Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n${this.record.swapOn ? SWAP_LINE : ''}`;
    await this.files.writeText('/proc/sys/kernel/random/boot_id', `${this.record.bootId}\n`);
    await this.files.writeText('/proc/sys/kernel/osrelease', `${KERNEL_VERSION}\n`);
    await this.files.writeText('/proc/swaps', swaps);
    await this.files.writeText('/proc/meminfo', `MemTotal: ${this.facts.memoryGiB * 1024 * 1024} kB\n`);
    await this.writeModules();
    await this.writeSettings(SHOWN_SYSCTLS);
  }

  private writeModules(): Promise<void> {
    const lines = this.record.modules.map((module) => `${module} 32768 0 - Live 0x0000000000000000\n`);
    return this.files.writeText('/proc/modules', lines.join(''));
  }

  private async writeSettings(keys: readonly string[]): Promise<void> {
    for (const key of keys.filter((each) => SHOWN_SYSCTLS.includes(each))) {
      const path = `/proc/sys/${key.replaceAll('.', '/')}`;
      const value = this.record.sysctls[key];
      if (value !== undefined) await this.files.writeText(path, `${value}\n`);
      else if (await this.files.exists(path)) await this.files.remove(path);
    }
  }

  private moduleLoaded(name: string): void {
    if (name !== 'br_netfilter') return;
    for (const key of BRIDGE_SYSCTLS) this.record.sysctls[key] ??= '1';
  }

  private async configuredModules(): Promise<string[]> {
    const names: string[] = [];
    for (const file of ['/etc/modules', ...(await this.configFiles('/etc/modules-load.d'))]) {
      const text = (await this.files.readText(file)) ?? '';
      names.push(
        ...text
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '' && !/^[#;]/.test(line)),
      );
    }
    return [...new Set(names)];
  }

  private async swapInFstab(): Promise<boolean> {
    const fstab = (await this.files.readText('/etc/fstab')) ?? '';
    return fstab.split('\n').some((line) => !line.trim().startsWith('#') && line.trim().split(/\s+/)[2] === 'swap');
  }

  private async configFiles(folder: string): Promise<readonly string[]> {
    if (!(await this.files.exists(folder))) return [];
    const names = (await this.files.list(folder)).map(({ name }) => name).filter((name) => name.endsWith('.conf'));
    return names.sort().map((name) => `${folder}/${name}`);
  }
}

/** `key = value` lines; comments begin with `#` or `;`; with a leading `-`, a failure is ignored. */
export const parseSettings = (text: string): readonly (readonly [string, string])[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^[#;]/.test(line))
    .flatMap((line) => {
      const match = /^-?([^=]+)=(.*)$/.exec(line);
      return match?.[1] === undefined ? [] : [[match[1].trim().replaceAll('/', '.'), (match[2] ?? '').trim()] as const];
    });

const isBridgeSysctl = (key: string): boolean => key.startsWith('net.bridge.');

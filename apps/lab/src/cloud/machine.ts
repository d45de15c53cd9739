import { setTimeout as sleep } from 'node:timers/promises';
import type { Clusters } from '../clusters/clusters.js';
import type { RunningHost } from '../hosts/host.platform.js';
import { SshServer } from '../ssh/ssh.server.js';
import type { Delays } from '../time/delays.js';
import type { Faults } from '../faults/faults.js';
import { AUTHORIZED_KEYS, authorizedKeysIn } from '../ssh/authorized.keys.js';
import { runUserData } from './user.data.js';
import { SSH_PORT, SSH_USER, type MachineRecord, type MachineStatus } from './machine.record.js';

export type PowerAction = 'start' | 'stop' | 'reboot' | 'power-cut' | 'partition' | 'heal' | 'move';

export interface MachineWorld {
  readonly delays: Delays;
  readonly faults: Faults;
  readonly clusters: Clusters;
  authorizedKeys(sshKey: string): readonly string[];
  createHost(machine: Machine): Promise<RunningHost>;
  statusChanged(machine: Machine): void;
  /** Allocates another address for a machine, instead of its former one. */
  anotherAddress(former: string): string;
}

const CONNECT_DELAY_DEFAULT_MS = 3_000;
const BOOT_SLOW_DEFAULT_MS = 5_000;

/**
 * One machine of the simulated cloud: its power, its host and the host's SSH server. Operations run one after the
 * other.
 */
export class Machine {
  running: RunningHost | undefined;
  private sshServer: SshServer | undefined;
  private queue: Promise<void> = Promise.resolve();
  private readonly gone = new AbortController();

  constructor(
    readonly record: MachineRecord,
    private readonly world: MachineWorld,
  ) {}

  get name(): string {
    return this.record.request.name;
  }

  /** Whether the host can be reached over the network. */
  get isReachable(): boolean {
    return this.running?.host.power === 'on';
  }

  /** Brings a machine into the recorded state: a new one boots, one from before a restart of the lab resumes. */
  begin(): Promise<void> {
    return this.inOrder(async () => {
      switch (this.record.status) {
        case 'creating':
          return this.firstBoot();
        case 'running':
          return this.resume();
        case 'stopped':
          return this.assemble();
        case 'failed':
          return;
      }
    });
  }

  power(action: PowerAction): Promise<void> {
    return this.inOrder(() => this.change(action));
  }

  /** Called by the host to shut down or reboot. */
  shutDown(again: boolean): void {
    void this.power(again ? 'reboot' : 'stop').catch((error: unknown) => this.log(`shutdown failed: ${String(error)}`));
  }

  /** Stops everything and removes every file. */
  delete(): Promise<void> {
    this.gone.abort();
    return this.inOrder(async () => {
      await this.goDown('deleted');
      if (this.running !== undefined) await this.world.clusters.removeHost(this.running.host);
      await this.running?.close();
      await this.running?.destroy();
      this.running = undefined;
    });
  }

  /** Called when the lab stops: the host stops, and resumes when the lab starts again. */
  close(): Promise<void> {
    this.gone.abort();
    return this.inOrder(async () => {
      await this.sshServer?.close();
      await this.running?.close();
    });
  }

  /** Powers the host off without notice if a `host-lost` fault is armed. */
  async applyHostLostFault(): Promise<void> {
    if (!this.isReachable) return;
    const fault = this.world.faults.strike('host-lost', this.name);
    if (fault === undefined) return;
    this.log(fault.message ?? 'the host is lost because a fault was asked for');
    await this.goDown('lost');
  }

  /** Makes the container runtime hang until the next boot if a `runtime-hung` fault is armed. */
  async applyRuntimeHungFault(): Promise<void> {
    const running = this.running;
    if (running === undefined || !this.isReachable) return;
    const fault = this.world.faults.strike('runtime-hung', this.name);
    if (fault === undefined) return;
    this.log(fault.message ?? 'the container runtime hangs because a fault was asked for');
    running.host.hangRuntime();
    await this.world.clusters.hostChanged(running.host, undefined);
  }

  /** Removes the configuration of the network plugin until the next boot if a `network-lost` fault is armed. */
  async applyNetworkLostFault(): Promise<void> {
    const running = this.running;
    if (running === undefined || !this.isReachable) return;
    const fault = this.world.faults.strike('network-lost', this.name);
    if (fault === undefined) return;
    this.log(fault.message ?? 'the configuration of the pod network is gone because a fault was asked for');
    running.host.loseNetwork();
    await this.world.clusters.hostChanged(running.host, undefined);
  }

  /** Keeps the disk full exactly while a `disk-full` fault is armed. */
  async applyDiskFullFault(): Promise<void> {
    const running = this.running;
    const full = this.world.faults.has('disk-full', this.name);
    if (running === undefined || running.host.isDiskFull === full) return;
    this.log(full ? 'the disk is full because a fault was asked for' : 'the disk has room again');
    running.host.setDiskFull(full);
    await this.world.clusters.hostChanged(running.host, undefined);
  }

  private inOrder(work: () => Promise<void>): Promise<void> {
    const result = this.queue.then(work);
    this.queue = result.catch((error: unknown) => this.log(`failed: ${String(error)}`));
    return result;
  }

  private async firstBoot(): Promise<void> {
    const { delays, faults } = this.world;
    const { signal } = this.gone;
    try {
      await delays('boot', signal);
      const slow = faults.strike('boot-slow', this.name);
      if (slow !== undefined) await sleep(slow.delayMs ?? BOOT_SLOW_DEFAULT_MS, undefined, { signal });
    } catch (error) {
      if (signal.aborted) return; // The machine was deleted, or the lab is stopping: it boots when the lab starts again.
      throw error;
    }
    const failure = faults.strike('boot-failure', this.name);
    if (failure !== undefined) {
      this.setStatus('failed', failure.message ?? `machine ${this.name} did not boot (fault of the lab)`);
      return;
    }
    await this.assemble();
    await this.up();
    this.record.booted = true;
    this.setStatus('running');
    this.runUserData();
    await this.applyHostLostFault();
  }

  /** User data is interrupted if the host goes down, and is not run again. */
  private runUserData(): void {
    const { id, request } = this.record;
    if (this.running === undefined || request.userData === undefined) return;
    const { userData } = request;
    void runUserData(this.running, { id, userData }).catch((error: unknown) =>
      this.log(`cloud-init: user data failed: ${String(error)}`),
    );
  }

  private async assemble(): Promise<void> {
    if (this.running !== undefined) return;
    this.running = await this.world.createHost(this);
    await this.authorizeKeys(this.running);
    this.world.clusters.addHost(this.running.host);
    await this.running.open();
  }

  /** As cloud-init does at the first boot only: later changes on the host are kept. */
  private async authorizeKeys({ host: { files } }: RunningHost): Promise<void> {
    if (await files.exists(AUTHORIZED_KEYS)) return;
    const keys = this.world.authorizedKeys(this.record.request.sshKey);
    await files.writeText(AUTHORIZED_KEYS, keys.map((key) => `${key.trim()}\n`).join(''), 0o600);
  }

  private async resume(): Promise<void> {
    await this.assemble();
    await this.running?.host.resume();
    await this.openSsh();
    if (this.record.partitioned) await this.partition();
  }

  private async up(): Promise<void> {
    await this.running?.host.boot();
    await this.openSsh();
  }

  private async openSsh(): Promise<void> {
    const running = this.running;
    if (running === undefined) return;
    this.sshServer ??= new SshServer({
      address: this.record.address,
      port: SSH_PORT,
      user: SSH_USER,
      hostKeyPem: this.record.hostKeyPem,
      files: running.host.files,
      shell: running.shell,
      authorizedKeys: () => authorizedKeysIn(running.host.files),
      connectDelayMs: () => this.connectDelayMs(),
    });
    await this.sshServer.open();
  }

  private connectDelayMs(): number | null {
    const { faults } = this.world;
    if (faults.strike('ssh-never', this.name) !== undefined) return null;
    const slow = faults.strike('ssh-slow', this.name);
    return slow === undefined ? 0 : (slow.delayMs ?? CONNECT_DELAY_DEFAULT_MS);
  }

  private async change(action: PowerAction): Promise<void> {
    if (this.running === undefined || this.record.status === 'failed') return;
    const isOn = this.running.host.power !== 'off';
    switch (action) {
      case 'start':
        if (!isOn) await this.start();
        return;
      case 'stop':
        if (isOn) await this.stop();
        return;
      case 'reboot':
        if (isOn) await this.goDown('reboot');
        return this.start();
      case 'move':
        if (isOn) await this.goDown('moved');
        return this.move();
      case 'power-cut':
        await this.goDown('power cut');
        return this.setStatus('stopped');
      case 'partition':
        if (isOn) await this.partition();
        return;
      case 'heal':
        return this.heal();
    }
  }

  private async start(): Promise<void> {
    await this.world.delays('boot');
    await this.up();
    this.record.partitioned = false;
    this.setStatus('running');
  }

  /** Simulates an expired DHCP lease: the machine boots with another address. */
  private async move(): Promise<void> {
    this.record.address = this.world.anotherAddress(this.record.address);
    this.sshServer = undefined;
    await this.start();
  }

  private async stop(): Promise<void> {
    await this.world.delays('shutdown');
    await this.goDown('shut down');
    this.setStatus('stopped');
  }

  private async goDown(words: string): Promise<void> {
    const running = this.running;
    await this.sshServer?.close();
    if (running === undefined) return;
    await running.host.powerOff(words);
    await running.killAll();
    await this.world.clusters.hostChanged(running.host, undefined);
  }

  private async partition(): Promise<void> {
    const running = this.running;
    if (running === undefined) return;
    this.record.partitioned = true;
    running.host.power = 'partitioned';
    this.sshServer?.silence();
    await running.freeze();
    await this.world.clusters.hostChanged(running.host, undefined);
    this.world.statusChanged(this);
  }

  private async heal(): Promise<void> {
    const running = this.running;
    if (running?.host.power !== 'partitioned') return;
    this.record.partitioned = false;
    running.host.power = 'on';
    this.sshServer?.answer();
    await running.thaw();
    await this.world.clusters.hostChanged(running.host, undefined);
    this.world.statusChanged(this);
  }

  private setStatus(status: MachineStatus, message?: string): void {
    this.record.status = status;
    if (message === undefined) delete this.record.message;
    else this.record.message = message;
    this.world.statusChanged(this);
  }

  private log(line: string): void {
    this.running?.host.log(line);
  }
}

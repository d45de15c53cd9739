import { join } from 'node:path';
import type { Stats } from '../stats/stats.js';
import type { CommandRunner } from '../programs/run.command.js';
import { DiskFiles } from '../files/disk.files.js';
import { writeBaseFiles } from '../hosts/base.files.js';
import { Host } from '../hosts/host.js';
import type { HostOptions, HostPlatform, RunningHost } from '../hosts/host.platform.js';
import type { HostFacts, HostRecord } from '../hosts/host.record.js';
import { ServiceManager } from '../services/service.manager.js';
import { ProcessUnits } from './process.units.js';
import { ROOT_VARIABLE, signalProcessesWith } from './processes.js';
import { RealShell } from './real.shell.js';
import { hostEnvironment, linkTools } from './shell.environment.js';
import { StandInChannel } from './stand-in.channel.js';

export interface FullPlatformParts {
  readonly folder: string;
  readonly nodeBinary: string;
  readonly runner: CommandRunner;
  readonly stats: Stats;
  /** Called when a simulated program was started or stopped on the host. */
  readonly simulatedChanged: (host: Host) => Promise<void>;
}

/** Hosts that each have a folder, a real shell and real processes. */
export class FullPlatform implements HostPlatform {
  private tools: Promise<void> | undefined;

  constructor(private readonly parts: FullPlatformParts) {}

  async create(facts: HostFacts, record: HostRecord, options: HostOptions): Promise<RunningHost> {
    const { folder, nodeBinary, runner, stats, simulatedChanged } = this.parts;
    const tools = join(folder, 'tools');
    this.tools ??= linkTools(tools);
    await this.tools;
    const files = await DiskFiles.at(join(folder, 'hosts', facts.machineId));
    const environment = hostEnvironment(files.root, tools);
    // A killed lab leaves programs of its hosts running.
    if (!options.fresh) signalProcessesWith(ROOT_VARIABLE, files.root, 'SIGKILL');
    const host: Host = new Host(facts, record, files, {
      changed: options.changed,
      programsChanged: () => channel.linkPrograms(),
    });
    host.services = new ServiceManager(host, new ProcessUnits(files.root, environment, nodeBinary), () =>
      simulatedChanged(host),
    );
    const channel = new StandInChannel(host, files.root, runner, nodeBinary);
    if (options.fresh) await writeBaseFiles(files, facts);
    return new FullHost(host, new RealShell(facts.name, environment, stats), channel, files);
  }
}

class FullHost implements RunningHost {
  constructor(
    readonly host: Host,
    readonly shell: RealShell,
    private readonly channel: StandInChannel,
    private readonly files: DiskFiles,
  ) {}

  open(): Promise<void> {
    return this.channel.open();
  }

  async killAll(): Promise<void> {
    this.shell.killAll();
    signalProcessesWith(ROOT_VARIABLE, this.files.root, 'SIGKILL');
  }

  async freeze(): Promise<void> {
    signalProcessesWith(ROOT_VARIABLE, this.files.root, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    signalProcessesWith(ROOT_VARIABLE, this.files.root, 'SIGCONT');
  }

  async close(): Promise<void> {
    await this.host.services.killAll();
    await this.killAll();
    this.channel.close();
  }

  async destroy(): Promise<void> {
    await this.files.destroy();
  }

  storedFiles(): unknown {
    return undefined;
  }
}

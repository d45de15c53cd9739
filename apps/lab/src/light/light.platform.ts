import { join } from 'node:path';
import type { Stats } from '../stats/stats.js';
import type { CommandRunner } from '../programs/run.command.js';
import { Blobs } from '../files/blobs.js';
import { MemoryFiles, type StoredEntry } from '../files/memory.files.js';
import { writeBaseFiles } from '../hosts/base.files.js';
import { Host } from '../hosts/host.js';
import type { HostOptions, HostPlatform, RunningHost } from '../hosts/host.platform.js';
import type { HostFacts, HostRecord } from '../hosts/host.record.js';
import { ServiceManager } from '../services/service.manager.js';
import { AgentPrograms } from './agent.programs.js';
import { runCollected } from './light.agent.host.js';
import { LightSegment } from './light.segment.js';
import { LightShell } from './light.shell.js';
import { LightUnits } from './light.units.js';

export interface LightPlatformParts {
  readonly folder: string;
  readonly runner: CommandRunner;
  readonly stats: Stats;
  /** Called when a simulated program was started or stopped on the host. */
  readonly simulatedChanged: (host: Host) => Promise<void>;
}

/** Hosts without their own processes or folders: thousands fit into this process. */
export class LightPlatform implements HostPlatform {
  private readonly blobs: Blobs;
  private readonly programs: AgentPrograms;
  private readonly segment = new LightSegment();

  constructor(private readonly parts: LightPlatformParts) {
    this.blobs = new Blobs(join(parts.folder, 'blobs'));
    this.programs = new AgentPrograms(join(parts.folder, 'agents'), this.blobs);
  }

  async create(facts: HostFacts, record: HostRecord, options: HostOptions): Promise<RunningHost> {
    const { runner, stats, simulatedChanged } = this.parts;
    const files = new MemoryFiles(this.blobs, options.changed);
    const host: Host = new Host(facts, record, files, {
      changed: options.changed,
      programsChanged: () => Promise.resolve(),
    });
    const { segment } = this;
    const units = new LightUnits({ files, programs: this.programs, runner, host: () => host, segment });
    host.services = new ServiceManager(host, units, () => simulatedChanged(host));
    if (options.fresh) await writeBaseFiles(files, facts);
    else files.restore((options.storedFiles ?? []) as readonly StoredEntry[]); // Written by `storedFiles` below.
    const shell = new LightShell(
      (signal) => ({
        host,
        files,
        blobs: this.blobs,
        run: (...words) => runCollected(runner, host, words, signal),
      }),
      stats,
    );
    segment.attach(host, files);
    return new RunningLightHost(host, shell, files, () => segment.detach(host));
  }
}

class RunningLightHost implements RunningHost {
  constructor(
    readonly host: Host,
    readonly shell: LightShell,
    private readonly files: MemoryFiles,
    private readonly detach: () => void,
  ) {}

  async open(): Promise<void> {
    // Nothing to prepare: a light host runs only its units.
  }

  async killAll(): Promise<void> {
    this.shell.killAll();
  }

  /** The agent shares this process's network, so it is stopped while its host is partitioned. */
  async freeze(): Promise<void> {
    await this.host.services.killAll();
  }

  async thaw(): Promise<void> {
    await this.host.services.startDesired();
  }

  async close(): Promise<void> {
    this.detach();
    this.shell.killAll();
    await this.host.services.killAll();
  }

  async destroy(): Promise<void> {
    await this.files.destroy();
  }

  storedFiles(): unknown {
    return this.files.store();
  }
}

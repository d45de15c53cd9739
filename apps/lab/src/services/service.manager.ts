import { LRUCache } from 'lru-cache';
import { basename } from 'node:path';
import type { HostFiles } from '../files/host.files.js';
import { expandVariables, parseEnvironmentFile, parseUnit, splitCommandLine, type UnitFile } from './unit.file.js';
import type { UnitRecord } from './unit.record.js';
import type { UnitEnd, UnitProcess, UnitProgram, UnitRunner } from './unit.runner.js';

const UNIT_FOLDERS = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'] as const;

/** Programs whose work the lab does itself, without a process. */
const SIMULATED_PROGRAMS: ReadonlySet<string> = new Set([
  'containerd',
  'kubelet',
  'etcd',
  'sshd',
  'haproxy',
  'keepalived',
]);

/** A program that ran this long counts as stable: its next restart is immediate again. */
const STEADY_AFTER_MS = 10_000;
const RESTART_DELAY_MAX_MS = 10_000;

/** All hosts have the same few units, whose states agents read every minute. */
const PARSED_MAX = 256;
const parsedUnits = new LRUCache<string, UnitFile>({ max: PARSED_MAX });

const parsedUnit = (texts: readonly string[]): UnitFile => {
  const key = texts.join('\0');
  const parsed = parsedUnits.get(key) ?? parseUnit(texts);
  parsedUnits.set(key, parsed);
  return parsed;
};

export type ActiveState = 'active' | 'inactive' | 'activating' | 'failed';

export class UnknownUnit extends Error {
  constructor(readonly unit: string) {
    super(`Unit ${unit} could not be found.`);
  }
}

interface Running {
  readonly process: UnitProcess;
  readonly startedAtMs: number;
}

interface UnitState {
  running?: Running;
  restartTimer?: NodeJS.Timeout;
  failures: number;
  failed: boolean;
  end?: UnitEnd;
}

/** The parts of a host that systemd uses. */
export interface UnitHost {
  readonly isOn: boolean;
  readonly files: HostFiles;
  readonly record: { readonly units: Record<string, UnitRecord> };
  /** Must be called after a change of `record`, so that it is stored. */
  changed(): void;
}

/** systemd of one host: reads unit files, starts programs and restarts those that require it. */
export class ServiceManager {
  private readonly states = new Map<string, UnitState>();

  constructor(
    private readonly host: UnitHost,
    private readonly runner: UnitRunner,
    /** Called when a simulated program was started or stopped. */
    private readonly simulatedChanged: () => Promise<void>,
  ) {}

  async read(name: string): Promise<UnitFile | undefined> {
    const unit = unitName(name);
    for (const folder of UNIT_FOLDERS) {
      const text = await this.host.files.readText(`${folder}/${unit}`);
      if (text !== undefined) return parsedUnit([text, ...(await this.dropIns(unit))]);
    }
    return undefined;
  }

  async enable(name: string): Promise<void> {
    await this.require(name);
    this.record(name).enabled = true;
    this.host.changed();
  }

  async disable(name: string): Promise<void> {
    await this.require(name);
    this.record(name).enabled = false;
    this.host.changed();
  }

  /** Does nothing if the unit already runs. */
  async start(name: string): Promise<void> {
    const file = await this.require(name);
    this.record(name).started = true;
    this.host.changed();
    const program = programOf(file);
    if (SIMULATED_PROGRAMS.has(program)) await this.noteSimulated(name, program, 'Started');
    else await this.launch(unitName(name), file);
  }

  async stop(name: string): Promise<void> {
    const file = await this.require(name);
    const program = programOf(file);
    if (program === 'containerd' && (await this.activeState('kubelet')) === 'active')
      this.record('kubelet').outlivesRuntime = true;
    if (program === 'kubelet') this.record(name).outlivesRuntime = false;
    this.record(name).started = false;
    this.host.changed();
    if (SIMULATED_PROGRAMS.has(program)) await this.noteSimulated(name, program, 'Stopped');
    await this.end(unitName(name), (process) => process.stop());
  }

  async restart(name: string): Promise<void> {
    await this.stop(name);
    await this.start(name);
  }

  isEnabled(name: string): boolean {
    return this.record(name).enabled;
  }

  async activeState(name: string): Promise<ActiveState> {
    const file = await this.read(name);
    const record = this.host.record.units[unitName(name)];
    if (file === undefined || record === undefined) return 'inactive';
    const program = programOf(file);
    if (program === 'kubelet') return record.started ? await this.kubeletState() : 'inactive';
    if (SIMULATED_PROGRAMS.has(program)) return record.started ? 'active' : 'inactive';
    const state = this.states.get(unitName(name));
    if (state?.running !== undefined) return 'active';
    if (state?.restartTimer !== undefined) return 'activating';
    return state?.failed ? 'failed' : 'inactive';
  }

  /** Whether a simulated program works: `containerd` responds, `kubelet` has a configuration and a runtime. */
  async isRunning(program: 'containerd' | 'kubelet'): Promise<boolean> {
    return this.host.isOn && (await this.activeState(program)) === 'active';
  }

  mainPid(name: string): number {
    return this.states.get(unitName(name))?.running?.process.pid ?? 0;
  }

  journal(name: string, linesMax: number): Promise<readonly string[]> {
    return this.runner.journal(unitName(name), linesMax);
  }

  written(name: string): Promise<number> {
    return this.runner.written(unitName(name));
  }

  /** Starts every unit that must run; failures are logged in its journal. */
  async startDesired(): Promise<void> {
    const desired = Object.entries(this.host.record.units).filter(([, record]) => record.started);
    for (const [unit] of desired) {
      try {
        await this.start(unit);
      } catch (error) {
        if (!(error instanceof UnknownUnit)) throw error;
        this.runner.note(unit, error.message);
      }
    }
  }

  /** Kills every program, and starts none until the host boots. */
  async killAll(): Promise<void> {
    await Promise.all([...this.states.keys()].map((unit) => this.end(unit, (process) => process.kill())));
    this.states.clear();
  }

  private async noteSimulated(name: string, program: string, what: 'Started' | 'Stopped'): Promise<void> {
    this.runner.note(unitName(name), `${what} ${program} (simulated by Fairlead lab).`);
    await this.simulatedChanged();
  }

  private async launch(unit: string, file: UnitFile): Promise<void> {
    const state = this.state(unit);
    if (state.running !== undefined || !this.host.isOn) return;
    clearTimeout(state.restartTimer);
    delete state.restartTimer;
    state.failed = false;
    const process = this.runner.start(await this.programFor(unit, file));
    const running: Running = { process, startedAtMs: Date.now() };
    state.running = running;
    this.runner.note(unit, `Started ${unit}${file.description === '' ? '' : ` - ${file.description}`}.`);
    void process.ended.then((end) => this.ended(unit, running, end));
    if (file.type === 'oneshot') await process.ended;
  }

  private async ended(unit: string, running: Running, end: UnitEnd): Promise<void> {
    const state = this.state(unit);
    if (state.running !== running) return; // It was stopped intentionally.
    delete state.running;
    state.end = end;
    state.failed = !end.success;
    this.runner.note(unit, `Main process ended: ${end.words}`);
    const file = await this.read(unit);
    const again = file !== undefined && (file.restart === 'always' || (file.restart === 'on-failure' && !end.success));
    if (!again || file.type === 'oneshot' || !this.host.isOn || !this.record(unit).started) return;
    state.failures = Date.now() - running.startedAtMs > STEADY_AFTER_MS ? 0 : state.failures + 1;
    const delayMs = Math.min(RESTART_DELAY_MAX_MS, file.restartDelayMs * 2 ** Math.max(0, state.failures - 1));
    state.restartTimer = setTimeout(() => void this.relaunch(unit), delayMs);
  }

  private async relaunch(unit: string): Promise<void> {
    delete this.state(unit).restartTimer;
    const file = await this.read(unit);
    if (file !== undefined && this.record(unit).started) await this.launch(unit, file);
  }

  private async end(unit: string, how: (process: UnitProcess) => Promise<void>): Promise<void> {
    const state = this.states.get(unit);
    if (state === undefined) return;
    clearTimeout(state.restartTimer);
    delete state.restartTimer;
    const running = state.running;
    delete state.running;
    if (running !== undefined) await how(running.process);
  }

  private async programFor(unit: string, file: UnitFile): Promise<UnitProgram> {
    const files = await Promise.all(
      file.environmentFiles.map(async (path) =>
        parseEnvironmentFile((await this.host.files.readText(path.replace(/^-/, ''))) ?? ''),
      ),
    );
    const environment: Record<string, string> = Object.assign({}, file.environment, ...files);
    return { unit, argv: splitCommandLine(file.execStart), environment, workingDirectory: file.workingDirectory };
  }

  private async kubeletState(): Promise<ActiveState> {
    if (this.record('kubelet').outlivesRuntime === true) return 'active';
    const configured = await this.host.files.exists('/var/lib/kubelet/config.yaml');
    return configured && (await this.activeState('containerd')) === 'active' ? 'active' : 'activating';
  }

  private async dropIns(unit: string): Promise<readonly string[]> {
    const texts: string[] = [];
    for (const folder of [...UNIT_FOLDERS].reverse().map((parent) => `${parent}/${unit}.d`)) {
      if (!(await this.host.files.exists(folder))) continue;
      const names = (await this.host.files.list(folder))
        .map(({ name }) => name)
        .filter((name) => name.endsWith('.conf'));
      for (const name of names.sort()) texts.push((await this.host.files.readText(`${folder}/${name}`)) ?? '');
    }
    return texts;
  }

  private async require(name: string): Promise<UnitFile> {
    const file = await this.read(name);
    if (file === undefined) throw new UnknownUnit(unitName(name));
    return file;
  }

  private record(name: string): UnitRecord {
    return (this.host.record.units[unitName(name)] ??= { enabled: false, started: false });
  }

  private state(unit: string): UnitState {
    const current = this.states.get(unit);
    if (current !== undefined) return current;
    const state: UnitState = { failures: 0, failed: false };
    this.states.set(unit, state);
    return state;
  }
}

export const unitName = (name: string): string => (/\.[a-z]+$/.test(name) ? name : `${name}.service`);

const programOf = (file: UnitFile): string => basename(splitCommandLine(file.execStart)[0] ?? '');

/** Expands environment variables in the argument list. */
export const expandArguments = (
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): readonly string[] => argv.map((word) => expandVariables(word, environment)).filter((word) => word !== '');

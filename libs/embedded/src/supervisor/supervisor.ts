import { errorCodeOf } from '@fairlead/contracts';
import { join } from 'node:path';
import type { ProcessSpec } from './child.js';
import { endLeftovers, forgetProcess, rememberProcess } from './leftovers.js';
import { LogFile } from './log-file.js';
import { Replica, type ReplicaSpec, type ReplicaState } from './replica.js';
import { Warden } from './warden.js';

const REPLICAS_MAX = 64;

export interface SupervisedSpec extends ReplicaSpec {
  /** Differences of the second and further replicas (`scale`): a port, an environment variable. Counted from 1. */
  readonly forReplica?: (replica: number) => Partial<ProcessSpec>;
}

export interface ProcessStatus {
  /** `infra-svc`, and `infra-svc-2` … for further replicas. */
  readonly name: string;
  readonly pid: number | undefined;
  readonly state: ReplicaState;
  readonly restarts: number;
}

export interface SupervisorOptions {
  /** Logs go to `<dataDir>/logs/<name>.log`, running processes are recorded in `<dataDir>/run`. */
  readonly dataDir: string;
  /** The folder in `<dataDir>` that records running processes; two supervisors of one data folder need two. */
  readonly runName?: string;
  readonly onState?: (name: string, state: ReplicaState) => void;
}

/**
 * Runs named processes: waits for readiness, restarts crashed ones, and ends all of them, in reverse order. If this
 * process itself dies, by whatever signal, they end too (see Warden).
 */
export class Supervisor {
  private readonly specs = new Map<string, SupervisedSpec>();
  private readonly replicas = new Map<string, Replica>();
  private readonly logs: LogFile[] = [];
  private readonly warden = new Warden();
  private readonly runDir: string;
  private leftovers: Promise<void> | undefined;

  constructor(private readonly options: SupervisorOptions) {
    this.runDir = join(options.dataDir, 'run', options.runName ?? 'processes');
  }

  /**
   * Starts a process and resolves when it is ready. Throws an `EnvironmentFault` with its last output if it does not
   * start. After it was ready once, it is restarted indefinitely: its state shows how often it crashes and why, and
   * others continue.
   */
  async start(spec: SupervisedSpec): Promise<void> {
    if (this.specs.has(spec.name)) throw new Error(`there is a process ${spec.name} already`);
    this.specs.set(spec.name, spec);
    try {
      await (this.leftovers ??= endLeftovers(this.runDir));
      await this.startReplica(spec, 1);
    } catch (error) {
      this.specs.delete(spec.name);
      this.replicas.delete(spec.name);
      throw error;
    }
  }

  /** Ends a process gracefully and starts it again. */
  async restart(name: string): Promise<void> {
    await this.hold(name);
    await this.resume(name);
  }

  /** Only sends a signal: a process that ends by it is restarted, without counting a crash. */
  kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): void {
    this.replica(name).signal(signal);
  }

  /** Ends a process, with that first signal, and keeps it down until `resume`. */
  async hold(name: string, signal?: NodeJS.Signals): Promise<void> {
    await this.replica(name).stop('held', signal);
    forgetProcess(this.runDir, name);
  }

  /** Starts a held or failed process and resolves when it is ready. */
  async resume(name: string): Promise<void> {
    await this.replica(name).start();
  }

  /** Scales a started process to this many replicas; the newest are ended first. */
  async scale(name: string, count: number): Promise<void> {
    const spec = this.specs.get(name);
    if (spec === undefined) throw new Error(`there is no process ${name}`);
    if (count < 0 || count > REPLICAS_MAX) throw new Error(`${count} replicas are not between 0 and ${REPLICAS_MAX}`);
    const surplus = [...this.replicas.keys()].filter((known) => ordinalOf(known, name) > count);
    for (const replica of surplus.reverse()) await this.remove(replica);
    const missing = Array.from({ length: count }, (_, index) => index + 1).filter(
      (n) => !this.replicas.has(replicaName(name, n)),
    );
    await Promise.all(missing.map((n) => this.startReplica(spec, n)));
  }

  status(): readonly ProcessStatus[] {
    return [...this.replicas].map(([name, { pid, state, restarts }]) => ({ name, pid, state, restarts }));
  }

  /** Ends everything, the last started first. Resolves when nothing is running any longer; may be called again. */
  async stop(): Promise<void> {
    for (const name of [...this.replicas.keys()].reverse()) await this.remove(name);
    this.specs.clear();
    this.warden.close();
    for (const log of this.logs.splice(0)) log.close();
  }

  private async startReplica(base: SupervisedSpec, n: number): Promise<void> {
    const name = replicaName(base.name, n);
    const log = new LogFile(join(this.options.dataDir, 'logs', `${name}.log`));
    this.logs.push(log);
    const replica = new Replica(
      { ...base, ...(n === 1 ? {} : base.forReplica?.(n)), name },
      {
        warden: this.warden,
        log,
        onStarted: (pid) => this.remember(name, pid),
        onState: (state) => this.options.onState?.(name, state),
      },
    );
    this.replicas.set(name, replica);
    await replica.start();
  }

  /** Nothing can be recorded on a full disk; the warden tracks the process anyway. */
  private remember(name: string, pid: number | undefined): void {
    try {
      if (pid !== undefined) rememberProcess(this.runDir, name, pid);
    } catch (error) {
      if (errorCodeOf(error) !== 'ENOSPC') throw error;
    }
  }

  private async remove(name: string): Promise<void> {
    await this.replica(name).stop('stopped');
    this.replicas.delete(name);
    forgetProcess(this.runDir, name);
  }

  private replica(name: string): Replica {
    const replica = this.replicas.get(name);
    if (replica === undefined)
      throw new Error(`there is no process ${name}; there are ${[...this.replicas.keys()].join(', ')}`);
    return replica;
  }
}

const replicaName = (name: string, n: number): string => (n === 1 ? name : `${name}-${n}`);

/** The number of that replica of `name`; 0 if it is none. */
const ordinalOf = (replica: string, name: string): number => {
  if (replica === name) return 1;
  const rest = replica.startsWith(`${name}-`) ? replica.slice(name.length + 1) : '';
  return /^[1-9]\d*$/.test(rest) ? Number(rest) : 0;
};

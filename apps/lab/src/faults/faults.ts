import { LAB_FAULT_KINDS } from '@fairlead/contracts';
import * as z from 'zod';
import { matchesGlob } from './glob.js';

export const FaultKind = z.enum(LAB_FAULT_KINDS);
export type FaultKind = z.infer<typeof FaultKind>;

/** The webhook named in responses of an API server. */
const WEBHOOK = 'drain.lab.fairlead.dev';
const FAULTS_MAX = 1_000;

/**
 * A requested failure. `machine` is a glob on the machine's name; `times` limits how often it strikes (absent: no
 * limit).
 */
export const Fault = z.strictObject({
  kind: FaultKind,
  machine: z.string().min(1).max(200).default('*'),
  command: z.string().min(1).max(500).optional(),
  message: z.string().max(2_000).optional(),
  delayMs: z.int().min(0).max(600_000).optional(),
  times: z.int().min(1).max(1_000_000).optional(),
  /** Of `port-dropped`; absent: all ports. */
  port: z.int().min(1).max(65_535).optional(),
});
export type Fault = z.infer<typeof Fault>;

export const FaultList = z.strictObject({ items: z.array(Fault).max(FAULTS_MAX) });

interface Armed {
  readonly fault: Fault;
  remaining: number;
}

/** The requested faults. Each strike counts down the `times` of a fault. */
export class Faults {
  private armed: Armed[] = [];

  constructor(
    initial: readonly Fault[],
    private readonly onChange: () => void,
  ) {
    this.arm(initial);
  }

  replace(items: readonly Fault[]): void {
    this.arm(items);
    this.onChange();
  }

  /** The faults that are still armed, with their remaining `times`. */
  list(): readonly Fault[] {
    return this.armed.map(({ fault, remaining }) =>
      fault.times === undefined ? fault : { ...fault, times: remaining },
    );
  }

  /** Returns the fault that strikes this machine now, if any, and counts the strike. */
  strike(kind: FaultKind, machine: string): Fault | undefined {
    return this.take((fault) => fault.kind === kind && matchesGlob(fault.machine, machine));
  }

  /** Whether this machine has a fault that lasts while it is requested. Not counted as a strike. */
  has(kind: FaultKind, machine: string): boolean {
    return this.armed.some(({ fault }) => fault.kind === kind && matchesGlob(fault.machine, machine));
  }

  /** Whether this machine drops connections to the port. Not counted as a strike. */
  drops(machine: string, port: number): boolean {
    return this.armed.some(
      ({ fault }) =>
        fault.kind === 'port-dropped' && (fault.port ?? port) === port && matchesGlob(fault.machine, machine),
    );
  }

  /** Returns the fault that strikes this command line (`kubeadm init --config ...`) on this machine now, if any. */
  strikeCommand(machine: string, commandLine: string): Fault | undefined {
    return this.take(
      (fault) =>
        fault.kind === 'command-failure' &&
        matchesGlob(fault.machine, machine) &&
        matchesCommand(fault.command ?? '*', commandLine),
    );
  }

  private arm(items: readonly Fault[]): void {
    this.armed = items.map((fault) => ({ fault, remaining: fault.times ?? Number.POSITIVE_INFINITY }));
  }

  private take(matches: (fault: Fault) => boolean): Fault | undefined {
    const found = this.armed.find(({ fault }) => matches(fault));
    if (found === undefined) return undefined;
    found.remaining -= 1;
    if (found.remaining <= 0) this.armed = this.armed.filter((armed) => armed !== found);
    if (found.fault.times !== undefined) this.onChange();
    return found.fault;
  }
}

/**
 * A pattern without wildcards matches the first words of a command line: `kubeadm init` matches any `kubeadm init ...`.
 */
const matchesCommand = (pattern: string, commandLine: string): boolean =>
  /[*?]/.test(pattern)
    ? matchesGlob(pattern, commandLine)
    : commandLine === pattern || commandLine.startsWith(`${pattern} `);

/**
 * The API server's response to the eviction of a pod on this node if its webhook denies it or is unreachable; undefined
 * if no such fault is armed.
 */
export const evictionFault = (
  faults: Faults,
  node: string,
): { readonly status: 403 | 500; readonly message: string } | undefined => {
  const denied = faults.strike('eviction-denied', node);
  if (denied !== undefined) {
    const why = denied.message ?? 'pods of this node are moved by their operator';
    return { status: 403, message: `admission webhook "${WEBHOOK}" denied the request: ${why}` };
  }
  const failure = faults.strike('eviction-failure', node);
  if (failure === undefined) return undefined;
  const why = failure.message ?? 'no endpoints available for service "drain"';
  return { status: 500, message: `Internal error occurred: failed calling webhook "${WEBHOOK}": ${why}` };
};

/** kubeadm's message when it refuses an upgrade; undefined if no such fault is armed. */
export const upgradeRefusal = (faults: Faults, machine: string): string | undefined => {
  const fault = faults.strike('upgrade-refused', machine);
  if (fault === undefined) return undefined;
  return (
    fault.message ??
    '[ERROR CoreDNSUnsupportedPlugins]: there are unsupported plugins in the CoreDNS Corefile (simulated by Fairlead lab)'
  );
};

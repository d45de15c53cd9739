import { LAB_FAULT_KINDS } from '@fairlead/contracts';
import * as z from 'zod';
import { matchesGlob } from './glob.js';

export const FaultKind = z.enum(LAB_FAULT_KINDS);
export type FaultKind = z.infer<typeof FaultKind>;

/** Named in the answers of an API server whose webhook is simulated. */
const WEBHOOK = 'drain.lab.fairlead.dev';
const FAULTS_MAX = 1_000;

/** Something that must go wrong. `machine` is a glob on the machine's name; `times` bounds how often it strikes (absent: always). */
export const Fault = z.strictObject({
  kind: FaultKind,
  machine: z.string().min(1).max(200).default('*'),
  command: z.string().min(1).max(500).optional(),
  message: z.string().max(2_000).optional(),
  delayMs: z.int().min(0).max(600_000).optional(),
  times: z.int().min(1).max(1_000_000).optional(),
});
export type Fault = z.infer<typeof Fault>;

export const FaultList = z.strictObject({ items: z.array(Fault).max(FAULTS_MAX) });

interface Armed {
  readonly fault: Fault;
  remaining: number;
}

/** The faults that are asked for. A fault with `times` is used up by striking. */
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

  /** What is still armed, with `times` counted down. */
  list(): readonly Fault[] {
    return this.armed.map(({ fault, remaining }) =>
      fault.times === undefined ? fault : { ...fault, times: remaining },
    );
  }

  /** The fault that strikes this machine now, if there is one; it is counted as having struck. */
  strike(kind: FaultKind, machine: string): Fault | undefined {
    return this.take((fault) => fault.kind === kind && matchesGlob(fault.machine, machine));
  }

  /** Whether this machine has such a fault for as long as it is requested: it is not used up. */
  has(kind: FaultKind, machine: string): boolean {
    return this.armed.some(({ fault }) => fault.kind === kind && matchesGlob(fault.machine, machine));
  }

  /** The fault that strikes this command line (`kubeadm init --config ...`) on this machine now. */
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

/** A pattern without wildcards names the beginning of a command line, word by word: `kubeadm init` is any `kubeadm init ...`. */
const matchesCommand = (pattern: string, commandLine: string): boolean =>
  /[*?]/.test(pattern)
    ? matchesGlob(pattern, commandLine)
    : commandLine === pattern || commandLine.startsWith(`${pattern} `);

/** What an API server answers to the eviction of a pod on this node if a webhook denies it or cannot be reached; undefined: no such fault is armed. */
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

/** What kubeadm says to an upgrade of which it wants nothing to know; undefined: no such fault is armed. */
export const upgradeRefusal = (faults: Faults, machine: string): string | undefined => {
  const fault = faults.strike('upgrade-refused', machine);
  if (fault === undefined) return undefined;
  return (
    fault.message ??
    '[ERROR CoreDNSUnsupportedPlugins]: there are unsupported plugins in the CoreDNS Corefile (simulated by Fairlead lab)'
  );
};

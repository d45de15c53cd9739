import type { Clusters } from '../clusters/clusters.js';
import type { Host } from '../hosts/host.js';
import type { Delays } from '../time/delays.js';

/** The parts of the lab that stand-ins use besides their host. */
export interface CommandWorld {
  readonly delays: Delays;
  readonly clusters: Clusters;
  /** Returns why kubeadm must refuse to upgrade this machine, or undefined if it need not. */
  upgradeRefusal(machine: string): string | undefined;
  /** Whether a firewall drops connections to the address: its machine's, or that of each target of a load balancer. */
  drops(address: string, port: number): boolean;
  /** Shuts the host down, or reboots it if `again`. Returns immediately, because the caller ends with the host. */
  shutDown(host: Host, again: boolean): void;
}

/** One call of a stand-in: the arguments of the simulated command, and where its output goes. */
export interface CommandCall {
  readonly host: Host;
  readonly name: string;
  readonly args: readonly string[];
  /** The version of a program that was extracted from a package and is not installed; absent for the installed one. */
  readonly programVersion?: string | undefined;
  /** A path inside the host. */
  readonly cwd: string;
  readonly world: CommandWorld;
  /** Aborted when the caller exits or the host goes down. */
  readonly signal: AbortSignal;
  /** Writes whole lines to standard output. */
  out(text: string): void;
  /** Writes whole lines to standard error. */
  err(text: string): void;
}

/** Runs a simulated command and returns its exit code. Any exception but CommandFault is a bug of the lab. */
export type Command = (call: CommandCall) => Promise<number> | number;

/** Ends a simulated command with a message on standard error and an exit code. */
export class CommandFault extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = 'CommandFault';
  }
}

export const NOT_FOUND_EXIT_CODE = 127;

import type { Clusters } from '../clusters/clusters.js';
import type { Host } from '../hosts/host.js';
import type { Delays } from '../time/delays.js';

/** What stand-ins need of the lab around their host. */
export interface CommandWorld {
  readonly delays: Delays;
  readonly clusters: Clusters;
  /** Why kubeadm must refuse to upgrade from this machine now; undefined: it need not. */
  upgradeRefusal(machine: string): string | undefined;
  /** Has the host go down, and up again if `again`. Returns at once: the caller dies with the host. */
  shutDown(host: Host, again: boolean): void;
}

/** One call of a stand-in: the simulated command's arguments, and where its words go. */
export interface CommandCall {
  readonly host: Host;
  readonly name: string;
  readonly args: readonly string[];
  /** Of a program that was unpacked from a package and is not installed; absent: the installed one is called. */
  readonly programVersion?: string | undefined;
  /** As seen from inside the host. */
  readonly cwd: string;
  readonly world: CommandWorld;
  /** Aborted when the caller is gone, or the host. */
  readonly signal: AbortSignal;
  /** Whole lines to standard output. */
  out(text: string): void;
  /** Whole lines to standard error. */
  err(text: string): void;
}

/** Carries a simulated command out and resolves with its exit code. What it throws is a bug of the lab, unless it is a CommandFault. */
export type Command = (call: CommandCall) => Promise<number> | number;

/** Ends a simulated command with words on its standard error and an exit code. */
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

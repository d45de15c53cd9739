import type { Faults } from '../faults/faults.js';
import type { Stats } from '../stats/stats.js';
import type { Host } from '../hosts/host.js';
import { CommandFault, NOT_FOUND_EXIT_CODE, type CommandWorld } from '../commands/command.js';
import { commandNamed } from './registry.js';

/** One call of a simulated command. */
export interface CommandRequest {
  readonly name: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

/** Receives the command's output line by line, and can abort the command. */
export interface CommandOutput {
  out(text: string): void;
  err(text: string): void;
  readonly signal: AbortSignal;
}

/** The contents of a program extracted by dpkg-deb (commands/unpacked.commands.ts). */
const UNPACKED = /^exec (lab-program) (\S+) (\S+) "\$@"$/m;

/** Resolves a program that is called by path on a host without a shell. */
const unpackedProgram = async (host: Host, request: CommandRequest): Promise<CommandRequest> => {
  if (!request.name.startsWith('/')) return request;
  const [, name, ...words] = UNPACKED.exec((await host.files.readText(request.name)) ?? '') ?? [];
  return name === undefined ? request : { ...request, name, args: [...words, ...request.args] };
};

/** Exit code of a command whose caller disconnected or whose host went down. */
const INTERRUPTED_EXIT_CODE = 130;
const FAULT_EXIT_CODE = 1;

/**
 * Runs simulated commands of hosts, unless a fault makes one fail, and counts them. `settled` resolves once the changes
 * of a command are durable.
 */
export class CommandRunner {
  constructor(
    private readonly world: CommandWorld,
    private readonly faults: Faults,
    private readonly stats: Stats,
    private readonly settled: () => Promise<void>,
  ) {}

  /** Never rejects for a failed command, which has an exit code and output instead. */
  async run(host: Host, called: CommandRequest, output: CommandOutput): Promise<number> {
    const request = await unpackedProgram(host, called);
    const line = [request.name, ...request.args].join(' ');
    const exitCode = await this.carryOut(host, request, line, output);
    this.stats.commandRan({ machine: host.facts.name, command: line, exit: exitCode });
    await this.settled();
    return exitCode;
  }

  private async carryOut(host: Host, request: CommandRequest, line: string, output: CommandOutput): Promise<number> {
    const command = commandNamed(request.name, host.record.packages);
    if (command === undefined) {
      output.err(`sh: 1: ${request.name}: not found`);
      return NOT_FOUND_EXIT_CODE;
    }
    const fault = this.faults.strikeCommand(host.facts.name, line);
    if (fault !== undefined) {
      output.err(fault.message ?? `${request.name}: failed because a fault was asked for (Fairlead lab)`);
      return FAULT_EXIT_CODE;
    }
    const ended = firstOf(output.signal, host.upSignal);
    try {
      return await command({ ...request, host, world: this.world, ...output, signal: ended.signal });
    } catch (error) {
      if (ended.signal.aborted) return INTERRUPTED_EXIT_CODE;
      if (!(error instanceof CommandFault)) throw error;
      output.err(error.message);
      return error.exitCode;
    } finally {
      ended.release();
    }
  }
}

/**
 * A signal that aborts with the first of several. Unlike AbortSignal.any, it can be released from its sources: a host's
 * own signal lives for days.
 */
const firstOf = (...sources: readonly AbortSignal[]): { readonly signal: AbortSignal; release(): void } => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const source of sources) source.addEventListener('abort', abort);
  if (sources.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    release: () => {
      for (const source of sources) source.removeEventListener('abort', abort);
    },
  };
};

import type { Readable, Writable } from 'node:stream';

/** A command that a client runs on a host, with its streams. */
export interface ShellCall {
  readonly command: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Variables that the client requested. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ShellExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningCall {
  /** Resolves once the command has ended and its output is written. Never rejects. */
  readonly ended: Promise<ShellExit>;
  signal(signal: NodeJS.Signals): void;
}

/** Runs commands of SSH clients: in a real shell on full hosts, as simulated steps on light ones. */
export interface HostShell {
  run(call: ShellCall): RunningCall;
  /** Kills every command, because the host goes down. */
  killAll(): void;
}

import type { Readable, Writable } from 'node:stream';

/** Streams and end of one command that a client runs on a host. */
export interface ShellCall {
  readonly command: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Variables that the client asked for. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ShellExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningCall {
  /** Resolves when the command has ended and its words are written. Never rejects. */
  readonly ended: Promise<ShellExit>;
  signal(signal: NodeJS.Signals): void;
}

/** Runs the commands that SSH clients ask for: a real shell on full hosts, the product's steps on light ones. */
export interface HostShell {
  run(call: ShellCall): RunningCall;
  /** Ends every command at once: the host goes down. */
  killAll(): void;
}

/** The result of a command. A command that cannot be started has exit code 127, with the reason as its stderr. */
export interface CommandResult {
  /** null: ended by a signal or by its timeout. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** The command and its children are killed after this time. */
  readonly timeoutMs: number;
  readonly stdin?: string;
}

/**
 * The machine that the agent manages. Paths are absolute, as on a real host; the implementation prefixes
 * `$FAIRLEAD_ROOT`. Every method except `run` rejects if the host itself fails (e.g. a full disk, missing permissions).
 */
export interface HostPort {
  /** The path to pass to commands of this host. */
  at(path: string): string;
  /** Never rejects: failures are in the result. */
  run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult>;
  /** Returns undefined if there is no such file. */
  readFile(path: string): Promise<string | undefined>;
  /** Creates missing folders. Not atomic: write to another path and rename if that matters. */
  writeFile(path: string, text: string, mode: number): Promise<void>;
  /** Atomic; replaces `to`. */
  rename(from: string, to: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /**
   * Calls `onChange` when something in the folder may have changed, until the returned function is called. Returns
   * undefined if the folder does not exist or cannot be watched.
   */
  watch(folder: string, onChange: () => void): Promise<(() => void) | undefined>;
  /** Different after each boot. */
  bootId(): Promise<string>;
  /** When this boot began, by the host's clock. */
  bootedAt(): Promise<Date>;
  /** For display, e.g. "Debian GNU/Linux 12 (bookworm)". */
  osRelease(): Promise<string>;
  /** The output of `uname -r`. */
  kernel(): Promise<string>;
}

export interface AgentClock {
  now(): Date;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Must never be called with secrets. */
export type AgentLog = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void;

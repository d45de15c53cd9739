/** What a command did. A command that cannot be started is code 127 with the reason as its stderr. */
export interface CommandResult {
  /** null: ended by a signal or by its timeout. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** After this the command and its children are killed. */
  readonly timeoutMs: number;
  readonly stdin?: string;
}

/**
 * The machine that the agent works on. Paths are absolute as on a real host; the implementation puts `$FAIRLEAD_ROOT`
 * before them. Every method but `run` rejects when the host itself fails (a full disk, a missing right).
 */
export interface HostPort {
  /** The path as a command of this host must be given it. */
  at(path: string): string;
  /** Never rejects: what went wrong is in the result. */
  run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult>;
  /** undefined: there is no such file. */
  readFile(path: string): Promise<string | undefined>;
  /** Creates missing folders. Not atomic: write beside the file and rename where that matters. */
  writeFile(path: string, text: string, mode: number): Promise<void>;
  /** Atomic; replaces `to`. */
  rename(from: string, to: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /**
   * Calls back when something in that folder may have changed, until the function that it resolves to is called. undefined: there is no such
   * folder, or it cannot be watched.
   */
  watch(folder: string, onChange: () => void): Promise<(() => void) | undefined>;
  /** Another one after each boot. */
  bootId(): Promise<string>;
  /** When this boot began, by the host's clock. */
  bootedAt(): Promise<Date>;
  /** For people, e.g. "Debian GNU/Linux 12 (bookworm)". */
  osRelease(): Promise<string>;
  /** As `uname -r` prints it. */
  kernel(): Promise<string>;
}

/** The time as a value. */
export interface AgentClock {
  now(): Date;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Never given secrets. */
export type AgentLog = (level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>) => void;

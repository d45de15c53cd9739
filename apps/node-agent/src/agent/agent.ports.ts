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
  /** Never rejects: what went wrong is in the result. */
  run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult>;
  /** undefined: there is no such file. */
  readFile(path: string): Promise<string | undefined>;
  /** Creates missing folders. Not atomic: write beside the file and rename where that matters. */
  writeFile(path: string, text: string, mode: number): Promise<void>;
  /** Atomic; replaces `to`. */
  rename(from: string, to: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Another one after each boot. */
  bootId(): Promise<string>;
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

/** A message as it is in the log. */
export interface LoggedMessage {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

export type Appended = { readonly kind: 'appended'; readonly seq: number } | { readonly kind: 'conflict' };

/** The event log as one node's credential reaches it. Methods reject with WorldFailure while it cannot be reached. */
export interface EventLog {
  /** Calls back at once when connected, and again after every reconnect. */
  onConnected(callback: () => void): void;
  isConnected(): boolean;
  /** The newest message on exactly this subject. */
  last(subject: string): Promise<LoggedMessage | undefined>;
  /** Appends if the newest message below `filter` still has the sequence `expectedSeq`; an id that is known already is a conflict too. */
  append(subject: string, bytes: Uint8Array, expected: AppendExpectation): Promise<Appended>;
  /** Messages published from now on; missing some while away is possible. */
  subscribe(subject: string, callback: (bytes: Uint8Array) => void): void;
  /** Telemetry: dropped while away. */
  publish(subject: string, bytes: Uint8Array): void;
  close(): Promise<void>;
}

export interface AppendExpectation {
  readonly id: string;
  readonly expectedSeq: number;
  readonly filter: string;
}

/** What Kubernetes says about the node. */
export interface NodeView {
  readonly ready: boolean;
  /** Why, in Kubernetes' words. */
  readonly message: string;
  readonly kubeletVersion: string;
}

/** What the agent writes to its Node object. */
export interface NodeMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The node's own Node object, through the kubelet's credentials. */
export interface NodeWatch {
  /** Writes what `metadata` returns now, if the Node object differs; at the latest when the API answers again. */
  metadataChanged(): void;
  stop(): void;
}

export interface NodeWatchListener {
  /** undefined: Kubernetes cannot be asked, or has no such Node. */
  onView(view: NodeView | undefined): void;
  metadata(): NodeMetadata;
}

export type WatchNode = (listener: NodeWatchListener) => NodeWatch;

/** The address of an SSH server, and the credentials for it. */
export interface SshHop {
  readonly host: string;
  readonly port: number;
  /** If not root, everything that requires root runs through `sudo -n`. */
  readonly user: string;
  readonly privateKey: string;
  /** `SHA256:<base64>`; null: none is recorded, and the first one seen is trusted. */
  readonly hostKey: string | null;
}

/** A host on which steps run. */
export interface HostAddress extends SshHop {
  readonly name: string;
  /** The jump host for this one. */
  readonly jump?: SshHop;
}

/** A script for a host, with the parameters rendered into it, which simulated hosts read. Both may be secret. */
export interface HostScript {
  /** Name of the script's file on the host: the step's name and a unique suffix. */
  readonly name: string;
  /** What it does, for people: the operation in a failure. */
  readonly operation: string;
  readonly text: string;
  readonly input: unknown;
  /** Its processes are killed after this time. */
  readonly limitMs: number;
}

export interface ScriptOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostFile {
  readonly path: string;
  /** Content in memory, or the local path of a file that is too large for it. */
  readonly content: Uint8Array | string;
  /** Permission bits, e.g. 0o600. */
  readonly mode: number;
  /** Lowercase hex. */
  readonly sha256: string;
}

/**
 * A session on one host. Every method rejects with ExternalFailure, whose target is the host's name; a failing script is
 * reported with its last output. Output may be secret and is never logged.
 */
export interface HostSession {
  /** Fingerprint of the host's key, as seen and accepted. */
  readonly hostKey: string;
  /** The jump host's fingerprint; null: the host is reached directly. */
  readonly jumpHostKey: string | null;
  /** Number of attempts to connect; 0 if an open connection was reused. */
  readonly attempts: number;
  /** Resolves when the script has exited with 0. Aborting the signal rejects at once with its reason. */
  run(script: HostScript, signal: AbortSignal): Promise<ScriptOutput>;
  /** Whether the file exists. False if permissions do not allow the check. */
  exists(path: string, signal: AbortSignal): Promise<boolean>;
  /** Installs the file atomically, after its checksum was verified on the host. */
  upload(file: HostFile, signal: AbortSignal): Promise<void>;
  /** Ends the session. Its connection stays open for a while, for the next step on the same host. */
  release(): void;
}

export interface OpenOptions {
  readonly signal: AbortSignal;
  /** Many for a host that is expected to come up soon; one for a host that may be dead. */
  readonly triesMax: number;
  readonly deadlineMs: number;
  /** Called after each failed attempt that is followed by another one, which waits for it. */
  readonly onFailedTry?: (tried: FailedTry) => Promise<void>;
}

/** A failed attempt to connect. */
export interface FailedTry {
  /** Counts from 1. */
  readonly attempt: number;
  readonly message: string;
  /** When the next attempt starts. */
  readonly nextAt: Date;
  /** No attempt starts after this. */
  readonly until: Date;
}

export interface HostShell {
  /**
   * Retries with backoff until the host answers, at most `triesMax` times and until `deadlineMs`. An unexpected host
   * key, or a key that the host rejects in every attempt, is a permanent failure.
   */
  open(address: HostAddress, options: OpenOptions): Promise<HostSession>;
  /**
   * Whether the host accepts this user and key, tested by a separate login. If not, connections opened with the key are
   * closed. Rejects if the host does not answer, or shows another host key.
   */
  accepts(address: HostAddress, signal: AbortSignal): Promise<boolean>;
  /** Closes all connections. */
  close(): Promise<void>;
}

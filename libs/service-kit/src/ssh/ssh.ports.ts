/** Where an SSH server is, and how we prove who we are. */
export interface SshHop {
  readonly host: string;
  readonly port: number;
  /** Other than root: everything that needs root runs through `sudo -n`. */
  readonly user: string;
  readonly privateKey: string;
  /** `SHA256:<base64>`; null: none is recorded yet, and the first one seen counts. */
  readonly hostKey: string | null;
}

/** A host that things are done to. */
export interface HostAddress extends SshHop {
  readonly name: string;
  /** The host through which this one is reached; nothing is done to it but that. */
  readonly jump?: SshHop;
}

/** A script for a host, with the parameters that were rendered into it, which simulated hosts read. Both may be secret. */
export interface HostScript {
  /** Names the script's file on the host: a step's name and something that no other run has. */
  readonly name: string;
  /** What it does, in words for people: names the operation in a failure. */
  readonly operation: string;
  readonly text: string;
  readonly input: unknown;
  /** Its processes are ended after this time. */
  readonly limitMs: number;
}

export interface ScriptOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostFile {
  readonly path: string;
  /** In memory, or the path of a file here that is too large for it. */
  readonly content: Uint8Array | string;
  /** Permission bits, e.g. 0o600. */
  readonly mode: number;
  /** Lowercase hex. */
  readonly sha256: string;
}

/**
 * A way onto one host. Every method rejects with WorldFailure, whose target is the host's name; a script that fails says so
 * in its own last words. What a script prints may be secret and is never logged.
 */
export interface HostSession {
  /** Fingerprint of the host's key, as it was seen and accepted. */
  readonly hostKey: string;
  /** The same of the jump host; null: the host is reached directly. */
  readonly jumpHostKey: string | null;
  /** How many tries it took to get in; 0 when a connection was still open. */
  readonly attempts: number;
  /** Resolves when the script has ended with exit code 0. Aborting the signal rejects at once, with the signal's reason. */
  run(script: HostScript, signal: AbortSignal): Promise<ScriptOutput>;
  /** Is there such a file? A host that does not let us look is a host without it. */
  exists(path: string, signal: AbortSignal): Promise<boolean>;
  /** Puts the file in place in one piece, after its checksum on the host was found right. */
  upload(file: HostFile, signal: AbortSignal): Promise<void>;
  /** Gives the way back. It stays open for a while, for the next step of the same host. */
  release(): void;
}

export interface OpenOptions {
  readonly signal: AbortSignal;
  /** A host that is expected to be there soon gets many tries; one that may be dead gets one. */
  readonly triesMax: number;
  readonly deadlineMs: number;
  /** After each try that failed and is followed by another one, which waits for it. */
  readonly onFailedTry?: (tried: FailedTry) => Promise<void>;
}

/** A try to get in that failed. */
export interface FailedTry {
  /** Counts from 1. */
  readonly attempt: number;
  readonly message: string;
  /** When the next one is. */
  readonly nextAt: Date;
  /** No try begins after this. */
  readonly until: Date;
}

export interface HostShell {
  /**
   * Tries with backoff until the host answers, at most `triesMax` times and no longer than `deadlineMs`. A host key that is
   * not the expected one, and a key that the host does not accept after all tries, end it at once, for good.
   */
  open(address: HostAddress, options: OpenOptions): Promise<HostSession>;
  /**
   * Whether the host lets this user and key in: one login of its own, closed at once. Where the answer is no, connections that were
   * opened with the key before are closed. Rejects where the host does not answer, or shows another host key.
   */
  accepts(address: HostAddress, signal: AbortSignal): Promise<boolean>;
  /** Closes what is open. */
  close(): Promise<void>;
}

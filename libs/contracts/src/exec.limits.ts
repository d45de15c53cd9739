import * as z from 'zod';

/** Limits on commands that operators run on nodes, and on their output. */
export const EXEC_LIMITS = {
  words: 100,
  bytes: 8_192,
  /** Per stream (standard output and standard error): both fit into one sealed secret. */
  outputBytes: 256 * 1_024,
  timeoutSeconds: { default: 60, max: 600 },
  /**
   * A request that could not start within this time is abandoned: a command must not run unexpectedly long after it was
   * requested.
   */
  beginSeconds: 60,
  /** How long the output stays readable. */
  keptSeconds: 300,
  /** Maximum unfinished requests per cluster. */
  open: 10,
} as const;

/** Units whose logs operators may read: those that a Fairlead node runs. */
export const LOG_UNITS = [
  'kubelet',
  'containerd',
  'fairlead-agent',
  'etcd',
  'haproxy',
  'keepalived',
  'nftables',
  'ssh',
  'sshd',
] as const;
export const LogUnit = z.enum(LOG_UNITS);
export type LogUnit = z.infer<typeof LogUnit>;

export const LOG_LINES = { default: 200, max: 2_000 } as const;

/** Limits on following a log. */
export const FOLLOW_LIMITS = {
  /** Afterwards the reader sends a new request: nothing runs on a node without a limit. */
  seconds: 3_600,
  /** Per read. Lines logged beyond it before the next read are counted and skipped. */
  bytes: 256 * 1_024,
  /** How long a read waits for the first new line. */
  waitSeconds: 8,
  /** A gateway without messages for this long is considered gone. */
  silentSeconds: 30,
  /** Maximum followed logs per cluster. */
  open: 5,
} as const;

/** The sealed output of a command. Base64, because it may be binary. */
export const ExecOutput = z.strictObject({ stdout: z.base64(), stderr: z.base64() });
export type ExecOutput = z.infer<typeof ExecOutput>;

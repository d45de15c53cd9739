import * as z from 'zod';

/** What an operator may run on a node, and how much of its output is kept. */
export const EXEC_LIMITS = {
  words: 100,
  bytes: 8_192,
  /** Of each of standard output and standard error: together they fit into one sealed secret. */
  outputBytes: 256 * 1_024,
  timeoutSeconds: { default: 60, max: 600 },
  /** A request that could not begin within it is given up: a command that runs long after it was asked for surprises. */
  beginSeconds: 60,
  /** How long the output can be read. */
  keptSeconds: 300,
  /** Requests of one cluster that are not over. */
  open: 10,
} as const;

/** Units whose logs operators may read: what a node of Fairlead runs. */
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

/** Of a log that is followed. */
export const FOLLOW_LIMITS = {
  /** After it, whoever still reads asks again: nothing runs on a node without an end. */
  seconds: 3_600,
  /** Of one read. What a unit logs beyond it until then is counted and left out. */
  bytes: 256 * 1_024,
  /** How long a read waits for the first new line. */
  waitSeconds: 8,
  /** A gateway that is silent for so long has gone. */
  silentSeconds: 30,
  /** Logs of one cluster that are followed at a time. */
  open: 5,
} as const;

/** What is sealed of a command that ran. Base64, as it need not be text. */
export const ExecOutput = z.strictObject({ stdout: z.base64(), stderr: z.base64() });
export type ExecOutput = z.infer<typeof ExecOutput>;

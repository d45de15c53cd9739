/** How a process that ended unexpectedly is restarted. */
export interface RestartPolicy {
  /**
   * This many crashes before it was first ready fail its start. A process that was ready once is restarted
   * indefinitely.
   */
  readonly startTriesMax: number;
  /** Doubles with each crash, up to the maximum. */
  readonly delayMs: number;
  readonly delayMaxMs: number;
  /** Each time it has been ready for this long, one crash is forgiven. */
  readonly forgiveMs: number;
}

export const RESTART_POLICY: RestartPolicy = {
  startTriesMax: 6,
  delayMs: 100,
  delayMaxMs: 60_000,
  forgiveMs: 5_000,
};

/** Why it ended: by itself, or because of something beyond its control (`excused`). */
export interface Ended {
  readonly excused: boolean;
  /** How long it was ready; 0 if it never was. */
  readonly servedMs: number;
}

/** State kept across runs. */
export interface RestartRecord {
  readonly crashes: number;
  /** Consecutive ends that are not crashes. */
  readonly excuses: number;
}

export const NO_CRASHES: RestartRecord = { crashes: 0, excuses: 0 };

/** Its dependencies usually return within seconds; checking often is cheap. */
const EXCUSED_DELAY_MAX_MS = 2_000;
/** Higher powers of 2 exceed any maximum. */
const CRASHES_COUNTED_MAX = 24;

export const recordEnd = ({ crashes, excuses }: RestartRecord, ended: Ended, policy: RestartPolicy): RestartRecord => {
  const left = Math.max(0, crashes - Math.floor(ended.servedMs / policy.forgiveMs));
  return ended.excused
    ? { crashes: left, excuses: Math.min(ended.servedMs > 0 ? 1 : excuses + 1, CRASHES_COUNTED_MAX) }
    : { crashes: Math.min(left + 1, CRASHES_COUNTED_MAX), excuses: 0 };
};

/**
 * Delay before the next start: the random lot (0 to 1) reduces it by up to half, so that processes do not all start at
 * once.
 */
export const restartDelayMs = ({ crashes, excuses }: RestartRecord, policy: RestartPolicy, lot: number): number => {
  const [times, maxMs] =
    excuses > 0 ? [excuses, Math.min(EXCUSED_DELAY_MAX_MS, policy.delayMaxMs)] : [crashes, policy.delayMaxMs];
  const delayMs = Math.min(policy.delayMs * 2 ** Math.max(0, times - 1), maxMs);
  return Math.round(delayMs * (1 - lot / 2));
};

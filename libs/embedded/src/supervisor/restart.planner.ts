/** How a process is started again that ended unasked. */
export interface RestartPolicy {
  /** So many crashes before it was ready for the first time fail its start. What was ready once is restarted indefinitely. */
  readonly startTriesMax: number;
  /** Doubles with each crash, up to the maximum. */
  readonly delayMs: number;
  readonly delayMaxMs: number;
  /** Each time it has served for so long, one crash is forgotten. */
  readonly forgiveMs: number;
}

export const RESTART_POLICY: RestartPolicy = {
  startTriesMax: 6,
  delayMs: 100,
  delayMaxMs: 60_000,
  forgiveMs: 5_000,
};

/** Why it ended: by itself, or because of something that it cannot help (`excused`). */
export interface Ended {
  readonly excused: boolean;
  /** How long it was ready; 0 when it never was. */
  readonly servedMs: number;
}

/** What is remembered from run to run. */
export interface RestartRecord {
  readonly crashes: number;
  /** Ends in a row that are no crashes. */
  readonly excuses: number;
}

export const NO_CRASHES: RestartRecord = { crashes: 0, excuses: 0 };

/** Its dependencies usually return within seconds; checking often is cheap. */
const EXCUSED_DELAY_MAX_MS = 2_000;
/** 2 to the power of more is beyond any maximum. */
const CRASHES_COUNTED_MAX = 24;

export const recordEnd = ({ crashes, excuses }: RestartRecord, ended: Ended, policy: RestartPolicy): RestartRecord => {
  const left = Math.max(0, crashes - Math.floor(ended.servedMs / policy.forgiveMs));
  return ended.excused
    ? { crashes: left, excuses: Math.min(ended.servedMs > 0 ? 1 : excuses + 1, CRASHES_COUNTED_MAX) }
    : { crashes: Math.min(left + 1, CRASHES_COUNTED_MAX), excuses: 0 };
};

/** How long to wait before the next start: the lot (0 to 1) takes up to half of it off, so that not all start at once. */
export const restartDelayMs = ({ crashes, excuses }: RestartRecord, policy: RestartPolicy, lot: number): number => {
  const [times, maxMs] =
    excuses > 0 ? [excuses, Math.min(EXCUSED_DELAY_MAX_MS, policy.delayMaxMs)] : [crashes, policy.delayMaxMs];
  const delayMs = Math.min(policy.delayMs * 2 ** Math.max(0, times - 1), maxMs);
  return Math.round(delayMs * (1 - lot / 2));
};

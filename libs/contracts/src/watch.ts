/** Longest id of a machine that is taken from a provider's list. */
export const PROVIDER_ID_MAX = 256;

/** Longest name of a machine or group that is taken from a provider's list. */
export const PROVIDER_TEXT_MAX = 512;

/** Of a cluster's machines: when more than this share, and at least this many, are missing at once, nothing is repaired. */
export const VANISHED_SHARE_MAX = 0.4;
export const VANISHED_MIN = 3;

/** Whether so many machines of a cluster are missing that the provider's answer is more likely wrong than right. */
export const isMassDisappearance = (missing: number, total: number): boolean =>
  missing >= VANISHED_MIN && missing > total * VANISHED_SHARE_MAX;

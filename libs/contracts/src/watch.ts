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

/** Longest name of a Node object: that of a DNS subdomain. */
export const NODE_OBJECT_NAME_MAX = 253;

/** Longest uid of a Node object: twice that of a UUID. */
export const NODE_UID_MAX = 72;

/** At most so many Nodes without a machine are recorded of a cluster: a longer list is of no use. */
export const NODES_WITHOUT_MACHINE_MAX = 100;

/** When the next look is due: intervals vary by a tenth, so that what is looked at does not come to be looked at all at once. */
export const nextLookAt = (nowMs: number, intervalMs: number, random: number): number =>
  nowMs + intervalMs * (0.9 + 0.2 * random);

/** The first look after a start is somewhere within the first interval. */
export const firstLookAt = (nowMs: number, intervalMs: number, random: number): number => nowMs + intervalMs * random;

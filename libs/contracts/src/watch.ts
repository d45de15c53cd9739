/** Maximum length of a machine id in a provider's list. */
/**
 * A provider ID as machines are recorded with it. In those of cloud controllers the instance follows a region or a
 * zone, which may be empty.
 */
export const recordedProviderId = (id: string): string => id.replace(/^(aws|openstack):\/\/.*\//u, '$1://');

export const PROVIDER_ID_MAX = 256;

/** Maximum length of a machine or group name in a provider's list. */
export const PROVIDER_TEXT_MAX = 512;

/**
 * Share of a cluster's machines: if more than this share, and at least this many, are missing at once, nothing is
 * repaired.
 */
export const VANISHED_SHARE_MAX = 0.4;
export const VANISHED_MIN = 3;

/** Whether so many machines of a cluster are missing that the provider's response is more likely wrong than right. */
export const isMassDisappearance = (missing: number, total: number): boolean =>
  missing >= VANISHED_MIN && missing > total * VANISHED_SHARE_MAX;

/** Maximum length of a Node object's name: that of a DNS subdomain. */
export const NODE_OBJECT_NAME_MAX = 253;

/** Maximum length of a Node object's uid: twice that of a UUID. */
export const NODE_UID_MAX = 72;

/** Maximum recorded Nodes without a machine per cluster: a longer list is of no use. */
export const NODES_WITHOUT_MACHINE_MAX = 100;

/** When the next poll is due: intervals vary by a tenth, so that polls do not synchronize. */
export const nextLookAt = (nowMs: number, intervalMs: number, random: number): number =>
  nowMs + intervalMs * (0.9 + 0.2 * random);

/** The first poll after a start is at a random time within the first interval. */
export const firstLookAt = (nowMs: number, intervalMs: number, random: number): number => nowMs + intervalMs * random;

import type { Tags } from './aws.marks.js';

/** Tags of the connection's security group: the incarnations that must not be made again. */
const GONE = 'fairlead.dev/gone/';
const DAYS_MAX = 30;
const DAY_MS = 86_400_000;
/** A resource takes 50 tags. */
const GONE_MAX = 40;
/** No request for a deleted incarnation is under way for longer. */
const NEEDED_MS = 3_600_000;

export interface GonePlan {
  readonly add: Tags;
  readonly remove: readonly string[];
}

export const isGoneIn = (tags: Tags, uid: string): boolean => tags[`${GONE}${uid}`] !== undefined;

/** Remembers a deleted incarnation; undefined: there were too many deletions within the hour. */
export const rememberGone = (tags: Tags, uid: string, now: Date): GonePlan | undefined => {
  const age = (at: string): number => now.getTime() - Date.parse(at);
  const known = Object.entries(tags)
    .filter(([key]) => key.startsWith(GONE))
    .sort(([, one], [, other]) => one.localeCompare(other));
  if (isGoneIn(tags, uid)) return { add: {}, remove: [] };
  const over = known.filter(([, at]) => !(age(at) <= DAYS_MAX * DAY_MS));
  const kept = known.slice(over.length);
  const surplus = kept.slice(0, Math.max(0, kept.length + 1 - GONE_MAX));
  if (surplus.some(([, at]) => age(at) <= NEEDED_MS)) return undefined;
  return { add: { [`${GONE}${uid}`]: now.toISOString() }, remove: [...over, ...surplus].map(([key]) => key) };
};

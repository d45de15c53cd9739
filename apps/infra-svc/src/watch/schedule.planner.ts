/** When the next look is due: intervals vary by a tenth, so that connections do not come to be looked at all at once. */
export const nextLookAt = (nowMs: number, intervalMs: number, random: number): number =>
  nowMs + intervalMs * (0.9 + 0.2 * random);

/** The first look after a start is somewhere within the first interval. */
export const firstLookAt = (nowMs: number, intervalMs: number, random: number): number => nowMs + intervalMs * random;

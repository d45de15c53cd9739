export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The delay before attempt `attempt` + 1: doubling and bounded, with its upper half random, so that a fleet does not
 * retry in step.
 */
export const backoffMs = (policy: Backoff, attempt: number, random: () => number): number => {
  const fullMs = Math.min(policy.maxMs, policy.firstMs * 2 ** Math.min(attempt - 1, 30));
  return fullMs / 2 + (fullMs / 2) * random();
};

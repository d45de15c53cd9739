import type { JobPolicy } from '@fairlead/event-sourcing/jetstream';

/** An attempt that only asks. */
export const ASKING: Partial<JobPolicy> = {
  attemptsMax: 6,
  backoffFirstMs: 1_000,
  backoffMaxMs: 30_000,
  timeoutMs: 120_000,
};
/** An attempt that makes machines: longer than they may take, so that their own deadline speaks first. */
export const MAKING: Partial<JobPolicy> = { ...ASKING, timeoutMs: 30 * 60_000 };
/** A deletion that fails is soon shown as such, and is then begun again, less and less often, until it succeeds. */
export const DELETING: Partial<JobPolicy> = { ...ASKING, attemptsMax: 4, timeoutMs: 10 * 60_000 };

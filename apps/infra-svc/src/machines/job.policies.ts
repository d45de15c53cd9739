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
/** A deletion is worth more patience: it is begun again only after ten minutes. */
export const DELETING: Partial<JobPolicy> = {
  ...ASKING,
  attemptsMax: 12,
  backoffMaxMs: 60_000,
  timeoutMs: 10 * 60_000,
};

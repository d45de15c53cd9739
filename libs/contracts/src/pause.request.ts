import * as z from 'zod';

export const PAUSE_REASON_LENGTH_MAX = 500;
/** Why a user pauses or resumes a cluster; empty: no reason given. */
export const PauseReason = z.string().max(PAUSE_REASON_LENGTH_MAX);

/** Body of the requests that pause and resume a cluster. */
export const PauseRequest = z
  .strictObject({ reason: PauseReason.default('').describe('Why; recorded in the history') })
  .meta({ id: 'PauseRequest', examples: [{ reason: 'the provider is under maintenance' }] });
export type PauseRequest = z.infer<typeof PauseRequest>;

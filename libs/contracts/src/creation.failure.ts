import * as z from 'zod';

export const CREATION_FAILURE_LENGTH_MAX = 5_000;

/** Why a cluster could not be created. */
export const CreationFailure = z.strictObject({
  reason: z.string().describe("CB-Ladybug's reason code, or the code of a refusal"),
  message: z.string().max(CREATION_FAILURE_LENGTH_MAX).describe('The failure as a sentence'),
});
export type CreationFailure = z.infer<typeof CreationFailure>;

import * as z from 'zod';

/** The stored state of a unit. */
export const UnitRecord = z.object({
  enabled: z.boolean(),
  /** Whether it was started and not stopped since; a boot starts only enabled units. */
  started: z.boolean(),
  /** Whether a kubelet was up when its container runtime stopped: it keeps running without one. */
  outlivesRuntime: z.boolean().optional(),
});
export type UnitRecord = z.infer<typeof UnitRecord>;

import * as z from 'zod';

/** What a host remembers of a unit. */
export const UnitRecord = z.object({
  enabled: z.boolean(),
  /** It was started and not stopped since; after a boot only enabled units run. */
  started: z.boolean(),
  /** A kubelet that had come up when its container runtime stopped: it goes on without one. */
  outlivesRuntime: z.boolean().optional(),
});
export type UnitRecord = z.infer<typeof UnitRecord>;
